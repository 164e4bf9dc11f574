/*
 * imported.c - what other tools recorded, from the timeline that their files were read into.
 *
 * A timeline tells of spans and then of moments thread by thread, and of work device by device, each in the
 * order of time, while it is finished: the listener hears of them as they come.
 */
#include "timeline/imported.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/hashmap.h"
#include "timeline/python_place.h"
#include "trace/gpu.h"

#define NOBODY UINT32_MAX
/* Numbers for processes and threads whose own are names, or too large: below those of GPUs in chrome.c. */
#define MADE_UP (1u << 23)

struct isc_imported_stream {
	isc_timeline *timeline;
	const isc_timeline_facts *facts; /* NULL: not yet */
	const isc_listener_class *class;
	isc_listener *self;
	isc_listener_counts *counts;
	isc_arena *arena;
	isc_hashmap threads; /* of the timeline -> isc_listener_thread */
	isc_hashmap numbers; /* a pid or tid that does not fit -> one that does */
	isc_hashmap devices; /* of the timeline -> isc_recorded_device */
	const isc_listener_thread *on;
	isc_slice *open; /* of that thread, outermost first; end_ns is known already */
	size_t depth, room;
	uint64_t scopes;
	bool failed;
	isc_status ended; /* what after() returned */
};

static uint32_t number_of(isc_imported_stream *i, uint64_t number)
{
	uint64_t *known;

	if (number > 0 && number < MADE_UP)
		return (uint32_t)number;
	known = isc_hashmap_put(&i->numbers, number, NULL);
	if (known == NULL) {
		i->failed = true;
		return MADE_UP;
	}
	if (*known == 0)
		*known = MADE_UP + i->numbers.count;
	return (uint32_t)*known;
}

static const isc_listener_thread *thread_of(isc_imported_stream *i, const isc_timeline_seen *s)
{
	uint64_t *known = isc_hashmap_put(&i->threads, s->thread, NULL);
	isc_listener_thread *made;

	if (known != NULL && *known != 0)
		return (const isc_listener_thread *)(uintptr_t)*known;
	made = known != NULL ? isc_arena_alloc(i->arena, sizeof(*made)) : NULL;
	if (made == NULL) {
		i->failed = true;
		return NULL;
	}
	*made = (isc_listener_thread){.thread = s->thread,
				      .process = number_of(i, s->pid),
				      .tid = number_of(i, s->tid),
				      .pid = number_of(i, s->pid),
				      .name = {s->thread_name.at, (uint32_t)s->thread_name.len}};
	*known = (uint64_t)(uintptr_t)made;
	if (i->class->thread != NULL)
		i->class->thread(i->self, made);
	return made;
}

/* The same for a call and the work that it asked for. */
static uint64_t link_of(uint32_t thread, int64_t call_ns)
{
	return (uint64_t)call_ns << 16 | (thread + 1) % 65536u;
}

static uint64_t from_zero(int64_t ns)
{
	return ns > 0 ? (uint64_t)ns : 0;
}

static void end_event(isc_imported_stream *i)
{
	if (i->class->after != NULL && i->ended == ISC_OK)
		i->ended = i->class->after(i->self);
}

/* ---- spans --------------------------------------------------------------- */

static void close_last(isc_imported_stream *i)
{
	isc_slice *s = &i->open[--i->depth];

	if (i->depth > 0)
		i->open[i->depth - 1].inner_ns += s->end_ns - s->start_ns;
	i->counts->slices++;
	if (i->class->close != NULL)
		i->class->close(i->self, s);
}

static void close_before(isc_imported_stream *i, uint64_t ns)
{
	while (i->depth > 0 && i->open[i->depth - 1].end_ns <= ns)
		close_last(i);
}

static void add_slice(isc_imported_stream *i, const isc_timeline_seen *s, isc_text name)
{
	isc_python_place place;
	isc_slice *slice = isc_arena_push(i->arena, &i->open, &i->depth, &i->room, sizeof(*slice));

	if (slice == NULL) {
		i->failed = true;
		return;
	}
	*slice = (isc_slice){.on = i->on,
			     .start_ns = from_zero(s->start_ns),
			     .end_ns = from_zero(s->end_ns),
			     .id = s->name,
			     .cpu = UINT16_MAX,
			     .kind = s->kind == ISC_HOST_PYTHON ? ISC_SLICE_CALL : ISC_SLICE_C_CALL,
			     .name = name};
	if (i->depth > 1 && slice->end_ns > slice[-1].end_ns)
		slice->end_ns = slice[-1].end_ns;
	if (s->kind == ISC_HOST_PYTHON) {
		isc_python_place_of(isc_timeline_text(i->timeline, s->name), &place);
		slice->name = place.name;
		slice->file = place.file;
		slice->line = place.line;
	}
	if (i->class->open != NULL)
		i->class->open(i->self, slice);
}

