/*
 * rule_remote.c - the program's memory lies on another node than the CPUs that it runs on.
 */
#include <math.h>

#include "analyze/rules/rule.h"

/* Far memory takes about twice as long as near memory: so much of the time at most goes to the way. */
#define FAR_PART 0.5

/* More of it than if it lay where the CPU time is: who runs on all nodes has some memory far away in any case. */
static double astray_pct(const isc_analysis_numa *n)
{
	double cpu_us = 0, same = 0;

	for (size_t i = 0; i < n->count; i++)
		cpu_us += fmax(n->nodes[i].cpu_us, 0);
	for (size_t i = 0; cpu_us > 0 && i < n->count; i++)
		same += n->nodes[i].cpu_us / cpu_us * n->nodes[i].cpu_us / cpu_us;
	return fmax(n->remote_pct - (1 - same) * 100, 0);
}

static const isc_analysis_node_memory *most_of(const isc_analysis_numa *n, bool memory)
{
	const isc_analysis_node_memory *most = &n->nodes[0];

	for (size_t i = 1; i < n->count; i++) {
		const isc_analysis_node_memory *one = &n->nodes[i];

		if (memory ? one->last_bytes > most->last_bytes : one->cpu_us > most->cpu_us)
			most = one;
	}
	return most;
}

/* Who holds most of it. */
static isc_claim_place holder_of(const isc_evidence *j)
{
	const isc_analysis_memory *m = &j->a->memory;
	const isc_analysis_site *most = NULL;

	for (size_t i = 0; i < m->site_count; i++) {
		if (m->sites[i].live_bytes > (most != NULL ? most->live_bytes : 0))
			most = &m->sites[i];
	}
	return most != NULL ? isc_evidence_at_frame(&most->at) : (isc_claim_place){0};
}

static bool measure(const isc_evidence *j, size_t gpu, isc_finding *out)
{
	const isc_analysis_numa *n = &j->a->numa;

	(void)gpu;
	if (!j->known || n->nodes == NULL || n->remote_pct < 0)
		return false;
	*out = isc_evidence_finding(j, 0.7);
	out->value = astray_pct(n);
	out->us = fmin(isc_evidence_ran(j) * j->stretch, j->window_us) * out->value / 100 * FAR_PART;
	out->claim.share = out->us / j->window_us * 100;
	out->claim.holder = holder_of(j);
	isc_claim_number(&out->claim, ISC_DETAIL_REMOTE_PCT, n->remote_pct);
	isc_claim_number(&out->claim, ISC_DETAIL_CPU_NODE, most_of(n, false)->number);
	isc_claim_number(&out->claim, ISC_DETAIL_MEMORY_NODE, most_of(n, true)->number);
	isc_claim_number(&out->claim, ISC_DETAIL_NODE_BYTES, most_of(n, true)->last_bytes);
	return true;
}

const isc_metric isc_metric_remote = {
	"remote_memory_pct", "%", "memory on another node than the CPU time, more than if it were spread as that is",
	false, measure};
