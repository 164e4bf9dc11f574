/*
 * rule_page_fault.c - time that a thread waits for its own memory to be read in.
 */
#include <math.h>

#include "analyze/rules/rule.h"

static bool measure(const isc_evidence *j, size_t gpu, isc_finding *out)
{
	isc_buffer text = {0};

	(void)gpu;
	if (!isc_evidence_state(j, ISC_STATE_PAGE_FAULT, out))
		return false;
	/* Pages that are only filled have a rule of their own, and it is they that samples place. */
	if (j->fills) {
		out->us = fmax(j->state_us[ISC_STATE_PAGE_FAULT] - j->filled_us, 0);
		out->value = out->share = out->us / j->window_us * 100;
		out->where = (isc_text){0};
		out->solid = 1;
	}
	if (out->us > 0)
		isc_evidence_and_kernel(j, out);
	isc_evidence_share(j, out->share, &text);
	isc_buffer_text(&text, " waits for memory to be read in (page faults)");
	isc_evidence_in(out, &text);
	out->what = isc_evidence_keep(j, &text);
	return true;
}

const isc_metric isc_metric_page_fault = {"page_fault_pct", "%", "waiting for memory to be read in", false, measure};
