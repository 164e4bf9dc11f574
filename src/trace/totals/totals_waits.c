/*
 * totals_waits.c - how long threads waited, in which call and from where.
 */
#include <string.h>

#include "trace/totals/totals_lane.h"

/* Units that wait most of their time are none. */
static void tell_caller(const isc_totals *t, const isc_totals_lane *lane, uint64_t ticks)
{
	if (t->units != NULL && lane->calls != NULL && lane->calls->depth > 0)
		lane->calls->open[lane->calls->depth - 1].waited += ticks;
}

static bool add(isc_totals *t, const isc_totals_lane *lane, uint32_t call, uint32_t stack, uint64_t count,
		uint64_t ticks, uint64_t brief, const isc_wait *from, uint64_t unseen)
{
	isc_total_wait *w = isc_totals_wait_of(t, ISC_WAIT_KEY(lane->thread, call), stack);

	if (w == NULL)
		return false;
	if (call != ISC_WAIT_GC)
		tell_caller(t, lane, ticks);
	w->process = w->thread == lane->thread ? lane->process : 0;
	w->count += count;
	w->ticks += ticks;
	w->brief_ticks += brief;
	w->unseen += unseen;
	if (brief == 0 && ticks >= w->max_ticks) {
		w->max_ticks = ticks;
		w->holder = from != NULL ? from->holder : 0;
		w->holder_stack = from != NULL ? from->holder_stack : 0;
	}
	return true;
}

bool isc_totals_wait_close(isc_totals *t, isc_totals_lane *lane, uint64_t ticks)
{
	uint32_t call = lane->wait_call;

	lane->wait_call = 0;
	return call == 0 || ticks <= lane->wait_ticks ||
	       add(t, lane, call, lane->wait_stack, 1, ticks - lane->wait_ticks, 0, NULL, 0);
}

static void open_wait(isc_totals_lane *lane, uint32_t call, uint32_t stack, uint64_t ticks)
{
	lane->wait_call = call;
	lane->wait_stack = stack;
	lane->wait_ticks = ticks;
}

/* Its end tells the whole of it.  One that a handler had inside another is not its end. */
static bool exit_wait(isc_totals *t, isc_totals_lane *lane, const isc_record *r, const isc_wait *wait)
{
	uint32_t stack = r->id;

	if (lane->wait_call == r->arg) {
		stack = stack != 0 ? stack : lane->wait_stack;
		lane->wait_call = 0;
	}
	return add(t, lane, r->arg, stack, 1, wait->ticks, 0, wait, 0);
}

bool isc_totals_waits_feed(isc_totals *t, isc_totals_lane *lane, const isc_record *r, const void *extra,
			   uint32_t extra_len)
{
	isc_wait_brief brief;
	isc_wait wait;
	isc_gc gc;

	if (r->kind == ISC_KIND_WAIT_ENTER) {
		if (!isc_totals_wait_close(t, lane, r->ticks))
			return false;
		if (r->arg > 0 && r->arg < ISC_WAIT_CALLS)
			open_wait(lane, r->arg, r->id, r->ticks);
		return true;
	}
	if (extra_len < sizeof(wait))
		return true;
	memcpy(&wait, extra, sizeof(wait));
	memcpy(&brief, extra, sizeof(brief));
	memcpy(&gc, extra, sizeof(gc));
	if (r->kind == ISC_KIND_GC)
		return add(t, lane, ISC_WAIT_GC, 0, r->arg != ISC_GC_WATCHED, gc.ticks, 0, NULL, gc.unseen);
	if (r->arg == 0 || r->arg >= ISC_WAIT_CALLS)
		return true; /* of a later version */
	if (r->kind == ISC_KIND_WAIT_BRIEF)
		return add(t, lane, r->arg, 0, brief.count, brief.ticks, brief.ticks, NULL, 0);
	return exit_wait(t, lane, r, &wait);
}

isc_status isc_totals_open_wait(isc_totals *t, uint32_t process, uint32_t thread, uint8_t stream, uint32_t call,
				uint32_t stack, uint64_t ticks, isc_error *err)
{
	isc_totals_lane *lane = isc_totals_lane_of(t, process, thread, stream);

	if (lane == NULL)
		return isc_fail(err, ISC_ERR_NOMEM, "no memory for running totals");
	open_wait(lane, call, stack, ticks);
	return ISC_OK;
}
