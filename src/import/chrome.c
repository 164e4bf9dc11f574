/*
 * chrome.c - events of Chrome JSON: those of Kineto, old and new, and of any
 * other tool that writes the format.
 *
 * Times are microseconds, whole or with a fraction.  Categories are compared
 * without regard to case: older Kineto writes Kernel, Runtime and Operator where
 * newer writes kernel, cuda_runtime and cpu_op.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "import/reader.h"

#define US_TO_NS 3u

enum what { OTHER, KERNEL, COPY, SET, SYNC, CALL, OP, SCOPE, PYTHON, SKIPPED };

static const struct {
	const char *category;
	uint8_t len, what;
} categories[] = {
	{"cpu_op", 6, OP},
	{"python_function", 15, PYTHON},
	{"cuda_runtime", 12, CALL},
	{"kernel", 6, KERNEL},
	{"cuda_driver", 11, CALL},
	{"gpu_memcpy", 10, COPY},
	{"gpu_memset", 10, SET},
	{"user_annotation", 15, SCOPE},
	{"operator", 8, OP},
	{"runtime", 7, CALL},
	{"memcpy", 6, COPY},
	{"memset", 6, SET},
	{"cuda_sync", 9, SYNC},
	{"gpu_user_annotation", 19, SKIPPED}, /* stretched over the work of a scope: no work of its own */
	{"privateuse1_runtime", 19, CALL},
	{"privateuse1_driver", 18, CALL},
	{"hip_runtime", 11, CALL},
	{"xpu_runtime", 11, CALL},
	{"xpu_driver", 10, CALL},
	{"mtia_runtime", 12, CALL},
	{"python function", 15, PYTHON},
	{"trace", 5, SKIPPED},
	{"overhead", 8, SKIPPED},
	{"ac2g", 4, SKIPPED},
};

struct event {
	char phase;
	const char *category;
	size_t category_len;
	yyjson_val *name, *pid, *tid, *ts, *dur, *args;
};

static void take_text(yyjson_val *value, const char **at, size_t *len)
{
	*at = yyjson_is_str(value) ? yyjson_get_str(value) : "";
	*len = yyjson_is_str(value) ? yyjson_get_len(value) : 0;
}

static void take_field(struct event *e, const char *key, size_t len, yyjson_val *value)
{
	switch (len) {
	case 2:
		if (key[0] == 'p' && key[1] == 'h' && yyjson_is_str(value) && yyjson_get_len(value) == 1)
			e->phase = yyjson_get_str(value)[0];
		else if (key[0] == 't' && key[1] == 's')
			e->ts = value;
		break;
	case 3:
		if (memcmp(key, "cat", 3) == 0)
			take_text(value, &e->category, &e->category_len);
		else if (memcmp(key, "pid", 3) == 0)
			e->pid = value;
		else if (memcmp(key, "tid", 3) == 0)
			e->tid = value;
		else if (memcmp(key, "dur", 3) == 0)
			e->dur = value;
		break;
	case 4:
		if (memcmp(key, "name", 4) == 0)
			e->name = value;
		else if (memcmp(key, "args", 4) == 0 && yyjson_is_obj(value))
			e->args = value;
		break;
	default:
		break;
	}
}

static enum what what_is(const struct event *e)
{
	for (size_t i = 0; i < sizeof(categories) / sizeof(categories[0]); i++) {
		if (e->category_len == categories[i].len &&
		    strncasecmp(e->category, categories[i].category, e->category_len) == 0)
			return (enum what)categories[i].what;
	}
	return OTHER;
}

/* Every step of a profiler has its own number; as a scope they are one. */
static uint32_t scope_name(isc_reader *r, yyjson_val *name)
{
	static const char step[] = "ProfilerStep#";

	if (yyjson_is_str(name) && yyjson_get_len(name) > sizeof(step) - 1 &&
	    memcmp(yyjson_get_str(name), step, sizeof(step) - 1) == 0)
		return isc_timeline_name(r->timeline, step, sizeof(step) - 2);
	return isc_reader_name(r, name);
}

static bool is_step(yyjson_val *name)
{
	return yyjson_is_str(name) && strncmp(yyjson_get_str(name), "ProfilerStep#", 13) == 0;
}

