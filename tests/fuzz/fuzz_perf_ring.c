/*
 * Any bytes as a perf ring: every record stays inside it, and the processes that
 * come of the records make a list without loops.
 *
 * Input: two bytes where the ring is read from, then its bytes.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "session/follow/follow.h"
#include "session/machine/perf_ring.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define RING 1024u
#define IMAGES 256u

typedef struct run {
	isc_follow *follow;
	size_t records;
	uint32_t parent[IMAGES];
} run;

static void must(bool holds)
{
	if (!holds)
		abort();
}

static isc_status on_process(void *self, const isc_trace_process *p, isc_error *err)
{
	run *r = self;

	(void)err;
	must(p->process > 0);
	must(!(p->flags & ISC_PROCESS_ENDED) || p->end_ns >= p->start_ns);
	if (p->process < IMAGES)
		r->parent[p->process] = p->parent;
	return ISC_OK;
}

static isc_status on_thread(void *self, const isc_trace_thread *t, isc_error *err)
{
	(void)self;
	(void)err;
	must(t->thread > 0 && t->process > 0 && t->name[15] == 0);
	return ISC_OK;
}

static void on_record(void *self, const isc_perf_record *record)
{
	run *r = self;

	r->records++;
	must(record->kind >= ISC_PERF_SWITCH_IN && record->kind <= ISC_PERF_FAULT);
	if (record->kind == ISC_PERF_FORK)
		isc_follow_forked(r->follow, record->pid, record->tid, record->other, record->time_ns);
	else if (record->kind == ISC_PERF_EXIT)
		isc_follow_exited(r->follow, record->pid, record->tid, record->time_ns);
	else if (record->kind == ISC_PERF_COMM || record->kind == ISC_PERF_EXEC) {
		must(memchr(record->name, 0, sizeof(record->name)) != NULL);
		if (record->kind == ISC_PERF_EXEC)
			isc_follow_execed(r->follow, record->pid, record->name, record->time_ns);
		else
			isc_follow_named(r->follow, record->pid, record->tid, record->name);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	run r = {.records = 0};
	isc_follow_options options = {
		.sink = {.self = &r, .process = on_process, .thread = on_thread}, .root = 100, .blind = true};
	isc_perf_ring_stats stats = {0};
	isc_follow_stats found;
	isc_error err;
	uint8_t *ring;
	uint64_t tail;

	if (size < 2)
		return 0;
	tail = (uint64_t)data[0] * 8 + (data[1] & 7 ? 0 : data[1] >> 3);
	size = size - 2 < RING ? size - 2 : RING + (data[1] & 7); /* sometimes more than there is */
	ring = calloc(1, RING);					  /* of its own, so that a step outside is seen */
	must(ring != NULL && isc_follow_open(&options, &r.follow, &err) == ISC_OK);
	for (size_t i = 0; i < size && i < RING; i++)
		ring[(tail + i) % RING] = data[2 + i];
	must(isc_perf_ring_read(ring, RING, tail, tail + size, on_record, &r, &stats) == tail + size);
	must(stats.records == r.records && stats.damaged <= 1 && r.records <= RING / 32);
	isc_follow_poll(r.follow, 1);
	isc_follow_stats_get(r.follow, &found);
	must(found.processes >= 1 && found.processes <= 2 * r.records + 1);
	for (uint32_t i = 1; i < IMAGES; i++) {
		uint32_t steps = 0;

		for (uint32_t p = i; p != 0 && p < IMAGES; p = r.parent[p])
			must(steps++ < IMAGES);
	}
	isc_follow_free(r.follow);
	free(ring);
	return 0;
}
