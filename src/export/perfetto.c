/*
 * perfetto.c - Perfetto's protocol buffers: track events, counters and callstack
 * samples, with interned strings.
 *
 * One sequence for everything, so a string is written once.  Packets are in the
 * order of the trace, thread by thread: Perfetto sorts them by time.  Scopes may end
 * on another thread, so each has a track of its own under its process.
 */
#include <stdlib.h>

#include "base/text.h"
#include "export/perfetto.h"

/* Fields of slices are written anew past this. */
#define TEXTS_MOST (64u << 20)

static uint64_t process_track(uint32_t pid)
{
	return 1ull << 32 | pid;
}

static uint64_t scope_track(const isc_mark *m)
{
	return (3ull << 60 | (uint64_t)m->on->process << 40) ^ m->instance;
}

static isc_sink *begin(isc_trace *trace, isc_export_out *out)
{
	isc_perfetto *p = calloc(1, sizeof(*p));

	if (p == NULL)
		return NULL;
	p->sink = (isc_sink){.listener = {.trace = trace}, .out = out};
	p->frames = (isc_frames){.trace = trace};
	return &p->sink;
}

/* The packet that has gathered goes out, with the strings that it needs. */
void isc_perfetto_send(isc_perfetto *p, uint64_t ns, unsigned field, const isc_buffer *body)
{
	isc_buffer_clear(&p->packet);
	isc_wire_number(&p->packet, PACKET_TIMESTAMP, ns);
	isc_wire_number(&p->packet, PACKET_SEQUENCE, 1);
	isc_wire_number(&p->packet, PACKET_FLAGS, p->begun ? FLAG_NEEDS_STATE : FLAG_CLEARED | FLAG_NEEDS_STATE);
	p->begun = true;
	if (p->interned.len > 0) {
		isc_wire_message(&p->packet, PACKET_INTERNED, &p->interned);
		isc_buffer_clear(&p->interned);
	}
	isc_wire_message(&p->packet, field, body);
	isc_wire_message(&p->sink.out->text, TRACE_PACKET, &p->packet);
	p->sink.listener.failed |= p->packet.failed;
}

void isc_perfetto_clean(isc_perfetto *p, isc_buffer *out, unsigned field, const isc_text *text)
{
	isc_buffer_clear(&p->clean);
	isc_text_utf8(&p->clean, text->at, text->len);
	isc_wire_message(out, field, &p->clean);
}

static void intern(isc_perfetto *p, unsigned field, uint64_t iid, const isc_text *text)
{
	isc_buffer_clear(&p->inner);
	isc_wire_number(&p->inner, 1, iid);
	isc_perfetto_clean(p, &p->inner, 2, text);
	isc_wire_message(&p->interned, field, &p->inner);
}

/* A name of events; key tells it from all others. */
uint64_t isc_perfetto_name(isc_perfetto *p, uint64_t key, const isc_text *text)
{
	uint64_t *known = isc_hashmap_put(&p->names, key, NULL);

	if (known == NULL) {
		p->sink.listener.failed = true;
		return 0;
	}
	if (*known == 0) {
		*known = ++p->next_name;
		intern(p, INTERNED_NAME, *known, text);
	}
	return *known;
}

/* Names of categories never change: their iids are these numbers. */
uint64_t isc_perfetto_category(isc_perfetto *p, unsigned number)
{
	static const char *const names[] = {"python", "c", "wait", "gc", "syscall", "scope", "mark", "gpu"};
	isc_text text = {names[number], (uint32_t)strlen(names[number])};
	uint64_t *known = isc_hashmap_put(&p->names, 7ull << 60 | number, NULL);

	if (known == NULL) {
		p->sink.listener.failed = true;
	} else if (*known == 0) {
		*known = 1;
		intern(p, INTERNED_CATEGORY, number + 1, &text);
	}
	return number + 1;
}

/* ---- tracks ------------------------------------------------------------------ */

