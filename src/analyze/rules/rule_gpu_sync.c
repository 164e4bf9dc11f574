/*
 * rule_gpu_sync.c - the device is idle because the thread that feeds it waits for it: while it does,
 * or because it had nothing to do when the wait was over, though the host could have asked by then.
 */
#include "analyze/rules/rule.h"

static bool measure(const isc_evidence *j, size_t gpu, isc_finding *out)
{
	const isc_facts_gpu *g = &j->a->timeline->gpus[gpu];
	const isc_facts_idle *idle = &g->idle[ISC_IDLE_SYNC];
	/* A gap of which part was in the wait may be in both. */
	bool drained = g->drained_ns > idle->ns;

	if (!isc_evidence_gpu(j, gpu, drained ? g->drained_ns : idle->ns, out))
		return false;
	out->claim.place = isc_evidence_at_text(drained ? g->drained_where : idle->where);
	/* Not every source tells of them one by one. */
	isc_claim_number(&out->claim, ISC_DETAIL_SYNCS, g->syncs > 0 ? (double)g->syncs : -1);
	return true;
}

const isc_metric isc_metric_gpu_sync = {
	"gpu_sync_idle_pct", "%",
	"a GPU without work that it would have had, if the thread that feeds it had not waited for it", true, measure};
