/*
 * rule_gc.c - time in which Python collects garbage, while nothing else of the thread runs.
 */
#include "analyze/rules/rule.h"

static bool measure(const isc_evidence *j, size_t gpu, isc_finding *out)
{
	isc_buffer text = {0};

	(void)gpu;
	if (!isc_evidence_state(j, ISC_STATE_GC, out))
		return false;
	isc_evidence_share(j, out->share, &text);
	isc_buffer_text(&text, " goes to collecting garbage");
	isc_evidence_in(out, &text);
	out->what = isc_evidence_keep(j, &text);
	return true;
}

const isc_metric isc_metric_gc = {"gc_pct", "%", "collecting garbage", false, measure};
