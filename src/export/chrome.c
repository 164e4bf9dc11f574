/*
 * chrome.c - the JSON of chrome://tracing, which Perfetto and others open too.
 *
 * Calls, waits and collections are complete events of their thread.  Scopes may
 * end on another thread than they began on, so they are nestable async events, by
 * number.  Times are microseconds since the session began, exact to the nanosecond.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hashmap.h"
#include "export/gpu_rows.h"
#include "export/json_text.h"
#include "export/format.h"

/* Above all process ids: PID_MAX_LIMIT is 2^22. */
#define GPU_PID (1u << 24)
/* Stacks are written anew past this. */
#define TEXTS_MOST (64u << 20)
/* Works of one call come close together. */
#define RECENT_WORKS 4096u
/* Ids of arrows are whole numbers that a double holds: Perfetto takes no other. */
#define ARROW_ID_BITS 52u

typedef struct chrome {
	isc_sink sink;
	isc_gpu_rows rows;  /* of streams of GPUs: their threads */
	isc_hashmap known;  /* process, kind and id -> offset of its text + 1 */
	isc_hashmap stacks; /* process and id -> likewise */
	isc_buffer texts;   /* length, then `"name":...,"cat":...` as it is written each time */
	isc_buffer piece;
	isc_hashmap works; /* process and correlation -> place in recent + 1 */
	struct recent {
		uint64_t key, start_ns;
		uint32_t pid, tid;
	} recent[RECENT_WORKS]; /* the last work of a call, for calls that ask for more than one */
	uint64_t works_told, arrows;
	bool first;
} chrome;

static isc_buffer *next(chrome *c)
{
	isc_buffer *out = &c->sink.out->text;

	isc_buffer_text(out, c->first ? "\n" : ",\n");
	c->first = false;
	return out;
}

static void text_value(isc_buffer *out, const char *key, const isc_text *text)
{
	isc_buffer_text(out, key);
	isc_json_string(out, text->at, text->len);
}

static isc_sink *begin(isc_trace *trace, isc_export_out *out)
{
	chrome *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return NULL;
	c->sink = (isc_sink){.listener = {.trace = trace}, .out = out};
	c->first = true;
	isc_buffer_text(&out->text, "{\"otherData\":{\"made_by\":\"" ISC_EXPORT_MARK "\"");
	if (trace != NULL)
		isc_buffer_format(&out->text, ",\"start_unix_ns\":\"%llu\",\"start_ns\":\"%llu\"",
				  (unsigned long long)isc_trace_header(trace)->start_unix_ns,
				  (unsigned long long)isc_trace_header(trace)->start_ns);
	isc_buffer_text(&out->text, "},\n\"displayTimeUnit\":\"ns\",\"traceEvents\":[");
	return &c->sink;
}

static void name_event(chrome *c, const char *what, uint32_t pid, uint32_t tid, const isc_text *name)
{
	isc_buffer *out = next(c);

	isc_buffer_format(out, "{\"ph\":\"M\",\"name\":\"%s\",\"pid\":%u,\"tid\":%u,\"args\":{", what, pid, tid);
	text_value(out, "\"name\":", name);
	isc_buffer_text(out, "}}");
}

/* The arguments of the process in one line, as its name. */
static void process(isc_listener *self, const isc_trace_process *p)
{
	chrome *c = (chrome *)self;
	isc_text name;

	isc_buffer_clear(&c->piece);
	for (uint32_t i = 0; i < p->argv_len; i++)
		isc_buffer_add(&c->piece, p->argv[i] != 0 ? &p->argv[i] : " ", 1);
	while (c->piece.len > 0 && c->piece.data[c->piece.len - 1] == ' ')
		c->piece.len--;
	name = (isc_text){c->piece.data, (uint32_t)c->piece.len};
	if (name.len > 0 && p->pid != 0)
		name_event(c, "process_name", p->pid, p->pid, &name);
}

static void thread(isc_listener *self, const isc_listener_thread *t)
{
	if (t->name.len > 0)
		name_event((chrome *)self, "thread_name", t->pid, t->tid, &t->name);
}

static const char *category(uint8_t kind)
{
	static const char *const names[ISC_SLICE_KINDS] = {"python", "c", "wait", "gc", "syscall"};

	return names[kind];
}

