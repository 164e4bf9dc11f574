#include "analyze/tail_walk.h"

#include <math.h>
#include <string.h>

#include "analyze/holders.h"
#include "analyze/names.h"
#include "analyze/waits.h"
#include "trace/gpu.h"

/* Steps of an event loop that are remembered, to say what had it while a task waited; shorter
 * ones are not worth it. */
#define STEPS 64u
#define STEP_MIN_US 50.0
/* A transfer below this, on average, is a system call that did not wait. */
#define BRIEF_US 10.0
#define DEPTH_MAX 65536u
#define FRAMES 12

struct call {
	uint32_t code;
	uint32_t key; /* of what runs in it; 0: not looked up */
};

struct step {
	uint64_t from_ns, to_ns;
	uint32_t place;
};

/* Names of scopes that are known without a look into a table of all; a power of two. */
#define NAMES 256u

/* Waits that may lie in the call of a GPU's library that is told of next. */
#define RECENT 16u

struct recent {
	uint64_t from_ns, to_ns;
	uint32_t key;
	uint8_t state;
};

struct lane {
	uint32_t process, thread;
	uint64_t expected;
	uint64_t last_ns; /* 0: nothing yet */
	uint32_t task;
	struct call *calls; /* open ones, outermost first */
	size_t depth, room;
	isc_tail_pile *pile, *running; /* of the thread; of the task that runs; NULL: none */
	double idle_us;		       /* that it waited while no task ran */
	uint64_t changes;	       /* when those were found */
	struct step *steps;	       /* STEPS of them, when it has tasks */
	size_t step;
	uint64_t step_ns;  /* when this one began */
	double longest_us; /* of its pieces */
	uint32_t longest;  /* where that was */
	uint32_t first;	   /* the function that it began with */
	uint32_t awaited;  /* where a coroutine of it stopped to run; 0: it runs */
	bool yields;
	struct recent recent[RECENT];
	unsigned recents;
};

struct walk {
	isc_tails *t;
	isc_tail_opens opens;
	isc_hashmap lanes; /* thread -> lane */
	isc_hashmap named; /* process and id -> rank of the scope + 2; 1: none */
	isc_names names;   /* of all scopes, by rank, and others behind them */
	struct lane *last;
	uint8_t *states, *reasons; /* of nodes: what their samples are; 0: not looked up */
	uint32_t bare;		   /* key of what runs in no call; 0: not looked up */
	struct {
		uint64_t name; /* process and id, + 1 */
		size_t tail;
	} recent_names[NAMES];
};

static struct lane *lane_of(struct walk *w, const isc_event *ev)
{
	uint64_t *known;

	if (w->last != NULL && w->last->thread == ev->thread)
		return w->last;
	known = isc_hashmap_put(&w->lanes, ev->thread, NULL);
	if (known == NULL)
		return NULL;
	if (*known == 0) {
		struct lane *fresh = isc_arena_alloc(w->t->b->arena, sizeof(*fresh));

		if (fresh == NULL)
			return NULL;
		fresh->process = ev->process;
		fresh->thread = ev->thread;
		*known = (uint64_t)(uintptr_t)fresh;
	}
	w->last = (struct lane *)(uintptr_t)*known;
	return w->last;
}

