/*
 * lanes_trace.c - the lanes of a trace of ours: a listener that draws scopes, calls and
 * waits, and what the scheduler did with each thread.
 *
 * Events of one thread come in order.  A call becomes a piece when it ends, so a
 * row has its pieces in order too.  While calls were not recorded nobody knows who was
 * open: a call that is seen to end later is drawn around such a pause, any other
 * up to it.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/build.h"
#include "analyze/picture/lanes.h"
#include "timeline/own.h"
#include "trace/frame.h"

#define SCOPES_DEEPEST 24u
#define NO_ROW UINT16_MAX

struct lane_thread {
	uint32_t thread, process;
	size_t lane;			 /* place + 1; 0: there are too many */
	bool calls;			 /* it made any */
	size_t pause;			 /* of its process: the first that is not drawn yet */
	uint64_t last_ns;		 /* of the session: nothing later was heard of it */
	uint64_t scopes[SCOPES_DEEPEST]; /* the open one of each row: its instance; 0: none */
};

struct lanes_reading {
	isc_listener listener;
	isc_build *b;
	isc_lanes *l;
	struct lane_thread *threads;
	size_t count, room;
	isc_hashmap thread_of;
	isc_hashmap name_of; /* process and id -> name + 1 */
};

static uint64_t session_ns(const isc_build *b, uint64_t ns)
{
	return ns > b->start_ns ? ns - b->start_ns : 0;
}

static isc_lane *lane_of(struct lanes_reading *r, const struct lane_thread *t)
{
	return t->lane != 0 ? &r->l->lanes[t->lane - 1] : NULL;
}

/* As the table of threads has it. */
static isc_text thread_name(const isc_analysis *a, uint32_t pid, const isc_trace_thread *info)
{
	for (size_t i = 0; i < a->thread_count; i++) {
		if (a->threads[i].tid == info->tid && a->threads[i].pid == pid)
			return a->threads[i].name;
	}
	return (isc_text){info->name, strnlen(info->name, sizeof(info->name))};
}

static struct lane_thread *find_thread(struct lanes_reading *r, uint32_t index)
{
	uint64_t *place = isc_hashmap_put(&r->thread_of, index, NULL);
	const isc_trace_thread *info;
	const isc_trace_process *process;
	isc_lane as = {.kind = ISC_LANE_THREAD}, *lane;
	struct lane_thread *t;

	if (place == NULL)
		return NULL;
	if (*place != 0)
		return &r->threads[*place - 1];
	t = isc_arena_push(r->b->arena, &r->threads, &r->count, &r->room, sizeof(*t));
	if (t == NULL)
		return NULL;
	*t = (struct lane_thread){.thread = index};
	*place = r->count;
	info = isc_trace_thread_find(r->b->trace, index);
	if (info != NULL) {
		process = isc_trace_process_find(r->b->trace, info->process);
		as.pid = process != NULL ? process->pid : 0;
		as.number = info->tid;
		as.name = thread_name(r->b->a, as.pid, info);
		t->process = info->process;
	}
	lane = isc_lanes_lane(r->l, ISC_LANES_TID | as.number, &as);
	if (lane != NULL) {
		t->lane = (size_t)(lane - r->l->lanes) + 1;
		/* A call of the GPU's library may have made it, which does not know names. */
		if (lane->name.len == 0)
			isc_lanes_call(r->l, lane, as.name);
	}
	return t;
}

static struct lane_thread *thread_of(struct lanes_reading *r, const isc_listener_thread *on, uint64_t now_ns)
{
	struct lane_thread *t = find_thread(r, on->thread);

	if (t == NULL)
		r->listener.failed = true;
	else if (now_ns > t->last_ns)
		t->last_ns = now_ns;
	return t;
}

/* ---- names ---- */

static uint32_t name_of(struct lanes_reading *r, uint32_t process, uint32_t id)
{
	uint64_t *known = isc_hashmap_put(&r->name_of, isc_hashmap_key(process, id), NULL);
	isc_piece_name name = {0};
	isc_frame frame;

	if (known == NULL) {
		r->l->failed = true;
		return 0;
	}
	if (*known != 0)
		return (uint32_t)(*known - 1);
	if (isc_trace_code(r->b->trace, process, id, &frame)) {
		name.name = frame.name;
		name.file = frame.file;
		name.line = frame.first_line;
	} else {
		name.name = isc_trace_name(r->b->trace, process, id);
	}
	*known = (uint64_t)isc_lanes_name(r->l, &name) + 1;
	return (uint32_t)(*known - 1);
}

