/*
 * events.c - event dictionaries as a JSON list: what TraceBuffer.read_all() gives,
 * one on each line, calls when they end and everything else when it happens.
 */
#include <stdlib.h>
#include <string.h>

#include "export/json_text.h"
#include "export/format.h"

typedef struct events {
	isc_sink sink;
	bool first;
} events;

static isc_sink *begin(isc_trace *trace, isc_export_out *out)
{
	events *e = calloc(1, sizeof(*e));

	if (e == NULL)
		return NULL;
	e->sink = (isc_sink){.listener = {.trace = trace}, .out = out};
	e->sink.listener.start_ns = trace != NULL ? isc_trace_header(trace)->start_ns : 0;
	e->first = true;
	isc_buffer_text(&out->text, "[");
	return &e->sink;
}

static void add_text(isc_buffer *out, const char *key, const isc_text *text)
{
	isc_buffer_text(out, key);
	if (text->len > 0)
		isc_json_string(out, text->at, text->len);
	else
		isc_buffer_text(out, "null");
}

static void add_count(isc_buffer *out, const char *key, uint64_t n)
{
	isc_buffer_text(out, key);
	isc_json_number(out, n);
}

/* What all of them have; the object stays open.  Moments are those of CLOCK_MONOTONIC. */
static isc_buffer *head(events *e, enum isc_event_type type, const isc_text *name, uint64_t start_ns, uint64_t end_ns,
			const isc_listener_thread *on, uint16_t cpu, uint32_t task)
{
	isc_buffer *out = &e->sink.out->text;
	isc_text task_name = {0};
	char made[ISC_TASK_TEXT];

	isc_buffer_text(out, e->first ? "\n{\"event_type\":\"" : ",\n{\"event_type\":\"");
	e->first = false;
	start_ns += e->sink.listener.start_ns;
	end_ns += e->sink.listener.start_ns;
	isc_buffer_text(out, isc_event_type_name(type));
	isc_buffer_text(out, "\",\"name\":");
	isc_json_string(out, name->at, name->len);
	add_count(out, ",\"start_us\":", start_ns / 1000);
	add_count(out, ",\"end_us\":", end_ns / 1000);
	add_count(out, ",\"start_ns\":", start_ns);
	add_count(out, ",\"end_ns\":", end_ns);
	add_count(out, ",\"thread_id\":", on->tid);
	add_count(out, ",\"process_id\":", on->pid);
	if (cpu != UINT16_MAX)
		add_count(out, ",\"cpu_id\":", cpu);
	else
		isc_buffer_text(out, ",\"cpu_id\":null");
	if (task != 0)
		task_name = isc_trace_task(e->sink.listener.trace, on->process, task, made);
	add_text(out, ",\"task\":", &task_name);
	return out;
}

static void add_place(isc_buffer *out, const isc_text *file, uint32_t line)
{
	add_text(out, ",\"file\":", file);
	if (line != 0)
		add_count(out, ",\"line\":", line);
	else
		isc_buffer_text(out, ",\"line\":null");
}

/* The object ends with it. */
static void add_metadata(isc_buffer *out, const isc_slice *s)
{
	static const struct {
		uint8_t flag;
		const char *word;
	} words[] = {{ISC_SLICE_RESUMED, "resumed"},	   {ISC_SLICE_THROWN, "thrown"},
		     {ISC_SLICE_YIELDED, "yielded"},	   {ISC_SLICE_RAISED, "raised"},
		     {ISC_SLICE_UNFINISHED, "unfinished"}, {ISC_SLICE_CUT, "cut"}};
	const char *before = ",\"metadata\":{";

	for (size_t i = 0; s->flags != 0 && i < sizeof(words) / sizeof(words[0]); i++) {
		if (s->flags & words[i].flag) {
			isc_buffer_format(out, "%s\"%s\":true", before, words[i].word);
			before = ",";
		}
	}
	if (s->kind == ISC_SLICE_C_CALL || s->kind == ISC_SLICE_GC || s->holder != 0) {
		isc_buffer_text(out, before);
		before = ",";
	}
	if (s->kind == ISC_SLICE_C_CALL)
		isc_buffer_text(out, "\"native\":true");
	else if (s->kind == ISC_SLICE_GC)
		isc_buffer_format(out, "\"generation\":%u", s->id);
	else if (s->holder != 0)
		isc_buffer_format(out, "\"holder\":%u", s->holder);
	isc_buffer_text(out, before[1] == 0 ? "}}" : ",\"metadata\":null}");
}

