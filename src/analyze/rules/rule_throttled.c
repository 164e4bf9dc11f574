/*
 * rule_throttled.c - time in which the control group had used up its CPU share.
 */
#include "analyze/rules/rule.h"

static bool measure(const isc_evidence *j, size_t gpu, isc_finding *out)
{
	(void)gpu;
	return isc_evidence_state(j, ISC_STATE_THROTTLED, out);
}

const isc_metric isc_metric_throttled = {"throttled_pct", "%", "its control group had used up its share of CPU time",
					 false, measure};