static void process(isc_listener *self, const isc_trace_process *t)
{
	isc_perfetto *p = (isc_perfetto *)self;
	isc_buffer *out = &p->event;
	uint32_t at = 0;

	if (t->pid == 0 || t->argv_len == 0)
		return;
	isc_buffer_clear(&p->inner);
	isc_wire_number(&p->inner, 1, t->pid);
	while (at < t->argv_len) {
		isc_text word = {t->argv + at, (uint32_t)strnlen(t->argv + at, t->argv_len - at)};

		isc_perfetto_clean(p, &p->inner, 2, &word);
		if (at == 0)
			isc_perfetto_clean(p, &p->inner, 6, &word);
		at += word.len + 1;
	}
	isc_buffer_clear(out);
	isc_wire_number(out, TRACK_UUID, process_track(t->pid));
	isc_wire_message(out, TRACK_PROCESS, &p->inner);
	isc_perfetto_send(p, 0, PACKET_TRACK, out);
}

void isc_perfetto_thread(isc_perfetto *p, const isc_listener_thread *t, uint64_t track)
{
	isc_buffer *out = &p->event;

	isc_buffer_clear(&p->inner);
	isc_wire_number(&p->inner, 1, t->pid);
	isc_wire_number(&p->inner, 2, t->tid);
	if (t->name.len > 0)
		isc_perfetto_clean(p, &p->inner, 5, &t->name);
	isc_buffer_clear(out);
	isc_wire_number(out, TRACK_UUID, track);
	isc_wire_number(out, TRACK_PARENT, process_track(t->pid));
	isc_wire_message(out, TRACK_THREAD, &p->inner);
	isc_perfetto_send(p, 0, PACKET_TRACK, out);
}

static void thread(isc_listener *self, const isc_listener_thread *t)
{
	isc_perfetto *p = (isc_perfetto *)self;
	uint64_t *known = isc_hashmap_put(&p->threads, isc_hashmap_key(t->pid, t->tid), NULL);

	if (known == NULL)
		self->failed = true;
	else
		*known = isc_perfetto_track(t);
	isc_perfetto_thread(p, t, isc_perfetto_track(t));
}

static void named_track(isc_perfetto *p, uint64_t uuid, uint32_t pid, const isc_text *name, bool counter)
{
	isc_buffer track = {0};

	isc_wire_number(&track, TRACK_UUID, uuid);
	isc_wire_number(&track, TRACK_PARENT, process_track(pid));
	isc_perfetto_clean(p, &track, TRACK_NAME, name);
	if (counter)
		isc_wire_bytes(&track, TRACK_COUNTER, NULL, 0);
	isc_perfetto_send(p, 0, PACKET_TRACK, &track);
	p->sink.listener.failed |= track.failed;
	isc_buffer_fini(&track);
}

/* ---- events ------------------------------------------------------------------ */

void isc_perfetto_note(isc_perfetto *p, const char *key, unsigned field, const isc_text *text, uint64_t number)
{
	isc_buffer_clear(&p->inner);
	isc_wire_text(&p->inner, NOTE_NAME, key);
	if (text != NULL)
		isc_perfetto_clean(p, &p->inner, field, text);
	else
		isc_wire_number(&p->inner, field, number);
	isc_wire_message(&p->event, EVENT_NOTE, &p->inner);
}

static void add_task(isc_perfetto *p, const isc_listener_thread *on, uint32_t task)
{
	char made[ISC_TASK_TEXT];
	isc_text name;

	if (task == 0)
		return;
	name = isc_trace_task(p->sink.listener.trace, on->process, task, made);
	isc_perfetto_note(p, "task", NOTE_TEXT, &name, 0);
}

void isc_perfetto_start(isc_perfetto *p, unsigned type, uint64_t track)
{
	isc_buffer_clear(&p->event);
	isc_wire_number(&p->event, EVENT_TYPE, type);
	isc_wire_number(&p->event, EVENT_TRACK, track);
}

