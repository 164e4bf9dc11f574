/*
 * rule_limit.c - the program's own memory comes near the limit of its control group: the kernel takes
 * pages away that are needed again, and a little more ends it.
 *
 * Of all that is counted against the limit only the program's own is looked at: the rest is mostly
 * files that were read, which fill every limit in time and are given up when there is need.
 */
#include "analyze/rules/rule.h"

static bool measure(const isc_evidence *j, size_t gpu, isc_finding *out)
{
	const isc_analysis_usage *u = &j->a->usage;

	(void)gpu;
	if (!j->known || !u->known || u->limit_bytes <= 0 || u->peak_rss_bytes < 0)
		return false;
	/* The other rules about memory say what it costs. */
	*out = isc_evidence_finding(j, 0.7);
	out->value = u->peak_rss_bytes / u->limit_bytes * 100;
	out->claim.share = out->us = -1;
	isc_claim_number(&out->claim, ISC_DETAIL_USED_BYTES, u->peak_rss_bytes);
	isc_claim_number(&out->claim, ISC_DETAIL_LIMIT_BYTES, u->limit_bytes);
	isc_claim_number(&out->claim, ISC_DETAIL_LIMIT_MET, u->refused > 0 ? u->refused : -1);
	return true;
}

const isc_metric isc_metric_limit = {"memory_limit_pct", "%",
				     "the most memory of the program, of the lowest limit of its control groups", false,
				     measure};