/* ---- pieces ---- */

/* Times of the session, as far as they lie in what is looked at. */
static void add(struct lanes_reading *r, struct lane_thread *t, enum isc_row_kind kind, size_t depth, uint64_t from,
		uint64_t to, uint32_t name)
{
	uint64_t first = session_ns(r->b, r->b->from_ns), last = session_ns(r->b, r->b->to_ns);
	isc_lane_piece p = {.start_ns = from > first ? from : first,
			    .end_ns = to < last ? to : last,
			    .launch_ns = UINT64_MAX,
			    .name = name};

	if (to >= first && from <= last)
		isc_lanes_add(r->l, lane_of(r, t), kind, depth < NO_ROW ? (uint16_t)depth : NO_ROW, &p);
}

/* The pause of a number in the process of a thread; false: there are no more. */
static bool pause_at(const struct lanes_reading *r, const struct lane_thread *t, size_t i, isc_pause *out)
{
	const isc_unseen_process *unseen = isc_unseen_of(&r->b->unseen, t->process);

	if (unseen == NULL || i >= unseen->count)
		return false;
	out->from_ns = session_ns(r->b, unseen->pause[i].from_ns);
	out->to_ns = unseen->pause[i].to_ns != UINT64_MAX ? session_ns(r->b, unseen->pause[i].to_ns) : UINT64_MAX;
	return true;
}

/* The next pauses in the outermost row, as far as they have begun by then. */
static void draw_pauses(struct lanes_reading *r, struct lane_thread *t, uint64_t until_ns)
{
	static const char words[] = "(calls not recorded)";
	isc_piece_name name = {.name = {words, sizeof(words) - 1}};
	isc_pause p;

	for (; t->calls && pause_at(r, t, t->pause, &p) && p.from_ns < until_ns; t->pause++)
		add(r, t, ISC_ROW_CALL, 0, p.from_ns, p.to_ns < until_ns ? p.to_ns : until_ns,
		    isc_lanes_name(r->l, &name));
}

