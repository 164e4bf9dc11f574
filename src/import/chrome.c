/*
 * chrome.c - events of Chrome JSON: those of Kineto, old and new, and of any
 * other tool that writes the format.
 *
 * Times are microseconds, whole or with a fraction.  Categories are compared
 * without regard to case: older Kineto writes Kernel, Runtime and Operator where
 * newer writes kernel, cuda_runtime and cpu_op.
 */
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "import/reader.h"

#define US_TO_NS 3u

static const struct {
	const char *category;
	uint8_t len, what, kind; /* of work: enum isc_gpu_kind */
	bool kineto;
} categories[] = {
	{"cpu_op", 6, ISC_CHROME_OP, 0, true},
	{"python_function", 15, ISC_CHROME_PYTHON, 0, true},
	{"cuda_runtime", 12, ISC_CHROME_CALL, 0, true},
	{"kernel", 6, ISC_CHROME_WORK, ISC_GPU_KERNEL, true},
	{"cuda_driver", 11, ISC_CHROME_CALL, 0, true},
	{"gpu_memcpy", 10, ISC_CHROME_WORK, ISC_GPU_COPY, true},
	{"gpu_memset", 10, ISC_CHROME_WORK, ISC_GPU_MEMSET, true},
	{"user_annotation", 15, ISC_CHROME_SCOPE, 0, true},
	{"operator", 8, ISC_CHROME_OP, 0, true},
	{"runtime", 7, ISC_CHROME_CALL, 0, true},
	{"memcpy", 6, ISC_CHROME_WORK, ISC_GPU_COPY, true},
	{"memset", 6, ISC_CHROME_WORK, ISC_GPU_MEMSET, true},
	{"cuda_sync", 9, ISC_CHROME_WORK, ISC_GPU_SYNC, true},
	{"gpu_user_annotation", 19, ISC_CHROME_SKIPPED, 0,
	 true}, /* stretched over the work of a scope: no work of its own */
	{"privateuse1_runtime", 19, ISC_CHROME_CALL, 0, true},
	{"privateuse1_driver", 18, ISC_CHROME_CALL, 0, true},
	{"hip_runtime", 11, ISC_CHROME_CALL, 0, true},
	{"xpu_runtime", 11, ISC_CHROME_CALL, 0, true},
	{"xpu_driver", 10, ISC_CHROME_CALL, 0, true},
	{"mtia_runtime", 12, ISC_CHROME_CALL, 0, true},
	{"python function", 15, ISC_CHROME_PYTHON, 0, true},
	{"trace", 5, ISC_CHROME_SKIPPED, 0, true},
	{"overhead", 8, ISC_CHROME_SKIPPED, 0, true},
	{"python", 6, ISC_CHROME_PYTHON, 0, false}, /* our own */
	{"fee", 3, ISC_CHROME_PYTHON, 0, false},    /* VizTracer's */
	{"gpu_kernel", 10, ISC_CHROME_WORK, ISC_GPU_KERNEL, false},
	{"gpu_api", 7, ISC_CHROME_CALL, 0, false},
	{"gpu_sync", 8, ISC_CHROME_CALL, 0, false},
	{"h2d_copy", 8, ISC_CHROME_WORK, ISC_GPU_H2D, false},
	{"d2h_copy", 8, ISC_CHROME_WORK, ISC_GPU_D2H, false},
	{"d2d_copy", 8, ISC_CHROME_WORK, ISC_GPU_D2D, false},
	{"p2p_copy", 8, ISC_CHROME_WORK, ISC_GPU_P2P, false},
	{"sample", 6, ISC_CHROME_SAMPLE, 0, false},
};

static void take_text(yyjson_val *value, const char **at, size_t *len)
{
	*at = yyjson_is_str(value) ? yyjson_get_str(value) : "";
	*len = yyjson_is_str(value) ? yyjson_get_len(value) : 0;
}

