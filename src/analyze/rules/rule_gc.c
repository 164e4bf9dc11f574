/*
 * rule_gc.c - time in which Python collects garbage, while nothing else of the thread runs.
 */
#include "analyze/rules/rule.h"

static bool measure(const isc_evidence *j, size_t gpu, isc_finding *out)
{
	(void)gpu;
	return isc_evidence_state(j, ISC_STATE_GC, out);
}

const isc_metric isc_metric_gc = {"gc_pct", "%", "collecting garbage", false, measure};
