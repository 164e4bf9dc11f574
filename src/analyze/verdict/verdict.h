/*
 * verdict.h - what rules say of a run, put together.
 */
#ifndef ISC_ANALYZE_VERDICT_VERDICT_H
#define ISC_ANALYZE_VERDICT_VERDICT_H

#include "analyze/rules/rule.h"

/* Below, no verdict is given. */
#define ISC_CONFIDENCE_FLOOR 0.25

/* Under both, nothing is judged. */
#define ISC_VERDICT_SAMPLES 200u
#define ISC_VERDICT_EVENTS 1000u

/* Does a value fire?  Above the threshold, not at it. */
static inline bool isc_rule_fires(const isc_rule *rule, double value)
{
	return !rule->off && value > rule->threshold;
}

/* By how much, as it is compared with others. */
double isc_rule_excess(const isc_rule *rule, double value);

/* What of a rule's word is left when it was seen so well. */
double isc_rule_confidence(const isc_rule *rule, double value, double solid);

/* Fills verdict, suggestions and gpu_bottleneck of an analysis that is otherwise done. */
isc_status isc_verdict_reach(const isc_evidence *j, const isc_rules *rules, isc_analysis *a, isc_error *err);

#endif
