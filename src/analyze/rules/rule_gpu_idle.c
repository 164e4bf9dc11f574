/*
 * rule_gpu_idle.c - the device has nothing to do, because the host does not keep up.
 */
#include <string.h>

#include "analyze/rules/rule.h"

/* What most of the idle time is about. */
static enum isc_idle_cause main_cause(const isc_facts_gpu *g)
{
	enum isc_idle_cause most = ISC_IDLE_HOST_WAIT;

	for (int i = 0; i < ISC_IDLE_CAUSES; i++) {
		if (g->idle[i].ns > g->idle[most].ns)
			most = (enum isc_idle_cause)i;
	}
	return most;
}

/* Is its place a call that the host is in, or what comes next on the device? */
static bool is_inside(enum isc_idle_cause cause)
{
	return cause == ISC_IDLE_SYNC || cause == ISC_IDLE_COPY;
}

static bool names_kernel(enum isc_idle_cause cause)
{
	return cause == ISC_IDLE_KERNEL_WAIT || cause == ISC_IDLE_UNKNOWN;
}

static bool measure(const isc_evidence *j, size_t gpu, isc_finding *out)
{
	const isc_facts_gpu *g = &j->a->timeline->gpus[gpu];
	enum isc_idle_cause cause = main_cause(g);
	const isc_facts_idle *idle = &g->idle[cause];
	const char *name = isc_idle_cause_name(cause);

	if (!isc_evidence_gpu(j, gpu, g->last_ns - g->first_ns - g->busy_ns, out))
		return false;
	out->claim.place =
		names_kernel(cause) ? isc_evidence_at_kernel(j, idle->where) : isc_evidence_at_text(idle->where);
	if (idle->ns <= 0)
		return true;
	isc_claim_text(&out->claim, ISC_DETAIL_IDLE_CAUSE, (isc_text){name, strlen(name)});
	isc_claim_number(&out->claim, ISC_DETAIL_IDLE_CAUSE_PCT, (double)idle->ns / out->us / 10);
	isc_claim_number(&out->claim, ISC_DETAIL_DURING, is_inside(cause) || idle->during ? 1 : -1);
	return true;
}

const isc_metric isc_metric_gpu_idle = {
	"gpu_idle_pct", "%", "a GPU without work, of the time from its first to its last work", true, measure};
