/*
 * unit_gaps.c - the times in which not all calls of a process were recorded.
 *
 * Threads are fed in runs, so what the governor says comes out of order; it is
 * looked at when two flushes have passed and nothing older can come any more.
 * A gap that finds no room or no memory is replaced by one of all processes, up to
 * the end: no unit is whole from there on.  Its room is spared.
 *
 * There is room for GAPS_MAX gaps.  The more of it is used, the more neighbours
 * of a process and kind become one: then a unit between them seems to have calls
 * missing that it has not, and never the other way.
 */
#include <stdlib.h>

#include "base/grow.h"
#include "trace/totals/totals_lane.h"

#define GAPS_MAX 65536u
#define APART_TICKS 16u /* these are two moments in every file */
#define SETTLED_FLUSHES 2u
/* A gap that goes on for a second is written, in case that nobody gets to write its end. */
#define TOLD_FLUSHES 4u

void isc_unit_log_lose_gap(isc_unit_log *u, uint64_t from)
{
	if (from >= u->lost_from)
		return;
	u->lost_from = from;
	u->lost_told = false;
}

static void push_gap(isc_unit_log *u, const isc_gap_row *gap)
{
	isc_gap_row *bigger = isc_grow(u->gaps, u->gap_count, &u->gap_room, sizeof(*gap));

	if (bigger == NULL) {
		isc_unit_log_lose_gap(u, gap->from);
		return;
	}
	u->gaps = bigger;
	u->gaps[u->gap_count++] = *gap;
	u->gaps_told++;
}

/* So many neighbours become one. */
static uint32_t neighbours(const isc_unit_log *u)
{
	unsigned shift = 0;

	while (shift < 31 && u->gaps_told > GAPS_MAX - (GAPS_MAX >> (shift + 1)))
		shift++;
	return 1u << (shift > u->shift ? shift : u->shift);
}

static void push_joined(isc_unit_log *u, isc_unit_process *p, uint32_t kind)
{
	if (p->joined_count[kind] > 0)
		push_gap(u, &p->joined[kind]);
	p->joined_count[kind] = 0;
}

void isc_unit_log_gap(isc_unit_log *u, uint32_t process, uint32_t kind, uint64_t from, uint64_t to)
{
	isc_unit_process *p = isc_unit_log_of(u, process);
	isc_gap_row *joined = p != NULL ? &p->joined[kind] : NULL;

	if (p == NULL)
		isc_unit_log_lose_gap(u, from);
	if (p == NULL || to <= from)
		return;
	/* Its begin is that of one in the file that goes on, which this one does not end. */
	if (p->open[kind - 1].open && p->open[kind - 1].from == from)
		from -= from < APART_TICKS ? from : APART_TICKS;
	if (p->joined_count[kind] == 0)
		*joined = (isc_gap_row){process, kind, from, to};
	joined->from = from < joined->from ? from : joined->from;
	joined->to = to > joined->to ? to : joined->to;
	if (++p->joined_count[kind] >= neighbours(u))
		push_joined(u, p, kind);
}

static void open_gap(isc_unit_log *u, isc_unit_process *p, uint32_t kind, uint64_t from)
{
	isc_unit_gap *gap = &p->open[kind - 1];

	/* The begin of one that goes on stays what the file may have. */
	if (gap->open)
		isc_unit_log_gap(u, p->process, kind, from, gap->from);
	else
		*gap = (isc_unit_gap){.open = true, .from = from, .flush = u->flushes};
}

void isc_unit_log_lost_on(isc_unit_log *u, uint32_t process, uint64_t from)
{
	isc_unit_process *p = isc_unit_log_of(u, process);

	if (p == NULL) {
		isc_unit_log_lose_gap(u, from);
		return;
	}
	/* No thread ends it. */
	p->missing++;
	open_gap(u, p, ISC_GAP_LOST, from);
}

static void close_gap(isc_unit_log *u, isc_unit_process *p, uint32_t kind, uint64_t to)
{
	isc_unit_gap *gap = &p->open[kind - 1];

	if (!gap->open)
		return;
	gap->open = false;
	/* A row that the file has already as one that goes on is found by its begin. */
	if (gap->told)
		push_gap(u, &(isc_gap_row){p->process, kind, gap->from, to > gap->from ? to : gap->from});
	else
		isc_unit_log_gap(u, p->process, kind, gap->from, to);
}

void isc_unit_log_unsure(isc_unit_log *u, uint32_t process, uint64_t from)
{
	isc_unit_process *p = isc_unit_log_of(u, process);

	if (p == NULL) {
		isc_unit_log_lose_gap(u, from);
		return;
	}
	/* No code has this id, so it is never traced again. */
	if (isc_hashmap_put(&p->off, 0, NULL) == NULL)
		isc_unit_log_lose_gap(u, from);
	open_gap(u, p, ISC_GAP_THINNED, from);
}

