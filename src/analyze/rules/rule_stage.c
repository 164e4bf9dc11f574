/*
 * rule_stage.c - one scope inside the judged one is mostly Python code.
 */
#include "analyze/rules/rule.h"
#include "analyze/verdict/whatif.h"

static bool measure(const isc_evidence *j, size_t gpu, isc_finding *out)
{
	(void)gpu;
	if (j->merged || !isc_evidence_place(j, &j->stage, out))
		return false;
	out->solid = isc_evidence_solid(j, ISC_STATE_PYTHON);
	out->alone = j->stage_cpu_us;
	isc_evidence_sampled(j, out);
	/* Without it, its waits and its native code are gone too. */
	isc_evidence_at_least(j, isc_whatif_nested(j->a, &j->scope, &j->stage.name), out);
	out->claim.place = isc_evidence_at(&j->in_stage);
	isc_claim_text(&out->claim, ISC_DETAIL_STAGE, j->stage.name);
	return true;
}

const isc_metric isc_metric_stage = {"stage_python_pct", "%", "Python code in one scope inside the one that is judged",
				     false, measure};