static const char *kind_of(const isc_frame *frame)
{
	return frame->kind == ISC_FRAME_PYTHON ? "\"python\"" : frame->kind == ISC_FRAME_NATIVE ? "\"native\"" : "null";
}

static void add_frame(isc_buffer *out, const isc_frame *frame, uint32_t line, bool more)
{
	isc_buffer_format(out, "{\"kind\":%s", kind_of(frame));
	add_text(out, ",\"name\":", &frame->name);
	add_place(out, &frame->file, line);
	if (frame->first_line != 0)
		add_count(out, ",\"first_line\":", frame->first_line);
	else
		isc_buffer_text(out, ",\"first_line\":null");
	add_text(out, ",\"module\":", &frame->module);
	isc_buffer_text(out, more ? "}," : "}");
}

/* Newest first; how many. */
static size_t frames_of(const isc_listener *self, uint32_t process, uint32_t id, isc_frame *frames)
{
	size_t n = 0;

	while (n < ISC_STACK_FRAMES_MAX && isc_trace_frame(self->trace, process, id, &frames[n]))
		id = frames[n++].parent;
	return n;
}

static void add_stack(isc_buffer *out, const isc_listener *self, uint32_t process, const isc_frame *frames, size_t n)
{
	uint64_t searched = 0;

	isc_buffer_text(out, ",\"stack\":[");
	for (size_t i = n; i > 0; i--)
		add_frame(out, &frames[i - 1], isc_trace_frame_line(self->trace, process, &frames[i - 1], &searched),
			  i > 1);
}

/* gil and the locks have names of their own; what else a thread waits for is a system call. */
static enum isc_event_type type_of_wait(uint32_t call)
{
	switch (call) {
	case ISC_WAIT_GIL:
		return ISC_EVENT_GIL_WAIT;
	case ISC_WAIT_MUTEX:
	case ISC_WAIT_RWLOCK:
	case ISC_WAIT_SEM:
	case ISC_WAIT_COND:
	case ISC_WAIT_BARRIER:
	case ISC_WAIT_JOIN:
		return ISC_EVENT_LOCK_WAIT;
	default:
		return ISC_EVENT_CPU_SYSCALL;
	}
}

enum isc_event_type isc_export_type(const isc_slice *s)
{
	switch (s->kind) {
	case ISC_SLICE_GC:
		return ISC_EVENT_GC_PAUSE;
	case ISC_SLICE_WAIT:
		return type_of_wait(s->id);
	case ISC_SLICE_SYSCALL:
		return ISC_EVENT_CPU_SYSCALL;
	default:
		return ISC_EVENT_CPU_CALL;
	}
}

/* Named as the kernel names it; its place is the newest frame that has a line, for the call itself is native. */
static void close_syscall(events *e, const isc_slice *s)
{
	isc_frame frames[ISC_STACK_FRAMES_MAX];
	size_t n = frames_of(&e->sink.listener, s->on->process, s->stack, frames);
	isc_buffer *out = head(e, ISC_EVENT_CPU_SYSCALL, s->call.len > 0 ? &s->call : &s->name, s->start_ns, s->end_ns,
			       s->on, s->cpu, s->task);
	isc_text file = {NULL, 0};
	uint32_t line = 0;

	for (size_t i = 0; i < n && line == 0; i++) {
		uint64_t searched = 0;

		line = isc_trace_frame_line(e->sink.listener.trace, s->on->process, &frames[i], &searched);
		file = frames[i].file;
	}
	add_place(out, line != 0 ? &file : &(isc_text){NULL, 0}, line);
	add_stack(out, &e->sink.listener, s->on->process, frames, n);
	isc_buffer_text(out, "]");
	if (s->call.len > 0)
		add_count(out, ",\"bytes\":", s->bytes);
	else
		isc_buffer_text(out, ",\"bytes\":null");
	if (s->error != 0)
		add_count(out, ",\"errno\":", s->error);
	else
		isc_buffer_text(out, ",\"errno\":null");
	add_metadata(out, s);
}