/* Name, category and place of a slice, which thousands of others have too. */
static void add_fixed(chrome *c, isc_buffer *out, const isc_slice *s)
{
	uint64_t *known =
		isc_hashmap_put(&c->known, (uint64_t)s->on->process << 36 ^ (uint64_t)s->kind << 32 ^ s->id, NULL);
	uint32_t len;

	if (known == NULL) {
		c->sink.listener.failed = true;
		return;
	}
	if (*known == 0) {
		isc_buffer_clear(&c->piece);
		text_value(&c->piece, "\"name\":", &s->name);
		isc_buffer_format(&c->piece, ",\"cat\":\"%s\"", category(s->kind));
		if (s->file.len > 0) {
			text_value(&c->piece, ",\"args\":{\"file\":", &s->file);
			isc_buffer_format(&c->piece, ",\"line\":%u", s->line);
		} else {
			isc_buffer_format(&c->piece, ",\"args\":{\"kind\":\"%s\"", category(s->kind));
		}
		len = (uint32_t)c->piece.len;
		*known = c->texts.len + 1;
		isc_buffer_add(&c->texts, &len, sizeof(len));
		isc_buffer_add(&c->texts, c->piece.data, c->piece.len);
		if (c->texts.failed || c->piece.failed) {
			c->sink.listener.failed = true;
			return;
		}
	}
	memcpy(&len, c->texts.data + *known - 1, sizeof(len));
	isc_buffer_add(out, c->texts.data + *known - 1 + sizeof(len), len);
}

static void add_task(const chrome *c, isc_buffer *out, const isc_listener_thread *on, uint32_t task)
{
	char made[ISC_TASK_TEXT];
	isc_text name;

	if (task == 0)
		return;
	name = isc_trace_task(c->sink.listener.trace, on->process, task, made);
	text_value(out, ",\"task\":", &name);
}

static void add_place(isc_buffer *out, const char *begin, const isc_listener_thread *on, uint64_t ns)
{
	isc_buffer_text(out, begin);
	isc_json_number(out, on->pid);
	isc_buffer_add(out, ",\"tid\":", 7);
	isc_json_number(out, on->tid);
	isc_buffer_add(out, ",\"ts\":", 6);
	isc_json_us(out, ns);
}

static void close_slice(isc_listener *self, const isc_slice *s)
{
	static const struct {
		uint8_t flag;
		const char *word;
	} words[] = {{ISC_SLICE_RESUMED, ",\"resumed\":true"},	     {ISC_SLICE_THROWN, ",\"thrown\":true"},
		     {ISC_SLICE_YIELDED, ",\"yielded\":true"},	     {ISC_SLICE_RAISED, ",\"raised\":true"},
		     {ISC_SLICE_UNFINISHED, ",\"unfinished\":true"}, {ISC_SLICE_CUT, ",\"cut\":true"}};
	chrome *c = (chrome *)self;
	isc_buffer *out = next(c);

	add_place(out, "{\"ph\":\"X\",\"pid\":", s->on, s->start_ns);
	isc_buffer_add(out, ",\"dur\":", 7);
	isc_json_us(out, s->end_ns - s->start_ns);
	isc_buffer_add(out, ",", 1);
	add_fixed(c, out, s);
	for (size_t i = 0; s->flags != 0 && i < sizeof(words) / sizeof(words[0]); i++)
		if (s->flags & words[i].flag)
			isc_buffer_text(out, words[i].word);
	if (s->holder != 0)
		isc_buffer_format(out, ",\"holder\":%u", s->holder);
	if (s->kind == ISC_SLICE_GC)
		isc_buffer_format(out, ",\"generation\":%u", s->id);
	if (s->call.len > 0) {
		text_value(out, ",\"call\":", &s->call);
		isc_buffer_format(out, ",\"bytes\":%llu", (unsigned long long)s->bytes);
	}
	if (s->error != 0)
		isc_buffer_format(out, ",\"errno\":%u", s->error);
	add_task(c, out, s->on, s->task);
	isc_buffer_add(out, "}}", 2);
}