static void add_scope(isc_imported_stream *i, const isc_timeline_seen *s, isc_text name)
{
	isc_mark m = {.on = i->on,
		      .start_ns = from_zero(s->start_ns),
		      .end_ns = from_zero(s->end_ns),
		      .instance = ++i->scopes,
		      .id = s->name,
		      .cpu = UINT16_MAX,
		      .kind = ISC_MARK_SCOPE,
		      .name = name};

	i->counts->marks++;
	if (i->class->mark != NULL)
		i->class->mark(i->self, &m);
}

static void add_call(isc_imported_stream *i, const isc_timeline_seen *s, isc_text name)
{
	static const uint8_t roles[] = {[ISC_CALL_OTHER] = ISC_ROLE_OTHER,
					[ISC_CALL_SYNC] = ISC_ROLE_SYNC,
					[ISC_CALL_COPY] = ISC_ROLE_COPY,
					[ISC_CALL_LAUNCH] = ISC_ROLE_LAUNCH};
	isc_recorded_item item = {.correlation = link_of(s->thread, s->start_ns),
				  .tid = i->on->tid,
				  .role = roles[isc_gpu_call_of(name.at, name.len)]};
	isc_listener_gpu g = {.on = i->on,
			      .start_ns = from_zero(s->start_ns),
			      .end_ns = from_zero(s->end_ns),
			      .item = &item,
			      .id = s->name,
			      .alone = true,
			      .call = true,
			      .type = item.role == ISC_ROLE_SYNC ? ISC_EVENT_GPU_SYNC : ISC_EVENT_GPU_API,
			      .name = name};

	i->counts->slices++;
	i->class->gpu(i->self, &g);
}

static void take_span(void *self, const isc_timeline_seen *s)
{
	isc_imported_stream *i = self;
	isc_text name = isc_timeline_text(i->timeline, s->name);
	const isc_listener_thread *on = thread_of(i, s);

	if (on == NULL || i->failed)
		return;
	if (on != i->on)
		close_before(i, UINT64_MAX);
	i->on = on;
	close_before(i, from_zero(s->start_ns));
	if (s->kind == ISC_HOST_SCOPE)
		add_scope(i, s, name);
	else if (s->kind == ISC_HOST_CALL && i->class->gpu != NULL)
		add_call(i, s, name);
	else
		add_slice(i, s, name);
	end_event(i);
}

/* All spans are told by now. */
static void take_moment(void *self, const isc_timeline_seen *s)
{
	isc_imported_stream *i = self;
	const isc_listener_thread *on = thread_of(i, s);
	isc_mark m = {.on = on,
		      .start_ns = from_zero(s->start_ns),
		      .end_ns = from_zero(s->start_ns),
		      .value = s->value,
		      .id = s->name,
		      .cpu = UINT16_MAX,
		      .kind = s->kind == ISC_HOST_COUNTER ? ISC_MARK_COUNTER : ISC_MARK_INSTANT,
		      .name = isc_timeline_text(i->timeline, s->name)};

	if (on == NULL || i->failed)
		return;
	close_before(i, UINT64_MAX);
	i->counts->marks++;
	if (i->class->mark != NULL)
		i->class->mark(i->self, &m);
	end_event(i);
}

/* ---- GPUs ---------------------------------------------------------------- */

static const isc_recorded_device *device_of(isc_imported_stream *i, const isc_timeline_seen *s)
{
	uint64_t *known = isc_hashmap_put(&i->devices, s->device, NULL);
	isc_recorded_device *made;

	if (known != NULL && *known != 0)
		return (const isc_recorded_device *)(uintptr_t)*known;
	made = known != NULL ? isc_arena_alloc(i->arena, sizeof(*made)) : NULL;
	if (made == NULL) {
		i->failed = true;
		return NULL;
	}
	*made = (isc_recorded_device){.number = s->number, .name = {s->device_name.at, (uint32_t)s->device_name.len}};
	*known = (uint64_t)(uintptr_t)made;
	return made;
}

