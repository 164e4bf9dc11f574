/*
 * entries.c - the things that records speak of, each with a number: names,
 * sources, processes, threads, devices.
 */
#include <stdlib.h>
#include <string.h>

#include "timeline/state.h"

uint32_t isc_timeline_name(isc_timeline *t, const char *at, size_t len)
{
	uint32_t name = isc_strings_put(&t->strings, at, len);

	t->starved |= name == 0;
	return name;
}

isc_text isc_timeline_text(const isc_timeline *t, uint32_t name)
{
	return isc_strings_get(&t->strings, name);
}

static uint32_t refuse(isc_timeline *t, bool full)
{
	t->overflow |= full;
	t->starved |= !full;
	return ISC_GPU_UNKNOWN;
}

static void *push(isc_timeline *t, isc_array *array, size_t size)
{
	return isc_arena_push(t->arena, &array->at, &array->count, &array->room, size);
}

uint32_t isc_timeline_source(isc_timeline *t, const char *label)
{
	isc_source_entry *s =
		t->sources.count < ISC_SOURCES_MOST ? push(t, &t->sources, sizeof(isc_source_entry)) : NULL;

	if (s == NULL)
		return refuse(t, t->sources.count >= ISC_SOURCES_MOST);
	s->label = isc_timeline_name(t, label, strlen(label));
	s->rank = ISC_GPU_UNKNOWN;
	return (uint32_t)t->sources.count - 1;
}

void isc_timeline_source_ranked(isc_timeline *t, uint32_t source, uint32_t rank)
{
	if (source < t->sources.count)
		isc_source_at(t, source)->rank = rank;
}

void isc_timeline_source_based(isc_timeline *t, uint32_t source, int64_t base_ns)
{
	if (source < t->sources.count)
		isc_source_at(t, source)->base_ns = isc_timeline_bounded(base_ns);
}

/* Ids of processes and threads may be any 64 bits, so two numbers do not fit a key: they are
 * mixed, and compared where they are kept. */
static uint64_t mix(uint64_t high, uint64_t low)
{
	uint64_t z = high * 0x9e3779b97f4a7c15ull ^ (low + 0x7f4a7c15ull);

	z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9ull;
	z = (z ^ z >> 27) * 0x94d049bb133111ebull;
	return z ^ z >> 31;
}

static uint32_t process_of(isc_timeline *t, uint32_t source, uint64_t pid)
{
	uint64_t key = mix(pid, source), *place;
	isc_facts_process *p;

	for (;; key = mix(key, 1)) {
		bool fresh = false;

		place = isc_hashmap_put(&t->process_of, key, &fresh);
		if (place == NULL)
			return refuse(t, false);
		if (fresh || *place == 0)
			break;
		p = isc_process_at(t, *place - 1);
		if (p->source == source && p->pid == pid)
			return (uint32_t)(*place - 1);
	}
	p = t->processes.count < ISC_THREADS_MOST ? push(t, &t->processes, sizeof(*p)) : NULL;
	if (p == NULL)
		return refuse(t, t->processes.count >= ISC_THREADS_MOST);
	*p = (isc_facts_process){.source = source, .pid = pid, .name = {"", 0}};
	*place = t->processes.count;
	return (uint32_t)t->processes.count - 1;
}

uint32_t isc_timeline_thread(isc_timeline *t, uint32_t source, uint64_t pid, uint64_t tid)
{
	uint32_t process = process_of(t, source, pid);
	uint64_t key = mix(tid, (uint64_t)process + 1), *place;
	isc_facts_thread *th;

	if (process == ISC_GPU_UNKNOWN)
		return process;
	for (;; key = mix(key, 1)) {
		bool fresh = false;

		place = isc_hashmap_put(&t->thread_of, key, &fresh);
		if (place == NULL)
			return refuse(t, false);
		if (fresh || *place == 0)
			break;
		th = isc_thread_at(t, *place - 1);
		if (th->process == process && th->tid == tid)
			return (uint32_t)(*place - 1);
	}
	th = t->threads.count < ISC_THREADS_MOST ? push(t, &t->threads, sizeof(*th)) : NULL;
	if (th == NULL)
		return refuse(t, t->threads.count >= ISC_THREADS_MOST);
	*th = (isc_facts_thread){.process = process, .tid = tid, .name = {"", 0}};
	*place = t->threads.count;
	return (uint32_t)t->threads.count - 1;
}