static void scope_end(chrome *c, const isc_mark *m, const char *begin, uint64_t ns)
{
	isc_buffer *out = next(c);

	add_place(out, begin, m->on, ns);
	text_value(out, ",\"cat\":\"scope\",\"name\":", &m->name);
	isc_buffer_format(out, ",\"id\":\"%llx\",\"args\":{\"instance\":%llu", (unsigned long long)m->instance,
			  (unsigned long long)m->instance);
	if (m->inside != 0)
		isc_buffer_format(out, ",\"inside\":%llu", (unsigned long long)m->inside);
	if (m->flags & ISC_SLICE_UNFINISHED)
		isc_buffer_text(out, ",\"unfinished\":true");
	if (m->flags & ISC_SLICE_CUT)
		isc_buffer_text(out, ",\"cut\":true");
	add_task(c, out, m->on, m->task);
	isc_buffer_add(out, "}}", 2);
}

static void mark(isc_listener *self, const isc_mark *m)
{
	chrome *c = (chrome *)self;
	isc_buffer *out;

	if (m->kind == ISC_MARK_SCOPE) {
		scope_end(c, m, "{\"ph\":\"b\",\"pid\":", m->start_ns);
		scope_end(c, m, "{\"ph\":\"e\",\"pid\":", m->end_ns);
		return;
	}
	out = next(c);
	add_place(out,
		  m->kind == ISC_MARK_COUNTER ? "{\"ph\":\"C\",\"pid\":" : "{\"ph\":\"i\",\"s\":\"t\",\"pid\":", m->on,
		  m->start_ns);
	text_value(out, ",\"name\":", &m->name);
	if (m->kind == ISC_MARK_COUNTER) {
		isc_buffer_text(out, ",\"args\":{\"value\":");
		isc_json_real(out, m->value);
	} else {
		isc_buffer_text(out, ",\"cat\":\"mark\",\"args\":{\"metadata\":");
		if (m->json.len > 0)
			isc_json_value(out, m->json.at, m->json.len);
		else
			isc_buffer_text(out, "null");
		add_task(c, out, m->on, m->task);
	}
	isc_buffer_text(out, "}}");
}

/* Root first; a function of Python with its file and first line, as VizTracer writes it. */
static void add_stack(chrome *c, isc_buffer *out, uint32_t process, uint32_t id)
{
	isc_frame frames[ISC_STACK_FRAMES_MAX];
	size_t n = 0;

	while (n < ISC_STACK_FRAMES_MAX && isc_trace_frame(c->sink.listener.trace, process, id, &frames[n]))
		id = frames[n++].parent;
	isc_buffer_text(out, "[");
	for (size_t i = n; i > 0; i--) {
		const isc_frame *f = &frames[i - 1];

		isc_buffer_clear(&c->piece);
		isc_buffer_add(&c->piece, f->name.at, f->name.len);
		if (f->file.len > 0 && f->first_line > 0) {
			isc_buffer_add(&c->piece, " (", 2);
			isc_buffer_add(&c->piece, f->file.at, f->file.len);
			isc_buffer_add(&c->piece, ":", 1);
			isc_json_number(&c->piece, f->first_line);
			isc_buffer_add(&c->piece, ")", 1);
		}
		isc_json_string(out, c->piece.data, c->piece.len);
		isc_buffer_text(out, i > 1 ? "," : "");
	}
	isc_buffer_text(out, "]");
}

/* The text of a stack, which thousands of samples have, is kept as those of slices are. */
static void add_known_stack(chrome *c, isc_buffer *out, uint32_t process, uint32_t id)
{
	uint64_t *known = isc_hashmap_put(&c->stacks, isc_hashmap_key(process, id), NULL);
	size_t from = out->len;
	uint32_t len;

	if (known == NULL) {
		c->sink.listener.failed = true;
	} else if (*known == 0) {
		add_stack(c, out, process, id);
		len = (uint32_t)(out->len - from);
		if (c->texts.len + len > TEXTS_MOST)
			return;
		*known = c->texts.len + 1;
		isc_buffer_add(&c->texts, &len, sizeof(len));
		isc_buffer_add(&c->texts, out->data + from, len);
		c->sink.listener.failed |= c->texts.failed;
	} else {
		memcpy(&len, c->texts.data + *known - 1, sizeof(len));
		isc_buffer_add(out, c->texts.data + *known - 1 + sizeof(len), len);
	}
}