static void take_work(void *self, const isc_timeline_seen *s)
{
	static const isc_listener_thread nobody = {.thread = NOBODY, .tid = NOBODY, .pid = NOBODY};
	isc_imported_stream *i = self;
	isc_text text = isc_timeline_text(i->timeline, s->name);
	uint64_t *caller = isc_hashmap_find(&i->threads, s->thread);
	isc_recorded_item item = {
		.bytes = s->bytes, .stream = s->stream, .device = device_of(i, s), .job = s->kind, .page = s->memory};
	isc_listener_gpu g = {.on = &nobody,
			      .start_ns = from_zero(s->start_ns),
			      .end_ns = from_zero(s->end_ns),
			      .item = &item,
			      .id = s->name,
			      .alone = true,
			      .type = isc_gpu_event_type(s->kind),
			      .name = text};

	if (i->failed || i->class->gpu == NULL)
		return;
	if (caller != NULL)
		g.on = (const isc_listener_thread *)(uintptr_t)*caller;
	/* A call before what is exported is no end of an arrow. */
	if (caller != NULL && s->call_ns >= 0) {
		item.correlation = link_of(s->thread, s->call_ns);
		g.asked = g.on;
		g.asked_ns = (uint64_t)s->call_ns;
	}
	i->counts->slices++;
	i->class->gpu(i->self, &g);
	end_event(i);
}

/* ---- stacks -------------------------------------------------------------- */

bool isc_imported_stream_frame(void *self, uint32_t id, isc_frame *out)
{
	const isc_imported_stream *i = self;
	isc_python_place place;
	bool python;

	if (i->facts == NULL || id == 0 || id >= i->facts->stack_count)
		return false;
	python = isc_python_place_of(isc_timeline_stack_text(i->timeline, i->facts->stacks[id].id), &place);
	*out = (isc_frame){.parent = i->facts->stacks[id].parent,
			   .kind = python ? ISC_FRAME_PYTHON : ISC_FRAME_NATIVE,
			   .name = place.name,
			   .file = place.file,
			   .first_line = place.line};
	return true;
}

/* Which thread had them is not known. */
isc_status isc_imported_stream_stacks(isc_imported_stream *i, uint64_t *folded)
{
	static const isc_listener_thread all = {.thread = NOBODY, .tid = 1, .pid = 1, .name = {"all threads", 11}};

	if (i->facts->stacks == NULL)
		return ISC_OK;
	*folded = i->facts->samples_folded;
	for (size_t k = 1; k < i->facts->stack_count; k++) {
		const isc_facts_stack *s = &i->facts->stacks[k];
		isc_listener_sample sample = {.on = &all,
					      .cpu_ns = from_zero(s->ns),
					      .steps = s->samples < UINT32_MAX ? (uint32_t)s->samples : UINT32_MAX,
					      .stack = (uint32_t)k,
					      .cpu = UINT16_MAX,
					      .node = ISC_NODE_UNKNOWN,
					      .state = "running"};

		if (s->samples == 0)
			continue;
		i->counts->samples += s->samples;
		i->class->sample(i->self, &sample);
		end_event(i);
	}
	return i->ended;
}

/* ---- all of it ------------------------------------------------------------ */

isc_status isc_imported_stream_new(const isc_listener_class *class, isc_listener_counts *counts,
				   isc_imported_stream **out, isc_error *err)
{
	isc_imported_stream *i = calloc(1, sizeof(*i));

	*out = i;
	if (i == NULL)
		return isc_fail(err, ISC_ERR_NOMEM, "no memory");
	i->class = class;
	i->counts = counts;
	i->arena = isc_arena_new();
	if (i->arena != NULL)
		return ISC_OK;
	isc_imported_stream_free(i);
	*out = NULL;
	return isc_fail(err, ISC_ERR_NOMEM, "no memory");
}

void isc_imported_stream_free(isc_imported_stream *i)
{
	if (i == NULL)
		return;
	isc_timeline_free(i->timeline);
	isc_hashmap_fini(&i->threads);
	isc_hashmap_fini(&i->numbers);
	isc_hashmap_fini(&i->devices);
	isc_arena_free(i->arena);
	free(i);
}

isc_status isc_imported_stream_run(isc_imported_stream *i, isc_listener *self, isc_imported_stream_fill_fn fill,
				   void *fill_self, const isc_cut_options *part, isc_error *err)
{
	isc_timeline_watch watch = {.span = take_span, .moment = take_moment, .work = take_work, .self = i};
	isc_timeline_options how = {.watch = &watch};
	/* Centuries are as good as the end, and fit. */
	isc_timeline_window window = {.from_ns = (int64_t)((part->from_us < 1e15 ? part->from_us : 1e15) * 1e3),
				      .to_ns = (int64_t)((part->to_us < 1e15 ? part->to_us : 1e15) * 1e3),
				      .scope = part->scope};
	isc_status st;

	i->self = self;
	st = isc_timeline_new(&how, &i->timeline, err);
	if (st == ISC_OK)
		st = fill(fill_self, i->timeline, err);
	if (st == ISC_OK)
		st = isc_timeline_finish(i->timeline, &window, &i->facts, err);
	if (st == ISC_OK && (i->failed || self->failed))
		st = isc_fail(err, ISC_ERR_NOMEM, "no memory for the export");
	if (st != ISC_OK)
		return st;
	close_before(i, UINT64_MAX);
	return i->ended;
}
