/*
 * dump_over_time.c - what outlives the events: rows over time, and the moments whose totals are kept.
 */
#include <inttypes.h>

#include "trace/dump/dump_text.h"

static void dump_period(struct dump *d, const isc_trace_period *p)
{
	isc_buffer_format(&d->line, "period p%u from ", p->process);
	isc_dump_time(d, p->from_ns);
	isc_buffer_text(&d->line, " to ");
	isc_dump_time(d, p->to_ns);
	isc_buffer_format(&d->line,
			  " samples %" PRIu64 " sampled %" PRIu64 "ns unattributed %" PRIu64 "ns events %" PRIu64
			  " lost %" PRIu64 " thinned %" PRIu64 " cost %" PRIu64 "ns units %" PRIu64,
			  p->samples, p->sampled_ns, p->unattributed_ns, p->events, p->lost, p->thinned, p->cost_ns,
			  p->units);
	isc_dump_finish(d);
}

static const char *boundary_name(uint32_t boundary)
{
	static const char *const names[] = {[ISC_BOUNDARY_WINDOW_BEGIN] = "window_begin",
					    [ISC_BOUNDARY_WINDOW_END] = "window_end",
					    [ISC_BOUNDARY_FIRST_UNIT] = "first_unit",
					    [ISC_BOUNDARY_LAST_UNIT] = "last_unit",
					    [ISC_BOUNDARY_RETAINED] = "retained"};

	if (boundary >= ISC_BOUNDARY_PHASE)
		return "phase";
	return boundary < sizeof(names) / sizeof(names[0]) && names[boundary] != NULL ? names[boundary] : "unknown";
}

void isc_dump_over_time(struct dump *d)
{
	const isc_trace_snapshot *s;
	const isc_trace_period *p;

	for (size_t i = 0; (p = isc_trace_period_at(d->trace, i)) != NULL; i++)
		dump_period(d, p);
	for (size_t i = 0; (s = isc_trace_snapshot_at(d->trace, i)) != NULL; i++) {
		isc_buffer_format(&d->line, "snapshot %u %s ", s->boundary, boundary_name(s->boundary));
		isc_dump_time(d, isc_trace_ticks_to_ns(d->trace, s->ticks));
		isc_dump_finish(d);
	}
}
