#include <stdlib.h>
#include <string.h>

#include "base/varint.h"
#include "trace/file/columns.h"

/*
 * Three lengths as varints (tasks; bytes of the task list, of times, of places),
 * then: tasks as pid, tid; kinds, one byte each; times as signed distances, because
 * the kernel's buffers of several CPUs meet here; place of the task in the list;
 * CPU, one varint each, up to the end.
 */

#define TASKS_MAX 256u /* the list is searched; further tasks are written out each time */

struct task {
	uint32_t pid, tid;
};

static uint32_t task_place(struct task *tasks, uint32_t *known, const isc_trace_switch *s)
{
	for (uint32_t i = *known; i-- > 0;) {
		if (tasks[i].tid == s->tid && tasks[i].pid == s->pid)
			return i;
	}
	if (*known == TASKS_MAX)
		return TASKS_MAX;
	tasks[*known] = (struct task){s->pid, s->tid};
	return (*known)++;
}

bool isc_switches_encode(isc_buffer *out, const isc_trace_switch *switches, uint32_t n)
{
	struct task tasks[TASKS_MAX];
	uint32_t known = 0;
	uint64_t before = n > 0 ? switches[0].time_ns : 0;
	isc_buffer times = {0}, places = {0}, list = {0};

	for (uint32_t i = 0; i < n; i++) {
		const isc_trace_switch *s = &switches[i];
		uint32_t place = task_place(tasks, &known, s);

		isc_varint_add(&times, isc_zigzag((int64_t)(s->time_ns - before)));
		before = s->time_ns;
		isc_varint_add(&places, place);
		if (place == TASKS_MAX) {
			isc_varint_add(&places, s->pid);
			isc_varint_add(&places, s->tid);
		}
	}
	for (uint32_t i = 0; i < known; i++) {
		isc_varint_add(&list, tasks[i].pid);
		isc_varint_add(&list, tasks[i].tid);
	}
	isc_buffer_clear(out);
	isc_varint_add(out, known);
	isc_varint_add(out, times.len);
	isc_varint_add(out, places.len);
	isc_buffer_add(out, list.data, list.len);
	for (uint32_t i = 0; i < n; i++)
		isc_buffer_add(out, &switches[i].kind, 1);
	isc_buffer_add(out, times.data, times.len);
	isc_buffer_add(out, places.data, places.len);
	for (uint32_t i = 0; i < n; i++)
		isc_varint_add(out, switches[i].cpu);
	out->failed |= times.failed || places.failed || list.failed;
	isc_buffer_fini(&times);
	isc_buffer_fini(&places);
	isc_buffer_fini(&list);
	return !out->failed;
}

static bool get_task(const uint8_t **at, const uint8_t *end, struct task *task)
{
	return isc_varint_get32(at, end, &task->pid) && isc_varint_get32(at, end, &task->tid);
}

int isc_switches_decode(isc_trace_switch **out, size_t *room, const uint8_t *raw, size_t len, uint32_t n, uint64_t time)
{
	const uint8_t *at = raw, *end = raw + len, *kinds, *times, *times_end, *places, *places_end;
	uint64_t known, times_len, places_len, step, place, cpu;
	struct task tasks[TASKS_MAX];

	if (n == 0 || n > len || !isc_varint_get_max(&at, end, TASKS_MAX, &known) ||
	    !isc_varint_get_max(&at, end, len, &times_len) || !isc_varint_get_max(&at, end, len, &places_len))
		return ISC_COLUMNS_BAD;
	for (uint64_t i = 0; i < known; i++) {
		if (!get_task(&at, end, &tasks[i]))
			return ISC_COLUMNS_BAD;
	}
	if ((uint64_t)(end - at) < n + times_len + places_len)
		return ISC_COLUMNS_BAD;
	if (n > *room) {
		isc_trace_switch *bigger = realloc(*out, n * sizeof(*bigger));

		if (bigger == NULL)
			return ISC_COLUMNS_NOMEM;
		*out = bigger;
		*room = n;
	}
	kinds = at;
	times = kinds + n;
	times_end = places = times + times_len;
	places_end = at = places + places_len;
	for (uint32_t i = 0; i < n; i++) {
		struct task task;

		if (!isc_varint_get(&times, times_end, &step) ||
		    !isc_varint_get_max(&places, places_end, TASKS_MAX, &place) ||
		    !isc_varint_get_max(&at, end, UINT16_MAX, &cpu))
			return ISC_COLUMNS_BAD;
		if (place < known)
			task = tasks[place];
		else if (place < TASKS_MAX || !get_task(&places, places_end, &task))
			return ISC_COLUMNS_BAD;
		time += (uint64_t)isc_unzigzag(step);
		(*out)[i] = (isc_trace_switch){
			.time_ns = time, .pid = task.pid, .tid = task.tid, .cpu = (uint16_t)cpu, .kind = kinds[i]};
	}
	return times == times_end && places == places_end && at == end ? ISC_COLUMNS_OK : ISC_COLUMNS_BAD;
}