/* The scope of a name; SIZE_MAX: none is listed. */
static bool scope_of(struct walk *w, const isc_event *ev, size_t *tail)
{
	uint64_t name_key = isc_hashmap_key(ev->process, ev->id), *known;
	size_t rank, at = (size_t)(ev->id ^ ev->process * 31u) & (NAMES - 1);
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
		name = isc_trace_name(w->t->b->trace, ev->process, ev->id, &len);
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

static bool name_scopes(struct walk *w)
{
	const isc_analysis *a = w->t->b->a;

	for (size_t i = 0; i < a->scope_count; i++) {
		if (isc_names_put(&w->names, w->t->b->arena, a->scopes[i].name.at, a->scopes[i].name.len) == SIZE_MAX)
			return false;
	}
	return true;
}

static void find_piles(struct walk *w, struct lane *l)
{
	l->pile = isc_tail_pile_find(&w->opens, l->thread, 0);
	l->running = l->task != 0 ? isc_tail_pile_find(&w->opens, l->thread, l->task) : NULL;
	l->changes = w->opens.changes;
}

/* ---- what the thread does ---- */

static uint32_t place_of_call(struct walk *w, struct lane *l)
{
	return l->depth > 0 ? isc_places_code(&w->t->places, w->t->b, l->process, l->calls[l->depth - 1].code) : 0;
}

static uint32_t run_key(struct walk *w, struct lane *l)
{
	struct call *top = l->depth > 0 ? &l->calls[l->depth - 1] : NULL;

	if (top == NULL && w->bare == 0)
		w->bare = isc_tails_key(w->t, ISC_TAIL_RUN, 0, 0, 0);
	if (top == NULL)
		return w->bare;
	if (top->key == 0)
		top->key = isc_tails_key(w->t, ISC_TAIL_RUN, place_of_call(w, l), 0, 0);
	return top->key;
}

static enum isc_state state_of(struct walk *w, const isc_event *ev, const isc_wait *wait)
{
	isc_total_wait as_total = {.process = ev->process,
				   .thread = ev->thread,
				   .call = ev->arg,
				   .stack = ev->kind == ISC_KIND_WAIT_EXIT ? ev->id : 0,
				   .holder = ev->kind == ISC_KIND_WAIT_EXIT ? wait->holder : 0};

	return isc_waits_of(w->t->b->trace, &as_total);
}

/* Of a wait or a collection that has ended; 0: no memory. */
static uint32_t told_key(struct walk *w, struct lane *l, const isc_event *ev, const isc_wait *wait,
			 enum isc_state *state)
{
	isc_places *places = &w->t->places;
	uint32_t place, holder;

	if (ev->kind == ISC_KIND_GC) {
		*state = ISC_STATE_GC;
		return isc_tails_key(w->t, ISC_STATE_GC, place_of_call(w, l), 0, 0);
	}
	*state = state_of(w, ev, wait);
	if (ev->kind == ISC_KIND_WAIT_BRIEF) {
		isc_wait_brief brief;

		memcpy(&brief, ev->extra, sizeof(brief));
		if (ev->arg >= ISC_WAIT_READ && ev->arg <= ISC_WAIT_SYNC && ev->arg != ISC_WAIT_ACCEPT &&
		    (double)brief.ticks * w->t->b->tick_us < (double)brief.count * BRIEF_US)
			*state = ISC_STATE_SYSCALL;
		return isc_tails_key(w->t, (uint8_t)*state, 0, 0, 0);
	}
	holder = isc_places_stack(places, w->t->b, ev->process, isc_holders_stack(w->t->b, *state, ev, wait));
	/* Where a thread is when it needs the interpreter says nothing: it may be anywhere. */
	place = *state == ISC_STATE_GIL_WAIT ? 0 : isc_places_stack(places, w->t->b, ev->process, ev->id);
	return isc_tails_key(w->t, (uint8_t)*state, place, holder, wait->holder);
}

static bool add_told(isc_tail_pile *pile, enum isc_state state, uint32_t key, double us, double run_us, uint32_t run)
{
	isc_tail_sums *s = &pile->top->own;

	s->told[state] += us;
	s->run_us += run_us;
	return isc_cells_add(&s->cells, run, 0, run_us) && (us <= 0 || isc_cells_add(&s->cells, key, 1, us));
}

/* How long the wait or collection was that the event tells of, in microseconds; negative: none. */
static double told_us(const struct walk *w, const isc_event *ev, isc_wait *wait)
{
	if (ev->kind < ISC_KIND_WAIT_EXIT || ev->kind > ISC_KIND_GC || ev->extra_len < sizeof(*wait) ||
	    (ev->kind == ISC_KIND_GC && ev->arg == ISC_GC_WATCHED))
		return -1;
	memcpy(wait, ev->extra, sizeof(*wait));
	return (double)wait->ticks * w->t->b->tick_us;
}

/* From the last event to this one. */
static bool spend(struct walk *w, struct lane *l, const isc_event *ev)
{
	double us = l->last_ns != 0 && ev->time_ns > l->last_ns ? (double)(ev->time_ns - l->last_ns) / 1e3 : 0, told;
	bool brief = ev->kind == ISC_KIND_WAIT_BRIEF, any = l->pile != NULL || l->running != NULL;
	enum isc_state state = ISC_STATE_OTHER;
	isc_wait wait = {0};
	uint32_t key = 0, run;

	told = told_us(w, ev, &wait);
	/* Without a loop whose tasks have scopes nobody asks what it did. */
	if (!any && w->opens.open == 0)
		return true;
	if (told >= 0 && (key = told_key(w, l, ev, &wait, &state)) == 0)
		return false;
	if (told >= 0 && l->task == 0 && !brief)
		l->idle_us += told;
	if (told >= 0 && !brief && told > l->longest_us && ev->kind == ISC_KIND_WAIT_EXIT) {
		l->longest_us = told;
		l->longest = isc_places_stack(&w->t->places, w->t->b, ev->process, ev->id);
	}
	if (us - (told > 0 ? told : 0) > l->longest_us) {
		l->longest_us = us - (told > 0 ? told : 0);
		l->longest = place_of_call(w, l);
	}
	if (!any)
		return true;
	if (told > 0 && ev->kind == ISC_KIND_WAIT_EXIT)
		l->recent[l->recents++ % RECENT] =
			(struct recent){ev->time_ns - (uint64_t)fmin(told * 1e3, (double)ev->time_ns), ev->time_ns, key,
					(uint8_t)state};
	run = run_key(w, l);
	if (run == 0)
		return false;
	for (int i = 0; i < 2; i++) {
		isc_tail_pile *pile = i == 0 ? l->pile : l->running;
		double part = told >= 0 ? told : 0;

		if (pile == NULL)
			continue;
		/* When brief ones were is not known; no more than ran. */
		if (brief && part > pile->top->own.run_us + us)
			part = pile->top->own.run_us + us > 0 ? pile->top->own.run_us + us : 0;
		if (!add_told(pile, state, key, part, us - part, run))
			return false;
	}
	return true;
}

/* What a pile was said to do from one moment to another was waiting for a device. */
static bool turn_to_gpu(struct lane *l, isc_tail_pile *pile, uint32_t key, uint32_t run, uint64_t from_ns,
			uint64_t to_ns)
{
	isc_tail_sums *s = &pile->top->own;
	double us, inside = 0;

	from_ns = from_ns > pile->top->from_ns ? from_ns : pile->top->from_ns;
	if (to_ns <= from_ns)
		return true;
	for (unsigned i = 0; i < l->recents && i < RECENT; i++) {
		const struct recent *r = &l->recent[i];
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
static bool take_gpu_call(struct walk *w, struct lane *l, const isc_event *ev)
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
					 : place_of_call(w, l),
			    0, 0);
	run = run_key(w, l);
	if (key == 0 || run == 0 || (l->pile != NULL && !turn_to_gpu(l, l->pile, key, run, from, to)) ||
	    (l->running != NULL && !turn_to_gpu(l, l->running, key, run, from, to)))
		return false;
	l->recents = 0;
	return true;
}

/* ---- samples ---- */

/* One for each node; those that stand for more than one stack are looked up every time. */
static isc_attribution attribution_of(struct walk *w, const isc_event *ev, uint32_t node)
{
	isc_attribution what;

	if (node == 0 || w->t->tree->node[node].stand_in)
		return isc_attribution_of(w->t->b, ev->process, ev->id);
	if (w->states[node] == 0) {
		what = isc_attribution_of(w->t->b, ev->process, ev->id);
		w->states[node] = (uint8_t)((unsigned)what.state + 1);
		w->reasons[node] = (uint8_t)what.why;
	}
	return (isc_attribution){.state = (enum isc_state)(w->states[node] - 1),
				 .why = (enum isc_unattributed)w->reasons[node]};
}

static bool take_sample(struct walk *w, struct lane *l, const isc_event *ev)
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
		if (node != 0 && !isc_cells_add(&s->cells, ISC_TAIL_NODE | node, 1, us))
			return false;
	}
	return true;
}