static void close_slice(isc_listener *self, const isc_slice *s)
{
	enum isc_event_type type = isc_export_type(s);
	isc_buffer *out;

	if (type == ISC_EVENT_CPU_SYSCALL) {
		close_syscall((events *)self, s);
		return;
	}
	out = head((events *)self, type, &s->name, s->start_ns, s->end_ns, s->on, s->cpu, s->task);
	add_place(out, &s->file, s->line);
	add_metadata(out, s);
}

static void scope_end(events *e, const isc_mark *m, enum isc_event_type type, uint64_t ns)
{
	static const isc_text none = {NULL, 0};
	isc_buffer *out = head(e, type, &m->name, ns, ns, m->on, m->cpu, m->task);

	add_place(out, &none, 0);
	isc_buffer_format(out, ",\"metadata\":{\"instance\":%llu", (unsigned long long)m->instance);
	if (type == ISC_EVENT_SCOPE_ENTER && m->inside != 0)
		isc_buffer_format(out, ",\"inside\":%llu", (unsigned long long)m->inside);
	else if (type == ISC_EVENT_SCOPE_ENTER)
		isc_buffer_text(out, ",\"inside\":null");
	if (m->flags & ISC_SLICE_CUT)
		isc_buffer_text(out, ",\"cut\":true");
	isc_buffer_text(out, "}}");
}

static void mark(isc_listener *self, const isc_mark *m)
{
	static const isc_text none = {NULL, 0};
	events *e = (events *)self;
	isc_buffer *out;

	if (m->kind == ISC_MARK_SCOPE) {
		scope_end(e, m, ISC_EVENT_SCOPE_ENTER, m->start_ns);
		if (!(m->flags & ISC_SLICE_UNFINISHED))
			scope_end(e, m, ISC_EVENT_SCOPE_EXIT, m->end_ns);
		return;
	}
	out = head(e, m->kind == ISC_MARK_COUNTER ? ISC_EVENT_COUNTER : ISC_EVENT_INSTANT, &m->name, m->start_ns,
		   m->end_ns, m->on, m->cpu, m->task);
	add_place(out, &none, 0);
	isc_buffer_text(out, ",\"metadata\":");
	if (m->kind == ISC_MARK_COUNTER) {
		isc_buffer_text(out, "{\"value\":");
		isc_json_real(out, m->value);
		isc_buffer_text(out, "}");
	} else if (m->json.len > 0) {
		isc_json_value(out, m->json.at, m->json.len);
	} else {
		isc_buffer_text(out, "null");
	}
	isc_buffer_text(out, "}");
}

static void add_node(isc_buffer *out, uint32_t node)
{
	if (node != ISC_NODE_UNKNOWN)
		add_count(out, ",\"numa_node\":", node);
	else
		isc_buffer_text(out, ",\"numa_node\":null");
}

static void memory(isc_listener *self, const isc_listener_memory *m)
{
	isc_frame frames[ISC_STACK_FRAMES_MAX];
	isc_text name = {m->call, (uint32_t)strlen(m->call)};
	size_t n = frames_of(self, m->on->process, m->stack, frames);
	isc_buffer *out = head((events *)self, m->alloc ? ISC_EVENT_MEMORY_ALLOC : ISC_EVENT_MEMORY_FREE, &name,
			       m->time_ns, m->time_ns, m->on, m->cpu, m->task);

	add_count(out, ",\"address\":", m->address);
	add_count(out, ",\"bytes\":", m->bytes);
	add_node(out, m->node);
	add_stack(out, self, m->on->process, frames, n);
	isc_buffer_text(out, "],\"weight\":");
	isc_json_real(out, (double)m->bytes * m->times);
	isc_buffer_text(out, ",\"metadata\":{\"count\":");
	isc_json_real(out, m->times);
	isc_buffer_text(out, "}}");
}

