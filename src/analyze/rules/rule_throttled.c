/*
 * rule_throttled.c - time in which the control group had used up its CPU share.
 */
#include "analyze/rules/rule.h"

static bool measure(const isc_evidence *j, size_t gpu, isc_finding *out)
{
	isc_buffer text = {0};

	(void)gpu;
	if (!isc_evidence_state(j, ISC_STATE_THROTTLED, out))
		return false;
	isc_evidence_share(j, out->share, &text);
	isc_buffer_text(&text, " has no CPU because the control group used up its share");
	isc_evidence_in(out, &text);
	out->what = isc_evidence_keep(j, &text);
	return true;
}

const isc_metric isc_metric_throttled = {"throttled_pct", "%", "its control group had used up its share of CPU time",
					 false, measure};