void isc_unit_log_missed(isc_unit_log *u, uint32_t process, uint64_t since, const isc_record *r)
{
	isc_unit_process *p = isc_unit_log_of(u, process);

	if (p == NULL) {
		isc_unit_log_lose_gap(u, since != 0 ? since : r->ticks);
		return;
	}
	if (r->arg != 0) {
		p->missing++;
		open_gap(u, p, ISC_GAP_LOST, r->ticks);
		return;
	}
	if (p->missing > 0 && --p->missing == 0)
		close_gap(u, p, ISC_GAP_LOST, r->ticks);
	/* Threads are fed in runs, so the last one that is fed need not be the last that ended. */
	if (p->missing > 0 || since < p->open[ISC_GAP_LOST - 1].from)
		isc_unit_log_gap(u, process, ISC_GAP_LOST, since, r->ticks);
}

void isc_unit_log_governed(isc_unit_log *u, uint32_t process, const isc_record *r)
{
	isc_unit_change *bigger;

	if (r->arg == ISC_GOVERNED_COST || r->arg == ISC_GOVERNED_SPENT || r->arg > ISC_GOVERNED_GATED)
		return;
	bigger = isc_grow(u->changes, u->change_count, &u->change_room, sizeof(*bigger));
	if (bigger == NULL) {
		isc_unit_log_lose_gap(u, r->ticks);
		return;
	}
	u->changes = bigger;
	u->changes[u->change_count++] = (isc_unit_change){.ticks = r->ticks,
							  .process = process,
							  .id = r->id,
							  .arg = r->arg,
							  .flush = u->flushes,
							  .order = u->change_order++};
}

/* Threads say so one after the other, and the moments that they say may come the other way round.  Whether the gap ended
 * or begins anew is then not known: it goes on, and has both moments in it. */
static void end_gap(isc_unit_log *u, isc_unit_process *p, uint32_t kind, uint64_t to)
{
	const isc_unit_gap *gap = &p->open[kind - 1];

	if (gap->open && to < gap->from)
		isc_unit_log_gap(u, p->process, kind, to, gap->from);
	else
		close_gap(u, p, kind, to);
}

static void change_all(isc_unit_log *u, isc_unit_process *p, const isc_unit_change *c)
{
	uint32_t kind = c->arg == ISC_GOVERNED_TRACED  ? 0
			: c->arg == ISC_GOVERNED_GATED ? ISC_GAP_GATED
						       : ISC_GAP_PAUSED;

	if (kind != ISC_GAP_GATED)
		end_gap(u, p, ISC_GAP_GATED, c->ticks);
	if (kind != ISC_GAP_PAUSED)
		end_gap(u, p, ISC_GAP_PAUSED, c->ticks);
	if (kind != 0)
		open_gap(u, p, kind, c->ticks);
}

static void put_off(isc_unit_log *u, isc_unit_process *p, const isc_unit_change *c)
{
	uint64_t *since = isc_hashmap_put(&p->off, c->id, NULL);

	/* Without memory the gap would end with that of another function. */
	if (since == NULL)
		isc_unit_log_lose_gap(u, c->ticks);
	else if (*since < c->ticks)
		*since = c->ticks;
	open_gap(u, p, ISC_GAP_THINNED, c->ticks);
}

static void change_function(isc_unit_log *u, isc_unit_process *p, const isc_unit_change *c)
{
	const uint64_t *since = isc_hashmap_find(&p->off, c->id);

	if (c->arg != ISC_GOVERNED_TRACED && c->arg != ISC_GOVERNED_GATED) {
		put_off(u, p, c);
	} else if (c->arg == ISC_GOVERNED_TRACED && since != NULL && c->ticks < *since) {
		isc_unit_log_gap(u, p->process, ISC_GAP_THINNED, c->ticks, *since);
	} else if (c->arg == ISC_GOVERNED_TRACED && since != NULL) {
		isc_hashmap_remove(&p->off, c->id);
		if (p->off.count == 0)
			end_gap(u, p, ISC_GAP_THINNED, c->ticks);
	}
}

static int by_ticks(const void *a, const void *b)
{
	const isc_unit_change *x = a, *y = b;

	if (x->ticks != y->ticks)
		return x->ticks > y->ticks ? 1 : -1;
	return (x->order > y->order) - (x->order < y->order);
}

static void settle_changes(isc_unit_log *u, bool last)
{
	size_t ripe = 0;

	if (u->change_count > 1)
		qsort(u->changes, u->change_count, sizeof(*u->changes), by_ticks);
	for (size_t i = 0; i < u->change_count; i++) {
		if (last || u->flushes - u->changes[i].flush >= SETTLED_FLUSHES)
			ripe = i + 1;
	}
	for (size_t i = 0; i < ripe; i++) {
		const isc_unit_change *c = &u->changes[i];
		isc_unit_process *p = isc_unit_log_of(u, c->process);

		if (p == NULL)
			isc_unit_log_lose_gap(u, c->ticks);
		else if (c->id == 0)
			change_all(u, p, c);
		else
			change_function(u, p, c);
	}
	for (size_t i = ripe; i < u->change_count; i++)
		u->changes[i - ripe] = u->changes[i];
	u->change_count -= ripe;
}