static void move(isc_listener *self, const isc_listener_move *m)
{
	static const isc_text name = {"numa_migration", 14}, none = {NULL, 0};
	isc_listener_thread nobody = {.pid = m->pid};
	isc_buffer *out =
		head((events *)self, ISC_EVENT_NUMA_MIGRATION, &name, m->start_ns, m->end_ns, &nobody, UINT16_MAX, 0);

	add_place(out, &none, 0);
	isc_buffer_format(out, ",\"from_node\":%u,\"to_node\":%u", m->from, m->to);
	add_count(out, ",\"pages\":", m->pages);
	isc_buffer_text(out, ",\"metadata\":null}");
}

static void sample(isc_listener *self, const isc_listener_sample *s)
{
	events *e = (events *)self;
	isc_frame frames[ISC_STACK_FRAMES_MAX];
	isc_text name = {"?", 1};
	isc_buffer *out;
	size_t n;

	if (s->wait_ns > 0)
		return;
	n = frames_of(self, s->on->process, s->stack, frames);
	if (n > 0)
		name = frames[0].name;
	out = head(e, ISC_EVENT_CPU_SAMPLE, &name, s->time_ns, s->time_ns, s->on, s->cpu, s->task);
	add_stack(out, self, s->on->process, frames, n);
	isc_buffer_text(out, "]");
	add_node(out, s->node);
	isc_buffer_format(out, ",\"state\":%s,\"instructions\":null,\"metadata\":{\"steps\":%u,\"cpu_ns\":%llu}}",
			  n > 0 ? kind_of(&frames[0]) : "null", s->steps, (unsigned long long)s->cpu_ns);
}

static void add_sides(isc_buffer *out, const char *key, const uint32_t sides[3])
{
	if (sides[0] != 0)
		isc_buffer_format(out, ",\"%s\":[%u,%u,%u]", key, sides[0], sides[1], sides[2]);
	else
		isc_buffer_format(out, ",\"%s\":null", key);
}

static void add_pageable(isc_buffer *out, uint8_t page)
{
	static const char *const words[] = {"null", "false", "true"};

	isc_buffer_format(out, ",\"pageable\":%s", words[page <= ISC_PAGE_PAGEABLE ? page : 0]);
}

static void gpu(isc_listener *self, const isc_listener_gpu *g)
{
	static const isc_text none = {NULL, 0};
	const isc_recorded_item *i = g->item;
	isc_listener_thread on = *g->on;
	isc_buffer *out;

	if (g->type == ISC_EVENT_NONE)
		return;
	on.tid = g->call && i->tid != 0 ? i->tid : on.tid;
	out = head((events *)self, g->type, &g->name, g->start_ns, g->end_ns, &on, UINT16_MAX, 0);
	add_place(out, &none, 0);
	if (i->device != NULL)
		add_count(out, ",\"device_id\":", i->device->number);
	else
		isc_buffer_text(out, ",\"device_id\":null");
	add_count(out, ",\"correlation\":", i->correlation);
	if (!g->call) {
		add_count(out, ",\"stream\":", i->stream);
		isc_buffer_format(out, ",\"clock_error_ns\":%lld", (long long)i->error_ns);
	}
	if (!g->call && i->job == ISC_JOB_KERNEL) {
		add_sides(out, "grid_dim", i->grid);
		add_sides(out, "block_dim", i->block);
	} else if (!g->call && i->job != ISC_JOB_SYNC) {
		add_count(out, ",\"bytes\":", i->bytes);
		add_pageable(out, i->page);
	}
	isc_buffer_text(out, ",\"metadata\":null}");
}

static void end(isc_sink *self, const isc_export_result *result)
{
	(void)result;
	isc_buffer_text(&self->out->text, "\n]\n");
	free(self);
}

const isc_sink_class isc_sink_events = {
	.begin = begin,
	.hears = {.texts = true,
		  .close = close_slice,
		  .mark = mark,
		  .sample = sample,
		  .gpu = gpu,
		  .memory = memory,
		  .move = move,
		  .after = isc_export_after},
	.end = end,
};
