/*
 * lanes_trace.c - the lanes of a trace of ours: scopes, calls, waits and what the
 * scheduler did with each thread.
 *
 * Events of one thread come in order.  A call becomes a piece when it ends, so a
 * row has its pieces in order too; what is still open at the end lasts to the last
 * thing known of its thread.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/build.h"
#include "analyze/picture/lanes.h"
#include "analyze/time/waits.h"
#include "trace/frame.h"

#define SCOPES_DEEPEST 24u
#define NO_ROW UINT16_MAX

struct lane_call {
	uint64_t start_ns;
	uint32_t id;
};

struct lane_span {
	uint64_t instance, start_ns;
	uint32_t id;
};

/* What is open on a thread. */
struct lane_thread {
	uint32_t thread;
	size_t lane; /* place + 1; 0: there are too many */
	struct lane_call *calls;
	size_t depth, call_room;
	size_t stale; /* so many of these, outermost first, were open when a pause began: they may have ended in it */
	size_t pause; /* where it is in the pauses of its process */
	uint64_t paused_ns;			/* since when it is in one; 0: it is not */
	struct lane_span spans[SCOPES_DEEPEST]; /* by row; instance 0: free */
	uint64_t last_ns;
};

struct lanes_reading {
	isc_build *b;
	isc_lanes *l;
	struct lane_thread *threads;
	size_t count, room;
	isc_hashmap thread_of;
	isc_hashmap name_of;  /* process and id -> name + 1 */
	isc_hashmap state_of; /* process, call, stack -> state + 1 */
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

static struct lane_thread *thread_of(struct lanes_reading *r, uint32_t index)
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

/* ---- names ---- */

static uint32_t name_of(struct lanes_reading *r, uint32_t process, uint32_t id)
{
	uint64_t *known = isc_hashmap_put(&r->name_of, isc_hashmap_key(process, id), NULL);
	uint32_t len = 0;
	isc_piece_name name = {0};
	isc_frame frame;

	if (known == NULL) {
		r->l->failed = true;
		return 0;
	}
	if (*known != 0)
		return (uint32_t)(*known - 1);
	if (isc_trace_code(r->b->trace, process, id, &frame)) {
		name.name = (isc_text){frame.name.at, frame.name.len};
		name.file = (isc_text){frame.file.at, frame.file.len};
		name.line = frame.first_line;
	} else {
		name.name.at = isc_trace_name(r->b->trace, process, id, &len);
		name.name.len = len;
	}
	*known = (uint64_t)isc_lanes_name(r->l, &name) + 1;
	return (uint32_t)(*known - 1);
}

/* ---- calls ---- */

static void add(struct lanes_reading *r, struct lane_thread *t, enum isc_row_kind kind, size_t depth, uint64_t from,
		uint64_t to, uint32_t name)
{
	isc_lane_piece p = {.start_ns = session_ns(r->b, from > r->b->from_ns ? from : r->b->from_ns),
			    .end_ns = session_ns(r->b, to < r->b->to_ns ? to : r->b->to_ns),
			    .launch_ns = UINT64_MAX,
			    .name = name};

	if (to >= r->b->from_ns && from <= r->b->to_ns)
		isc_lanes_add(r->l, lane_of(r, t), kind, depth < NO_ROW ? (uint16_t)depth : NO_ROW, &p);
}

static bool enter(struct lanes_reading *r, struct lane_thread *t, const isc_event *ev)
{
	struct lane_call *c = isc_arena_push(r->b->arena, &t->calls, &t->depth, &t->call_room, sizeof(*c));

	if (c == NULL)
		return false;
	*c = (struct lane_call){.start_ns = ev->time_ns, .id = ev->id};
	return true;
}

/* Calls are recorded again: those that were open may still be. */
static void end_pause(struct lanes_reading *r, struct lane_thread *t, uint64_t now_ns)
{
	static const char words[] = "(calls not recorded)";
	isc_piece_name name = {.name = {words, sizeof(words) - 1}};

	if (t->paused_ns != 0 && t->call_room > 0)
		add(r, t, ISC_ROW_CALL, 0, t->paused_ns, now_ns, isc_lanes_name(r->l, &name));
	for (size_t i = 0; t->paused_ns != 0 && i < t->depth; i++)
		t->calls[i].start_ns = now_ns;
	t->paused_ns = 0;
}

/* Calls were not recorded for a while: what was open is not seen to end. */
static void note_pause(struct lanes_reading *r, struct lane_thread *t, const isc_event *ev)
{
	const isc_unseen_process *unseen = isc_unseen_of(&r->b->unseen, ev->process);
	isc_pause p;

	if (t->last_ns == 0 || !isc_unseen_pause(unseen, &t->pause, t->last_ns, ev->time_ns, &p)) {
		end_pause(r, t, t->last_ns);
		return;
	}
	for (size_t i = t->depth; t->paused_ns == 0 && i-- > t->stale;)
		add(r, t, ISC_ROW_CALL, i, t->calls[i].start_ns, p.from_ns, name_of(r, ev->process, t->calls[i].id));
	t->stale = t->depth;
	t->paused_ns = t->paused_ns != 0 ? t->paused_ns : p.from_ns;
	if (p.to_ns < ev->time_ns)
		end_pause(r, t, p.to_ns);
}

static void leave(struct lanes_reading *r, struct lane_thread *t, const isc_event *ev)
{
	size_t i = t->depth;

	/* Those above it have ended too, unseen; one that is not open says nothing. */
	while (i > 0 && t->calls[i - 1].id != ev->id)
		i--;
	if (i == 0)
		return;
	for (; t->depth >= i; t->depth--) {
		const struct lane_call *c = &t->calls[t->depth - 1];

		if (t->depth == i || t->depth > t->stale)
			add(r, t, ISC_ROW_CALL, t->depth - 1, c->start_ns, ev->time_ns, name_of(r, ev->process, c->id));
	}
	/* Who ends now was open all the time, and so was who had called it. */
	if (t->depth < t->stale)
		t->stale = 0;
}

/* ---- scopes: a row is taken while one is open on it ---- */

static void enter_span(struct lane_thread *t, const isc_event *ev, uint64_t instance, uint64_t around)
{
	size_t row = 0;

	for (size_t i = 0; i < SCOPES_DEEPEST && around != 0; i++) {
		if (t->spans[i].instance == around)
			row = i + 1;
	}
	while (row < SCOPES_DEEPEST && t->spans[row].instance != 0)
		row++;
	if (row < SCOPES_DEEPEST)
		t->spans[row] = (struct lane_span){instance, ev->time_ns, ev->id};
}

static void leave_span(struct lanes_reading *r, struct lane_thread *t, const isc_event *ev, uint64_t instance)
{
	for (size_t i = SCOPES_DEEPEST; i-- > 0;) {
		struct lane_span *s = &t->spans[i];

		if (s->instance == 0 || (instance != 0 ? s->instance != instance : s->id != ev->id))
			continue;
		add(r, t, ISC_ROW_SCOPE, i, s->start_ns, ev->time_ns, name_of(r, ev->process, ev->id));
		s->instance = 0;
		return;
	}
}

static void step_span(struct lanes_reading *r, struct lane_thread *t, const isc_event *ev)
{
	isc_span span = {0};

	if (ev->extra_len >= sizeof(span))
		memcpy(&span, ev->extra, sizeof(span));
	if (ev->kind == ISC_KIND_SPAN_ENTER)
		enter_span(t, ev, span.instance, span.more);
	else if (ev->kind == ISC_KIND_SPAN_EXIT)
		leave_span(r, t, ev, span.instance);
	else if (ev->kind == ISC_KIND_SCOPE_ENTER)
		enter_span(t, ev, UINT64_MAX, UINT64_MAX);
	else
		leave_span(r, t, ev, 0);
}

/* ---- waits, collections, counters ---- */

static void add_past(struct lanes_reading *r, struct lane_thread *t, const isc_event *ev, uint64_t ticks,
		     uint32_t state)
{
	double ns = (double)ticks * r->b->tick_us * 1e3;

	if (ns > 0 && ns < (double)ev->time_ns)
		add(r, t, ISC_ROW_WAIT, 0, ev->time_ns - (uint64_t)ns, ev->time_ns, state);
}

static void step_wait(struct lanes_reading *r, struct lane_thread *t, const isc_event *ev)
{
	isc_total_wait row = {.process = ev->process, .thread = ev->thread, .call = ev->arg, .stack = ev->id};
	uint64_t *known;
	isc_wait wait;

	if (ev->extra_len < sizeof(wait))
		return;
	memcpy(&wait, ev->extra, sizeof(wait));
	row.holder = wait.holder;
	/* Of one place, whoever held it, it is nearly always the same. */
	known = isc_hashmap_put(&r->state_of,
				isc_hashmap_key(ev->process, ev->id) ^ (uint64_t)ev->arg << 52 ^ (wait.holder != 0),
				NULL);
	if (known == NULL) {
		r->l->failed = true;
		return;
	}
	if (*known == 0)
		*known = (uint64_t)isc_waits_of(r->b->trace, &row) + 1;
	add_past(r, t, ev, wait.ticks, (uint32_t)(*known - 1));
}

static void step_counter(struct lanes_reading *r, const isc_event *ev)
{
	isc_lane as = {.kind = ISC_LANE_COUNTER};
	uint32_t len = 0;
	double value;

	if (ev->extra_len < sizeof(value) || ev->time_ns < r->b->from_ns || ev->time_ns > r->b->to_ns)
		return;
	memcpy(&value, ev->extra, sizeof(value));
	as.name.at = isc_build_label(r->b, ev->process, ev->id, &len);
	as.name.len = len;
	isc_lanes_value(r->l, isc_lanes_lane(r->l, 1ull << 63 | name_of(r, ev->process, ev->id), &as),
			session_ns(r->b, ev->time_ns), value);
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

static bool feed(struct lanes_reading *r, const isc_event *ev)
{
	struct lane_thread *t;
	isc_gc gc;

	/* What interrupted a write of ours is told apart from the rest, and is not much. */
	if (ev->stream != 0)
		return true;
	t = thread_of(r, ev->thread);
	if (t == NULL)
		return false;
	note_pause(r, t, ev);
	t->last_ns = ev->time_ns;
	switch (ev->kind) {
	case ISC_KIND_CALL_ENTER:
	case ISC_KIND_CALL_RESUME:
	case ISC_KIND_C_ENTER:
		return enter(r, t, ev);
	case ISC_KIND_CALL_EXIT:
	case ISC_KIND_C_EXIT:
		leave(r, t, ev);
		break;
	case ISC_KIND_SPAN_ENTER:
	case ISC_KIND_SPAN_EXIT:
	case ISC_KIND_SCOPE_ENTER:
	case ISC_KIND_SCOPE_EXIT:
		step_span(r, t, ev);
		break;
	case ISC_KIND_WAIT_EXIT:
		step_wait(r, t, ev);
		break;
	case ISC_KIND_GC:
		if (ev->arg == ISC_GC_WATCHED || ev->extra_len < sizeof(gc))
			break;
		memcpy(&gc, ev->extra, sizeof(gc));
		add_past(r, t, ev, gc.ticks, ISC_STATE_GC);
		break;
	case ISC_KIND_COUNTER:
		step_counter(r, ev);
		break;
	default:
		break;
	}
	return !r->l->failed;
}

/* What nobody saw the end of lasts as long as anything is known of its thread. */
static void close_all(struct lanes_reading *r)
{
	for (size_t i = 0; i < r->count; i++) {
		struct lane_thread *t = &r->threads[i];
		const isc_trace_thread *info = isc_trace_thread_find(r->b->trace, t->thread);
		uint32_t process = info != NULL ? info->process : 0;

		end_pause(r, t, t->last_ns);
		for (; t->depth > t->stale; t->depth--)
			add(r, t, ISC_ROW_CALL, t->depth - 1, t->calls[t->depth - 1].start_ns, t->last_ns,
			    name_of(r, process, t->calls[t->depth - 1].id));
		for (size_t row = 0; row < SCOPES_DEEPEST; row++) {
			if (t->spans[row].instance != 0)
				add(r, t, ISC_ROW_SCOPE, row, t->spans[row].start_ns, t->last_ns,
				    name_of(r, process, t->spans[row].id));
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
	struct lane_thread *thread = t->thread != 0 ? thread_of(r, t->thread) : NULL;
	bool in = sw->kind == ISC_SWITCH_IN;

	if (thread != NULL && t->kind == ISC_SWITCH_IN && !in)
		add(r, thread, ISC_ROW_RUN, 0, t->since_ns, sw->time_ns, ISC_LANES_ON_CPU);
	else if (thread != NULL && t->kind == ISC_SWITCH_OUT_PREEMPT && in)
		add(r, thread, ISC_ROW_RUN, 0, t->since_ns, sw->time_ns, ISC_STATE_RUN_QUEUE);
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
	bool good = true;
	isc_event ev;

	if (b->a->lanes == NULL)
		b->a->lanes = isc_lanes_new(b->arena, ISC_LANES_PIECES);
	if (b->a->lanes == NULL)
		return isc_build_no_memory(err);
	r.l = b->a->lanes;
	keep_slowest(b);

	isc_trace_rewind(b->trace);
	while (good && isc_trace_next(b->trace, &ev))
		good = feed(&r, &ev);
	if (good)
		good = read_switches(&r);
	if (good)
		close_all(&r);
	if (good)
		add_usage(&r);
	isc_hashmap_fini(&r.thread_of);
	isc_hashmap_fini(&r.name_of);
	isc_hashmap_fini(&r.state_of);
	return good && !r.l->failed ? ISC_OK : isc_build_no_memory(err);
}
