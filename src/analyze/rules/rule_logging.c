/*
 * rule_logging.c - writing the log.
 */
#include "analyze/rules/rule.h"

static bool measure(const isc_evidence *j, size_t gpu, isc_finding *out)
{
	(void)gpu;
	if (!isc_evidence_place(j, &j->logged, out))
		return false;
	isc_evidence_sampled(j, out);
	return true;
}

const isc_metric isc_metric_logging = {"logging_pct", "%", "in Python's logging, whatever it does there", false,
				       measure};