/* "a.py(3): f;b.py(7): g": the newest comes first.  The first of the program's own, else the first. */
static uint32_t take_stack(isc_reader *r, yyjson_val *args)
{
	yyjson_val *value = args != NULL ? yyjson_obj_get(args, "Call stack") : NULL;
	const char *at, *end, *best = NULL;
	size_t best_len = 0;

	if (!yyjson_is_str(value) || yyjson_get_len(value) == 0)
		return 0;
	at = yyjson_get_str(value);
	end = at + yyjson_get_len(value);
	while (at < end) {
		const char *stop = memchr(at, ';', (size_t)(end - at));
		size_t len = (size_t)((stop != NULL ? stop : end) - at);
		bool library = memmem(at, len, "torch/", 6) != NULL || memmem(at, len, "site-packages/", 14) != NULL;

		if (best == NULL || !library) {
			best = at;
			best_len = len;
		}
		if (!library)
			break;
		at += len + 1;
	}
	return isc_timeline_name(r->timeline, best, best_len);
}

static isc_status add_call(isc_reader *r, const struct event *e, uint32_t thread, int64_t start, int64_t end,
			   isc_error *err)
{
	isc_gpu_record record = {.start_ns = start,
				 .end_ns = end,
				 .device = ISC_GPU_UNKNOWN,
				 .context = ISC_GPU_UNKNOWN,
				 .domain = r->domain,
				 .thread = thread,
				 .name = isc_reader_name(r, e->name),
				 .kind = ISC_GPU_API};

	isc_reader_count(yyjson_obj_get(e->args, "correlation"), &record.correlation);
	r->file->kineto = true;
	return isc_timeline_add(r->timeline, &record, err);
}

static isc_status add_span(isc_reader *r, const struct event *e, enum what what, uint32_t thread, int64_t start,
			   int64_t end, isc_error *err)
{
	isc_host_span span = {.start_ns = start, .end_ns = end, .thread = thread};
	bool scope = what == SCOPE || is_step(e->name);

	span.kind = scope ? ISC_HOST_SCOPE : what == PYTHON ? ISC_HOST_PYTHON : ISC_HOST_OP;
	span.name = scope ? scope_name(r, e->name) : isc_reader_name(r, e->name);
	if (what == OP)
		span.stack = take_stack(r, e->args);
	r->file->kineto |= what != OTHER;
	return isc_timeline_span(r->timeline, &span, err);
}

static isc_status malformed(isc_reader *r)
{
	r->file->malformed++;
	return ISC_OK;
}

/* ph X: from ts on, for dur. */
static isc_status add_complete(isc_reader *r, const struct event *e, isc_error *err)
{
	static const enum isc_gpu_kind kinds[] = {
		[KERNEL] = ISC_GPU_KERNEL, [COPY] = ISC_GPU_COPY, [SET] = ISC_GPU_MEMSET, [SYNC] = ISC_GPU_SYNC};
	enum what what = what_is(e);
	int64_t start, length = 0;
	uint64_t pid = 0, tid = 0;

	if (what == SKIPPED) {
		r->file->unused++;
		return ISC_OK;
	}
	if (!isc_reader_time(e->ts, US_TO_NS, &start) ||
	    (e->dur != NULL && !isc_reader_time(e->dur, US_TO_NS, &length)) || !yyjson_is_str(e->name))
		return malformed(r);
	isc_reader_id(e->pid, &pid);
	if (what >= KERNEL && what <= SYNC)
		return isc_chrome_work(r, kinds[what], e->name, pid, start, start + length, e->args, err);
	isc_reader_id(e->tid, &tid);
	if (what == CALL)
		return add_call(r, e, isc_reader_thread(r, pid, tid), start, start + length, err);
	return add_span(r, e, what, isc_reader_thread(r, pid, tid), start, start + length, err);
}

/* ph B and E: entered and left. */
static isc_status add_edge(isc_reader *r, const struct event *e, isc_error *err)
{
	isc_open_span span = {.kind = what_is(e) == SCOPE ? ISC_HOST_SCOPE : ISC_HOST_OP};
	uint64_t pid = 0, tid = 0;

	if (!isc_reader_time(e->ts, US_TO_NS, &span.start_ns) || (e->phase == 'B' && !yyjson_is_str(e->name)))
		return malformed(r);
	isc_reader_id(e->pid, &pid);
	isc_reader_id(e->tid, &tid);
	span.thread = isc_reader_thread(r, pid, tid);
	span.name = isc_reader_name(r, e->name);
	if (e->phase == 'B')
		return isc_reader_enter(r, &span, err);
	return isc_reader_leave(r, span.thread, span.name, span.start_ns, err);
}

