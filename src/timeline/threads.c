/*
 * threads.c - every thread in the order of time: how long each function and
 * scope took, and from where each call of the GPU's library was made.
 *
 * Spans nest by time alone.  One that ends after the span it began in is taken
 * to end with it for what is inside what; its own length stays.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "timeline/python_place.h"
#include "timeline/state.h"

/* Deeper spans are counted and left out: ten times what deep recursion in a model has. */
#define DEPTH_MOST 4096u
/* With more names than this, scopes have no percentiles: each may take 30 KiB. */
#define HISTOGRAMS_MOST 4096u
#define PLACE_BYTES 1024u
#define SCOPES_IN_MOST 64u

struct frame {
	int64_t start_ns, end_ns, own_end_ns, inner_ns;
	uint32_t name, stack, kind;
	size_t function; /* SIZE_MAX: not counted */
};

struct inside {
	int64_t start_ns, end_ns;
	uint32_t name;
};

struct thread_function {
	uint32_t name, process, kind, open;
	uint64_t calls;
	int64_t self_ns, total_ns;
};

struct thread_walk {
	isc_timeline *t;
	uint32_t thread; /* that is gone through */
	struct frame *stack;
	size_t depth;
	struct inside scopes_in[SCOPES_IN_MOST]; /* those that the thread is in, for places */
	size_t scope_depth;
	isc_hashmap function_of; /* process and name -> place + 1 */
	isc_array functions, scopes;
	isc_hashmap scope_of;
	isc_hashmap place_of; /* operator and frame -> name */
	uint8_t *ranks;	      /* of names as Python frames, + 1 */
	size_t ranks_room;
	size_t histograms;
	isc_call_item last; /* of the thread; domain ISC_GPU_UNKNOWN: none */
	/* Since the thread's last call: when that ended (INT64_MAX: there was none), and what took most of the time. */
	int64_t since_ns, did_ns;
	uint32_t did_op, did_frame;
};

/* ---- places ---- */

enum { RANK_NONE, RANK_LIBRARY, RANK_PROGRAM };

static bool has(isc_text s, const char *word)
{
	return s.at != NULL && memmem(s.at, s.len, word, strlen(word)) != NULL;
}

/* How much a frame tells of where the program is: its own code before that of libraries. */
static int rank_frame(isc_text s)
{
	if (s.len == 0 || s.at[0] == '<' || !has(s, ".py("))
		return RANK_NONE;
	if (has(s, "torch/") || has(s, "site-packages/") || has(s, "threading.py(") || has(s, "lib/python"))
		return RANK_LIBRARY;
	return RANK_PROGRAM;
}

static int rank_of(struct thread_walk *w, uint32_t name)
{
	if (name >= w->ranks_room) {
		size_t room = (size_t)name * 2 + 1024;
		uint8_t *ranks = realloc(w->ranks, room);

		if (ranks == NULL) {
			w->t->arena->failed = true;
			return RANK_NONE;
		}
		memset(ranks + w->ranks_room, 0, room - w->ranks_room);
		w->ranks = ranks;
		w->ranks_room = room;
	}
	if (w->ranks[name] == 0)
		w->ranks[name] = (uint8_t)(rank_frame(isc_timeline_text(w->t, name)) + 1);
	return w->ranks[name] - 1;
}

/* "path/file.py(12): name" becomes "name (path/file.py:12)". */
static size_t write_frame(char *out, size_t room, isc_text s)
{
	isc_python_place p;
	int n;

	if (isc_python_place_of(s, &p))
		n = snprintf(out, room, "%.200s (%.*s:%u)", p.name.at, (int)(p.file.len < 300 ? p.file.len : 300),
			     p.file.at, p.line);
	else
		n = snprintf(out, room, "%.*s", (int)(s.len < 400 ? s.len : 400), s.at);
	return n < 0 ? 0 : (size_t)n < room ? (size_t)n : room - 1;
}

/* One name for an operator and a Python frame; 0: neither, or no memory. */
static uint32_t place_of(struct thread_walk *w, uint32_t op, uint32_t frame)
{
	char text[PLACE_BYTES];
	uint64_t *known;
	size_t len = 0;

	if (op == 0 && frame == 0)
		return 0;
	known = isc_hashmap_find(&w->place_of, isc_hashmap_key(op, frame));
	if (known != NULL)
		return (uint32_t)*known;
	if (op != 0) {
		isc_text s = isc_timeline_text(w->t, op);

		len = s.len < 400 ? s.len : 400;
		memcpy(text, s.at, len);
	}
	if (op != 0 && frame != 0) {
		text[len++] = ',';
		text[len++] = ' ';
	}
	if (frame != 0)
		len += write_frame(text + len, sizeof(text) - len, isc_timeline_text(w->t, frame));
	known = isc_hashmap_put(&w->place_of, isc_hashmap_key(op, frame), NULL);
	if (known == NULL) {
		w->t->arena->failed = true;
		return 0;
	}
	*known = isc_timeline_name(w->t, text, len);
	return (uint32_t)*known;
}

