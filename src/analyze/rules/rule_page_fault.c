/*
 * rule_page_fault.c - time that a thread waits for its own memory to be read in.
 */
#include <math.h>

#include "analyze/rules/rule.h"

static bool measure(const isc_evidence *j, size_t gpu, isc_finding *out)
{
	(void)gpu;
	if (!isc_evidence_state(j, ISC_STATE_PAGE_FAULT, out))
		return false;
	/* Pages that are only filled have a rule of their own, and it is they that samples place. */
	if (j->fills) {
		isc_evidence_takes(j, fmax(j->state_us[ISC_STATE_PAGE_FAULT] - j->filled_us, 0), out);
		out->claim.place = (isc_claim_place){0};
		out->solid = 1;
	}
	if (out->us > 0)
		isc_evidence_and_kernel(j, out);
	return true;
}

const isc_metric isc_metric_page_fault = {"page_fault_pct", "%", "waiting for memory to be read in", false, measure};
