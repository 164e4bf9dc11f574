/*
 * rule_run_queue.c - the program has more threads that want to run than it has CPUs.
 */
#include "analyze/rules/rule.h"

static bool measure(const isc_evidence *j, size_t gpu, isc_finding *out)
{
	(void)gpu;
	if (!isc_evidence_state(j, ISC_STATE_RUN_QUEUE, out) || j->cpus == 0)
		return false;
	if (!isc_evidence_own_queue(j))
		isc_evidence_takes(j, 0, out);
	isc_claim_number(&out->claim, ISC_DETAIL_WANTING_THREADS, j->demand);
	isc_claim_number(&out->claim, ISC_DETAIL_CPUS, j->cpus);
	return true;
}

const isc_metric isc_metric_run_queue = {
	"oversubscribed_pct", "%", "ready without a CPU, while the program's own threads want more than there are",
	false, measure};