static void sample(isc_listener *self, const isc_listener_sample *s)
{
	chrome *c = (chrome *)self;
	isc_buffer *out;
	isc_frame frame = {0};

	if (s->wait_ns > 0 || !isc_trace_frame(c->sink.listener.trace, s->on->process, s->stack, &frame))
		return; /* the wait has a slice */
	out = next(c);
	add_place(out, "{\"ph\":\"i\",\"s\":\"t\",\"pid\":", s->on, s->time_ns);
	text_value(out, ",\"cat\":\"sample\",\"name\":", &frame.name);
	isc_buffer_format(out, ",\"args\":{\"cpu_ns\":%llu,\"steps\":%u,\"stack\":", (unsigned long long)s->cpu_ns,
			  s->steps);
	add_known_stack(c, out, s->on->process, s->stack);
	add_task(c, out, s->on, s->task);
	isc_buffer_text(out, "}}");
}

/* Devices are processes of their own and rows of their streams are threads, by number: 0, which is a stream,
 * is no thread. */
static uint32_t gpu_tid(chrome *c, const isc_listener_gpu *g, uint32_t pid)
{
	const isc_recorded_device *device = g->item->device;
	isc_buffer text = {0};
	isc_text name;
	uint32_t nth, tid;
	bool fresh;
	size_t row = isc_gpu_rows_place(&c->rows, pid - GPU_PID, g->item->stream, g->start_ns, g->end_ns, &nth, &fresh);

	if (row == SIZE_MAX) {
		c->sink.listener.failed = true;
		return 1;
	}
	tid = (uint32_t)row + 1;
	if (!fresh)
		return tid;
	isc_buffer_format(&text, "GPU %u", pid - GPU_PID);
	if (device != NULL && device->name.len > 0) {
		isc_buffer_text(&text, ": ");
		isc_buffer_add(&text, device->name.at, device->name.len);
	}
	name = (isc_text){text.data, (uint32_t)text.len};
	name_event(c, "process_name", pid, tid, &name);
	isc_buffer_clear(&text);
	isc_buffer_format(&text, "stream %llu", (unsigned long long)g->item->stream);
	if (nth > 0)
		isc_buffer_format(&text, " (%u)", nth + 1);
	name = (isc_text){text.data, (uint32_t)text.len};
	name_event(c, "thread_name", pid, tid, &name);
	c->sink.listener.failed |= text.failed;
	isc_buffer_fini(&text);
	return tid;
}

static void gpu_arrow(chrome *c, const char *begin, uint32_t pid, uint32_t tid, uint64_t ns, uint64_t id)
{
	isc_buffer *out = next(c);

	isc_buffer_format(out, "%s,\"id\":%llu,\"name\":\"ac2g\",\"cat\":\"ac2g\",\"pid\":%u,\"tid\":%u,\"ts\":", begin,
			  (unsigned long long)id, pid, tid);
	isc_json_us(out, ns);
	isc_buffer_text(out, "}");
}

/* The last work that was told of this call; a new one has no pid. */
static struct recent *recent_work(chrome *c, uint64_t key)
{
	uint64_t *known = isc_hashmap_put(&c->works, key, NULL);
	struct recent *r;

	if (known == NULL) {
		c->sink.listener.failed = true;
		return NULL;
	}
	if (*known != 0)
		return &c->recent[*known - 1];
	*known = c->works_told++ % RECENT_WORKS + 1;
	r = &c->recent[*known - 1];
	if (r->pid != 0)
		isc_hashmap_remove(&c->works, r->key);
	*r = (struct recent){.key = key};
	return r;
}

