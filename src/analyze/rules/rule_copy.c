/*
 * rule_copy.c - the device spends its time on copies from and to the host.
 */
#include "analyze/rules/rule.h"
#include "base/ns.h"

static bool measure(const isc_evidence *j, size_t gpu, isc_finding *out)
{
	const isc_timeline_facts *f = j->a->timeline;
	const isc_facts_gpu *g = &f->gpus[gpu];
	uint64_t count = 0, bytes = 0, pageable = 0;
	int64_t ns = 0;

	for (size_t i = 0; i < f->copy_count; i++) {
		const isc_facts_copy *c = &f->copies[i];

		if (c->gpu != gpu || (c->kind != ISC_GPU_H2D && c->kind != ISC_GPU_D2H))
			continue;
		ns += c->total_ns;
		count += c->count;
		bytes = isc_count_plus(bytes, c->bytes);
		pageable += c->pageable;
	}
	/* Copies on several streams run at once. */
	ns = ns < g->copy_ns ? ns : g->copy_ns;
	/* And what it does not do while the host is in a copy. */
	ns += g->idle[ISC_IDLE_COPY].ns;
	if (!isc_evidence_gpu(j, gpu, ns, out))
		return false;
	/* Without them the host has no copy to wait for, and asks for the next work sooner. */
	out->us += (double)(g->last_ns - g->first_ns - g->busy_ns - g->idle[ISC_IDLE_COPY].ns) / 1e3;
	isc_claim_number(&out->claim, ISC_DETAIL_COPIES, (double)count);
	isc_claim_number(&out->claim, ISC_DETAIL_BYTES_EACH, count > 0 ? (double)(bytes / count) : -1);
	isc_claim_number(&out->claim, ISC_DETAIL_PAGEABLE_COPIES, (double)pageable);
	isc_claim_number(&out->claim, ISC_DETAIL_COPY_WAIT_US, (double)g->idle[ISC_IDLE_COPY].ns / 1e3);
	return true;
}

const isc_metric isc_metric_copy = {"copy_pct", "%",
				    "a GPU copying from and to the host, or idle while the host copies", true, measure};
