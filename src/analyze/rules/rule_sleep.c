/*
 * rule_sleep.c - time that a thread sleeps because it chose to: polls, back-offs, rate limits.
 */
#include "analyze/rules/rule.h"

static bool measure(const isc_evidence *j, size_t gpu, isc_finding *out)
{
	isc_buffer text = {0};

	(void)gpu;
	if (!isc_evidence_state(j, ISC_STATE_SLEEP, out))
		return false;
	isc_evidence_share(j, out->share, &text);
	isc_buffer_text(&text, " is slept away");
	isc_evidence_in(out, &text);
	out->what = isc_evidence_keep(j, &text);
	return true;
}

const isc_metric isc_metric_sleep = {"sleep_pct", "%", "sleeping for a time that the program chose", false, measure};
