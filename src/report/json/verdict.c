/*
 * verdict.c - the verdict and the suggestions.
 */
#include "report/json/tables.h"

#define EVIDENCE(as, member) ISC_AT(as, isc_analysis_evidence, member)
static const isc_field evidence_rows[] = {
	{"rule", EVIDENCE(WORDS, rule), .otherwise = ""},
	{"metric", EVIDENCE(WORDS, metric), .otherwise = ""},
	{"value", EVIDENCE(REAL, value)},
	{"threshold", EVIDENCE(REAL, threshold)},
	{"device_id", EVIDENCE(DEVICE, device_id)},
	{.kind = ISC_FIELD_END},
};

#define VERDICT(as, member) ISC_AT(as, isc_analysis_verdict, member)
const isc_field isc_verdict_rows[] = {
	{"bottleneck", VERDICT(WORDS, bottleneck), .otherwise = "unknown"},
	{"cause", VERDICT(WORDS, cause)},
	{"share", VERDICT(US, share)},
	{"device_id", VERDICT(DEVICE, device_id)},
	{"confidence", VERDICT(US_0, confidence)},
	{"headline", VERDICT(TEXT, headline)},
	{"evidence", ISC_LIST(isc_analysis_verdict, evidence, evidence_count, evidence_rows)},
	{"would_change", ISC_LIST(isc_analysis_verdict, would_change, would_change_count, NULL),
	 .each = &isc_each_name},
	{"withheld", VERDICT(WORDS, withheld)},
	{.kind = ISC_FIELD_END},
};

#define SUGGESTION(as, member) ISC_AT(as, isc_analysis_suggestion, member)
const isc_field isc_suggestion_rows[] = {
	{"rule", SUGGESTION(WORDS, rule)},
	{"title", SUGGESTION(NAME, title)},
	{"where", SUGGESTION(TEXT, where)},
	{"why", SUGGESTION(NAME, why)},
	{"check", SUGGESTION(TEXT, check)},
	{"saves_at_most_us", SUGGESTION(US, saves_at_most_us)},
	{.kind = ISC_FIELD_END},
};
