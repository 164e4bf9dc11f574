/*
 * rule_pcie.c - what goes over the bus is near what it can carry.
 */
#include "analyze/rules/rule.h"

static bool measure(const isc_evidence *j, size_t gpu, isc_finding *out)
{
	const isc_facts_gpu *g = &j->a->timeline->gpus[gpu];

	if (!isc_evidence_gpu(j, gpu, g->copy_ns, out))
		return false;
	/* Bytes a nanosecond are gigabytes a second. */
	out->value = (double)(g->h2d_bytes + g->d2h_bytes) / (double)(g->last_ns - g->first_ns);
	isc_claim_number(&out->claim, ISC_DETAIL_GB_PER_S, out->value);
	return true;
}

const isc_metric isc_metric_pcie = {"pcie_gb_per_s", "GB/s",
				    "bytes to and from a GPU over the time from its first to its last work", true,
				    measure};