/* Category, name and place of a slice, which thousands of others have too. */
static void add_fixed(isc_perfetto *p, const isc_slice *s, size_t frame)
{
	uint64_t *known = isc_hashmap_put(&p->fixed, (uint64_t)frame << 8 | s->kind, NULL);
	size_t from = p->event.len;
	uint32_t len;

	if (known == NULL) {
		p->sink.listener.failed = true;
		return;
	}
	if (*known != 0) {
		memcpy(&len, p->texts.data + *known - 1, sizeof(len));
		isc_buffer_add(&p->event, p->texts.data + *known - 1 + sizeof(len), len);
		return;
	}
	isc_wire_number(&p->event, EVENT_CATEGORY, isc_perfetto_category(p, s->kind));
	isc_wire_number(&p->event, EVENT_NAME, isc_perfetto_name(p, 1ull << 60 | frame, &s->name));
	if (s->file.len > 0) {
		isc_perfetto_note(p, "file", NOTE_TEXT, &s->file, 0);
		isc_perfetto_note(p, "line", NOTE_UINT, NULL, s->line);
	}
	len = (uint32_t)(p->event.len - from);
	if (p->event.failed || p->texts.len + len > TEXTS_MOST)
		return;
	*known = p->texts.len + 1;
	isc_buffer_add(&p->texts, &len, sizeof(len));
	isc_buffer_add(&p->texts, p->event.data + from, len);
	p->sink.listener.failed |= p->texts.failed;
}

static void open_slice(isc_listener *self, const isc_slice *s)
{
	isc_perfetto *p = (isc_perfetto *)self;
	size_t frame = isc_frames_of_slice(&p->frames, s);

	if (frame == SIZE_MAX) {
		self->failed = true;
		return;
	}
	isc_perfetto_start(p, TYPE_BEGIN, isc_perfetto_track(s->on));
	add_fixed(p, s, frame);
	if (s->holder != 0)
		isc_perfetto_note(p, "holder", NOTE_UINT, NULL, s->holder);
	if (s->kind == ISC_SLICE_GC)
		isc_perfetto_note(p, "generation", NOTE_UINT, NULL, s->id);
	if (s->call.len > 0) {
		isc_perfetto_note(p, "call", NOTE_TEXT, &s->call, 0);
		isc_perfetto_note(p, "bytes", NOTE_UINT, NULL, s->bytes);
	}
	if (s->error != 0)
		isc_perfetto_note(p, "errno", NOTE_UINT, NULL, s->error);
	add_task(p, s->on, s->task);
	isc_perfetto_send(p, s->start_ns, PACKET_TRACK_EVENT, &p->event);
}

/* With the end: how it came is not known before. */
static void add_flags(isc_perfetto *p, uint8_t flags)
{
	static const struct {
		uint8_t flag;
		const char *word;
	} words[] = {{ISC_SLICE_RESUMED, "resumed"},	   {ISC_SLICE_THROWN, "thrown"},
		     {ISC_SLICE_YIELDED, "yielded"},	   {ISC_SLICE_RAISED, "raised"},
		     {ISC_SLICE_UNFINISHED, "unfinished"}, {ISC_SLICE_CUT, "cut"}};

	for (size_t i = 0; flags != 0 && i < sizeof(words) / sizeof(words[0]); i++)
		if (flags & words[i].flag)
			isc_perfetto_note(p, words[i].word, NOTE_BOOL, NULL, 1);
}

static void close_slice(isc_listener *self, const isc_slice *s)
{
	isc_perfetto *p = (isc_perfetto *)self;

	isc_perfetto_start(p, TYPE_END, isc_perfetto_track(s->on));
	add_flags(p, s->flags);
	isc_perfetto_send(p, s->end_ns, PACKET_TRACK_EVENT, &p->event);
}

