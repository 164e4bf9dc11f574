/*
 * rule_native.c - the work itself, in native code.  A limit: what it does is known only when operators are.
 */
#include "analyze/rules/rule.h"

static bool measure(const isc_evidence *j, size_t gpu, isc_finding *out)
{
	(void)gpu;
	return isc_evidence_state(j, ISC_STATE_NATIVE, out);
}

const isc_metric isc_metric_native = {"native_pct", "%", "running native code: libraries, operators of a model", false,
				      measure};
