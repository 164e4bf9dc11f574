/*
 * recording.c - marks, counters, the cost and the losses of recording, its clock, and warnings.
 */
#include "report/json/tables.h"

/* ---- marks and counters ---- */

#define MARK(as, member) ISC_AT(as, isc_analysis_mark, member)
const isc_field isc_mark_rows[] = {
	{"name", MARK(NAME, name)},
	{"count", MARK(COUNT, count)},
	{.kind = ISC_FIELD_END},
};

#define COUNTER(as, member) ISC_AT(as, isc_analysis_counter, member)
const isc_field isc_counter_rows[] = {
	{"name", COUNTER(NAME, name)}, {"count", COUNTER(COUNT, count)}, {"min", COUNTER(VALUE, min)},
	{"max", COUNTER(VALUE, max)},  {"mean", COUNTER(VALUE, mean)},	 {"last", COUNTER(VALUE, last)},
	{.kind = ISC_FIELD_END},
};

/* ---- overhead ---- */

static val *budget_off(struct json *j, const void *from)
{
	const isc_analysis *a = from;

	return yyjson_mut_bool(j->doc, a->budget_known && a->budget_pct < 0);
}

static void read_budget_off(isc_reading in)
{
	in.a->budget_known = in.a->budget_pct >= 0 || yyjson_get_bool(in.value);
}

static val *governed_of(struct json *j, const void *from)
{
	static const isc_field governed = {NULL, ISC_LIST(isc_analysis, functions, function_count, isc_governed_rows),
					   .only_at = ISC_FLAG_AT(isc_analysis_function, governed)};

	return isc_field_value(j, &governed, from);
}

#define PERIOD(as, member) ISC_AT(as, isc_analysis_period, member)
static const isc_field period_rows[] = {
	{"from_us", PERIOD(US_0, from_us)},
	{"to_us", PERIOD(US_0, to_us)},
	{"process_id", PERIOD(ID, pid)},
	{"samples", PERIOD(COUNT, samples)},
	{"sampled_us", PERIOD(US_0, sampled_us)},
	{"unattributed_us", PERIOD(US_0, unattributed_us)},
	{"events", PERIOD(COUNT, events)},
	{"lost", PERIOD(COUNT, lost)},
	{"thinned", PERIOD(COUNT, thinned)},
	{"cost_us", PERIOD(US_0, cost_us)},
	{.kind = ISC_FIELD_END},
};

#define OVERHEAD(as, member) ISC_AT(as, isc_analysis, member)
const isc_field isc_overhead_rows[] = {
	{"budget_pct", OVERHEAD(US, budget_pct)},
	{"budget_off", .value = budget_off, .read = read_budget_off},
	{"measured_pct", OVERHEAD(US, measured_pct)},
	{"measured_cpu_pct", OVERHEAD(US, measured_cpu_pct)},
	{"cost_us", OVERHEAD(MAP, cost_us), ISC_KNOWN(isc_analysis, cost_known), .names = ISC_NAMES_COSTS,
	 .each = &isc_each_us},
	{"calls_measured_pct", OVERHEAD(REAL, calls_measured_pct), ISC_KNOWN(isc_analysis, calls_measured)},
	{"startup_pct", OVERHEAD(US, startup_pct)},
	{"startup_unknown", OVERHEAD(WORDS, startup_unknown)},
	{"recorder_cpu_pct", OVERHEAD(US, recorder_cpu_pct)},
	{"switches_pct", OVERHEAD(US, switches_pct)},
	{"events", OVERHEAD(COUNT, events)},
	{"lost", OVERHEAD(COUNT, lost), ISC_KNOWN(isc_analysis, lost_known)},
	{"retired", OVERHEAD(COUNT, retired)},
	{"skipped", OVERHEAD(COUNT, skipped)},
	{"governed", .value = governed_of},
	{"over_time", ISC_LIST(isc_analysis, over_time, over_time_count, period_rows)},
	{.kind = ISC_FIELD_END},
};

/* ---- the clock ---- */

/* An error bound means something only if the clocks were aligned. */
static void read_clock_error(isc_reading in)
{
	in.a->clock_error_us = in.a->clock_sync != NULL ? real_from(in.value) : -1;
}

#define CLOCK(as, member) ISC_AT(as, isc_analysis, member)
const isc_field isc_clock_rows[] = {
	{"source", CLOCK(WORDS, clock_source), .otherwise = "?"},
	{"sync", CLOCK(WORDS, clock_sync)},
	{"error_bound_us", CLOCK(US, clock_error_us), .read = read_clock_error},
	{"causality_fixes", CLOCK(COUNT, causality_fixes)},
	{.kind = ISC_FIELD_END},
};

/* ---- warnings ---- */

/* Writers do not escape ids. */
static void read_warning_id(isc_reading in)
{
	const char *id = words_from(in.a->arena, in.value);

	if (id == NULL || id[strspn(id, "abcdefghijklmnopqrstuvwxyz0123456789_")] != 0)
		id = "unknown";
	*(const char **)in.into = id;
}

#define WARNING(as, member) ISC_AT(as, isc_analysis_warning, member)
const isc_field isc_warning_rows[] = {
	{"id", WARNING(WORDS, id), .read = read_warning_id},
	{"text", WARNING(WORDS, text), .otherwise = ""},
	{"remedy", WARNING(WORDS, remedy)},
	{"grave", WARNING(FLAG, grave)},
	{.kind = ISC_FIELD_END},
};
