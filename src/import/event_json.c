/*
 * event_json.c - our own event dictionaries, as Python's classes give them: a
 * list of objects with an event_type each.
 */
#include <stdlib.h>
#include <string.h>

#include "import/reader.h"
#include "trace/kinds.h"

#define FRAMES_MOST 512u

enum what { SKIPPED, WORK, CALL, SPAN, ENTER, EXIT, MARK, COUNTER, SAMPLE };

static const struct {
	uint8_t what, kind;
} types[ISC_EVENT_TYPE_COUNT] = {
	[ISC_EVENT_GPU_KERNEL] = {WORK, ISC_GPU_KERNEL},
	[ISC_EVENT_H2D_COPY] = {WORK, ISC_GPU_H2D},
	[ISC_EVENT_D2H_COPY] = {WORK, ISC_GPU_D2H},
	[ISC_EVENT_D2D_COPY] = {WORK, ISC_GPU_D2D},
	[ISC_EVENT_P2P_COPY] = {WORK, ISC_GPU_P2P},
	[ISC_EVENT_MEMSET] = {WORK, ISC_GPU_MEMSET},
	[ISC_EVENT_GPU_SYNC] = {CALL, ISC_GPU_API},
	[ISC_EVENT_GPU_API] = {CALL, ISC_GPU_API},
	[ISC_EVENT_CPU_CALL] = {SPAN, ISC_HOST_PYTHON},
	[ISC_EVENT_CPU_SYSCALL] = {SPAN, ISC_HOST_OP},
	[ISC_EVENT_GC_PAUSE] = {SPAN, ISC_HOST_OP},
	[ISC_EVENT_GIL_WAIT] = {SPAN, ISC_HOST_OP},
	[ISC_EVENT_LOCK_WAIT] = {SPAN, ISC_HOST_OP},
	[ISC_EVENT_SCOPE_ENTER] = {ENTER, ISC_HOST_SCOPE},
	[ISC_EVENT_SCOPE_EXIT] = {EXIT, ISC_HOST_SCOPE},
	[ISC_EVENT_INSTANT] = {MARK, 0},
	[ISC_EVENT_COUNTER] = {COUNTER, 0},
	[ISC_EVENT_CPU_SAMPLE] = {SAMPLE, 0},
};

/* ISC_EVENT_NONE: nobody of ours writes such a type. */
static enum isc_event_type type_of(yyjson_val *name)
{
	for (int type = ISC_EVENT_NONE + 1; type < ISC_EVENT_TYPE_COUNT; type++) {
		if (yyjson_equals_str(name, isc_event_type_name((enum isc_event_type)type)))
			return (enum isc_event_type)type;
	}
	return ISC_EVENT_NONE;
}

static yyjson_val *get(yyjson_val *event, const char *key)
{
	return yyjson_obj_get(event, key);
}

/* Exact nanoseconds, else whole microseconds. */
static bool time_of(yyjson_val *event, const char *ns, const char *us, int64_t *out)
{
	return isc_reader_time(get(event, ns), 0, out) || isc_reader_time(get(event, us), 3, out);
}

static uint32_t number_of(yyjson_val *value)
{
	uint64_t n;

	return isc_reader_count(value, &n) && n < ISC_GPU_UNKNOWN ? (uint32_t)n : ISC_GPU_UNKNOWN;
}

/* Dictionaries without a process are all of one. */
static uint32_t thread_of(isc_reader *r, yyjson_val *event)
{
	uint64_t pid = 0, tid = 0;

	isc_reader_id(get(event, "process_id"), &pid);
	isc_reader_id(get(event, "thread_id"), &tid);
	return isc_reader_thread(r, pid, tid);
}

/* As Kineto writes a Python frame, when file and line are there. */
static uint32_t name_of(isc_reader *r, yyjson_val *event)
{
	yyjson_val *name = get(event, "name"), *file = get(event, "file");
	uint64_t line;

	if (!yyjson_is_str(file) || !isc_reader_count(get(event, "line"), &line))
		return isc_reader_name(r, name);
	return isc_reader_placed(r, yyjson_get_str(file), yyjson_get_len(file), line, yyjson_get_str(name),
				 yyjson_get_len(name));
}

static void take_sides(yyjson_val *list, uint32_t sides[3])
{
	for (size_t i = 0; yyjson_is_arr(list) && i < 3; i++)
		sides[i] = number_of(yyjson_arr_get(list, i));
}

static enum isc_gpu_memory memory_of(yyjson_val *event)
{
	yyjson_val *pageable = get(event, "pageable");

	if (yyjson_is_bool(pageable))
		return yyjson_is_true(pageable) ? ISC_MEMORY_PAGEABLE : ISC_MEMORY_PINNED;
	if (yyjson_equals_str(get(event, "memory"), "pageable"))
		return ISC_MEMORY_PAGEABLE;
	return yyjson_equals_str(get(event, "memory"), "pinned") ? ISC_MEMORY_PINNED : ISC_MEMORY_UNKNOWN;
}