/* Where the thread is: the innermost operator, and the innermost Python frame of the program's
 * own, else of a library. */
static uint32_t where_is(struct thread_walk *w, uint32_t own_stack)
{
	uint32_t op = 0, frame = own_stack;
	int best = own_stack != 0 ? rank_of(w, own_stack) : RANK_NONE;

	for (size_t i = w->depth; i-- > 0 && (op == 0 || best < RANK_PROGRAM);) {
		const struct frame *f = &w->stack[i];
		uint32_t candidate = f->kind == ISC_HOST_PYTHON ? f->name : f->stack;

		if (f->kind == ISC_HOST_OP && op == 0)
			op = f->name;
		if (candidate != 0 && rank_of(w, candidate) > best) {
			best = rank_of(w, candidate);
			frame = candidate;
		}
	}
	if (op == 0 && frame == 0 && w->scope_depth > 0)
		op = w->scopes_in[w->scope_depth - 1].name;
	return place_of(w, op, frame);
}

/* ---- functions ---- */

/* SIZE_MAX: the table is full; the arena remembers a lack of memory. */
static size_t function_of(struct thread_walk *w, uint32_t process, uint32_t name, uint32_t kind)
{
	uint64_t *place;
	struct thread_function *f;

	if (w->functions.count >= ISC_ROWS_MOST &&
	    isc_hashmap_find(&w->function_of, isc_hashmap_key(process, name)) == NULL) {
		w->t->folded++;
		return SIZE_MAX;
	}
	place = isc_hashmap_put(&w->function_of, isc_hashmap_key(process, name), NULL);
	if (place == NULL) {
		w->t->arena->failed = true;
		return SIZE_MAX;
	}
	if (*place == 0) {
		f = isc_arena_push(w->t->arena, &w->functions.at, &w->functions.count, &w->functions.room, sizeof(*f));
		if (f == NULL)
			return SIZE_MAX;
		*f = (struct thread_function){.name = name, .process = process, .kind = kind};
		*place = w->functions.count;
	}
	return *place - 1;
}

/* The part of a frame's time that the window has. */
static int64_t inside(const struct thread_walk *w, uint32_t source, int64_t start, int64_t end)
{
	return isc_timeline_clip(w->t, source, &start, &end) ? end - start : 0;
}

/* While the devices of the source had work, from the first to the last of it. */
static int64_t beside_work(const struct thread_walk *w, uint32_t source, const struct frame *f)
{
	const isc_source_entry *s = isc_source_at(w->t, source);
	int64_t start = f->start_ns > s->work_first_ns ? f->start_ns : s->work_first_ns;
	int64_t end = f->end_ns < s->work_last_ns ? f->end_ns : s->work_last_ns;

	return s->worked && end > start ? inside(w, source, start, end) : 0;
}

static void count_thread(struct thread_walk *w, uint32_t source, const struct frame *f)
{
	isc_facts_thread *th = isc_thread_at(w->t, w->thread);
	enum isc_gpu_call call = f->kind == ISC_HOST_CALL ? isc_timeline_call_kind(w->t, f->name) : ISC_CALL_OTHER;

	if (w->depth == 0)
		isc_ns_add(&th->busy_ns, beside_work(w, source, f));
	if (call == ISC_CALL_SYNC || call == ISC_CALL_COPY)
		isc_ns_add(&th->waited_ns, beside_work(w, source, f));
}

/* Something is over that the thread did. */
static void note_done(struct thread_walk *w, int64_t start, int64_t end, uint32_t op, uint32_t frame)
{
	int64_t ns;

	if (w->since_ns == INT64_MAX)
		return;
	ns = end - (start > w->since_ns ? start : w->since_ns);
	if (ns <= w->did_ns)
		return;
	w->did_ns = ns;
	w->did_op = op;
	w->did_frame = frame;
}

/* What the thread did for most of the time up to now; 0: no single thing. */
static uint32_t did_before(struct thread_walk *w, int64_t now)
{
	if (w->since_ns == INT64_MAX || w->did_ns < (now - w->since_ns + 1) / 2)
		return 0;
	return place_of(w, w->did_op, w->did_frame);
}

