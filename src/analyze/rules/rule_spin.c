/*
 * rule_spin.c - time that a thread waits and keeps its CPU.
 */
#include <math.h>

#include "analyze/rules/rule.h"

static bool measure(const isc_evidence *j, size_t gpu, isc_finding *out)
{
	(void)gpu;
	if (!isc_evidence_state(j, ISC_STATE_SPIN, out))
		return false;
	/* Who yields a CPU waits for it again: that is part of it. */
	if (j->stretch > 1) {
		out->value = out->claim.share = out->claim.share * j->stretch;
		out->us = fmin(out->us * j->stretch, j->window_us);
	}
	/* What a loop does between two yields is told by samples. */
	if (j->source[ISC_STATE_SPIN] != ISC_SOURCE_SAMPLED)
		isc_evidence_sampled(j, out);
	return true;
}

const isc_metric isc_metric_spin = {
	"spin_pct", "%",
	"waiting with a CPU in use: yielding again and again, or in the waiting loops of OpenMP and BLAS", false,
	measure};
