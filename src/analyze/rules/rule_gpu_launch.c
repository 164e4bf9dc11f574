/*
 * rule_gpu_launch.c - kernels are so short that asking for them takes longer than they do.
 */
#include "analyze/rules/rule.h"

/* A launch takes 5 to 10 us on the host, an operator of a framework 20 and more. */
#define SHORT_KERNEL_NS 20000
/* Longer gaps are something else that the host does. */
#define SHORT_GAP_NS 100000
#define KERNELS_ENOUGH 50u

static bool measure(const isc_evidence *j, size_t gpu, isc_finding *out)
{
	const isc_facts_gpu *g = &j->a->timeline->gpus[gpu];
	const isc_facts_idle *idle = &g->idle[ISC_IDLE_HOST_WAIT];
	int64_t each = g->kernels > 0 ? g->kernel_ns / (int64_t)g->kernels : 0;
	bool is = g->kernels >= KERNELS_ENOUGH && each <= SHORT_KERNEL_NS && idle->gaps > 0 &&
		  idle->ns / (int64_t)idle->gaps <= SHORT_GAP_NS;

	/* Work that was asked for just before the device had nothing left starts late too. */
	if (!isc_evidence_gpu(j, gpu, is ? idle->ns + g->idle[ISC_IDLE_KERNEL_WAIT].ns : 0, out))
		return false;
	out->claim.place = isc_evidence_at_kernel(j, idle->where);
	isc_claim_number(&out->claim, ISC_DETAIL_KERNELS, (double)g->kernels);
	isc_claim_number(&out->claim, ISC_DETAIL_KERNEL_US, (double)each / 1e3);
	return true;
}

const isc_metric isc_metric_gpu_launch = {
	"gpu_launch_idle_pct", "%", "a GPU without work between kernels of 20 us or less, in gaps of 100 us or less",
	true, measure};
