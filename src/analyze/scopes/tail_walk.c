#include "analyze/scopes/tail_lane.h"

#include <math.h>
#include <string.h>

#include "analyze/time/holders.h"
#include "trace/gpu.h"

#define DEPTH_MAX 65536u

static isc_tail_lane *lane_of(isc_tail_walk *w, const isc_event *ev)
{
	const isc_trace_thread *thread;
	uint64_t *known;

	if (w->last != NULL && w->last->thread == ev->thread)
		return w->last;
	known = isc_hashmap_put(&w->lanes, ev->thread, NULL);
	if (known == NULL)
		return NULL;
	if (*known == 0) {
		isc_tail_lane *fresh = isc_arena_alloc(w->t->b->arena, sizeof(*fresh));

		if (fresh == NULL)
			return NULL;
		fresh->process = ev->process;
		fresh->unseen = isc_unseen_of(&w->t->b->unseen, ev->process);
		fresh->thread = ev->thread;
		thread = isc_trace_thread_find(w->t->b->trace, ev->thread);
		fresh->queue = thread != NULL ? isc_tail_queues_of(&w->queues, thread->tid) : NULL;
		*known = (uint64_t)(uintptr_t)fresh;
	}
	w->last = (isc_tail_lane *)(uintptr_t)*known;
	return w->last;
}

/* The scope of a name; SIZE_MAX: none is listed. */
static bool scope_of(isc_tail_walk *w, const isc_event *ev, size_t *tail)
{
	uint64_t name_key = isc_hashmap_key(ev->process, ev->id), *known;
	size_t rank, at = (size_t)(ev->id ^ ev->process * 31u) & (ISC_TAIL_NAMES - 1);
	uint32_t len = 0;
	const char *name;

	if (w->recent_names[at].name == name_key + 1) {
		*tail = w->recent_names[at].tail;
		return true;
	}
	known = isc_hashmap_put(&w->named, name_key, NULL);
	if (known == NULL)
		return false;
	if (*known == 0) {
		name = isc_build_label(w->t->b, ev->process, ev->id, &len);
		rank = isc_names_put(&w->names, w->t->b->arena, name, len);
		if (rank == SIZE_MAX)
			return false;
		*known = rank < w->t->b->a->scope_count ? rank + 2 : 1;
	}
	*tail = *known == 1 ? SIZE_MAX : (size_t)*known - 2;
	w->recent_names[at].name = name_key + 1;
	w->recent_names[at].tail = *tail;
	return true;
}

static bool name_scopes(isc_tail_walk *w)
{
	const isc_analysis *a = w->t->b->a;

	for (size_t i = 0; i < a->scope_count; i++) {
		if (isc_names_put(&w->names, w->t->b->arena, a->scopes[i].name.at, a->scopes[i].name.len) == SIZE_MAX)
			return false;
	}
	return true;
}

void isc_tail_lane_find_piles(isc_tail_walk *w, isc_tail_lane *l)
{
	l->pile = isc_tail_pile_find(&w->opens, l->thread, 0);
	l->running = l->task != 0 ? isc_tail_pile_find(&w->opens, l->thread, l->task) : NULL;
	l->changes = w->opens.changes;
}

/* ---- what the thread does ---- */

uint32_t isc_tail_lane_place(isc_tail_walk *w, isc_tail_lane *l)
{
	return l->depth > l->stale ? isc_places_code(&w->t->places, w->t->b, l->process, l->calls[l->depth - 1].code)
				   : 0;
}

static uint32_t run_key(isc_tail_walk *w, isc_tail_lane *l)
{
	isc_tail_call *top = l->depth > 0 ? &l->calls[l->depth - 1] : NULL;

	if (top == NULL && w->bare == 0)
		w->bare = isc_tails_key(w->t, ISC_TAIL_RUN, 0, 0, 0);
	if (top == NULL)
		return w->bare;
	if (top->key == 0)
		top->key = isc_tails_key(w->t, ISC_TAIL_RUN, isc_tail_lane_place(w, l), 0, 0);
	return top->key;
}

