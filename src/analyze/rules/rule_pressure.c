/*
 * rule_pressure.c - the control group of the program is short of memory: its tasks wait until some is
 * found.  As the kernel counts it, of all tasks of the group.
 */
#include <math.h>

#include "analyze/rules/rule.h"

static bool measure(const isc_evidence *j, size_t gpu, isc_finding *out)
{
	const isc_analysis_usage *u = &j->a->usage;

	(void)gpu;
	if (!j->known || !u->known || !u->group_known || u->some_us < 0 || j->a->wall_us <= 0)
		return false;
	*out = isc_evidence_finding(j, 0.7);
	out->value = out->claim.share = fmin(u->some_us / j->a->wall_us * 100, 100);
	out->us = out->value / 100 * j->window_us;
	if (u->limit_bytes > 0) {
		isc_claim_number(&out->claim, ISC_DETAIL_USED_BYTES, u->group_bytes);
		isc_claim_number(&out->claim, ISC_DETAIL_LIMIT_BYTES, u->limit_bytes);
	}
	return true;
}

const isc_metric isc_metric_pressure = {
	"memory_stalled_pct", "%", "tasks of the program's control group waited for memory, as the kernel counts it",
	false, measure};