/* The first pause of a thread that ends after a moment. */
static size_t pause_after(const struct lanes_reading *r, const struct lane_thread *t, uint64_t ns)
{
	const isc_unseen_process *unseen = isc_unseen_of(&r->b->unseen, t->process);
	size_t low = 0, high = unseen != NULL ? unseen->count : 0;
	isc_pause p;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (pause_at(r, t, middle, &p) && p.to_ns <= ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void draw_call(struct lanes_reading *r, struct lane_thread *t, const isc_slice *s)
{
	uint32_t name = name_of(r, s->on->process, s->id);
	uint64_t from = s->start_ns;
	bool outermost = s->depth == 0;
	isc_pause p;

	t->calls = true;
	if (outermost)
		draw_pauses(r, t, from);
	for (size_t i = pause_after(r, t, from); pause_at(r, t, i, &p) && p.from_ns < s->end_ns; i++) {
		if (p.from_ns > from)
			add(r, t, ISC_ROW_CALL, s->depth, from, p.from_ns, name);
		if (s->flags & ISC_SLICE_UNFINISHED)
			return;
		if (outermost)
			draw_pauses(r, t, p.to_ns < s->end_ns ? p.to_ns : s->end_ns);
		from = p.to_ns;
	}
	if (from <= s->end_ns)
		add(r, t, ISC_ROW_CALL, s->depth, from, s->end_ns, name);
}

/* ---- what is heard ---- */

static void on_close(isc_listener *self, const isc_slice *s)
{
	struct lanes_reading *r = (struct lanes_reading *)self;
	struct lane_thread *t;

	/* What interrupted a write of ours is told apart from the rest, and is not much. */
	if (s->stream != 0 || (t = thread_of(r, s->on, s->end_ns)) == NULL)
		return;
	if (s->kind == ISC_SLICE_CALL || s->kind == ISC_SLICE_C_CALL)
		draw_call(r, t, s);
	else if (s->kind != ISC_SLICE_SYSCALL && s->end_ns > s->start_ns)
		add(r, t, ISC_ROW_WAIT, 0, s->start_ns, s->end_ns, s->state);
	r->listener.failed |= r->l->failed;
}

/* A row is taken while a scope is open on it. */
static void on_scope(isc_listener *self, const isc_mark *m)
{
	struct lane_thread *t = thread_of((struct lanes_reading *)self, m->on, m->start_ns);
	size_t row = 0;

	for (size_t i = 0; t != NULL && i < SCOPES_DEEPEST && m->inside != 0; i++) {
		if (t->scopes[i] == m->inside)
			row = i + 1;
	}
	while (t != NULL && row < SCOPES_DEEPEST && t->scopes[row] != 0)
		row++;
	if (t != NULL && row < SCOPES_DEEPEST)
		t->scopes[row] = m->instance;
}

static void draw_scope(struct lanes_reading *r, struct lane_thread *t, const isc_mark *m)
{
	for (size_t row = 0; row < SCOPES_DEEPEST; row++) {
		if (t->scopes[row] != m->instance)
			continue;
		add(r, t, ISC_ROW_SCOPE, row, m->start_ns, m->end_ns, name_of(r, m->on->process, m->id));
		t->scopes[row] = 0;
	}
}

static void draw_counter(struct lanes_reading *r, const isc_mark *m)
{
	isc_lane as = {.kind = ISC_LANE_COUNTER};
	uint32_t len = 0;

	if (m->start_ns < session_ns(r->b, r->b->from_ns) || m->start_ns > session_ns(r->b, r->b->to_ns))
		return;
	as.name.at = isc_build_label(r->b, m->on->process, m->id, &len);
	as.name.len = len;
	isc_lanes_value(r->l, isc_lanes_lane(r->l, 1ull << 63 | name_of(r, m->on->process, m->id), &as), m->start_ns,
			m->value);
}

static void on_mark(isc_listener *self, const isc_mark *m)
{
	struct lanes_reading *r = (struct lanes_reading *)self;
	struct lane_thread *t = thread_of(r, m->on, m->end_ns);

	if (t != NULL && m->kind == ISC_MARK_SCOPE)
		draw_scope(r, t, m);
	else if (t != NULL && m->kind == ISC_MARK_COUNTER)
		draw_counter(r, m);
	r->listener.failed |= r->l->failed;
}

static void on_sample(isc_listener *self, const isc_listener_sample *s)
{
	thread_of((struct lanes_reading *)self, s->on, s->time_ns);
}

static bool listen(struct lanes_reading *r)
{
	static const isc_listener_class class = {
		.close = on_close, .scope = on_scope, .mark = on_mark, .sample = on_sample};
	isc_stretch all = {0, UINT64_MAX};
	isc_cut whole = {.stretch = &all, .count = 1, .whole = true};
	isc_listener_counts counts = {0};

	r->listener = (isc_listener){.trace = r->b->trace, .start_ns = r->b->start_ns};
	if (isc_own_run(r->b->trace, &(isc_own_options){.cut = &whole, .waits = &r->b->waits}, &class, &r->listener,
			r->b->arena, &counts, NULL) != ISC_OK)
		return false;
	for (size_t i = 0; i < r->count; i++)
		draw_pauses(r, &r->threads[i], r->threads[i].last_ns);
	return true;
}

/* Memory as the recorder saw it from outside; what was never anything has no lane. */
static void add_usage(struct lanes_reading *r)
{
	const isc_analysis_usage *u = &r->b->a->usage;
	const struct {
		const char *name;
		const double *values;
	} columns[] = {{"rss_bytes", u->rss_bytes},
		       {"minor_faults", u->minor_faults},
		       {"major_faults", u->major_faults},
		       {"swap_bytes", u->swap_bytes}};

	for (size_t c = 0; u->known && c < sizeof(columns) / sizeof(columns[0]); c++) {
		isc_lane as = {.kind = ISC_LANE_COUNTER, .name = {columns[c].name, strlen(columns[c].name)}};
		isc_lane *lane = NULL;

		for (size_t i = 0; i < u->points; i++) {
			double ns = u->at_us[i] * 1e3, value = columns[c].values[i];

			if (ns < 0 || ns > (double)(1ull << 62) || value < 0 || (value <= 0 && lane == NULL) ||
			    u->at_us[i] < r->b->a->from_us || u->at_us[i] > r->b->a->to_us)
				continue;
			if (lane == NULL)
				lane = isc_lanes_lane(r->l, 3ull << 62 | c, &as);
			if (lane != NULL)
				isc_lanes_value(r->l, lane, (uint64_t)ns, value);
		}
	}
}

/* ---- the scheduler ---- */

struct track {
	uint32_t thread;
	uint64_t since_ns;
	uint8_t kind; /* of the last switch; 0: none, or switches were not watched since */
};

/* A tid may be given to another thread later: the one that lived then is meant. */
static struct track *track_of(struct lanes_reading *r, isc_hashmap *by_tid, isc_arena *arena,
			      const isc_trace_switch *sw)
{
	uint64_t *place = isc_hashmap_put(by_tid, sw->tid, NULL);
	struct track *t = NULL;

	if (place == NULL)
		return NULL;
	memcpy(&t, place, sizeof(t));
	if (t != NULL)
		return t;
	t = isc_arena_alloc(arena, sizeof(*t));
	if (t == NULL)
		return NULL;
	for (size_t i = 0; i < r->count; i++) {
		const isc_trace_thread *info = isc_trace_thread_find(r->b->trace, r->threads[i].thread);

		if (info != NULL && info->tid == sw->tid)
			t->thread = info->thread;
	}
	memcpy(place, &t, sizeof(t));
	return t;
}

static void step_switch(struct lanes_reading *r, struct track *t, const isc_trace_switch *sw)
{
	struct lane_thread *thread = t->thread != 0 ? find_thread(r, t->thread) : NULL;
	uint64_t since = session_ns(r->b, t->since_ns), now = session_ns(r->b, sw->time_ns);
	bool in = sw->kind == ISC_SWITCH_IN;

	if (thread != NULL && t->kind == ISC_SWITCH_IN && !in)
		add(r, thread, ISC_ROW_RUN, 0, since, now, ISC_LANES_ON_CPU);
	else if (thread != NULL && t->kind == ISC_SWITCH_OUT_PREEMPT && in)
		add(r, thread, ISC_ROW_RUN, 0, since, now, ISC_STATE_RUN_QUEUE);
	t->kind = sw->kind;
	t->since_ns = sw->time_ns;
}

/* Threads that told nothing of their own have no lane: their switches alone say little. */
static bool read_switches(struct lanes_reading *r)
{
	isc_arena *arena = isc_arena_new();
	isc_hashmap by_tid = {0};
	isc_trace_switch sw;
	uint64_t gap_ns = 0;
	bool good = arena != NULL;

	while (good && isc_trace_next_switch(r->b->trace, &sw)) {
		struct track *t;

		if (sw.kind == ISC_SWITCH_GAP_BEGIN || sw.kind == ISC_SWITCH_GAP_END)
			gap_ns = sw.time_ns;
		if (sw.kind > ISC_SWITCH_OUT_PREEMPT)
			continue;
		t = track_of(r, &by_tid, arena, &sw);
		good = t != NULL && !r->l->failed;
		if (good && t->since_ns < gap_ns)
			t->kind = 0;
		if (good)
			step_switch(r, t, &sw);
	}
	isc_hashmap_fini(&by_tid);
	isc_arena_free(arena);
	return good;
}

/* The slowest of the scopes that have most time stay fine. */
static void keep_slowest(isc_build *b)
{
	for (size_t i = 0; i < b->a->scope_count; i++) {
		const isc_analysis_scope *s = &b->a->scopes[i];

		for (size_t k = 0; k < s->slowest_count; k++)
			isc_lanes_keep(b->a->lanes, (uint64_t)(s->slowest[k].start_us * 1e3),
				       (uint64_t)((s->slowest[k].start_us + s->slowest[k].dur_us) * 1e3));
	}
}

isc_status isc_build_lanes(isc_build *b, isc_error *err)
{
	struct lanes_reading r = {.b = b};
	bool good;

	if (b->a->lanes == NULL)
		b->a->lanes = isc_lanes_new(b->arena, ISC_LANES_PIECES);
	if (b->a->lanes == NULL)
		return isc_build_no_memory(err);
	r.l = b->a->lanes;
	keep_slowest(b);

	good = listen(&r) && read_switches(&r);
	if (good)
		add_usage(&r);
	isc_hashmap_fini(&r.thread_of);
	isc_hashmap_fini(&r.name_of);
	return good && !r.l->failed ? ISC_OK : isc_build_no_memory(err);
}