/* Of a wait or a collection that has ended; 0: no memory. */
static uint32_t told_key(isc_tail_walk *w, isc_tail_lane *l, const isc_thread_interval *told)
{
	isc_places *places = &w->t->places;
	isc_build *b = w->t->b;
	uint32_t place, holder;

	if (told->state == ISC_STATE_GC)
		return isc_tails_key(w->t, ISC_STATE_GC, isc_tail_lane_place(w, l), 0, 0);
	if (told->kind == ISC_INTERVAL_BRIEF)
		return isc_tails_key(w->t, told->state, 0, 0, 0);
	holder = isc_places_stack(places, b, told->process, isc_holders_stack(b, told));
	/* Where a thread is when it needs the interpreter says nothing: it may be anywhere. */
	place = told->state == ISC_STATE_GIL_WAIT ? 0 : isc_places_stack(places, b, told->process, told->stack);
	return isc_tails_key(w->t, told->state, place, holder, told->holder);
}

static bool add_told(isc_tail_pile *pile, enum isc_state state, uint32_t key, double us)
{
	isc_tail_sums *s = &pile->top->own;

	s->told[state] += us;
	return us <= 0 || isc_cells_add(&s->cells, key, 1, us);
}

/* What ran between two events: in the innermost open call, and as far as that is not known in nobody. */
static bool add_run(isc_tail_walk *w, isc_tail_lane *l, isc_tail_pile *pile, double us, double unseen_us,
		    double queued_us, uint32_t run)
{
	isc_tail_sums *s = &pile->top->own;
	uint32_t outer = 0;

	queued_us = fmin(queued_us, fmax(us, 0));
	us -= queued_us;
	unseen_us = fmin(unseen_us, fmax(us, 0));
	s->run_us += us;
	s->unseen_us += unseen_us;
	s->queued_us += queued_us;
	/* Whoever is removed does not wait for a CPU either. */
	if (queued_us > 0 && !isc_cells_add(&pile->top->more, unseen_us > 0 ? w->unseen : run, 0, queued_us))
		return false;
	if (unseen_us > 0 && (!isc_tail_lane_outer(w, l, pile->top->from_ns, &outer) ||
			      (outer != 0 && !isc_cells_add(&s->cells, outer, 0, unseen_us))))
		return false;
	return isc_cells_add(&s->cells, run, 0, us - unseen_us) &&
	       (unseen_us <= 0 || isc_cells_add(&s->cells, w->unseen, 0, unseen_us));
}

/* How long it had no CPU since the last event; what of that was in calls that were not recorded is none of their time. */
static double take_queued(isc_tail_lane *l, uint64_t now_ns, double *unseen)
{
	uint64_t unseen_ns = (uint64_t)(*unseen * 1e3), since = now_ns > unseen_ns ? now_ns - unseen_ns : 0;
	double seen_us, unseen_us;

	if (l->queue == NULL || l->last_ns == 0)
		return 0;
	seen_us = isc_tail_queue_us(l->queue, &l->queued, l->last_ns, since);
	unseen_us = isc_tail_queue_us(l->queue, &l->queued, since > l->last_ns ? since : l->last_ns, now_ns);
	*unseen = fmax(*unseen - unseen_us, 0);
	return seen_us + unseen_us;
}

/* What a wait was that the thread was in for longest, and what it may have been a part of. */
static void note_wait(isc_tail_walk *w, isc_tail_lane *l, const isc_thread_interval *told, uint32_t key, double us)
{
	if (us > l->longest_us) {
		l->longest_us = us;
		l->longest = isc_places_stack(&w->t->places, w->t->b, told->process, told->stack);
	}
	if (us > 0 && (l->pile != NULL || l->running != NULL))
		l->recent[l->recents++ % ISC_TAIL_RECENT] =
			(isc_tail_recent){told->from_ns, told->to_ns, key, told->state};
}

