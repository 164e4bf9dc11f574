/*
 * totals_settle.c - calls that began before what is fed, events that were lost, and the end of it all.
 */
#include "trace/totals/totals_lane.h"

isc_status isc_totals_lose(isc_totals *t, uint32_t process, uint32_t thread, uint8_t stream, isc_error *err)
{
	isc_totals_lane *lane = isc_totals_lane_of(t, process, thread, stream);

	if (lane == NULL || !isc_totals_lane_lose(t, lane))
		return isc_fail(err, ISC_ERR_NOMEM, "no memory for running totals");
	return ISC_OK;
}

isc_status isc_totals_open_call(isc_totals *t, uint32_t process, uint32_t thread, uint8_t stream, uint32_t code,
				uint64_t ticks, isc_error *err)
{
	isc_totals_lane *lane = isc_totals_lane_of(t, process, thread, stream);

	if (lane == NULL || isc_totals_calls_of(t, lane) == NULL ||
	    !isc_totals_calls_push(t, lane, (code & ISC_TOTAL_REST) == 0 ? code : 0, isc_totals_clock(t, lane, ticks),
				   0))
		return isc_fail(err, ISC_ERR_NOMEM, "no memory for running totals");
	return ISC_OK;
}

isc_status isc_totals_recall(isc_totals *t, uint32_t process, uint32_t thread, uint8_t stream, const isc_record *first,
			     const void *extra, uint32_t extra_len, isc_error *err)
{
	isc_totals_lane *lane = isc_totals_lane_of(t, process, thread, stream);
	bool fed = lane != NULL && isc_totals_calls_of(t, lane) != NULL;

	if (fed && first->kind == ISC_KIND_GC)
		fed = isc_totals_waits_feed(t, lane, first, extra, extra_len);
	else if (fed && first->kind == ISC_KIND_BURST)
		fed = isc_totals_window(t, lane, first, extra, extra_len, true);
	else if (fed)
		fed = isc_totals_calls_feed(t, lane, first, extra, extra_len);
	return fed ? ISC_OK : isc_fail(err, ISC_ERR_NOMEM, "no memory for running totals");
}

void isc_totals_close_calls(isc_totals *t, uint32_t process, uint32_t thread, uint8_t stream, uint64_t ticks)
{
	isc_totals_lane *lane = isc_totals_lane_find(t, process, thread, stream);

	if (lane != NULL && lane->calls != NULL)
		isc_totals_lane_close(t, lane, ticks);
}

void isc_totals_settle(isc_totals *t, isc_totals_end *end, void *self)
{
	for (size_t i = 0; i < t->lane_count; i++) {
		isc_totals_lane *lane = t->lanes[i];
		uint64_t at = lane->last;
		isc_total_calls *p;

		if (lane->calls == NULL && lane->wait_call == 0)
			continue;
		if (end != NULL)
			at = end(self, lane->process, lane->thread, lane->stream, lane->last);
		/* Without memory it goes untold, like one that was never entered. */
		(void)isc_totals_wait_close(t, lane, at);
		if (lane->calls == NULL)
			continue;
		p = &t->processes[lane->calls->process].calls;
		isc_totals_lane_close(t, lane, at);
		p->last_ticks = at > p->last_ticks ? at : p->last_ticks;
	}
	for (size_t i = 0; i < t->process_count; i++) {
		isc_total_calls *p = &t->processes[i].calls;

		if (p->paused_since != 0 && p->last_ticks > p->paused_since)
			p->paused_ticks += p->last_ticks - p->paused_since;
		p->paused_since = 0;
		isc_totals_windows_end(t, &t->processes[i]);
	}
}
