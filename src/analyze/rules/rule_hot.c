/*
 * rule_hot.c - one Python function takes most of the time, in the interpreter itself.
 */
#include "analyze/rules/rule.h"
#include "analyze/verdict/whatif.h"

static bool measure(const isc_evidence *j, size_t gpu, isc_finding *out)
{
	(void)gpu;
	if (j->merged || !isc_evidence_place(j, &j->hot, out))
		return false;
	out->solid = isc_evidence_solid(j, ISC_STATE_PYTHON);
	out->alone = j->hot_cpu_us;
	isc_evidence_sampled(j, out);
	isc_evidence_at_least(
		j,
		isc_whatif_function(j->a, &j->scope, &(isc_analysis_frame){.name = j->hot.name, .file = j->hot.file}),
		out);
	return true;
}

const isc_metric isc_metric_hot = {"hot_function_pct", "%",
				   "one Python function running its own code, not what it calls", false, measure};
