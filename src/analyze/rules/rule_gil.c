/*
 * rule_gil.c - time that a thread waits for Python's global lock, and who has it.
 */
#include <math.h>

#include "analyze/rules/rule.h"

/* Of its CPU time: what a thread may lose to caches that others used while they had the lock.  Removing them has made
 * requests up to a fifth quicker than without the wait alone (make truth). */
#define COLD_PART 0.25

static bool measure(const isc_evidence *j, size_t gpu, isc_finding *out)
{
	(void)gpu;
	if (!isc_evidence_state(j, ISC_STATE_GIL_WAIT, out))
		return false;
	/* Work that is gone does not want a CPU either. */
	out->us += fmax(j->state_us[ISC_STATE_RUN_QUEUE], 0) +
		   (j->merged ? isc_evidence_ran(j) : fmax(j->state_us[ISC_STATE_PYTHON], 0)) * COLD_PART;
	out->us = fmin(out->us, j->window_us);
	out->alone = j->state_us[ISC_STATE_GIL_WAIT];
	isc_evidence_holder(j, ISC_STATE_GIL_WAIT, out);
	return true;
}

const isc_metric isc_metric_gil = {"gil_wait_pct", "%", "waiting for Python's global lock", false, measure};