static void take_field(isc_chrome_parts *e, const char *key, size_t len, yyjson_val *value)
{
	switch (len) {
	case 1:
		if (key[0] == 's' && yyjson_equals_str(value, "g"))
			e->everywhere = true;
		break;
	case 2:
		if (key[0] == 'p' && key[1] == 'h' && yyjson_is_str(value) && yyjson_get_len(value) == 1)
			e->phase = yyjson_get_str(value)[0];
		else if (key[0] == 't' && key[1] == 's')
			e->ts = value;
		else if (key[0] == 'i' && key[1] == 'd')
			e->id = value;
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

static enum isc_chrome_what what_is(const isc_reader *r, const isc_chrome_parts *e, enum isc_gpu_kind *kind)
{
	for (size_t i = 0; i < sizeof(categories) / sizeof(categories[0]); i++) {
		if (e->category_len == categories[i].len &&
		    strncasecmp(e->category, categories[i].category, e->category_len) == 0) {
			*kind = (enum isc_gpu_kind)categories[i].kind;
			r->file->kineto |= categories[i].kineto;
			return (enum isc_chrome_what)categories[i].what;
		}
	}
	return ISC_CHROME_OTHER;
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

static bool is_library(const char *at, size_t len)
{
	return at != NULL && (memmem(at, len, "torch/", 6) != NULL || memmem(at, len, "site-packages/", 14) != NULL);
}

/* "a.py(3): f;b.py(7): g": the newest comes first.  The first of the program's own, else the first. */
static uint32_t take_stack(isc_reader *r, yyjson_val *args)
{
	yyjson_val *value = args != NULL ? yyjson_obj_get(args, "Call stack") : NULL;
	const char *at = yyjson_get_str(value), *end, *best = NULL;
	size_t best_len = 0;

	if (at == NULL || yyjson_get_len(value) == 0)
		return 0;
	end = at + yyjson_get_len(value);
	while (at < end) {
		const char *stop = memchr(at, ';', (size_t)(end - at));
		size_t len = (size_t)((stop != NULL ? stop : end) - at);
		bool library = is_library(at, len);

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

static isc_status add_call(isc_reader *r, const isc_chrome_parts *e, uint32_t thread, int64_t start, int64_t end,
			   isc_error *err)
{
	isc_gpu_record record = {.start_ns = start,
				 .end_ns = end,
				 .device = ISC_GPU_UNKNOWN,
				 .context = ISC_GPU_UNKNOWN,
				 .domain = isc_chrome_domain(r, e->args),
				 .thread = thread,
				 .name = isc_reader_name(r, e->name),
				 .kind = ISC_GPU_API};

	isc_reader_count(yyjson_obj_get(e->args, "correlation"), &record.correlation);
	return isc_timeline_add(r->timeline, &record, err);
}

static isc_status add_span(isc_reader *r, const isc_chrome_parts *e, enum isc_chrome_what what, uint32_t thread,
			   int64_t start, int64_t end, isc_error *err)
{
	isc_host_span span = {.start_ns = start, .end_ns = end, .thread = thread};
	bool scope = what == ISC_CHROME_SCOPE || is_step(e->name);

	span.kind = scope ? ISC_HOST_SCOPE : what == ISC_CHROME_PYTHON ? ISC_HOST_PYTHON : ISC_HOST_OP;
	span.name = scope			? scope_name(r, e->name)
		    : what == ISC_CHROME_PYTHON ? isc_chrome_function(r, e)
						: isc_reader_name(r, e->name);
	if (what == ISC_CHROME_OP)
		span.stack = take_stack(r, e->args);
	return isc_timeline_span(r->timeline, &span, err);
}

static isc_status malformed(isc_reader *r)
{
	r->file->malformed++;
	return ISC_OK;
}

/* ph X: from ts on, for dur. */
static isc_status add_complete(isc_reader *r, const isc_chrome_parts *e, isc_error *err)
{
	enum isc_gpu_kind kind = ISC_GPU_KERNEL;
	enum isc_chrome_what what = what_is(r, e, &kind);
	int64_t start, length = 0;
	uint64_t pid = 0, tid = 0;

	if (what == ISC_CHROME_SKIPPED) {
		r->file->unused++;
		return ISC_OK;
	}
	if (!isc_reader_time(e->ts, US_TO_NS, &start) ||
	    (e->dur != NULL && !isc_reader_time(e->dur, US_TO_NS, &length)) || !yyjson_is_str(e->name))
		return malformed(r);
	isc_reader_id(e->pid, &pid);
	if (what == ISC_CHROME_WORK)
		return isc_chrome_work(r, kind, e->name, pid, start, start + length, e->args, err);
	isc_reader_id(e->tid, &tid);
	if (what == ISC_CHROME_CALL)
		return add_call(r, e, isc_reader_thread(r, pid, tid), start, start + length, err);
	return add_span(r, e, what, isc_reader_thread(r, pid, tid), start, start + length, err);
}

/* ph B and E: entered and left. */
static isc_status add_edge(isc_reader *r, const isc_chrome_parts *e, isc_error *err)
{
	enum isc_gpu_kind kind;
	enum isc_chrome_what what = what_is(r, e, &kind);
	isc_open_span span = {.kind = what == ISC_CHROME_SCOPE	  ? ISC_HOST_SCOPE
				      : what == ISC_CHROME_PYTHON ? ISC_HOST_PYTHON
								  : ISC_HOST_OP};
	uint64_t pid = 0, tid = 0;

	if (!isc_reader_time(e->ts, US_TO_NS, &span.start_ns) || (e->phase == 'B' && !yyjson_is_str(e->name)))
		return malformed(r);
	isc_reader_id(e->pid, &pid);
	isc_reader_id(e->tid, &tid);
	span.thread = isc_reader_thread(r, pid, tid);
	/* Its end may come without its place. */
	span.name = isc_reader_name(r, e->name);
	if (what == ISC_CHROME_PYTHON && e->phase == 'B')
		span.function = isc_chrome_function(r, e);
	if (e->phase == 'B')
		return isc_reader_enter(r, span.thread, &span, err);
	return isc_reader_leave(r, span.thread, span.name, span.start_ns, err);
}

/* Where and when; a counter is often of a process, whose first thread it then is. */
static bool take_moment(isc_reader *r, const isc_chrome_parts *e, isc_host_moment *m)
{
	uint64_t pid = 0, tid;

	*m = (isc_host_moment){.counter = e->phase == 'C', .apart = e->everywhere};
	if (!isc_reader_time(e->ts, US_TO_NS, &m->at_ns))
		return false;
	isc_reader_id(e->pid, &pid);
	if (!isc_reader_id(e->tid, &tid))
		tid = pid;
	m->thread = isc_reader_thread(r, pid, tid);
	return true;
}

static isc_status add_counter(isc_reader *r, const isc_chrome_parts *e, isc_error *err)
{
	yyjson_val *key, *value;
	isc_host_moment m;
	isc_status st = ISC_OK;
	size_t at, n;

	if (!yyjson_is_str(e->name) || !take_moment(r, e, &m))
		return malformed(r);
	yyjson_obj_foreach(e->args, at, n, key, value)
	{
		const char *text = yyjson_is_raw(value) ? yyjson_get_raw(value) : NULL;
		/* The only value of a counter is the counter. */
		bool only = n == 1 && yyjson_equals_str(key, "value");

		if (text == NULL || st != ISC_OK)
			continue;
		/* The parser has seen to it that this is a number and ends. */
		m.name = only ? isc_reader_name(r, e->name) : isc_reader_joined(r, e->name, ".", key);
		m.value = strtod(text, NULL);
		st = isc_timeline_moment(r->timeline, &m, err);
	}
	return st;
}

/* ph M: names of processes and threads. */
static isc_status add_name(isc_reader *r, const isc_chrome_parts *e)
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

static isc_status add_instant(isc_reader *r, const isc_chrome_parts *e, isc_error *err)
{
	isc_host_moment m;
	enum isc_gpu_kind kind;

	if (!yyjson_is_str(e->name))
		return malformed(r);
	if (what_is(r, e, &kind) == ISC_CHROME_SAMPLE)
		return isc_chrome_sample(r, e, err);
	if (!take_moment(r, e, &m))
		return malformed(r);
	m.name = isc_reader_name(r, e->name);
	return isc_timeline_moment(r->timeline, &m, err);
}

isc_status isc_chrome_event(isc_reader *r, yyjson_val *event, isc_error *err)
{
	isc_chrome_parts e = {.category = ""};
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
		return add_instant(r, &e, err);
	case 0:
		return malformed(r);
	case 'b':
	case 'e':
	case 'n':
	case 'S':
	case 'F':
		return isc_chrome_async(r, &e, err);
	case 's':
	case 't':
	case 'f':
		return isc_chrome_arrow(r, &e, err);
	default:
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
