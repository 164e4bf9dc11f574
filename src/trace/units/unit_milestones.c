/*
 * unit_milestones.c - what phases of a process follow from: imports, the end of
 * the program's own module, waiting for threads, and the end of the interpreter.
 *
 * They are rows among those of units, and are never thinned out: a process has
 * few.  Calls shorter than a unit may be are not looked at, so imports of some
 * microseconds have no row.
 */
#include "trace/units/unit_log.h"

#include "trace/totals/totals_lane.h"

/* Of a process: ten times what the largest frameworks import from outside of other imports.  One that goes on
 * importing after that has no start-up to speak of. */
#define IMPORTS_MAX 4096u

/* Of the call on top of a lane; 0: it is none. */
static uint32_t milestone_of(const isc_totals *t, const isc_totals_calls *c)
{
	const isc_totals_call *call = &c->open[c->depth - 1];
	const isc_total_function *f = &t->functions[call->function];

	if (f->shutdown)
		return ISC_MILESTONE_SHUTDOWN;
	if (!f->module)
		return 0;
	if ((call->how & ISC_CALL_IMPORT) == 0)
		return ISC_MILESTONE_MODULE;
	/* Inside another one it is a part of that. */
	return c->importing == 1 ? ISC_MILESTONE_IMPORT : 0;
}

void isc_unit_log_passed(isc_totals *t, isc_unit_process *p, const isc_totals_lane *lane, const isc_record *r)
{
	const isc_totals_call *call = &lane->calls->open[lane->calls->depth - 1];
	uint32_t source = milestone_of(t, lane->calls);

	if (source == 0 || (source == ISC_MILESTONE_IMPORT && p->imports++ >= IMPORTS_MAX))
		return;
	isc_unit_log_keep(t->units, &(isc_unit_row){.process = lane->process,
						    .thread = lane->thread,
						    .source = source,
						    .name = call->id,
						    .begin = call->begin,
						    .end = r->ticks});
}

void isc_unit_log_leaving(isc_totals *t, const isc_totals_lane *lane, const isc_record *r)
{
	if (t->units != NULL)
		isc_unit_log_keep(t->units, &(isc_unit_row){.process = lane->process,
							    .thread = lane->thread,
							    .source = ISC_MILESTONE_LEAVING,
							    .begin = r->ticks,
							    .end = r->ticks});
}