/* From a call to its work.  A graph is many works of one call: then from each of them to the next. */
static void gpu_arrows(chrome *c, const isc_listener_gpu *g, uint32_t pid, uint32_t tid)
{
	static const char from[] = "{\"ph\":\"s\"", to[] = "{\"ph\":\"f\",\"bp\":\"e\"";
	uint64_t key = (uint64_t)g->on->process << 40 ^ g->item->correlation;
	uint64_t id = key & ((1ull << ARROW_ID_BITS) - 1);
	struct recent *last;

	if (g->asked != NULL) {
		/* It knows both ends of its arrow. */
		id = 1ull << ARROW_ID_BITS | c->arrows++;
		gpu_arrow(c, from, g->asked->pid, g->asked->tid, g->asked_ns, id);
		gpu_arrow(c, to, pid, tid, g->start_ns, id);
		return;
	}
	if (g->item->correlation == 0 || g->alone || (g->call && g->item->role == ISC_ROLE_OTHER))
		return;
	if (g->call) {
		gpu_arrow(c, from, pid, tid, g->start_ns, id);
		return;
	}
	last = recent_work(c, key);
	if (last == NULL)
		return;
	if (last->pid != 0) {
		id = 1ull << ARROW_ID_BITS | c->arrows++;
		gpu_arrow(c, from, last->pid, last->tid, last->start_ns, id);
	}
	gpu_arrow(c, to, pid, tid, g->start_ns, id);
	*last = (struct recent){.key = key, .start_ns = g->start_ns, .pid = pid, .tid = tid};
}

static void gpu(isc_listener *self, const isc_listener_gpu *g)
{
	chrome *c = (chrome *)self;
	const isc_recorded_item *i = g->item;
	uint32_t number = i->device != NULL ? i->device->number : 0;
	uint32_t pid = g->call ? g->on->pid : GPU_PID + number;
	uint32_t tid = !g->call ? gpu_tid(c, g, pid) : i->tid != 0 ? i->tid : g->on->tid;
	isc_buffer *out = next(c);

	isc_buffer_format(out, "{\"ph\":\"X\",\"pid\":%u,\"tid\":%u,\"ts\":", pid, tid);
	isc_json_us(out, g->start_ns);
	isc_buffer_add(out, ",\"dur\":", 7);
	isc_json_us(out, g->end_ns - g->start_ns);
	text_value(out, ",\"name\":", &g->name);
	isc_buffer_format(out, ",\"cat\":\"%s\",\"args\":{\"correlation\":%llu,\"process\":%u",
			  g->type != ISC_EVENT_NONE ? isc_event_type_name(g->type) : "gpu_order",
			  (unsigned long long)i->correlation, g->on->process);
	if (!g->call) {
		isc_buffer_format(out, ",\"device\":%u,\"stream\":%llu,\"clock_error_ns\":%lld", number,
				  (unsigned long long)i->stream, (long long)i->error_ns);
		if (i->bytes != 0)
			isc_buffer_format(out, ",\"bytes\":%llu", (unsigned long long)i->bytes);
		if (i->page == ISC_PAGE_PAGEABLE || i->page == ISC_PAGE_PINNED)
			isc_buffer_text(out,
					i->page == ISC_PAGE_PAGEABLE ? ",\"pageable\":true" : ",\"pageable\":false");
		if (i->grid[0] != 0)
			isc_buffer_format(out, ",\"grid\":[%u,%u,%u],\"block\":[%u,%u,%u]", i->grid[0], i->grid[1],
					  i->grid[2], i->block[0], i->block[1], i->block[2]);
	} else if (i->stack != 0) {
		isc_buffer_text(out, ",\"stack\":");
		add_stack(c, out, g->on->process, i->stack);
	}
	if (g->cut)
		isc_buffer_text(out, ",\"cut\":true");
	isc_buffer_add(out, "}}", 2);
	gpu_arrows(c, g, pid, tid);
}

static void end(isc_sink *self, const isc_export_result *result)
{
	chrome *c = (chrome *)self;

	(void)result;
	isc_buffer_text(&self->out->text, "\n]}\n");
	isc_hashmap_fini(&c->known);
	isc_gpu_rows_fini(&c->rows);
	isc_hashmap_fini(&c->works);
	isc_hashmap_fini(&c->stacks);
	isc_buffer_fini(&c->texts);
	isc_buffer_fini(&c->piece);
	free(c);
}

const isc_sink_class isc_sink_chrome = {
	.begin = begin,
	.hears = {.texts = true,
		  .process = process,
		  .thread = thread,
		  .close = close_slice,
		  .mark = mark,
		  .sample = sample,
		  .gpu = gpu,
		  .after = isc_export_after},
	.end = end,
};