/* From the last event to this one.  told: what this one ends; NULL: nothing. */
static bool spend(isc_tail_walk *w, isc_tail_lane *l, const isc_event *ev, const isc_thread_interval *told,
		  double unseen)
{
	double us = l->last_ns != 0 && ev->time_ns > l->last_ns ? (double)(ev->time_ns - l->last_ns) / 1e3 : 0;
	double told_us = told != NULL ? (double)(told->to_ns - told->from_ns) / 1e3 : 0;
	bool brief = told != NULL && told->kind == ISC_INTERVAL_BRIEF, any = l->pile != NULL || l->running != NULL;
	double queued = take_queued(l, ev->time_ns, &unseen);
	uint32_t key = 0, run;

	/* Without a loop whose tasks have scopes nobody asks what it did. */
	if (!any && w->opens.open == 0)
		return true;
	if (told != NULL && (key = told_key(w, l, told)) == 0)
		return false;
	if (l->task == 0 && !brief)
		l->idle_us += told_us;
	if (told != NULL && !brief && told->state != ISC_STATE_GC)
		note_wait(w, l, told, key, told_us);
	if (us - queued - told_us > l->longest_us) {
		l->longest_us = us - queued - told_us;
		l->longest = unseen * 2 < us ? isc_tail_lane_place(w, l) : 0;
	}
	if (!any)
		return true;
	run = run_key(w, l);
	if (run == 0 || (w->unseen == 0 && (w->unseen = isc_tails_key(w->t, ISC_TAIL_UNSEEN, 0, 0, 0)) == 0))
		return false;
	for (int i = 0; i < 2; i++) {
		isc_tail_pile *pile = i == 0 ? l->pile : l->running;
		double part = told_us;

		if (pile == NULL)
			continue;
		/* When brief ones were is not known; no more than ran. */
		if (brief && part > pile->top->own.run_us + us)
			part = pile->top->own.run_us + us > 0 ? pile->top->own.run_us + us : 0;
		if ((told != NULL && !add_told(pile, told->state, key, part)) ||
		    !add_run(w, l, pile, us - part, unseen, queued, run))
			return false;
	}
	return true;
}

/* What a pile was said to do from one moment to another was waiting for a device. */
static bool turn_to_gpu(isc_tail_lane *l, isc_tail_pile *pile, uint32_t key, uint32_t run, uint64_t from_ns,
			uint64_t to_ns)
{
	isc_tail_sums *s = &pile->top->own;
	double us, inside = 0;

	from_ns = from_ns > pile->top->from_ns ? from_ns : pile->top->from_ns;
	if (to_ns <= from_ns)
		return true;
	for (unsigned i = 0; i < l->recents && i < ISC_TAIL_RECENT; i++) {
		const isc_tail_recent *r = &l->recent[i];
		uint64_t from = r->from_ns > from_ns ? r->from_ns : from_ns, to = r->to_ns < to_ns ? r->to_ns : to_ns;

		us = to > from ? fmin((double)(to - from) / 1e3, s->told[r->state]) : 0;
		if (us <= 0)
			continue;
		s->told[r->state] -= us;
		inside += us;
		if (!isc_cells_add(&s->cells, r->key, 0, -us))
			return false;
	}
	/* A driver that looks again and again has a CPU meanwhile. */
	us = fmax(fmin((double)(to_ns - from_ns) / 1e3 - inside, s->run_us), 0);
	s->run_us -= us;
	s->told[ISC_STATE_GPU_WAIT] += us + inside;
	return isc_cells_add(&s->cells, run, 0, -us) && isc_cells_add(&s->cells, key, 1, us + inside);
}

/* A call that returns when a device is done. */
static bool take_gpu_call(isc_tail_walk *w, isc_tail_lane *l, const isc_event *ev)
{
	const isc_trace *trace = w->t->b->trace;
	isc_gpu_called c;
	uint32_t key, run;
	uint64_t from, to;

	if ((l->pile == NULL && l->running == NULL) || !isc_trace_gpu_called(ev, &c) || c.tid != 0 ||
	    ISC_GPU_ARG_TIME(ev->arg) == ISC_GPU_TIME_DEVICE ||
	    (ISC_GPU_ARG_WHAT(ev->arg) != ISC_ROLE_SYNC && !ISC_GPU_ARG_HOLDS(ev->arg)))
		return true;
	from = ISC_GPU_ARG_TIME(ev->arg) == ISC_GPU_TIME_TICKS ? isc_trace_ticks_to_ns(trace, c.start) : c.start;
	to = ISC_GPU_ARG_TIME(ev->arg) == ISC_GPU_TIME_TICKS ? isc_trace_ticks_to_ns(trace, c.end) : c.end;
	key = isc_tails_key(w->t, ISC_STATE_GPU_WAIT,
			    c.stack != 0 ? isc_places_stack(&w->t->places, w->t->b, ev->process, c.stack)
					 : isc_tail_lane_place(w, l),
			    0, 0);
	run = run_key(w, l);
	if (key == 0 || run == 0 || (l->pile != NULL && !turn_to_gpu(l, l->pile, key, run, from, to)) ||
	    (l->running != NULL && !turn_to_gpu(l, l->running, key, run, from, to)))
		return false;
	l->recents = 0;
	return true;
}

