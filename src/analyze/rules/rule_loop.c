/*
 * rule_loop.c - synchronous code keeps an event loop from its other tasks.
 */
#include <math.h>

#include "analyze/rules/rule.h"
#include "analyze/verdict/whatif.h"

/* Each request has its own synchronous code, and waits for that of the others. */
static double path_us(const isc_evidence *j)
{
	double others = isc_whatif_loop(j->a, &j->scope), own = 0;

	if (others < 0 || j->scopes == 0)
		return -1;
	for (int s = 0; s < ISC_STATES; s++) {
		double us = s != ISC_STATE_IDLE ? isc_whatif_bound(j->a, &j->scope, (enum isc_state)s, NULL) : 0;

		/* All that runs has one bound: it is Python's. */
		own += us > 0 && (s == ISC_STATE_PYTHON || !isc_whatif_runs((enum isc_state)s)) ? us : 0;
	}
	return others + own;
}

/* Percent of a scope that it is ready to go on and others have its loop; 0: none, or not known. */
static double waited_pct(const isc_evidence *j)
{
	double us = isc_whatif_loop(j->a, &j->scope), mean = isc_whatif_mean(j->a, &j->scope);

	return us > 0 && mean > 0 && j->scopes > 1 && j->loop.name.len > 0 ? us / mean * 100 : 0;
}

/* Steps may be short and many: what counts then is what they make a scope wait. */
static bool measure(const isc_evidence *j, size_t gpu, isc_finding *out)
{
	double waited = waited_pct(j);

	(void)gpu;
	if (!isc_evidence_place(j, &j->loop, out))
		return false;
	isc_evidence_at_least(j, path_us(j), out);
	if (waited > out->claim.share) {
		/* That the loop's thread waits for a CPU is not the loop's fault. */
		out->value = fmax(out->value, waited / fmax(j->stretch, 1));
		out->claim.share = waited;
		out->claim.subject = isc_evidence_each(j);
		isc_claim_number(&out->claim, ISC_DETAIL_LOOP_WAIT_PCT, waited);
	}
	return true;
}

const isc_metric isc_metric_loop = {"loop_blocked_pct", "%",
				    "an event loop of asyncio in one step for 10 ms or more, or what scopes wait for "
				    "their loop while that works, if it is more",
				    false, measure};
