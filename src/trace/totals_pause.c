/*
 * totals_pause.c - what the governor left out.
 *
 * It acts in two ways.  A function is not watched for a while, and now and then
 * its exits are counted for a moment, a burst: so many in so much time.  Or all
 * tracing of a process pauses, and goes on in bursts in which everything is
 * seen; the clock of its lanes stands still meanwhile, so that what is open does
 * not seem to do itself what its calls did unseen.
 *
 * Here only what was seen is summed up; what it stands for is worked out by
 * whoever reports it, as it takes times and not ticks.
 */
#include "trace/totals_lane.h"

static isc_total_calls *process_of(const isc_totals *t, const isc_totals_lane *lane)
{
	return &t->processes[lane->calls->process].calls;
}

uint64_t isc_totals_paused(const isc_totals *t, const isc_totals_lane *lane, uint64_t ticks)
{
	const isc_total_calls *p = process_of(t, lane);

	return p->paused_ticks + (p->paused_since != 0 && ticks > p->paused_since ? ticks - p->paused_since : 0);
}

void isc_totals_watch(isc_total_function *f, uint8_t watch, uint64_t ticks)
{
	uint64_t took = ticks > f->watch_ticks ? ticks - f->watch_ticks : 0;

	if (f->watch == ISC_GOVERNED_OFF)
		f->off_ticks += took;
	/* From exit to exit: switching the watch on and off is not in it. */
	if (f->watch == ISC_GOVERNED_EXITS && f->burst_now > 1 && f->burst_last > f->burst_first) {
		double rate = (double)(f->burst_now - 1) / (double)(f->burst_last - f->burst_first);

		f->burst_least = f->bursts == 0 || rate < f->burst_least ? rate : f->burst_least;
		f->burst_most = f->bursts == 0 || rate > f->burst_most ? rate : f->burst_most;
		/* Each counts the same: one in which the thread had to wait for a CPU says little. */
		f->burst_rates += rate;
		f->bursts++;
	}
	f->burst_now = 0;
	f->watch = watch;
	f->watch_ticks = ticks;
}

static bool govern_function(isc_totals *t, const isc_totals_lane *lane, const isc_record *r)
{
	isc_total_function *f = isc_totals_function_of(t, lane->process, r->id);
	struct isc_totals_process *p = &t->processes[lane->calls->process];
	bool was_watched;

	if (f == NULL)
		return false;
	was_watched = f->watch == ISC_GOVERNED_TRACED;
	if (!f->governed && f->calls > 0 && r->ticks > f->first_ticks)
		f->watched_ticks = r->ticks - f->first_ticks;
	isc_totals_watch(f, (uint8_t)r->arg, r->ticks);
	f->governed |= r->arg != ISC_GOVERNED_TRACED;
	f->estimated |= f->governed;
	p->calls.governed |= f->governed;
	/* Nobody will see those end that are open. */
	for (isc_totals_lane *l = was_watched && f->governed ? p->lane : NULL; l != NULL; l = l->calls->next)
		isc_totals_calls_abandon(t, l, r->id);
	return true;
}

/* What an open call did up to now will be added when it ends. */
static void keep_open(isc_totals *t, const isc_totals_lane *lane)
{
	const isc_totals_calls *c = lane->calls;

	for (size_t i = 0; i < c->depth; i++) {
		const isc_totals_call *call = &c->open[i];
		uint64_t until = i + 1 < c->depth ? c->open[i + 1].ticks : lane->last;
		isc_total_function *f = &t->functions[call->function];

		if (call->id == ISC_CALL_GAP)
			continue;
		f->exact_self += until > call->ticks + call->children ? until - call->ticks - call->children : 0;
		if (call->outermost)
			f->exact_total += lane->last > call->ticks ? lane->last - call->ticks : 0;
	}
}

/* From here on only parts of what happens are seen. */
static void keep_exact(isc_totals *t, uint32_t process, const isc_totals_lane *lane)
{
	for (size_t i = 0; i < t->function_count; i++) {
		isc_total_function *f = &t->functions[i];

		if (f->process != process)
			continue;
		f->exact_calls = f->calls;
		f->exact_resumes = f->resumes;
		f->exact_self = f->self_ticks;
		f->exact_total = f->total_ticks;
	}
	for (; lane != NULL; lane = lane->calls->next)
		keep_open(t, lane);
}

void isc_totals_resume(isc_totals *t, const isc_totals_lane *lane, uint64_t ticks)
{
	isc_total_calls *p = process_of(t, lane);

	if (p->paused_since == 0 || ticks <= p->paused_since)
		return;
	p->paused_ticks += ticks - p->paused_since;
	p->paused_since = 0;
}

static void govern_all(isc_totals *t, const isc_totals_lane *lane, const isc_record *r)
{
	isc_total_calls *p = process_of(t, lane);
	bool off = r->arg != ISC_GOVERNED_TRACED;

	if (off && p->first_pause == 0) {
		p->first_pause = r->ticks;
		keep_exact(t, lane->process, t->processes[lane->calls->process].lane);
		t->pauses = true;
	}
	if (off && p->paused_since == 0) {
		p->paused_since = r->ticks;
	} else if (!off) {
		isc_totals_resume(t, lane, r->ticks);
		p->paused_since = 0;
	}
}

bool isc_totals_govern(isc_totals *t, isc_totals_lane *lane, const isc_record *r)
{
	if (r->arg == ISC_GOVERNED_COST) {
		process_of(t, lane)->cost = r->id;
		return true;
	}
	if (r->arg > ISC_GOVERNED_EXITS)
		return true;
	if (r->id != 0)
		return govern_function(t, lane, r);
	govern_all(t, lane, r);
	return true;
}
