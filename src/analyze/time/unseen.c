#include "analyze/time/unseen.h"

#include <stdlib.h>

#include "analyze/build.h"

void isc_unseen_fini(isc_unseen *u)
{
	isc_hashmap_fini(&u->processes);
	isc_hashmap_fini(&u->governed);
}

/* Most runs record everything, and need no look at all events. */
static bool is_any(const isc_build *b)
{
	const isc_total_calls *p;

	if (isc_trace_gap_at(b->trace, 0) != NULL)
		return true;
	for (size_t i = 0; (p = isc_totals_calls_at(b->totals, i)) != NULL; i++) {
		if (p->governed || p->first_pause != 0)
			return true;
	}
	return false;
}

static isc_unseen_process *process_of(isc_unseen *u, isc_build *b, uint32_t process)
{
	uint64_t *known = isc_hashmap_put(&u->processes, process, NULL);
	isc_unseen_process *p;

	if (known == NULL)
		return NULL;
	if (*known == 0) {
		p = isc_arena_alloc(b->arena, sizeof(*p));
		if (p == NULL)
			return NULL;
		*known = (uint64_t)(uintptr_t)p;
	}
	return (isc_unseen_process *)(uintptr_t)*known;
}

/* Threads are read one after the other: begins and ends come in any order.  to_ns is 1 for an end, until they are sorted. */
static bool note_pause(isc_build *b, isc_unseen_process *p, const isc_event *ev)
{
	isc_pause *change = isc_arena_push(b->arena, &p->pause, &p->count, &p->room, sizeof(*change));

	if (change != NULL)
		*change = (isc_pause){ev->time_ns, ev->arg == ISC_GOVERNED_TRACED};
	return change != NULL;
}

static bool note_function(isc_unseen *u, const isc_event *ev)
{
	uint64_t *since = isc_hashmap_put(&u->governed, isc_hashmap_key(ev->process, ev->id), NULL);

	if (since != NULL && ev->arg != ISC_GOVERNED_TRACED && (*since == 0 || ev->time_ns < *since))
		*since = ev->time_ns;
	return since != NULL;
}

static int by_time(const void *x, const void *y)
{
	const isc_pause *p = x, *q = y;

	if (p->from_ns != q->from_ns)
		return p->from_ns < q->from_ns ? -1 : 1;
	/* One that ends where the next begins is none. */
	return (p->to_ns < q->to_ns) - (p->to_ns > q->to_ns);
}

/* Begins and ends become pauses. */
static void pair_up(const isc_build *b, isc_unseen_process *p)
{
	bool open, before;
	size_t n;

	if (p->count > 1)
		qsort(p->pause, p->count, sizeof(*p->pause), by_time);
	/* Where the oldest events were dropped, the first end may be of a pause that began in them. */
	before = p->count > 0 && p->pause[0].to_ns != 0 && b->stats->retired_events > 0;
	if (before)
		p->pause[0] = (isc_pause){0, p->pause[0].from_ns};
	n = before;
	open = false;
	for (size_t i = n; i < p->count; i++) {
		bool ends = p->pause[i].to_ns != 0;
		uint64_t ns = p->pause[i].from_ns;

		if (!ends && !open)
			p->pause[n] = (isc_pause){ns, UINT64_MAX};
		if (ends && open)
			p->pause[n++].to_ns = ns;
		open = !ends;
	}
	p->count = n + open;
}

/* Does it say which calls are recorded from now on?  Calls that are recorded while a gate is closed are too few to
 * account for the time: for this it is a pause. */
static bool leaves_out(const isc_event *ev)
{
	return ev->arg <= ISC_GOVERNED_UNSEEN || (ev->arg == ISC_GOVERNED_COUNTED && ev->id != 0) ||
	       (ev->arg == ISC_GOVERNED_GATED && ev->id == 0);
}

static bool take_hole(void *self, const isc_event *ev)
{
	isc_unseen *u = self;
	isc_unseen_process *p;

	if (ev->kind != ISC_KIND_GOVERNED || !leaves_out(ev))
		return true;
	p = process_of(u, u->b, ev->process);
	return p != NULL && (ev->id == 0 ? note_pause(u->b, p, ev) : note_function(u, ev));
}

void isc_unseen_join(isc_unseen *u, isc_build *b, isc_walk *walk)
{
	u->b = b;
	if (is_any(b))
		isc_walk_join(walk, ISC_WALK_CALLS, take_hole, u);
}

void isc_unseen_end(isc_unseen *u)
{
	uint64_t process, at_process;
	size_t at = 0;

	while (isc_hashmap_next(&u->processes, &at, &process, &at_process))
		pair_up(u->b, (isc_unseen_process *)(uintptr_t)at_process);
}

const isc_unseen_process *isc_unseen_of(const isc_unseen *u, uint32_t process)
{
	const uint64_t *known = u->processes.count > 0 ? isc_hashmap_find(&u->processes, process) : NULL;

	return known != NULL ? (const isc_unseen_process *)(uintptr_t)*known : NULL;
}

uint64_t isc_unseen_governed_ns(const isc_unseen *u, uint32_t process, uint32_t code)
{
	const uint64_t *since =
		u->governed.count > 0 ? isc_hashmap_find(&u->governed, isc_hashmap_key(process, code)) : NULL;

	return since != NULL && *since != 0 ? *since : UINT64_MAX;
}

bool isc_unseen_pause(const isc_unseen_process *p, size_t *at, uint64_t from_ns, uint64_t to_ns, isc_pause *out)
{
	size_t i;

	if (p == NULL || to_ns <= from_ns)
		return false;
	while (*at < p->count && p->pause[*at].to_ns <= from_ns)
		++*at;
	i = *at;
	if (i == p->count || p->pause[i].from_ns >= to_ns)
		return false;
	out->from_ns = p->pause[i].from_ns > from_ns ? p->pause[i].from_ns : from_ns;
	while (i + 1 < p->count && p->pause[i + 1].from_ns < to_ns)
		i++;
	out->to_ns = p->pause[i].to_ns < to_ns ? p->pause[i].to_ns : to_ns;
	return true;
}
