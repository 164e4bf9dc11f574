/*
 * functions.c - functions and source lines, with the time spent in them.
 */
#include "report/json/tables.h"

/* By calls, by samples, or both. */
static val *source_of(struct json *j, const void *from)
{
	const isc_analysis_function *f = from;
	bool sampled = f->cpu_total_us > 0 || f->samples > 0;

	return words_of(j, f->traced && sampled ? "both" : f->traced ? "traced" : "sampled");
}

static void read_source(isc_reading in)
{
	((isc_analysis_function *)in.into)->traced = !yyjson_equals_str(in.value, "sampled");
}

#define FUNCTION(as, member) ISC_AT(as, isc_analysis_function, member)
#define IF_FUNCTION(member) ISC_IF(isc_analysis_function, member)
/* In a run with samples, a function without one is known to have none. */
#define IF_SAMPLED ISC_IF_ALL(samples.count)
const isc_field isc_function_rows[] = {
	{"name", FUNCTION(NAME, name)},
	{"file", FUNCTION(TEXT, file)},
	{"line", FUNCTION(ID, line)},
	{"process_id", FUNCTION(ID, pid)},
	{"module", FUNCTION(TEXT, module)},
	{"calls", FUNCTION(COUNT, calls), IF_FUNCTION(traced)},
	{"resumes", FUNCTION(COUNT, resumes), IF_FUNCTION(traced)},
	{"self_us", FUNCTION(US, self_us)},
	{"total_us", FUNCTION(US, total_us)},
	{"source", .value = source_of, .read = read_source},
	{"estimated", FUNCTION(FLAG, estimated)},
	{"governed", FUNCTION(FLAG, governed)},
	{"native", FUNCTION(FLAG, native)},
	{"by_samples", FUNCTION(FLAG, by_samples)},
	{"samples", FUNCTION(COUNT, samples), IF_SAMPLED},
	{"cpu_self_us", FUNCTION(US_0, cpu_self_us), IF_SAMPLED},
	{"cpu_total_us", FUNCTION(US_0, cpu_total_us), IF_SAMPLED},
	{"cpu_error_us", FUNCTION(US_0, cpu_error_us), IF_SAMPLED},
	{"native_us", FUNCTION(US_0, native_us), IF_SAMPLED},
	{NULL, FUNCTION(OBJECT, judged), .of = isc_judged_rows},
	{"judged_calls", FUNCTION(COUNT, judged.calls), IF_FUNCTION(traced),
	 ISC_AND(isc_analysis_function, judged.known)},
	{.kind = ISC_FIELD_END},
};

const isc_field isc_governed_rows[] = {
	{"name", FUNCTION(NAME, name)},
	{"calls", FUNCTION(COUNT, calls)},
	{"recorded", FUNCTION(COUNT, recorded)},
	{"at_least", FUNCTION(COUNT, least_calls)},
	{"at_most", FUNCTION(COUNT, most_calls), IF_FUNCTION(most_calls)},
	{.kind = ISC_FIELD_END},
};

#define LINE(as, member) ISC_AT(as, isc_analysis_line, member)
const isc_field isc_line_rows[] = {
	{"file", LINE(TEXT, at.file)},
	{"line", LINE(ID, at.line)},
	{"function", LINE(NAME, at.name)},
	{"process_id", LINE(ID, pid)},
	{"samples", LINE(COUNT, samples)},
	{"self_us", LINE(US, self_us)},
	{"native_us", LINE(US, native_us)},
	{NULL, LINE(OBJECT, judged), .of = isc_judged_rows},
	{.kind = ISC_FIELD_END},
};
