/*
 * rule_lock.c - time that a thread waits for a lock which another thread holds.
 */
#include "analyze/rule.h"

static bool measure(const isc_judge *j, size_t gpu, isc_finding *out)
{
	isc_buffer text = {0};

	(void)gpu;
	if (!isc_judge_state(j, ISC_STATE_LOCK_WAIT, out))
		return false;
	isc_judge_share(j, out->share, &text);
	isc_buffer_text(&text, " waits for a lock");
	isc_judge_in(out, &text);
	isc_judge_holder(j, ISC_STATE_LOCK_WAIT, &text, out);
	out->what = isc_judge_keep(j, &text);
	return true;
}

const isc_metric isc_metric_lock = {"lock_wait_pct", "%", "waiting for a lock that another thread holds", false,
				    measure};