void isc_unit_log_gaps_put(isc_unit_log *u, isc_unit_process *p, bool last)
{
	for (uint32_t kind = ISC_GAP_THINNED; kind <= ISC_GAP_LOST; kind++) {
		isc_unit_gap *gap = &p->open[kind - 1];

		if (last)
			push_joined(u, p, kind);
		if (!gap->open || gap->told || (!last && u->flushes - gap->flush < TOLD_FLUSHES))
			continue;
		gap->told = true;
		push_gap(u, &(isc_gap_row){p->process, kind, gap->from, UINT64_MAX});
	}
}

void isc_unit_log_gaps_flush(isc_unit_log *u, bool last)
{
	settle_changes(u, last);
	for (size_t i = 0; i < u->process_count; i++)
		isc_unit_log_gaps_put(u, u->processes[i], last);
}

static uint64_t sooner(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

uint64_t isc_unit_log_settled(const isc_unit_log *u)
{
	uint64_t at = u->flushes > SETTLED_FLUSHES ? u->moment[(u->flushes - SETTLED_FLUSHES) % ISC_UNITS_MOMENTS] : 0;

	for (size_t i = 0; i < u->change_count; i++)
		at = sooner(at, u->changes[i].ticks);
	for (size_t i = 0; i < u->process_count; i++) {
		const isc_unit_process *p = u->processes[i];

		for (uint32_t kind = ISC_GAP_THINNED; kind <= ISC_GAP_LOST; kind++) {
			const isc_unit_gap *gap = &p->open[kind - 1];

			if (gap->open && !gap->told)
				at = sooner(at, gap->from);
			if (p->joined_count[kind] > 0)
				at = sooner(at, p->joined[kind].from);
		}
	}
	return at;
}

/* ---- after a resume ---- */

void isc_unit_log_gaps_adopt(isc_unit_log *u, const isc_gap_row *gaps, size_t n)
{
	u->gaps_told = n;
	for (size_t i = 0; i < n; i++) {
		const isc_gap_row *g = &gaps[i];
		isc_unit_process *p = g->process != 0 ? isc_unit_log_of(u, g->process) : NULL;
		isc_unit_gap *gap = p != NULL ? &p->open[g->kind - 1] : NULL;

		if (gap == NULL)
			isc_unit_log_lose_gap(u, g->from);
		else if (g->to == UINT64_MAX)
			*gap = (isc_unit_gap){.open = true, .told = true, .from = g->from, .flush = u->flushes};
		else if (gap->open && gap->from == g->from)
			gap->open = false;
	}
}

static void adopt_function(isc_unit_log *u, const isc_total_function *f, uint64_t since)
{
	isc_unit_process *p;

	if (!f->off && !(f->code & ISC_TOTAL_REST))
		return;
	p = isc_unit_log_of(u, f->process);
	if (p == NULL) {
		isc_unit_log_lose_gap(u, since);
		return;
	}
	/* Which functions of a rest are off is not known. */
	if (f->code & ISC_TOTAL_REST) {
		if (f->estimated)
			isc_unit_log_unsure(u, f->process, since);
		return;
	}
	if (isc_hashmap_put(&p->off, f->code, NULL) == NULL)
		isc_unit_log_lose_gap(u, since);
	open_gap(u, p, ISC_GAP_THINNED, since);
}

static void adopt_process(isc_unit_log *u, const isc_total_calls *c, uint64_t since)
{
	isc_unit_process *p = isc_unit_log_of(u, c->process);

	if (p != NULL && c->paused_since != 0)
		open_gap(u, p, c->gated ? ISC_GAP_GATED : ISC_GAP_PAUSED, sooner(since, c->paused_since));
	if (p == NULL)
		return;
	/* How it ended is among what has to be taken for lost. */
	if (p->off.count == 0)
		close_gap(u, p, ISC_GAP_THINNED, since);
	if (c->paused_since == 0 || !c->gated)
		close_gap(u, p, ISC_GAP_GATED, since);
	if (c->paused_since == 0 || c->gated)
		close_gap(u, p, ISC_GAP_PAUSED, since);
}

void isc_unit_log_off_adopt(isc_unit_log *u, const isc_totals *t, uint64_t since)
{
	for (size_t i = 0; i < t->function_count; i++)
		adopt_function(u, &t->functions[i], since);
	for (size_t i = 0; i < t->process_count; i++)
		adopt_process(u, &t->processes[i].calls, since);
}
