/*
 * rule_pressure.c - the control group of the program is short of memory: its tasks wait until some is
 * found.  As the kernel counts it, of all tasks of the group.
 */
#include <math.h>

#include "analyze/rules/rule.h"
#include "base/units.h"

static bool measure(const isc_evidence *j, size_t gpu, isc_finding *out)
{
	const isc_analysis_usage *u = &j->a->usage;
	isc_buffer text = {0};
	isc_units n, m;

	(void)gpu;
	if (!j->known || !u->known || !u->group_known || u->some_us < 0 || j->a->wall_us <= 0)
		return false;
	*out = (isc_finding){.solid = 0.7, .device_id = -1};
	out->value = out->share = fmin(u->some_us / j->a->wall_us * 100, 100);
	out->us = out->share / 100 * j->window_us;
	isc_evidence_share(j, out->share, &text);
	isc_buffer_text(&text, " something in the program's control group waits for memory");
	if (u->limit_bytes > 0)
		isc_buffer_format(&text, ", of which it uses %s of %s MiB",
				  isc_units_number(&n, u->group_bytes / 1048576),
				  isc_units_number(&m, u->limit_bytes / 1048576));
	out->what = isc_evidence_keep(j, &text);
	return true;
}

const isc_metric isc_metric_pressure = {
	"memory_stalled_pct", "%", "tasks of the program's control group waited for memory, as the kernel counts it",
	false, measure};
