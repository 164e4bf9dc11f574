/*
 * usage.c - memory in use over time, the limits of the control group, and memory nodes.
 */
#include "report/json/tables.h"
#include "report/text/usage_words.h"

#define PAGE 4096.0

/* ---- over time ---- */

static val *most_swap(struct json *j, const void *from)
{
	const isc_analysis_usage *u = from;
	double most = isc_usage_words_most(u->swap_bytes, u->points);

	return isc_field_value(j, &isc_each_whole, &most);
}

static val *fault_source(struct json *j, const void *from)
{
	return words_of(j, ((const isc_analysis_usage *)from)->fault_sampled ? "samples" : "recorder");
}

static void read_fault_source(isc_reading in)
{
	((isc_analysis_usage *)in.into)->fault_sampled = yyjson_equals_str(in.value, "samples");
}

#define USAGE(as, member) ISC_AT(as, isc_analysis_usage, member)
static const isc_field group_rows[] = {
	{"limit_bytes", USAGE(WHOLE, limit_bytes)},
	{"most_bytes", USAGE(WHOLE, group_bytes)},
	{"some_stalled_us", USAGE(US, some_us)},
	{"all_stalled_us", USAGE(US, full_us)},
	{"limit_met", USAGE(WHOLE, refused)},
	{"killed", USAGE(WHOLE, killed)},
	{.kind = ISC_FIELD_END},
};

#define COLUMN(member) ISC_LIST(isc_analysis_usage, member, points, NULL), .each = &isc_each_whole
static const isc_field columns[] = {
	{"at_us", COLUMN(at_us)},
	{"rss_bytes", COLUMN(rss_bytes)},
	{"minor_faults", COLUMN(minor_faults)},
	{"major_faults", COLUMN(major_faults)},
	{"swap_bytes", COLUMN(swap_bytes)},
	{.kind = ISC_FIELD_END},
};

/* Columns have one length: that of the shortest. */
static void read_columns(isc_reading in)
{
	isc_analysis_usage *u = in.into;
	size_t points = SIZE_MAX;

	for (const isc_field *f = columns; f->kind != ISC_FIELD_END; f++) {
		isc_field_read(in.a, yyjson_obj_get(in.value, f->key), f, u);
		points = u->points < points ? u->points : points;
	}
	u->points = points;
}

static const isc_field known_rows[] = {
	{"over_time", .kind = ISC_FIELD_OBJECT, .of = columns, ISC_KNOWN(isc_analysis_usage, known),
	 .read = read_columns},
	{"group", .kind = ISC_FIELD_OBJECT, ISC_KNOWN(isc_analysis_usage, group_known), .of = group_rows},
	{.kind = ISC_FIELD_END},
};

const isc_field isc_usage_rows[] = {
	{"peak_rss_bytes", USAGE(WHOLE, peak_rss_bytes), ISC_IF(isc_analysis_usage, known)},
	{"swap_bytes", .value = most_swap, ISC_IF(isc_analysis_usage, known)},
	{"fault_us", USAGE(US_POSITIVE, fault_us)},
	{"fault_us_source", .value = fault_source, .read = read_fault_source, ISC_IF(isc_analysis_usage, fault_us)},
	/* Left out when memory was not watched over time. */
	{NULL, .kind = ISC_FIELD_OBJECT, .of = known_rows, ISC_IF(isc_analysis_usage, known)},
	{.kind = ISC_FIELD_END},
};

/* ---- nodes ---- */

static void read_samples(isc_reading in)
{
	*(uint64_t *)in.into = count_from(in.value);
	in.a->numa.sampled |= yyjson_is_num(in.value);
}

#define NODE(as, member) ISC_AT(as, isc_analysis_node_memory, member)
static const isc_field node_rows[] = {
	{"node", NODE(COUNT32, number)},
	{"cpus", NODE(TEXT, cpus)},
	{"memory_bytes", NODE(WHOLE, memory_bytes)},
	{"first_bytes", NODE(WHOLE, first_bytes)},
	{"last_bytes", NODE(WHOLE, last_bytes)},
	{"cpu_us", NODE(US, cpu_us)},
	{"samples", NODE(COUNT, samples), .read = read_samples, ISC_IF_ALL(numa.sampled)},
	{"taken_bytes", NODE(WHOLE, taken_bytes)},
	{.kind = ISC_FIELD_END},
};

static val *pages_of(struct json *j, const void *from)
{
	double pages = *(const double *)from >= 0 ? *(const double *)from / PAGE : -1;

	return isc_field_value(j, &isc_each_whole, &pages);
}

static void read_pages(isc_reading in)
{
	*(double *)in.into = fmax(real_from(in.value), 0) * PAGE;
}

static val *pages_per_node(struct json *j, const void *from)
{
	const isc_analysis_numa *n = from;
	val *list = yyjson_mut_arr(j->doc);

	for (size_t i = 0; i < n->count; i++)
		add(j, list, pages_of(j, &n->nodes[i].last_bytes));
	return list;
}

#define MOVED(as, member) ISC_AT(as, isc_analysis_moved, member)
static const isc_field moved_rows[] = {
	{"from_node", MOVED(COUNT32, from)},
	{"to_node", MOVED(COUNT32, to)},
	{"pages", MOVED(CUSTOM, bytes), .value = pages_of, .read = read_pages},
	{.kind = ISC_FIELD_END},
};

#define NUMA(as, member) ISC_AT(as, isc_analysis_numa, member)
const isc_field isc_numa_rows[] = {
	{"nodes", ISC_LIST(isc_analysis_numa, nodes, count, node_rows)},
	{"pages_per_node", .value = pages_per_node},
	{"migrations", ISC_LIST(isc_analysis_numa, moved, moved_count, moved_rows)},
	{"remote_pct", NUMA(US, remote_pct)},
	{"looks", NUMA(COUNT, looks)},
	{.kind = ISC_FIELD_END},
};
