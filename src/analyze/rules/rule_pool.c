/*
 * rule_pool.c - all workers of a pool are busy, and the thread waits for them.
 */
#include "analyze/rules/rule.h"

static bool measure(const isc_evidence *j, size_t gpu, isc_finding *out)
{
	isc_buffer text = {0};

	(void)gpu;
	if (!isc_evidence_place(j, &j->pool, out))
		return false;
	isc_evidence_share(j, out->share, &text);
	isc_buffer_format(&text, " waits for a pool of %u %s that %s busy all the time", j->workers,
			  j->workers == 1 ? "thread" : "threads", j->workers == 1 ? "is" : "are");
	isc_evidence_in(out, &text);
	out->what = isc_evidence_keep(j, &text);
	return true;
}

const isc_metric isc_metric_pool = {"pool_wait_pct", "%",
				    "waiting for a pool of threads whose workers are busy for 90% of the time or more",
				    false, measure};