static void begin_anew(struct thread_walk *w, int64_t since)
{
	w->since_ns = since;
	w->did_ns = 0;
	w->did_op = w->did_frame = 0;
}

static bool is_step(struct thread_walk *w, uint32_t name)
{
	isc_text text = isc_timeline_text(w->t, name);

	return text.len >= 12 && memcmp(text.at, "ProfilerStep", 12) == 0;
}

static void leave_scope(struct thread_walk *w)
{
	const struct inside *s = &w->scopes_in[--w->scope_depth];

	if (!is_step(w, s->name))
		note_done(w, s->start_ns, s->end_ns, s->name, 0);
}

static void pop(struct thread_walk *w, uint32_t source)
{
	struct frame *top = &w->stack[--w->depth];
	int64_t took = inside(w, source, top->start_ns, top->own_end_ns);
	struct thread_function *f;

	count_thread(w, source, top);
	if (top->kind != ISC_HOST_CALL)
		note_done(w, top->start_ns, top->end_ns, top->kind == ISC_HOST_PYTHON ? 0 : top->name,
			  top->kind == ISC_HOST_PYTHON ? top->name : top->stack);
	if (w->depth > 0)
		isc_ns_add(&w->stack[w->depth - 1].inner_ns, inside(w, source, top->start_ns, top->end_ns));
	if (top->function == SIZE_MAX)
		return;
	f = (struct thread_function *)w->functions.at + top->function;
	isc_ns_add(&f->self_ns, took - top->inner_ns);
	if (--f->open == 0)
		isc_ns_add(&f->total_ns, took);
}

/* Tells whoever watches of a span that begins: end_ns is where it is taken to end. */
static void tell(struct thread_walk *w, const isc_host_item *item, int64_t end_ns, unsigned depth)
{
	const isc_timeline_watch *watch = w->t->options.watch;
	const isc_facts_thread *thread = isc_thread_at(w->t, item->thread);
	const isc_facts_process *process = isc_process_at(w->t, thread->process);
	isc_timeline_seen s = {.start_ns = item->start_ns,
			       .end_ns = end_ns,
			       .call_ns = ISC_NEVER,
			       .thread = item->thread,
			       .name = item->name,
			       .depth = depth,
			       .pid = process->pid,
			       .tid = thread->tid,
			       .thread_name = thread->name,
			       .kind = (uint8_t)item->kind};

	if (watch == NULL || !isc_timeline_clip(w->t, process->source, &s.start_ns, &s.end_ns))
		return;
	watch->span(watch->self, &s);
}

static void push(struct thread_walk *w, const isc_host_item *item, uint32_t process, uint32_t source)
{
	struct frame frame = {.start_ns = item->start_ns,
			      .end_ns = item->end_ns,
			      .own_end_ns = item->end_ns,
			      .name = item->name,
			      .stack = item->stack,
			      .kind = item->kind,
			      .function = SIZE_MAX};
	int64_t start = item->start_ns, end = item->end_ns;

	if (w->depth == DEPTH_MOST) {
		w->t->facts.too_deep++;
		return;
	}
	if (w->depth > 0 && frame.end_ns > w->stack[w->depth - 1].end_ns) {
		frame.end_ns = w->stack[w->depth - 1].end_ns;
		w->t->facts.overlapping++;
	}
	tell(w, item, frame.end_ns, (unsigned)w->depth);
	if (isc_timeline_clip(w->t, source, &start, &end))
		frame.function = function_of(w, process, item->name, item->kind);
	if (frame.function != SIZE_MAX) {
		struct thread_function *f = (struct thread_function *)w->functions.at + frame.function;

		f->calls++;
		f->open++;
	}
	w->stack[w->depth++] = frame;
}

/* ---- scopes ---- */

static bool add_scope(struct thread_walk *w, const isc_host_item *item, uint32_t source)
{
	int64_t start = item->start_ns, end = item->end_ns, length = end - start;
	isc_facts_scope *s;
	uint64_t *place;

	if (!isc_timeline_clip(w->t, source, &start, &end))
		return true;
	place = isc_hashmap_put(&w->scope_of, item->name, NULL);
	if (place == NULL)
		return false;
	if (*place == 0) {
		s = isc_arena_push(w->t->arena, &w->scopes.at, &w->scopes.count, &w->scopes.room, sizeof(*s));
		if (s == NULL)
			return false;
		s->name = isc_timeline_text(w->t, item->name);
		*place = w->scopes.count;
	}
	s = (isc_facts_scope *)w->scopes.at + *place - 1;
	if (end - start != length) {
		s->cut++;
		return true;
	}
	s->count++;
	isc_ns_add(&s->total_ns, length);
	s->max_ns = length > s->max_ns ? length : s->max_ns;
	if (s->count == 1 && w->histograms++ >= HISTOGRAMS_MOST)
		return true;
	return (s->count > 1 && s->ns.count == 0) || isc_histogram_add(&s->ns, (uint64_t)length);
}

