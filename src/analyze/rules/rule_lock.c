/*
 * rule_lock.c - time that a thread waits for a lock which another thread holds.
 */
#include "analyze/rules/rule.h"

static bool measure(const isc_evidence *j, size_t gpu, isc_finding *out)
{
	(void)gpu;
	if (!isc_evidence_state(j, ISC_STATE_LOCK_WAIT, out))
		return false;
	isc_evidence_holder(j, ISC_STATE_LOCK_WAIT, out);
	return true;
}

const isc_metric isc_metric_lock = {"lock_wait_pct", "%", "waiting for a lock that another thread holds", false,
				    measure};