static isc_status add_counter(isc_reader *r, const struct event *e, isc_error *err)
{
	yyjson_val *key, *value;
	isc_status st = ISC_OK;
	size_t at, n;

	if (!yyjson_is_str(e->name))
		return malformed(r);
	yyjson_obj_foreach(e->args, at, n, key, value)
	{
		const char *text = yyjson_is_raw(value) ? yyjson_get_raw(value) : NULL;
		char name[512];
		int len = snprintf(name, sizeof(name), "%.200s.%.200s", yyjson_get_str(e->name), yyjson_get_str(key));

		if (text == NULL || st != ISC_OK || len < 0)
			continue;
		/* The parser has seen to it that this is a number and ends. */
		st = isc_timeline_counter(r->timeline,
					  isc_timeline_name(r->timeline, name, strnlen(name, sizeof(name))),
					  strtod(text, NULL), err);
	}
	return st;
}

/* ph M: names of processes and threads. */
static isc_status add_name(isc_reader *r, const struct event *e)
{
	yyjson_val *text = e->args != NULL ? yyjson_obj_get(e->args, "name") : NULL;
	uint64_t pid = 0, tid = 0;

	if (!yyjson_is_str(text) || !yyjson_is_str(e->name) || !isc_reader_id(e->pid, &pid))
		return ISC_OK;
	if (yyjson_equals_str(e->name, "process_name"))
		isc_timeline_process_named(r->timeline, r->source, pid, isc_reader_name(r, text));
	else if (yyjson_equals_str(e->name, "thread_name") && isc_reader_id(e->tid, &tid))
		isc_timeline_thread_named(r->timeline, isc_reader_thread(r, pid, tid), isc_reader_name(r, text));
	return ISC_OK;
}

isc_status isc_chrome_event(isc_reader *r, yyjson_val *event, isc_error *err)
{
	struct event e = {.category = ""};
	yyjson_val *key, *value;
	size_t at, n;

	yyjson_obj_foreach(event, at, n, key, value)
	{
		take_field(&e, yyjson_get_str(key), yyjson_get_len(key), value);
	}
	r->file->chrome = true;
	switch (e.phase) {
	case 'X':
		return add_complete(r, &e, err);
	case 'B':
	case 'E':
		return add_edge(r, &e, err);
	case 'C':
		return add_counter(r, &e, err);
	case 'M':
		return add_name(r, &e);
	case 'i':
	case 'I':
	case 'R':
		return yyjson_is_str(e.name) ? isc_timeline_mark(r->timeline, isc_reader_name(r, e.name), err)
					     : malformed(r);
	case 0:
		return malformed(r);
	default: /* flows say again what correlations say */
		r->file->unused++;
		return ISC_OK;
	}
}

/* ---- members beside the events ---- */

static void take_devices(isc_reader *r, yyjson_val *list)
{
	yyjson_val *device;
	size_t at, n;

	yyjson_arr_foreach(list, at, n, device)
	{
		uint64_t number;
		yyjson_val *name = yyjson_obj_get(device, "name");

		if (isc_reader_count(yyjson_obj_get(device, "id"), &number) && number < 4096 && yyjson_is_str(name))
			isc_timeline_device_named(r->timeline, r->source, (uint32_t)number, isc_reader_name(r, name));
	}
}

isc_status isc_chrome_member(isc_reader *r, const char *key, yyjson_val *value, isc_error *err)
{
	int64_t base;
	uint64_t rank;

	(void)err;
	if (strcmp(key, "deviceProperties") == 0 && yyjson_is_arr(value))
		take_devices(r, value);
	else if (strcmp(key, "distributedInfo") == 0 && isc_reader_count(yyjson_obj_get(value, "rank"), &rank) &&
		 rank < ISC_GPU_UNKNOWN)
		isc_timeline_source_ranked(r->timeline, r->source, (uint32_t)rank);
	else if (strcmp(key, "baseTimeNanoseconds") == 0 && isc_reader_time(value, 0, &base) && base >= 0 &&
		 base < INT64_MAX / 4)
		isc_timeline_source_based(r->timeline, r->source, base);
	return ISC_OK;
}