/* ---- the walk ---- */

/* A call is kept until the next of its thread, which may be a wait for all that it asked for. */
static isc_status put_last(struct thread_walk *w, isc_error *err)
{
	isc_call_item call = w->last;

	w->last.domain = ISC_GPU_UNKNOWN;
	return call.domain != ISC_GPU_UNKNOWN ? isc_spool_add(w->t->calls, &call, err) : ISC_OK;
}

static bool waits_for_the_device(struct thread_walk *w, const isc_host_item *item)
{
	isc_text name = isc_timeline_text(w->t, item->name);

	return isc_timeline_call_kind(w->t, item->name) == ISC_CALL_SYNC &&
	       (has(name, "DeviceSynchronize") || has(name, "CtxSynchronize"));
}

/* The one that its source says, else the innermost that the thread is in.  Steps of a profiler are not the
 * program's scopes, and each has a name of its own. */
static uint32_t scope_of(struct thread_walk *w, const isc_host_item *item)
{
	if (item->scope != 0)
		return item->scope;
	for (size_t i = w->scope_depth; i-- > 0;) {
		if (!is_step(w, w->scopes_in[i].name))
			return w->scopes_in[i].name;
	}
	return 0;
}

static isc_status add_call(struct thread_walk *w, const isc_host_item *item, isc_error *err)
{
	isc_wait_item wait = {.start_ns = item->start_ns,
			      .end_ns = item->end_ns,
			      .thread = item->thread,
			      .name = item->name,
			      .call = isc_timeline_call_kind(w->t, item->name)};
	isc_status st;

	if (w->last.domain != ISC_GPU_UNKNOWN && waits_for_the_device(w, item) && item->start_ns >= w->last.end_ns)
		w->last.waited_ns = item->end_ns;
	st = put_last(w, err);
	isc_thread_at(w->t, item->thread)->asked += item->correlation != 0 && wait.call != ISC_CALL_SYNC;
	if (st == ISC_OK && item->correlation != 0)
		w->last = (isc_call_item){.start_ns = item->start_ns,
					  .end_ns = item->end_ns,
					  .waited_ns = ISC_NEVER,
					  .correlation = item->correlation,
					  .domain = item->domain,
					  .thread = item->thread,
					  .name = item->name,
					  .where = where_is(w, item->stack),
					  .scope = scope_of(w, item),
					  .did = did_before(w, item->start_ns)};
	if (item->correlation != 0 || wait.call == ISC_CALL_SYNC || wait.call == ISC_CALL_COPY)
		begin_anew(w, item->end_ns);
	if (st == ISC_OK && (wait.call == ISC_CALL_SYNC || wait.call == ISC_CALL_COPY))
		st = isc_spool_add(w->t->waits, &wait, err);
	return st;
}

static isc_status walk(struct thread_walk *w, isc_error *err)
{
	const isc_host_item *item;
	uint32_t thread = ISC_GPU_UNKNOWN, process = 0, source = 0;
	isc_status st = isc_spool_rewind(w->t->host, err);

	while (st == ISC_OK && (item = isc_spool_next(w->t->host)) != NULL) {
		if (item->thread != thread) {
			st = put_last(w, err);
			while (w->depth > 0)
				pop(w, source);
			w->scope_depth = 0;
			begin_anew(w, INT64_MAX);
			thread = w->thread = item->thread;
			process = isc_thread_at(w->t, thread)->process;
			source = isc_process_at(w->t, process)->source;
		}
		while (w->depth > 0 && w->stack[w->depth - 1].end_ns <= item->start_ns)
			pop(w, source);
		while (w->scope_depth > 0 && w->scopes_in[w->scope_depth - 1].end_ns <= item->start_ns)
			leave_scope(w);
		if (item->kind == ISC_HOST_SCOPE) {
			tell(w, item, item->end_ns, (unsigned)w->scope_depth);
			if (w->scope_depth < SCOPES_IN_MOST)
				w->scopes_in[w->scope_depth++] =
					(struct inside){item->start_ns, item->end_ns, item->name};
			if (!add_scope(w, item, source))
				st = isc_timeline_no_memory(err);
			continue;
		}
		if (item->kind == ISC_HOST_CALL && st == ISC_OK)
			st = add_call(w, item, err);
		push(w, item, process, source);
	}
	while (w->depth > 0)
		pop(w, source);
	if (st == ISC_OK)
		st = put_last(w, err);
	if (st == ISC_OK)
		st = isc_spool_failed(w->t->host, err);
	return st == ISC_OK && (w->t->arena->failed || w->t->starved) ? isc_timeline_no_memory(err) : st;
}

