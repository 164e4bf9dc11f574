/*
 * rule_sleep.c - time that a thread sleeps because it chose to: polls, back-offs, rate limits.
 */
#include "analyze/rules/rule.h"

static bool measure(const isc_evidence *j, size_t gpu, isc_finding *out)
{
	(void)gpu;
	return isc_evidence_state(j, ISC_STATE_SLEEP, out);
}

const isc_metric isc_metric_sleep = {"sleep_pct", "%", "sleeping for a time that the program chose", false, measure};