/* ---- samples ---- */

/* As totals of the node's stack have it; those that stand for more than one stack are looked up every time. */
static isc_attribution attribution_of(isc_tail_walk *w, const isc_event *ev, uint32_t node)
{
	isc_tree_node *n = node != 0 ? &w->t->tree->node[node] : NULL;
	isc_attribution what;

	if (n != NULL && n->samples > 0 && !n->stand_in)
		return (isc_attribution){.state = (enum isc_state)n->state};
	what = isc_attribution_of(w->t->b, ev->process, ev->id);
	if (n != NULL)
		n->state = (uint8_t)what.state;
	return what;
}

static bool take_sample(isc_tail_walk *w, isc_tail_lane *l, const isc_event *ev)
{
	uint32_t node = isc_stack_tree_find(w->t->tree, ev->process, ev->id);
	isc_attribution what;
	isc_sample body;
	double us;

	if ((l->pile == NULL && l->running == NULL) || ev->extra_len < sizeof(body))
		return true;
	memcpy(&body, ev->extra, sizeof(body));
	us = (double)ev->arg * body.period_ns / 1e3;
	what = attribution_of(w, ev, node);
	for (int i = 0; i < 2; i++) {
		isc_tail_pile *pile = i == 0 ? l->pile : l->running;
		isc_tail_sums *s;

		if (pile == NULL)
			continue;
		s = &pile->top->own;
		s->samples++;
		*(what.state == ISC_STATE_UNATTRIBUTED ? &s->unattributed_us[what.why]
		  : what.state == ISC_STATE_SPIN       ? &s->spin_us
		  : what.state == ISC_STATE_NATIVE     ? &s->native_us
						       : &s->python_us) += us;
		if (node != 0 && (!isc_cells_add(&s->cells, ISC_TAIL_NODE | node, 1, us) ||
				  !isc_tail_lane_sampled(w, l, s, ev->time_ns, node, us)))
			return false;
	}
	return true;
}

/* ---- calls and scopes ---- */

static bool step_call(isc_tail_walk *w, isc_tail_lane *l, const isc_event *ev)
{
	isc_tail_call *call;
	size_t i;

	if (ev->kind == ISC_KIND_CALL_EXIT) {
		isc_tail_lane_yield(w, l, ev);
		/* Those above it have ended too, unseen; one that is not open says nothing. */
		for (i = l->depth; i > 0 && l->calls[i - 1].code != ev->id;)
			i--;
		l->depth = i > 0 ? i - 1 : l->depth;
		/* Who ends now was open all the time, and so was who had called it. */
		if (i > 0 && l->depth < l->stale)
			l->stale = 0;
		return true;
	}
	l->yields = false;
	if (l->depth >= DEPTH_MAX)
		return true;
	call = isc_arena_push(w->t->b->arena, &l->calls, &l->depth, &l->room, sizeof(*call));
	if (call == NULL)
		return false;
	*call = (isc_tail_call){.code = ev->id, .from_ns = ev->time_ns, .governed_ns = UINT64_MAX};
	if (l->unseen != NULL)
		call->governed_ns = isc_unseen_governed_ns(&w->t->b->unseen, ev->process, ev->id);
	if (l->task != 0 && l->first == 0 && w->opens.open > 0)
		l->first = isc_tail_lane_place(w, l);
	return l->first != ISC_PLACE_NO_MEMORY;
}

static bool step_span(isc_tail_walk *w, isc_tail_lane *l, const isc_event *ev, size_t tail)
{
	isc_tail_open *s;
	isc_span span;
	double ns;

	if (ev->extra_len < sizeof(span))
		return true;
	memcpy(&span, ev->extra, sizeof(span));
	if (span.instance == 0)
		return true;
	if (ev->kind == ISC_KIND_SPAN_ENTER)
		return isc_tail_opens_enter(&w->opens, ev, l->task, tail, span.instance, span.more);
	s = isc_tail_opens_find(&w->opens, ev, tail, span.instance);
	if (s == NULL)
		return true;
	ns = (double)span.more * w->t->b->tick_us * 1e3;
	if (span.more == ISC_SPAN_UNKNOWN || ns >= (double)ev->time_ns || ev->arg == ISC_SPAN_MOVED ||
	    s->thread != ev->thread)
		return isc_tail_opens_leave(&w->opens, s, ev->time_ns, ev->time_ns, false);
	return isc_tail_opens_leave(&w->opens, s, ev->time_ns - (uint64_t)ns, ev->time_ns, true);
}