uint32_t isc_timeline_domain(isc_timeline *t, uint32_t source, uint64_t process)
{
	uint64_t *place = isc_hashmap_put(&t->domain_of, mix(process, (uint64_t)source + 7), NULL);

	if (place == NULL)
		return refuse(t, false);
	if (*place == 0)
		*place = ++t->domains;
	return (uint32_t)*place;
}

uint32_t isc_timeline_device(isc_timeline *t, uint32_t source, uint32_t number)
{
	uint64_t *place = isc_hashmap_put(&t->device_of, isc_hashmap_key(source, number), NULL);
	isc_device_entry *d;

	if (place == NULL)
		return refuse(t, false);
	if (*place != 0)
		return (uint32_t)(*place - 1);
	d = t->devices.count < ISC_DEVICES_MOST ? push(t, &t->devices, sizeof(*d)) : NULL;
	if (d == NULL)
		return refuse(t, t->devices.count >= ISC_DEVICES_MOST);
	d->source = source;
	d->number = number;
	*place = t->devices.count;
	return (uint32_t)t->devices.count - 1;
}

void isc_timeline_device_named(isc_timeline *t, uint32_t source, uint32_t number, uint32_t name)
{
	uint32_t device = isc_timeline_device(t, source, number);

	if (device != ISC_GPU_UNKNOWN)
		isc_device_at(t, device)->name = name;
}

void isc_timeline_device_synced(isc_timeline *t, uint32_t device, enum isc_clock_method method, int64_t error_ns)
{
	isc_device_entry *d;

	if (device >= t->devices.count)
		return;
	d = isc_device_at(t, device);
	/* Several processes may tell of one device: the worst counts. */
	if (!d->synced || error_ns > d->error_ns)
		d->error_ns = error_ns;
	if (!d->synced || method > d->method)
		d->method = method;
	d->synced = true;
}

void isc_timeline_process_named(isc_timeline *t, uint32_t source, uint64_t pid, uint32_t name)
{
	uint32_t process = process_of(t, source, pid);

	if (process != ISC_GPU_UNKNOWN)
		isc_process_at(t, process)->name = isc_timeline_text(t, name);
}

void isc_timeline_thread_named(isc_timeline *t, uint32_t thread, uint32_t name)
{
	if (thread < t->threads.count)
		isc_thread_at(t, thread)->name = isc_timeline_text(t, name);
}

/* What was found from a name before, + 1; NULL: no memory. */
static uint8_t *remembered(isc_timeline *t, uint32_t name, uint8_t **table, size_t *table_room)
{
	if (name >= *table_room) {
		size_t room = (size_t)name * 2 + 1024;
		uint8_t *larger = realloc(*table, room);

		if (larger == NULL) {
			t->arena->failed = true;
			return NULL;
		}
		memset(larger + *table_room, 0, room - *table_room);
		*table = larger;
		*table_room = room;
	}
	return *table + name;
}

enum isc_gpu_call isc_timeline_call_kind(isc_timeline *t, uint32_t name)
{
	uint8_t *kind = remembered(t, name, &t->call_kinds, &t->call_kinds_room);
	isc_text text = isc_timeline_text(t, name);

	if (kind == NULL)
		return ISC_CALL_OTHER;
	if (*kind == 0)
		*kind = (uint8_t)(isc_gpu_call_of(text.at, text.len) + 1);
	return (enum isc_gpu_call)(*kind - 1);
}

enum isc_gpu_class isc_timeline_class(isc_timeline *t, uint32_t name)
{
	uint8_t *class = remembered(t, name, &t->classes, &t->classes_room);
	isc_text text = isc_timeline_text(t, name);

	if (class == NULL)
		return ISC_CLASS_OTHER;
	if (*class == 0)
		*class = (uint8_t)(isc_gpu_class_of(text.at, text.len) + 1);
	return (enum isc_gpu_class)(*class - 1);
}
