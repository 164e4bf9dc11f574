/*
 * rule_swap.c - a part of the program's memory is in swap, and it waits for it to come back.
 */
#include <math.h>

#include "analyze/rules/rule.h"

#define SWAPPED 0.02 /* of the memory: less than that was never needed again */

/* When most was in swap: how much, and the part of all memory that it was. */
static double most_swapped(const isc_analysis_usage *u, double *part)
{
	double most = 0;

	*part = 0;
	for (size_t i = 0; i < u->points; i++) {
		if (u->swap_bytes[i] <= most)
			continue;
		most = u->swap_bytes[i];
		*part = most / (most + fmax(u->rss_bytes[i], 0));
	}
	return most;
}

static bool measure(const isc_evidence *j, size_t gpu, isc_finding *out)
{
	const isc_analysis_usage *u = &j->a->usage;
	double bytes, part, us;

	(void)gpu;
	if (!u->known || !isc_evidence_state(j, ISC_STATE_PAGE_FAULT, out))
		return false;
	bytes = most_swapped(u, &part);
	/* What is only filled is not read. */
	us = part > SWAPPED ? fmax(j->state_us[ISC_STATE_PAGE_FAULT] - j->filled_us, 0) : 0;
	isc_evidence_takes(j, us, out);
	if (us > 0)
		isc_evidence_and_kernel(j, out);
	out->claim.place = (isc_claim_place){0};
	out->solid = 0.9; /* it may have been a file that was read */
	isc_claim_number(&out->claim, ISC_DETAIL_SWAPPED_BYTES, bytes);
	isc_claim_number(&out->claim, ISC_DETAIL_MAJOR_FAULTS, floor(j->a->major_faults));
	return true;
}

const isc_metric isc_metric_swap = {
	"swap_wait_pct", "%", "waiting for memory to be read in, while more than 2% of it is in swap", false, measure};
