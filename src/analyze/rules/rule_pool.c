/*
 * rule_pool.c - all workers of a pool are busy, and the thread waits for them.
 */
#include "analyze/rules/rule.h"

static bool measure(const isc_evidence *j, size_t gpu, isc_finding *out)
{
	(void)gpu;
	if (!isc_evidence_place(j, &j->pool, out))
		return false;
	isc_claim_number(&out->claim, ISC_DETAIL_WORKERS, j->workers);
	return true;
}

const isc_metric isc_metric_pool = {"pool_wait_pct", "%",
				    "waiting for a pool of threads whose workers are busy for 90% of the time or more",
				    false, measure};