static bool step_scope(isc_tail_walk *w, isc_tail_lane *l, const isc_event *ev)
{
	isc_tail_open *s;
	size_t tail = SIZE_MAX;
	bool good = true;

	if (!scope_of(w, ev, &tail))
		return false;
	if (tail == SIZE_MAX)
		return true;
	if (ev->kind == ISC_KIND_SPAN_ENTER || ev->kind == ISC_KIND_SPAN_EXIT)
		good = step_span(w, l, ev, tail);
	else if (ev->kind == ISC_KIND_SCOPE_ENTER)
		good = isc_tail_opens_enter(&w->opens, ev, 0, tail, 0, 0);
	else if ((s = isc_tail_opens_find(&w->opens, ev, tail, 0)) != NULL)
		good = isc_tail_opens_leave(&w->opens, s, s->from_ns, ev->time_ns, true);
	if (l->changes != w->opens.changes)
		isc_tail_lane_find_piles(w, l);
	return good;
}

static bool take_interval(void *self, const isc_thread_interval *told)
{
	isc_tail_walk *w = self;

	if (told->stream == 0) {
		w->told = *told;
		w->is_told = true;
	}
	return true;
}

static bool take_event(void *self, const isc_event *ev)
{
	isc_tail_walk *w = self;
	const isc_thread_interval *told = w->is_told ? &w->told : NULL;
	isc_tail_lane *l;
	bool good = true;

	/* What interrupted a write of ours is read apart from it, and is not much. */
	if (ev->stream != 0)
		return true;
	w->is_told = false;
	l = lane_of(w, ev);
	if (l == NULL)
		return false;
	if (ev->number != l->expected && l->last_ns != 0) {
		isc_tail_opens_drop(&w->opens, l->thread, 0);
		isc_tail_opens_drop(&w->opens, l->thread, l->task);
		l->depth = l->stale = 0;
		l->last_ns = 0;
	}
	l->expected = ev->number + 1;
	if (l->changes != w->opens.changes)
		isc_tail_lane_find_piles(w, l);
	good = spend(w, l, ev, told, isc_tail_lane_unseen_us(w, l, ev->time_ns));
	l->last_ns = ev->time_ns;
	switch (good ? ev->kind : 0) {
	case ISC_KIND_SCOPE_ENTER:
	case ISC_KIND_SCOPE_EXIT:
	case ISC_KIND_SPAN_ENTER:
	case ISC_KIND_SPAN_EXIT:
		return step_scope(w, l, ev);
	case ISC_KIND_CALL_ENTER:
	case ISC_KIND_CALL_RESUME:
	case ISC_KIND_CALL_EXIT:
		return step_call(w, l, ev);
	case ISC_KIND_TASK:
		return isc_tail_lane_task(w, l, ev);
	case ISC_KIND_SAMPLE:
		return take_sample(w, l, ev);
	default:
		return good && take_gpu_call(w, l, ev);
	}
}

bool isc_tail_walk_join(isc_tails *t, isc_states *states, isc_walk *walk)
{
	isc_tail_walk *w = isc_arena_alloc(t->b->arena, sizeof(*w));

	if (w == NULL)
		return false;
	t->walk = w;
	w->t = w->opens.t = t;
	isc_states_listen(states, take_interval, w);
	isc_walk_join(walk, ISC_WALK_ALL, take_event, w);
	return name_scopes(w) && isc_tail_queues_read(&w->queues, t->b);
}

void isc_tail_walk_drop(isc_tails *t)
{
	isc_tail_walk *w = t->walk;

	if (w == NULL)
		return;
	isc_tail_opens_fini(&w->opens);
	isc_tail_queues_fini(&w->queues);
	isc_hashmap_fini(&w->lanes);
	isc_hashmap_fini(&w->named);
	isc_names_fini(&w->names);
	t->walk = NULL;
}

bool isc_tail_walk_end(isc_tails *t)
{
	bool good = isc_tail_opens_end(&t->walk->opens);

	isc_tail_walk_drop(t);
	return good;
}