/* ---- tasks ---- */

static void end_step(struct lane *l, uint64_t now_ns)
{
	double us = (double)(now_ns - l->step_ns) / 1e3;

	if (l->step_ns != 0 && now_ns > l->step_ns && us >= STEP_MIN_US) {
		/* Where half of it was, else what it began with. */
		uint32_t place = l->longest_us * 2 >= us || l->first == 0 ? l->longest : l->first;

		l->steps[l->step++ % STEPS] = (struct step){l->step_ns, now_ns, place};
	}
	l->step_ns = now_ns;
	l->longest_us = 0;
	l->longest = l->first = 0;
}

/* A task goes on: what had the loop since it stopped to run? */
static bool resume(struct walk *w, struct lane *l, isc_tail_pile *pile, uint64_t now_ns)
{
	isc_tail_sums *s = &pile->top->own;
	double gap = now_ns > pile->since_ns ? (double)(now_ns - pile->since_ns) / 1e3 : 0;
	double idle = l->idle_us - pile->idle_us, busy;
	uint32_t key = isc_tails_key(w->t, ISC_TAIL_AWAIT, pile->awaited, 0, 0);

	idle = idle < gap ? idle : gap;
	busy = gap - idle;
	s->told[ISC_STATE_IDLE] += idle;
	s->loop_us += busy;
	if (key == 0 || (idle > 0 && !isc_cells_add(&s->cells, key, 1, idle)))
		return false;
	for (size_t i = 0; i < STEPS && i < l->step && busy > 0; i++) {
		const struct step *step = &l->steps[(l->step - 1 - i) % STEPS];
		uint64_t from = step->from_ns > pile->since_ns ? step->from_ns : pile->since_ns;
		double us = step->to_ns > from ? (double)(step->to_ns - from) / 1e3 : 0;

		if (us <= 0)
			break;
		us = us < busy ? us : busy;
		busy -= us;
		key = isc_tails_key(w->t, ISC_TAIL_LOOP, step->place, 0, 0);
		if (key == 0 || !isc_cells_add(&s->cells, key, 1, us))
			return false;
	}
	key = isc_tails_key(w->t, ISC_TAIL_LOOP, 0, 0, 0);
	return key != 0 && (busy <= 0 || isc_cells_add(&s->cells, key, 1, busy));
}

