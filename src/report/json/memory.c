/*
 * memory.c - allocation sites, the peak, growth, and scopes by the memory they take.
 */
#include <stdlib.h>

#include "report/json/tables.h"
#include "report/text/memory_words.h"

/* The report lists so many sites; the rest is only in the totals. */
#define SITES_MAX 200u
#define PEAK_MAX 20u
#define SITES_MOST 100000u /* a larger number in a report is ignored */
#define TWO_SIDED_95 1.96

static const isc_field each_rounded = {.kind = ISC_FIELD_ROUNDED};

static val *place_value(struct json *j, const void *frame)
{
	isc_buffer raw = {0};

	isc_memory_words_where(&raw, frame);
	return isc_raw_value(j, &raw);
}

static const isc_field place_rows[] = {
	{"where", .value = place_value},
	{NULL, .kind = ISC_FIELD_OBJECT, .of = isc_place_rows},
	{.kind = ISC_FIELD_END},
};

/* ---- sites ---- */

static val *error_of(struct json *j, const void *site)
{
	double error = isc_memory_words_error(site);

	return isc_field_value(j, &each_rounded, &error);
}

static void read_error(isc_reading in)
{
	double error = fmax(real_from(in.value), 0) / TWO_SIDED_95;

	((isc_analysis_site *)in.into)->squares = error * error;
}

/* In the order of the nodes of numa. */
static val *nodes_of(struct json *j, const void *from)
{
	const isc_analysis_site *s = from;
	val *list = yyjson_mut_arr(j->doc);

	for (size_t i = 0; i < j->a->numa.count; i++)
		add(j, list, isc_field_value(j, &each_rounded, &s->node_bytes[i]));
	return list;
}

#define SITE(as, member) ISC_AT(as, isc_analysis_site, member)
static const isc_field site_rows[] = {
	{NULL, SITE(OBJECT, at), .of = place_rows},
	{"process_id", SITE(ID, pid)},
	{"bytes", SITE(ROUNDED, bytes)},
	{"count", SITE(ROUNDED, count)},
	{"live_bytes", SITE(ROUNDED, live_bytes)},
	{"live_count", SITE(ROUNDED, live_count)},
	{"peak_bytes", SITE(ROUNDED, peak_bytes)},
	{"samples", SITE(COUNT, samples)},
	{"error_bytes", .value = error_of, .read = read_error},
	{"node_bytes", .value = nodes_of, ISC_IF(isc_analysis_site, node_bytes)},
	{.kind = ISC_FIELD_END},
};

/* The report lists the first ones; their number and total are of all. */
static val *site_bytes(struct json *j, const void *from)
{
	const isc_analysis_memory *m = from;
	double all = 0;

	for (size_t i = 0; i < m->site_count; i++)
		all += m->sites[i].bytes;
	return isc_field_value(j, &each_rounded, &all);
}

static val *site_count(struct json *j, const void *from)
{
	return yyjson_mut_uint(j->doc, *(const size_t *)from);
}

static void read_other_sites(isc_reading in)
{
	isc_analysis_memory *m = in.into;
	uint64_t all = count_in(in.value, "site_count");
	double bytes = real_in(in.value, "site_bytes");
	isc_analysis_site *sites;

	if (all <= m->site_count || all >= SITES_MOST)
		return;
	sites = isc_arena_array(in.a->arena, all, sizeof(*sites));
	if (sites == NULL)
		return;
	for (size_t i = 0; i < m->site_count; i++) {
		sites[i] = m->sites[i];
		bytes -= sites[i].bytes;
	}
	sites[m->site_count].bytes = fmax(bytes, 0);
	m->sites = sites;
	m->site_count = all;
}

/* ---- the peak ---- */

static int most_at_peak(const void *x, const void *y)
{
	const isc_analysis_site *a = *(const isc_analysis_site *const *)x, *b = *(const isc_analysis_site *const *)y;

	if (a->peak_bytes < b->peak_bytes || a->peak_bytes > b->peak_bytes)
		return a->peak_bytes > b->peak_bytes ? -1 : 1;
	return a < b ? -1 : a > b;
}

static const isc_field peak_site_rows[] = {
	{NULL, SITE(OBJECT, at), .of = place_rows},
	{"process_id", SITE(ID, pid)},
	{"bytes", SITE(ROUNDED, peak_bytes)},
	{.kind = ISC_FIELD_END},
};

