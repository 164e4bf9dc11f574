/*
 * window.c - the time that the figures cover, the part of it that was judged, and its breakdown.
 */
#include "report/json/tables.h"

static val *window_why(struct json *j, const void *from)
{
	const char *why = *(const char *const *)from;

	return words_of(j, why != NULL ? why : j->a->why);
}

#define LOOKED(as, member) ISC_AT(as, isc_analysis, member)
const isc_field isc_looked_at_rows[] = {
	{"from_us", LOOKED(US_0, from_us)},
	{"to_us", LOOKED(US, to_us)},
	{"why", LOOKED(WORDS, why), .otherwise = "not known"},
	{.kind = ISC_FIELD_END},
};

#define WINDOW(as, member) ISC_AT(as, isc_analysis_window, member)
const isc_field isc_window_rows[] = {
	{"from_us", WINDOW(US, from_us)},
	{"to_us", WINDOW(US, to_us)},
	{"why", WINDOW(WORDS, why), .value = window_why},
	{"judged_us", WINDOW(US_POSITIVE, judged_us)},
	{"each_us", WINDOW(US_POSITIVE, each_us)},
	{"scope", WINDOW(TEXT, scope)},
	{"scopes", WINDOW(COUNT, scopes)},
	{"start_up_us", WINDOW(US_0, start_up_us)},
	{"warm_up_us", WINDOW(US_0, warm_up_us)},
	{"warm_ups", WINDOW(COUNT, warm_ups)},
	{.kind = ISC_FIELD_END},
};

const isc_field isc_breakdown_rows[] = {
	{NULL, .kind = ISC_FIELD_OBJECT, .of = isc_states_rows},
	{"thread_id", ISC_AT(COUNT32, isc_analysis_breakdown, tid)},
	{"thread", ISC_AT(TEXT, isc_analysis_breakdown, name)},
	{.kind = ISC_FIELD_END},
};