/* The window becomes the time from the first entry of the scope to its last exit. */
static isc_status find_scope(isc_timeline *t, const char *scope, isc_error *err)
{
	size_t len = strlen(scope);
	int64_t first = INT64_MAX, last = INT64_MIN;
	const isc_host_item *item;
	isc_status st = isc_spool_rewind(t->host, err);

	while (st == ISC_OK && (item = isc_spool_next(t->host)) != NULL) {
		isc_text name = isc_timeline_text(t, item->name);
		int64_t start = item->start_ns, end = item->end_ns;

		if (item->kind != ISC_HOST_SCOPE || name.len != len || memcmp(name.at, scope, len) != 0)
			continue;
		if (!isc_timeline_clip(t, isc_process_at(t, isc_thread_at(t, item->thread)->process)->source, &start,
				       &end))
			continue;
		first = start < first ? start : first;
		last = end > last ? end : last;
	}
	if (st == ISC_OK)
		st = isc_spool_failed(t->host, err);
	if (st == ISC_OK && first >= last) {
		isc_fail(err, ISC_ERR_INVALID, "there is no scope %.80s in what was asked for", scope);
		isc_hint(err, "see the names of scopes in a report of the whole");
		st = ISC_ERR_INVALID;
	}
	if (st == ISC_OK) {
		t->cut = true;
		t->from_ns = first;
		t->to_ns = last;
	}
	return st;
}

static int by_self(const void *a, const void *b)
{
	const isc_facts_function *x = a, *y = b;

	if (x->self_ns != y->self_ns)
		return x->self_ns < y->self_ns ? 1 : -1;
	return strcmp(x->name.at, y->name.at);
}

static int by_total(const void *a, const void *b)
{
	const isc_facts_scope *x = a, *y = b;

	if (x->total_ns != y->total_ns)
		return x->total_ns < y->total_ns ? 1 : -1;
	return strcmp(x->name.at, y->name.at);
}

static bool take(struct thread_walk *w)
{
	isc_timeline_facts *facts = &w->t->facts;

	facts->scopes = w->scopes.at;
	facts->scope_count = w->scopes.count;
	facts->functions = isc_arena_array(w->t->arena, w->functions.count, sizeof(*facts->functions));
	if (facts->functions == NULL)
		return false;
	facts->function_count = w->functions.count;
	for (size_t i = 0; i < w->functions.count; i++) {
		const struct thread_function *f = (struct thread_function *)w->functions.at + i;

		facts->functions[i] = (isc_facts_function){.name = isc_timeline_text(w->t, f->name),
							   .process = f->process,
							   .kind = (uint8_t)f->kind,
							   .calls = f->calls,
							   .self_ns = f->self_ns,
							   .total_ns = f->total_ns};
	}
	if (facts->function_count > 0)
		qsort(facts->functions, facts->function_count, sizeof(*facts->functions), by_self);
	if (facts->scope_count > 0)
		qsort(facts->scopes, facts->scope_count, sizeof(*facts->scopes), by_total);
	return true;
}

isc_status isc_threads_walk(isc_timeline *t, const char *scope, isc_error *err)
{
	struct thread_walk w = {.t = t,
				.stack = calloc(DEPTH_MOST, sizeof(struct frame)),
				.last.domain = ISC_GPU_UNKNOWN,
				.since_ns = INT64_MAX};
	isc_status st = w.stack != NULL ? ISC_OK : isc_timeline_no_memory(err);

	if (st == ISC_OK && scope != NULL)
		st = find_scope(t, scope, err);
	if (st == ISC_OK)
		st = walk(&w, err);
	/* Also when it failed: their histograms are to be freed. */
	if (!take(&w) && st == ISC_OK)
		st = isc_timeline_no_memory(err);
	isc_spool_free(t->host);
	t->host = NULL;
	isc_hashmap_fini(&w.function_of);
	isc_hashmap_fini(&w.scope_of);
	isc_hashmap_fini(&w.place_of);
	free(w.ranks);
	free(w.stack);
	return st;
}
