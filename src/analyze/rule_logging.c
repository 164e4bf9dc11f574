/*
 * rule_logging.c - writing the log.
 */
#include "analyze/rule.h"

static bool measure(const isc_judge *j, size_t gpu, isc_finding *out)
{
	isc_buffer text = {0};

	(void)gpu;
	if (!isc_judge_place(j, &j->logged, out))
		return false;
	isc_judge_sampled(j, out);
	isc_judge_share(j, out->share, &text);
	isc_buffer_text(&text, " goes to logging");
	isc_judge_in(out, &text);
	out->what = isc_judge_keep(j, &text);
	return true;
}

const isc_metric isc_metric_logging = {"logging_pct", "%", "in Python's logging, whatever it does there", false,
				       measure};
