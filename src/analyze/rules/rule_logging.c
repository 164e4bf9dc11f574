/*
 * rule_logging.c - writing the log.
 */
#include "analyze/rules/rule.h"

static bool measure(const isc_evidence *j, size_t gpu, isc_finding *out)
{
	isc_buffer text = {0};

	(void)gpu;
	if (!isc_evidence_place(j, &j->logged, out))
		return false;
	isc_evidence_sampled(j, out);
	isc_evidence_share(j, out->share, &text);
	isc_buffer_text(&text, " goes to logging");
	isc_evidence_in(out, &text);
	out->what = isc_evidence_keep(j, &text);
	return true;
}

const isc_metric isc_metric_logging = {"logging_pct", "%", "in Python's logging, whatever it does there", false,
				       measure};