static val *peak_sites(struct json *j, const void *from)
{
	const isc_analysis_memory *m = from;
	const isc_analysis_site **order = calloc(m->site_count + 1, sizeof(*order));
	val *list = yyjson_mut_arr(j->doc);

	for (size_t i = 0; order != NULL && i < m->site_count; i++)
		order[i] = &m->sites[i];
	if (order != NULL)
		qsort(order, m->site_count, sizeof(*order), most_at_peak);
	for (size_t i = 0; order != NULL && i < m->site_count && i < PEAK_MAX && order[i]->peak_bytes > 0; i++)
		add(j, list, isc_fields_object(j, peak_site_rows, order[i]));
	j->failed |= order == NULL;
	free(order);
	return list;
}

#define MEMORY(as, member) ISC_AT(as, isc_analysis_memory, member)
static const isc_field peak_rows[] = {
	{"at_us", MEMORY(US_0, peak_us)},
	{"bytes", MEMORY(ROUNDED, peak_bytes)},
	{"sites", .value = peak_sites},
	{.kind = ISC_FIELD_END},
};

/* ---- growth ---- */

#define LEAK(as, member) ISC_AT(as, isc_analysis_leak, member)
static const isc_field leak_rows[] = {
	{NULL, LEAK(OBJECT, at), .of = place_rows},
	{"process_id", LEAK(ID, pid)},
	{"bytes", LEAK(ROUNDED, bytes)},
	{"from_us", LEAK(US, from_us)},
	{"to_us", LEAK(US, to_us)},
	{"bytes_per_s", LEAK(ROUNDED, bytes_per_s)},
	{"samples", LEAK(COUNT, samples)},
	{.kind = ISC_FIELD_END},
};

#define SCOPE(as, member) ISC_AT(as, isc_analysis_memory_scope, member)
static const isc_field scope_rows[] = {
	{"name", SCOPE(TEXT, name)},
	{"count", SCOPE(COUNT, count)},
	{"bytes", SCOPE(ROUNDED, bytes)},
	{"growth_bytes", SCOPE(SIGNED, growth)},
	{"error_bytes", SCOPE(ROUNDED, error)},
	{"samples", SCOPE(COUNT, samples)},
	{"grows", SCOPE(FLAG, grows)},
	{.kind = ISC_FIELD_END},
};

/* ---- sums ---- */

static bool is_known(const isc_analysis *a)
{
	return a->memory.recorded && a->memory.calls + a->memory.maps > 0;
}

/* Python's own allocators do not report mappings. */
static bool is_mapped(const isc_analysis *a)
{
	return is_known(a) && (a->memory.hooks_told || !a->memory.python_told);
}

static void read_told(isc_reading in)
{
	isc_analysis_memory *m = in.into;

	m->python_told = known_in(in.value, "allocations") && !known_in(in.value, "mappings");
	m->hooks_told = !m->python_told;
}

static const isc_field rows[] = {
	{"sites", ISC_LIST(isc_analysis_memory, sites, site_count, site_rows), .most = SITES_MAX},
	{"site_count", MEMORY(CUSTOM, site_count), .value = site_count},
	{"site_bytes", .value = site_bytes, ISC_IF(isc_analysis_memory, recorded)},
	{NULL, .read = read_other_sites},
	{"allocations", MEMORY(COUNT, calls), .when = is_known},
	{"allocated_bytes", MEMORY(COUNT, bytes), .when = is_known},
	{"frees", MEMORY(COUNT, frees), .when = is_known},
	{"mappings", MEMORY(COUNT, maps), .when = is_mapped},
	{"mapped_bytes", MEMORY(COUNT, mapped_bytes), .when = is_mapped},
	{NULL, .read = read_told},
	{"samples", MEMORY(COUNT, samples), ISC_KNOWN(isc_analysis_memory, recorded)},
	{"sample_bytes", MEMORY(COUNT, mean_bytes), .when = is_known},
	{"live_bytes", MEMORY(ROUNDED, live_bytes), .when = is_known},
	{"peak", .kind = ISC_FIELD_OBJECT, .of = peak_rows, ISC_IF(isc_analysis_memory, peak_bytes)},
	{"growing", ISC_LIST(isc_analysis_memory, leaks, leak_count, leak_rows)},
	{"scopes", ISC_LIST(isc_analysis_memory, scopes, scope_count, scope_rows), .most = SITES_MAX},
	{"allocator", MEMORY(TEXT, allocator)},
	{.kind = ISC_FIELD_END},
};

const isc_field isc_memory_rows[] = {
	{NULL, ISC_AT(OBJECT, isc_analysis, usage), .of = isc_usage_rows},
	{NULL, ISC_AT(OBJECT, isc_analysis, memory), .of = rows},
	{"minor_faults", ISC_AT(WHOLE, isc_analysis, minor_faults)},
	{"major_faults", ISC_AT(WHOLE, isc_analysis, major_faults)},
	{.kind = ISC_FIELD_END},
};