static bool change_task(struct walk *w, struct lane *l, const isc_event *ev)
{
	if (l->steps == NULL)
		l->steps = isc_arena_array(w->t->b->arena, STEPS, sizeof(*l->steps));
	if (l->steps == NULL)
		return false;
	/* Waiting for something to do is nobody's step. */
	if (l->task != 0)
		end_step(l, ev->time_ns);
	if (l->running != NULL) {
		l->running->since_ns = ev->time_ns;
		l->running->idle_us = l->idle_us;
		l->running->awaited = l->yields ? l->awaited : 0;
	}
	l->task = ev->id;
	l->yields = false;
	l->step_ns = ev->time_ns;
	l->longest_us = 0;
	l->longest = l->first = 0;
	find_piles(w, l);
	return l->running == NULL || l->running->since_ns == 0 || resume(w, l, l->running, ev->time_ns);
}

/* The innermost coroutine of the program that gives way is where the task waits. */
static void note_yield(struct walk *w, struct lane *l, const isc_event *ev)
{
	uint32_t place;

	if (ev->arg != ISC_CALL_YIELDED || l->running == NULL)
		return;
	place = isc_places_code(&w->t->places, w->t->b, ev->process, ev->id);
	if (place == ISC_PLACE_NO_MEMORY || (l->yields && !isc_places_is_library(&w->t->places, l->awaited)))
		return;
	if (!l->yields || !isc_places_is_library(&w->t->places, place))
		l->awaited = place;
	l->yields = true;
}

/* ---- calls and scopes ---- */

static bool step_call(struct walk *w, struct lane *l, const isc_event *ev)
{
	struct call *call;
	size_t i;

	if (ev->kind == ISC_KIND_CALL_EXIT) {
		note_yield(w, l, ev);
		/* Those above it have ended too, unseen; one that is not open says nothing. */
		for (i = l->depth; i > 0 && l->calls[i - 1].code != ev->id;)
			i--;
		l->depth = i > 0 ? i - 1 : l->depth;
		return true;
	}
	l->yields = false;
	if (l->depth >= DEPTH_MAX)
		return true;
	call = isc_arena_push(w->t->b->arena, &l->calls, &l->depth, &l->room, sizeof(*call));
	if (call == NULL)
		return false;
	*call = (struct call){.code = ev->id};
	if (l->task != 0 && l->first == 0 && w->opens.open > 0)
		l->first = place_of_call(w, l);
	return l->first != ISC_PLACE_NO_MEMORY;
}

static bool step_span(struct walk *w, struct lane *l, const isc_event *ev, size_t tail)
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

static bool step_scope(struct walk *w, struct lane *l, const isc_event *ev)
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
		find_piles(w, l);
	return good;
}

static bool feed(struct walk *w, const isc_event *ev)
{
	struct lane *l;
	bool good = true;

	/* What interrupted a write of ours is read apart from it, and is not much. */
	if (ev->stream != 0)
		return true;
	l = lane_of(w, ev);
	if (l == NULL)
		return false;
	if (ev->number != l->expected && l->last_ns != 0) {
		isc_tail_opens_drop(&w->opens, l->thread, 0);
		isc_tail_opens_drop(&w->opens, l->thread, l->task);
		l->depth = 0;
		l->last_ns = 0;
	}
	l->expected = ev->number + 1;
	if (l->changes != w->opens.changes)
		find_piles(w, l);
	good = spend(w, l, ev);
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
		return change_task(w, l, ev);
	case ISC_KIND_SAMPLE:
		return take_sample(w, l, ev);
	default:
		return good && take_gpu_call(w, l, ev);
	}
}

bool isc_tails_walk(isc_tails *t)
{
	struct walk w = {.t = t, .opens = {.t = t}};
	bool good = true;
	isc_event ev;
	uint64_t done = 0;

	w.states = isc_arena_array(t->b->arena, t->tree->count + 1, sizeof(*w.states));
	w.reasons = isc_arena_array(t->b->arena, t->tree->count + 1, sizeof(*w.reasons));
	good = w.states != NULL && w.reasons != NULL && name_scopes(&w);
	isc_trace_rewind(t->b->trace);
	while (good && isc_trace_next(t->b->trace, &ev)) {
		isc_build_progress(t->b, ++done, t->b->a->events);
		good = feed(&w, &ev);
	}
	good = good && isc_tail_opens_end(&w.opens);
	isc_tail_opens_fini(&w.opens);
	isc_hashmap_fini(&w.lanes);
	isc_hashmap_fini(&w.named);
	isc_names_fini(&w.names);
	return good;
}
