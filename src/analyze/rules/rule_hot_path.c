/*
 * rule_hot_path.c - one subtree of calls that runs Python code of the user's own, or makes again what a program makes once.
 */
#include <string.h>

#include "analyze/rules/rule.h"

/* One function's own code: hot_function says so. */
static bool is_hot_function(const isc_evidence *j)
{
	return j->made.name.len == 0 && j->path.name.len == j->hot.name.len && j->path.file.len == j->hot.file.len &&
	       memcmp(j->path.name.at, j->hot.name.at, j->hot.name.len) == 0 &&
	       memcmp(j->path.file.at, j->hot.file.at, j->hot.file.len) == 0;
}

static bool measure(const isc_evidence *j, size_t gpu, isc_finding *out)
{
	(void)gpu;
	if (j->path.name.len == 0 || is_hot_function(j) || !isc_evidence_place(j, &j->path, out))
		return false;
	out->solid = isc_evidence_solid(j, j->merged ? ISC_STATE_ON_CPU : ISC_STATE_PYTHON);
	out->value = j->path_us / j->window_us * 100;
	out->alone = j->path_us;
	isc_evidence_sampled(j, out);
	if (j->made.name.len > 0) {
		isc_claim_text(&out->claim, ISC_DETAIL_MAKES, j->made.name);
		out->claim.fix = ISC_FIX_MAKE_ONCE;
	}
	return true;
}

const isc_metric isc_metric_path = {"hot_path_pct", "%",
				    "one function with all it calls, where that is Python code of the user's own for "
				    "40% of the time, or makes again and "
				    "again what a program makes once",
				    false, measure};
