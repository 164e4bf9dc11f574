/*
 * rule_syscall.c - many transfers that do not wait: each is short, together they are not.
 */
#include <math.h>

#include "analyze/rule.h"

static bool measure(const isc_judge *j, size_t gpu, isc_finding *out)
{
	isc_buffer text = {0};

	(void)gpu;
	if (!isc_judge_state(j, ISC_STATE_SYSCALL, out))
		return false;
	/* Few large reads take their time too, and would not be better as fewer. */
	out->us = fmax(j->state_us[ISC_STATE_SYSCALL] - j->long_calls_us, 0);
	out->value = out->share = out->us / j->window_us * 100;
	isc_judge_share(j, out->share, &text);
	isc_buffer_text(&text, " goes to many short system calls");
	/* They are told as a sum, without a stack: the function that runs most is the one that makes them. */
	out->where = isc_judge_where(j, &j->hot);
	if (out->where.len > 0) {
		/* Fewer calls are fewer rounds of the loop that makes them. */
		out->us = fmin(out->us + j->hot.us, j->window_us);
		isc_judge_sampled(j, out);
		isc_buffer_text(&text, ", it seems in ");
		isc_judge_name(&text, out->where);
	}
	out->what = isc_judge_keep(j, &text);
	return true;
}

const isc_metric isc_metric_syscall = {"syscall_pct", "%", "reads and writes that did not wait, under 10 us each",
				       false, measure};
