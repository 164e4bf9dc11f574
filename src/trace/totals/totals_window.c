/*
 * totals_window.c - calls that were counted for a moment, and what they say of
 * the time between.
 *
 * A window says how often each function was called in how much CPU time.  What
 * counting cost is taken off that, and as it is known about only, each rate is a
 * range.  Between two windows calls are taken to have gone from one rate to the
 * next in a straight line.  How far that may be from the truth shows in how much
 * neighbours differ: spread sums up the squares, and whoever reports it makes a
 * bound of that.
 */
#include <stdlib.h>
#include <string.h>

#include "trace/totals/totals_lane.h"

/* What counting a call costs in the program, against what was measured at its
 * start, and where it is a generator that goes on. */
static const isc_total_range cost_of_call = {0.8, 1.2, 1.6}, cost_of_resume = {0, 0.4, 1.4};
#define COST_SHARE_MAX 0.8 /* of a window */
#define QUICKEST 0.5	   /* a call, against the quickest there was at the start */

/* CPU time of a window without what counting cost. */
static double without(const isc_burst *b, double call, double resume)
{
	double took = (double)(b->end_ns - b->begin_ns), resumes = b->resumes < b->calls ? b->resumes : b->calls;
	double cost = b->cost / 16.0 * ((b->calls - resumes) * call + resumes * resume);
	double least = b->least / 16.0 * b->calls * QUICKEST;

	took -= cost < took * COST_SHARE_MAX ? cost : took * COST_SHARE_MAX;
	return took > least ? took : least;
}

static double straight(double apart, double from, double to)
{
	return apart * ((from >= 0 ? from : to) + to) / 2;
}

/* A function had this rate in the last window. */
static void reach(isc_total_function *f, const isc_total_calls *p, isc_total_range rate)
{
	double apart = (double)p->apart_ns, differ = rate.likely - (f->rate.likely >= 0 ? f->rate.likely : 0);

	if (apart > 0) {
		f->between.least += straight(apart, f->rate.least, rate.least);
		f->between.likely += straight(apart, f->rate.likely, rate.likely);
		f->between.most += straight(apart, f->rate.most, rate.most);
		f->spread += apart * differ * apart * differ;
	}
	f->rate = rate;
	f->rate_most = rate.most > f->rate_most ? rate.most : f->rate_most;
	f->window = p->windows;
}

void isc_totals_windows_end(isc_totals *t, struct isc_totals_process *p)
{
	size_t kept = 0;

	for (size_t i = 0; i < p->counted_count; i++) {
		isc_total_function *f = &t->functions[p->counted[i]];

		if (f->window == p->calls.windows) {
			p->counted[kept++] = p->counted[i];
			continue;
		}
		reach(f, &p->calls, (isc_total_range){0, 0, 0});
		f->counted = false;
	}
	p->counted_count = kept;
}

bool isc_totals_window_keep(isc_totals *t, size_t function)
{
	isc_total_function *f = &t->functions[function];
	const uint64_t *at = isc_hashmap_find(&t->by_process, f->process);
	struct isc_totals_process *p = at != NULL ? &t->processes[*at] : NULL;

	if (p == NULL)
		return true;
	if (p->counted_count == p->counted_room) {
		size_t room = p->counted_room ? p->counted_room * 2 : 16;
		uint32_t *bigger = realloc(p->counted, room * sizeof(*bigger));

		if (bigger == NULL)
			return false;
		p->counted = bigger;
		p->counted_room = room;
	}
	p->counted[p->counted_count++] = (uint32_t)function;
	f->counted = true;
	return true;
}

