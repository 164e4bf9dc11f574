/* read.c - inferscope/trace.h: a listener that hands events to a function. */
#include <stdlib.h>
#include <string.h>

#include "export/format.h"
#include "timeline/own.h"
#include "inferscope/trace.h"

typedef struct trace_reading {
	isc_listener listener;
	inferscope_event_fn each;
	void *self;
	isc_buffer name, file; /* with a NUL at their end */
	bool over;	       /* the caller has seen enough */
} trace_reading;

static const char *text_of(isc_buffer *room, const isc_text *text)
{
	isc_buffer_clear(room);
	isc_buffer_add(room, text->at, text->len);
	isc_buffer_add(room, "", 1);
	return room->failed ? "" : room->data;
}

static inferscope_event event_of(trace_reading *r, const char *type, const isc_text *name,
				 const isc_listener_thread *on, uint64_t start_ns, uint64_t end_ns)
{
	return (inferscope_event){.size = sizeof(inferscope_event),
				  .type = type,
				  .name = text_of(&r->name, name),
				  .process_id = on->pid,
				  .thread_id = on->tid,
				  .cpu_id = -1,
				  .device_id = -1,
				  .start_ns = start_ns + r->listener.start_ns,
				  .end_ns = end_ns + r->listener.start_ns};
}

static void tell(trace_reading *r, const inferscope_event *event)
{
	if (r->name.failed || r->file.failed)
		r->listener.failed = true;
	else if (!r->over && r->each(r->self, event) != 0)
		r->over = true;
}

static int32_t cpu_of(uint16_t cpu)
{
	return cpu == UINT16_MAX ? -1 : cpu;
}

static void on_close(isc_listener *self, const isc_slice *s)
{
	trace_reading *r = (trace_reading *)self;
	inferscope_event event =
		event_of(r, isc_event_type_name(isc_export_type(s)), &s->name, s->on, s->start_ns, s->end_ns);

	event.cpu_id = cpu_of(s->cpu);
	event.line = s->line;
	if (s->file.len > 0)
		event.file = text_of(&r->file, &s->file);
	tell(r, &event);
}

static void on_mark(isc_listener *self, const isc_mark *m)
{
	static const char *const types[] = {
		[ISC_MARK_SCOPE] = "scope", [ISC_MARK_INSTANT] = "instant", [ISC_MARK_COUNTER] = "counter"};
	trace_reading *r = (trace_reading *)self;
	inferscope_event event = event_of(r, types[m->kind], &m->name, m->on, m->start_ns, m->end_ns);

	event.cpu_id = cpu_of(m->cpu);
	event.value = m->kind == ISC_MARK_COUNTER ? m->value : 0;
	tell(r, &event);
}

static void on_sample(isc_listener *self, const isc_listener_sample *s)
{
	static const isc_text unknown = {"?", 1};
	trace_reading *r = (trace_reading *)self;
	isc_frame frame;
	bool known = isc_trace_frame(self->trace, s->on->process, s->stack, &frame);
	inferscope_event event;
	uint64_t searched = 0;

	if (s->wait_ns > 0)
		return;
	event = event_of(r, isc_event_type_name(ISC_EVENT_CPU_SAMPLE), known ? &frame.name : &unknown, s->on,
			 s->time_ns, s->time_ns);
	event.cpu_id = cpu_of(s->cpu);
	event.value = (double)s->cpu_ns;
	if (known && frame.file.len > 0) {
		event.file = text_of(&r->file, &frame.file);
		event.line = isc_trace_frame_line(self->trace, s->on->process, &frame, &searched);
	}
	tell(r, &event);
}

static void on_gpu(isc_listener *self, const isc_listener_gpu *g)
{
	trace_reading *r = (trace_reading *)self;
	inferscope_event event;

	if (g->type == ISC_EVENT_NONE)
		return;
	event = event_of(r, isc_event_type_name(g->type), &g->name, g->on, g->start_ns, g->end_ns);
	event.device_id = g->item->device != NULL ? (int64_t)g->item->device->number : -1;
	event.bytes = g->call ? 0 : g->item->bytes;
	tell(r, &event);
}

static void on_memory(isc_listener *self, const isc_listener_memory *m)
{
	isc_text name = {m->call, (uint32_t)strlen(m->call)};
	trace_reading *r = (trace_reading *)self;
	inferscope_event event =
		event_of(r, isc_event_type_name(m->alloc ? ISC_EVENT_MEMORY_ALLOC : ISC_EVENT_MEMORY_FREE), &name,
			 m->on, m->time_ns, m->time_ns);

	event.cpu_id = cpu_of(m->cpu);
	event.bytes = m->bytes;
	tell(r, &event);
}

/* The reading ends with a status; the caller gets ISC_OK. */
static isc_status after(isc_listener *self)
{
	return ((trace_reading *)self)->over ? ISC_ERR_LIMIT : ISC_OK;
}

static isc_status read_events(isc_trace *trace, const isc_cut_options *options, trace_reading *r, isc_error *err)
{
	static const isc_listener_class class = {.texts = true,
						 .close = on_close,
						 .mark = on_mark,
						 .sample = on_sample,
						 .gpu = on_gpu,
						 .memory = on_memory,
						 .after = after};
	isc_listener_counts counts = {0};
	isc_arena *arena;
	isc_cut cut;
	isc_status st = isc_cut_make(&cut, trace, options, err);

	if (st != ISC_OK)
		return st;
	r->listener = (isc_listener){.trace = trace, .start_ns = isc_trace_header(trace)->start_ns};
	arena = isc_arena_new();
	st = arena != NULL
		     ? isc_own_run(trace, &(isc_own_options){.cut = &cut}, &class, &r->listener, arena, &counts, err)
		     : isc_fail(err, ISC_ERR_NOMEM, "no memory to read a trace");
	if (r->over)
		st = ISC_OK;
	isc_arena_free(arena);
	isc_cut_fini(&cut);
	isc_buffer_fini(&r->name);
	isc_buffer_fini(&r->file);
	return st;
}

ISC_API isc_status inferscope_trace_read(const char *path, const inferscope_read_options *options,
					 inferscope_event_fn each, void *self, int *damaged, isc_error *err)
{
	inferscope_read_options given = {0};
	trace_reading r = {.each = each, .self = self};
	isc_trace *trace = NULL;
	isc_status st;

	if (options != NULL)
		memcpy(&given, options, options->size < sizeof(given) ? options->size : sizeof(given));
	st = isc_trace_open(path, &trace, err);
	if (st == ISC_OK)
		st = read_events(
			trace, &(isc_cut_options){.scope = given.scope, .from_us = given.from_us, .to_us = given.to_us},
			&r, err);
	if (damaged != NULL)
		*damaged = st == ISC_OK && isc_trace_is_damaged(trace);
	isc_trace_close(trace);
	return st;
}