static uint64_t mark_name(isc_perfetto *p, const isc_mark *m)
{
	return isc_perfetto_name(p, 2ull << 60 ^ (uint64_t)m->on->process << 32 ^ m->id, &m->name);
}

static void scope(isc_perfetto *p, const isc_mark *m)
{
	named_track(p, scope_track(m), m->on->pid, &m->name, false);
	isc_perfetto_start(p, TYPE_BEGIN, scope_track(m));
	isc_wire_number(&p->event, EVENT_CATEGORY, isc_perfetto_category(p, ISC_SLICE_KINDS));
	isc_wire_number(&p->event, EVENT_NAME, mark_name(p, m));
	isc_perfetto_note(p, "instance", NOTE_UINT, NULL, m->instance);
	if (m->inside != 0)
		isc_perfetto_note(p, "inside", NOTE_UINT, NULL, m->inside);
	isc_perfetto_note(p, "thread", NOTE_UINT, NULL, m->on->tid);
	add_task(p, m->on, m->task);
	isc_perfetto_send(p, m->start_ns, PACKET_TRACK_EVENT, &p->event);
	isc_perfetto_start(p, TYPE_END, scope_track(m));
	add_flags(p, m->flags);
	isc_perfetto_send(p, m->end_ns, PACKET_TRACK_EVENT, &p->event);
}

static void count(isc_perfetto *p, const isc_mark *m)
{
	uint64_t *known = isc_hashmap_put(&p->counters, isc_hashmap_key(m->on->process, m->id), NULL), track;

	if (known == NULL) {
		p->sink.listener.failed = true;
		return;
	}
	track = 4ull << 60 ^ (uint64_t)m->on->process << 32 ^ m->id;
	if (*known == 0)
		named_track(p, track, m->on->pid, &m->name, true);
	*known = 1;
	isc_perfetto_start(p, TYPE_COUNTER, track);
	isc_wire_double(&p->event, EVENT_DOUBLE, m->value);
	isc_perfetto_send(p, m->start_ns, PACKET_TRACK_EVENT, &p->event);
}

static void mark(isc_listener *self, const isc_mark *m)
{
	isc_perfetto *p = (isc_perfetto *)self;

	if (m->kind == ISC_MARK_SCOPE) {
		scope(p, m);
	} else if (m->kind == ISC_MARK_COUNTER) {
		count(p, m);
	} else {
		isc_perfetto_start(p, TYPE_INSTANT, isc_perfetto_track(m->on));
		isc_wire_number(&p->event, EVENT_CATEGORY, isc_perfetto_category(p, ISC_SLICE_KINDS + 1));
		isc_wire_number(&p->event, EVENT_NAME, mark_name(p, m));
		if (m->json.len > 0)
			isc_perfetto_note(p, "metadata", NOTE_JSON, &m->json, 0);
		add_task(p, m->on, m->task);
		isc_perfetto_send(p, m->start_ns, PACKET_TRACK_EVENT, &p->event);
	}
}

/* ---- samples ------------------------------------------------------------------ */

static uint64_t module_of(isc_perfetto *p, const isc_text *path)
{
	uint64_t *known = isc_hashmap_put(&p->modules, (uint64_t)(uintptr_t)path->at, NULL);
	uint64_t iid;

	if (known == NULL) {
		p->sink.listener.failed = true;
		return 0;
	}
	if (*known != 0)
		return *known;
	iid = *known = ++p->next_module;
	intern(p, INTERNED_MAPPING_PATH, iid, path);
	isc_buffer_clear(&p->inner);
	isc_wire_number(&p->inner, 1, iid);
	isc_wire_number(&p->inner, 7, iid);
	isc_wire_message(&p->interned, INTERNED_MAPPING, &p->inner);
	return iid;
}

