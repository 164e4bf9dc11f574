/*
 * rule_loop.c - synchronous code keeps an event loop from its other tasks.
 */
#include "analyze/rule.h"

static bool measure(const isc_judge *j, size_t gpu, isc_finding *out)
{
	isc_buffer text = {0};

	(void)gpu;
	if (!isc_judge_place(j, &j->loop, out))
		return false;
	isc_buffer_text(&text, "the event loop is blocked for ");
	isc_judge_share(j, out->share, &text);
	isc_buffer_text(&text, " by synchronous code");
	isc_judge_in(out, &text);
	out->what = isc_judge_keep(j, &text);
	return true;
}

const isc_metric isc_metric_loop = {"loop_blocked_pct", "%", "an event loop of asyncio in one step for 20 ms or more",
				    false, measure};