static isc_status add_record(isc_reader *r, yyjson_val *event, enum isc_gpu_kind kind, int64_t start, int64_t end,
			     isc_error *err)
{
	isc_gpu_record record = {.start_ns = start,
				 .end_ns = end,
				 .device = ISC_GPU_UNKNOWN,
				 .context = number_of(get(event, "context")),
				 .thread = ISC_GPU_UNKNOWN,
				 .name = isc_reader_name(r, get(event, "name")),
				 .kind = (uint8_t)kind,
				 .memory = (uint8_t)memory_of(event)};
	uint64_t pid = 0;
	uint32_t device = number_of(get(event, "device_id"));

	isc_reader_id(get(event, "process_id"), &pid);
	record.domain = isc_timeline_domain(r->timeline, r->source, pid);
	isc_reader_count(get(event, "correlation"), &record.correlation);
	isc_reader_count(get(event, "bytes"), &record.bytes);
	isc_reader_id(get(event, "stream"), &record.stream);
	take_sides(get(event, "grid_dim"), record.grid);
	take_sides(get(event, "block_dim"), record.block);
	if (kind == ISC_GPU_API)
		record.thread = thread_of(r, event);
	else
		record.device = isc_timeline_device(r->timeline, r->source, device != ISC_GPU_UNKNOWN ? device : 0);
	return isc_timeline_add(r->timeline, &record, err);
}

static isc_status add_counter(isc_reader *r, yyjson_val *event, isc_host_moment *m, isc_error *err)
{
	yyjson_val *value = get(get(event, "metadata"), "value");

	value = value != NULL ? value : get(event, "value");
	if (!yyjson_is_raw(value)) {
		r->file->malformed++;
		return ISC_OK;
	}
	m->counter = true;
	m->value = strtod(yyjson_get_raw(value), NULL);
	return isc_timeline_moment(r->timeline, m, err);
}

/* A function by where it begins: lines of it are no functions of their own. */
static uint32_t frame_of(isc_reader *r, yyjson_val *frame)
{
	yyjson_val *name = get(frame, "name"), *file = get(frame, "file");
	uint64_t line = 0;

	if (!yyjson_is_str(name))
		return isc_timeline_name(r->timeline, "?", 1);
	if (!yyjson_is_str(file) || yyjson_equals_str(get(frame, "kind"), "native"))
		return isc_reader_name(r, name);
	isc_reader_count(get(frame, "first_line"), &line);
	return isc_reader_placed(r, yyjson_get_str(file), yyjson_get_len(file), line, yyjson_get_str(name),
				 yyjson_get_len(name));
}

static isc_status add_sample(isc_reader *r, yyjson_val *event, isc_error *err)
{
	yyjson_val *stack = get(event, "stack"), *frame;
	uint32_t names[FRAMES_MOST];
	size_t at, n, count = 0;
	int64_t ns = 0;

	if (!isc_reader_time(get(get(event, "metadata"), "cpu_ns"), 0, &ns))
		r->file->no_unit = true;
	yyjson_arr_foreach(stack, at, n, frame)
	{
		if (count < FRAMES_MOST)
			names[count++] = frame_of(r, frame);
	}
	return isc_reader_stack(r, names, count, 1, ns, err);
}

static isc_status add_edge(isc_reader *r, yyjson_val *event, enum what what, int64_t at, isc_error *err)
{
	isc_open_span span = {.start_ns = at,
			      .thread = thread_of(r, event),
			      .name = isc_reader_name(r, get(event, "name")),
			      .kind = ISC_HOST_SCOPE};

	uint64_t instance, key = span.thread;

	/* It may end on another thread than it began on. */
	if (isc_reader_count(get(get(event, "metadata"), "instance"), &instance))
		key = ISC_READER_APART | instance;
	if (what == ENTER)
		return isc_reader_enter(r, key, &span, err);
	return isc_reader_leave(r, key, span.name, at, err);
}

isc_status isc_event_dictionary(isc_reader *r, yyjson_val *event, isc_error *err)
{
	enum isc_event_type type = type_of(get(event, "event_type"));
	enum what what = (enum what)types[type].what;
	isc_host_moment moment;
	isc_host_span span = {0};
	int64_t start = 0, end = 0;
	uint8_t kind = types[type].kind;

	r->file->dictionaries = true;
	if (what == SKIPPED) {
		r->file->unused++;
		return ISC_OK;
	}
	if (!yyjson_is_str(get(event, "name")) || !time_of(event, "start_ns", "start_us", &start)) {
		r->file->malformed++;
		return ISC_OK;
	}
	if (!time_of(event, "end_ns", "end_us", &end))
		end = start;
	switch (what) {
	case WORK:
	case CALL:
		return add_record(r, event, (enum isc_gpu_kind)kind, start, end, err);
	case ENTER:
	case EXIT:
		return add_edge(r, event, what, start, err);
	case MARK:
	case COUNTER:
		moment = (isc_host_moment){
			.at_ns = start, .thread = thread_of(r, event), .name = isc_reader_name(r, get(event, "name"))};
		return what == MARK ? isc_timeline_moment(r->timeline, &moment, err)
				    : add_counter(r, event, &moment, err);
	case SAMPLE:
		return add_sample(r, event, err);
	default:
		span.start_ns = start;
		span.end_ns = end;
		span.thread = thread_of(r, event);
		span.kind = kind;
		span.name = kind == ISC_HOST_PYTHON ? name_of(r, event) : isc_reader_name(r, get(event, "name"));
		return isc_timeline_span(r->timeline, &span, err);
	}
}