/* The iids of a function and its frame are the number of the frame, and one. */
static void tell_frame(isc_perfetto *p, size_t number)
{
	const isc_export_frame *f = &p->frames.frame[number];
	uint64_t *told = isc_hashmap_put(&p->functions, number, NULL), module = 0;

	if (told == NULL)
		p->sink.listener.failed = true;
	if (told == NULL || *told != 0)
		return;
	*told = 1;
	if (f->module.len > 0 || f->file.len > 0)
		module = module_of(p, f->module.len > 0 ? &f->module : &f->file);
	intern(p, INTERNED_FUNCTION, number + 1, &f->name);
	isc_buffer_clear(&p->inner);
	isc_wire_number(&p->inner, 1, number + 1);
	isc_wire_number(&p->inner, 2, number + 1);
	if (module != 0)
		isc_wire_number(&p->inner, 3, module);
	isc_wire_message(&p->interned, INTERNED_FRAME, &p->inner);
}

static uint64_t stack_of(isc_perfetto *p, uint32_t process, uint32_t id)
{
	uint64_t *known = isc_hashmap_put(&p->stacks, isc_hashmap_key(process, id), NULL);
	size_t numbers[ISC_STACK_FRAMES_MAX], n;
	uint64_t iid;

	if (known == NULL) {
		p->sink.listener.failed = true;
		return 0;
	}
	if (*known != 0)
		return *known;
	iid = *known = ++p->next_stack;
	n = isc_frames_stack(&p->frames, process, id, numbers, ISC_STACK_FRAMES_MAX);
	for (size_t i = 0; i < n; i++)
		tell_frame(p, numbers[i]);
	isc_buffer_clear(&p->inner);
	isc_wire_number(&p->inner, 1, iid);
	for (size_t i = n; i > 0; i--)
		isc_wire_number(&p->inner, 2, numbers[i - 1] + 1);
	isc_wire_message(&p->interned, INTERNED_CALLSTACK, &p->inner);
	return iid;
}

static void sample(isc_listener *self, const isc_listener_sample *s)
{
	isc_perfetto *p = (isc_perfetto *)self;
	uint64_t stack;

	if (s->wait_ns > 0 || s->stack == 0)
		return;
	stack = stack_of(p, s->on->process, s->stack);
	isc_buffer_clear(&p->event);
	if (s->cpu != UINT16_MAX)
		isc_wire_number(&p->event, 1, s->cpu);
	isc_wire_number(&p->event, 2, s->on->pid);
	isc_wire_number(&p->event, 3, s->on->tid);
	isc_wire_number(&p->event, 4, stack);
	isc_wire_number(&p->event, 6, s->cpu_ns);
	isc_perfetto_send(p, s->time_ns, PACKET_PERF_SAMPLE, &p->event);
}

static void end(isc_sink *self, const isc_export_result *result)
{
	isc_perfetto *p = (isc_perfetto *)self;

	(void)result;
	if (self->listener.failed || p->frames.failed)
		self->out->text.failed = true;
	isc_frames_fini(&p->frames);
	isc_buffer_fini(&p->packet);
	isc_buffer_fini(&p->event);
	isc_buffer_fini(&p->interned);
	isc_buffer_fini(&p->inner);
	isc_buffer_fini(&p->clean);
	isc_hashmap_fini(&p->names);
	isc_hashmap_fini(&p->functions);
	isc_hashmap_fini(&p->stacks);
	isc_hashmap_fini(&p->counters);
	isc_hashmap_fini(&p->modules);
	isc_hashmap_fini(&p->threads);
	isc_hashmap_fini(&p->fixed);
	isc_buffer_fini(&p->texts);
	isc_gpu_rows_fini(&p->rows);
	free(p);
}

const isc_sink_class isc_sink_perfetto = {
	.begin = begin,
	.hears = {.texts = true,
		  .process = process,
		  .thread = thread,
		  .open = open_slice,
		  .close = close_slice,
		  .mark = mark,
		  .sample = sample,
		  .gpu = isc_perfetto_gpu,
		  .after = isc_export_after},
	.end = end,
};
