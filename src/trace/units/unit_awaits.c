/*
 * unit_awaits.c - calls of coroutines that were suspended.
 *
 * A task may live as long as the program and await a coroutine for each piece of work, as a consumer of a queue does
 * and a connection that is kept open.  Such a call goes from the first step of the coroutine to its last.  What it took
 * beside its own steps it waited: others ran then, or nobody did.
 */
#include <stdlib.h>

#include "trace/units/unit_loops.h"

/* Calls of a process that are suspended; where there are more, the one not heard of for longest has ended unseen. */
#define AWAITS_MAX 4096u

static uint64_t key_of(const isc_totals_calls *c, uint32_t code)
{
	return (c->task_key ^ code) * 0x9e3779b97f4a7c15ull ^ code;
}

/* The place of a call that is suspended for the first time; NULL: no memory. */
static isc_unit_await *begin_await(isc_unit_process *p, uint64_t key, uint64_t begin)
{
	uint32_t place = isc_aging_put(&p->by_await, key, AWAITS_MAX);
	isc_unit_await *bigger;

	if (place == 0)
		return NULL;
	if (place > p->await_room) {
		bigger = realloc(p->awaits, p->by_await.room * sizeof(*bigger));
		if (bigger == NULL) {
			isc_aging_drop(&p->by_await, place);
			return NULL;
		}
		p->awaits = bigger;
		p->await_room = p->by_await.room;
	}
	p->awaits[place - 1] = (isc_unit_await){.begin = begin};
	return &p->awaits[place - 1];
}

static void suspend(isc_unit_process *p, uint64_t key, const isc_totals_call *call, uint64_t now)
{
	uint32_t place = isc_aging_find(&p->by_await, key);
	isc_unit_await *a;

	if (place != 0)
		isc_aging_touch(&p->by_await, place);
	/* One that goes on and is not known was begun unseen. */
	else if (call->how & ISC_CALL_RESUMED)
		return;
	a = place != 0 ? &p->awaits[place - 1] : begin_await(p, key, call->begin);
	if (a != NULL)
		a->busy += now - call->begin - (call->waited < now - call->begin ? call->waited : now - call->begin);
}

void isc_unit_log_awaited(isc_totals *t, const isc_totals_lane *lane, const isc_record *r)
{
	const isc_totals_calls *c = lane->calls;
	const isc_totals_call *call = &c->open[c->depth - 1];
	isc_unit_process *p = t->units != NULL ? isc_unit_log_of(t->units, lane->process) : NULL;
	uint64_t key = key_of(c, call->id), took, busy;
	isc_unit_await ended;
	uint32_t place;

	/* A task's own coroutine is the task. */
	if (p == NULL || r->ticks <= call->begin || call->id == c->step_code || !call->outermost)
		return;
	if (r->arg == ISC_CALL_YIELDED) {
		suspend(p, key, call, r->ticks);
		return;
	}
	place = isc_aging_find(&p->by_await, key);
	if (place == 0)
		return;
	ended = p->awaits[place - 1];
	isc_aging_drop(&p->by_await, place);
	took = r->ticks - ended.begin;
	busy = ended.busy + (r->ticks - call->begin);
	if (took > t->unit_ticks)
		isc_unit_log_loops_await(t, p, lane, ended.begin, r->ticks, took > busy ? took - busy : 0);
}
