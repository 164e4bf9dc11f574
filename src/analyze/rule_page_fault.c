/*
 * rule_page_fault.c - time that a thread waits for its own memory to be read in.
 */
#include "analyze/rule.h"

static bool measure(const isc_judge *j, size_t gpu, isc_finding *out)
{
	isc_buffer text = {0};

	(void)gpu;
	if (!isc_judge_state(j, ISC_STATE_PAGE_FAULT, out))
		return false;
	isc_judge_share(j, out->share, &text);
	isc_buffer_text(&text, " waits for memory to be read in (page faults)");
	isc_judge_in(out, &text);
	out->what = isc_judge_keep(j, &text);
	return true;
}

const isc_metric isc_metric_page_fault = {"page_fault_pct", "%", "waiting for memory to be read in", false, measure};
