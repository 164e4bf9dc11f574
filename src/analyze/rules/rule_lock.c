/*
 * rule_lock.c - time that a thread waits for a lock which another thread holds.
 */
#include "analyze/rules/rule.h"

static bool measure(const isc_evidence *j, size_t gpu, isc_finding *out)
{
	isc_buffer text = {0};

	(void)gpu;
	if (!isc_evidence_state(j, ISC_STATE_LOCK_WAIT, out))
		return false;
	isc_evidence_share(j, out->share, &text);
	isc_buffer_text(&text, " waits for a lock");
	isc_evidence_in(out, &text);
	isc_evidence_holder(j, ISC_STATE_LOCK_WAIT, &text, out);
	out->what = isc_evidence_keep(j, &text);
	return true;
}

const isc_metric isc_metric_lock = {"lock_wait_pct", "%", "waiting for a lock that another thread holds", false,
				    measure};
