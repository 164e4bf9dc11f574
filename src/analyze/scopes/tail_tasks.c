/*
 * tail_tasks.c - tasks that take turns on a thread: what had the loop while one of them waited.
 */
#include "analyze/scopes/tail_lane.h"

/* Shorter steps are not worth to be remembered. */
#define STEP_MIN_US 50.0

static void end_step(isc_tail_lane *l, uint64_t now_ns)
{
	double us = (double)(now_ns - l->step_ns) / 1e3;

	if (l->step_ns != 0 && now_ns > l->step_ns && us >= STEP_MIN_US) {
		/* Where half of it was, else what it began with. */
		uint32_t place = l->longest_us * 2 >= us || l->first == 0 ? l->longest : l->first;

		l->steps[l->step++ % ISC_TAIL_STEPS] = (isc_tail_step){l->step_ns, now_ns, place};
	}
	l->step_ns = now_ns;
	l->longest_us = 0;
	l->longest = l->first = 0;
}

/* A task goes on: what had the loop since it stopped to run? */
static bool resume(isc_tail_walk *w, isc_tail_lane *l, isc_tail_pile *pile, uint64_t now_ns)
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
	for (size_t i = 0; i < ISC_TAIL_STEPS && i < l->step && busy > 0; i++) {
		const isc_tail_step *step = &l->steps[(l->step - 1 - i) % ISC_TAIL_STEPS];
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

bool isc_tail_lane_task(isc_tail_walk *w, isc_tail_lane *l, const isc_event *ev)
{
	if (l->steps == NULL)
		l->steps = isc_arena_array(w->t->b->arena, ISC_TAIL_STEPS, sizeof(*l->steps));
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
	isc_tail_lane_find_piles(w, l);
	return l->running == NULL || l->running->since_ns == 0 || resume(w, l, l->running, ev->time_ns);
}

/* The innermost coroutine of the program that gives way is where the task waits. */
void isc_tail_lane_yield(isc_tail_walk *w, isc_tail_lane *l, const isc_event *ev)
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