static bool count(isc_totals *t, isc_totals_lane *lane, const isc_total_range *took, const isc_burst_calls *c,
		  bool again)
{
	uint32_t id = (c->id & ISC_TOTAL_REST) == 0 ? c->id : 0;
	isc_total_function *f = isc_totals_function_of(t, lane->process, id, false);
	const isc_total_calls *p = &t->processes[lane->calls->process].calls;
	int64_t before = f != NULL ? isc_totals_function_weight(f) : 0;

	if (f == NULL)
		return false;
	/* A rest has no rate: which of its functions are called changes. */
	if (f->code & ISC_TOTAL_REST)
		took = NULL;
	if (took != NULL && f->window == p->windows)
		return true; /* said twice: no program of ours does */
	f->window_calls += again ? 0 : c->calls;
	f->estimated = true;
	f->startup = false;
	/* The longer it took, the lower the rate. */
	if (took != NULL)
		reach(f, p, (isc_total_range){c->calls / took->most, c->calls / took->likely, c->calls / took->least});
	isc_totals_weigh(t, ISC_PART_FUNCTIONS, (int64_t)isc_totals_function_weight(f) - before);
	if (took == NULL)
		return true;
	return f->counted || isc_totals_window_keep(t, (size_t)(f - t->functions));
}

/* All calls of functions that are not traced, since they were last told. */
static bool tally(isc_totals *t, const isc_totals_lane *lane, const char *at, uint32_t len)
{
	isc_total_function *f;
	isc_burst_calls c;

	for (; len >= sizeof(c); at += sizeof(c), len -= (uint32_t)sizeof(c)) {
		int64_t before;

		memcpy(&c, at, sizeof(c));
		if (c.id == 0)
			continue;
		f = isc_totals_function_of(t, lane->process, c.id, false);
		if (f == NULL)
			return false;
		before = isc_totals_function_weight(f);
		f->startup = false;
		f->window_calls += c.calls;
		isc_totals_weigh(t, ISC_PART_FUNCTIONS, (int64_t)isc_totals_function_weight(f) - before);
	}
	return true;
}

/* Another window; before it everything was seen, or not. */
static void begin(isc_totals *t, struct isc_totals_process *p, const isc_burst *b, bool seen)
{
	isc_total_calls *c = &p->calls;

	isc_totals_windows_end(t, p);
	c->windows++;
	c->apart_ns = seen ? 0 : b->begin_ns - c->window_ns;
	c->between_ns += c->apart_ns;
	c->farthest_ns = c->apart_ns > c->farthest_ns ? c->apart_ns : c->farthest_ns;
}

bool isc_totals_window(isc_totals *t, isc_totals_lane *lane, const isc_record *r, const void *extra, uint32_t len,
		       bool again)
{
	struct isc_totals_process *p = &t->processes[lane->calls->process];
	const char *at = extra;
	isc_total_range took;
	isc_burst_calls c;
	isc_burst b;
	bool rough;

	if (len < sizeof(b))
		return true;
	memcpy(&b, at, sizeof(b));
	if (r->arg & ISC_BURST_EXACT)
		return again || tally(t, lane, at + sizeof(b), len - (uint32_t)sizeof(b));
	/* Clocks of a program that lies, or the record of another thread came late. */
	if (b.end_ns < b.begin_ns || b.begin_ns < p->calls.window_ns)
		return true;
	if (r->arg & ISC_BURST_END) {
		p->calls.end_ns = b.end_ns;
		if (r->arg & ISC_BURST_SEEN)
			p->calls.window_ns = b.end_ns;
		return true;
	}
	rough = (r->arg & ISC_BURST_ROUGH) != 0 || b.end_ns == b.begin_ns;
	took = (isc_total_range){without(&b, cost_of_call.most, cost_of_resume.most),
				 without(&b, cost_of_call.likely, cost_of_resume.likely),
				 without(&b, cost_of_call.least, cost_of_resume.least)};
	if (!rough)
		begin(t, p, &b, r->arg & ISC_BURST_SEEN || again);
	p->calls.inside_ns += again ? 0 : b.end_ns - b.begin_ns;
	p->calls.window_ns = b.end_ns;
	p->calls.window_ticks = r->ticks;
	for (at += sizeof(b), len -= (uint32_t)sizeof(b); len >= sizeof(c);
	     at += sizeof(c), len -= (uint32_t)sizeof(c)) {
		memcpy(&c, at, sizeof(c));
		if (c.id != 0 && !count(t, lane, rough ? NULL : &took, &c, again))
			return false;
	}
	return true;
}
