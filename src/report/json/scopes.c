/*
 * scopes.c - scopes, and why the slow ones are slow.
 */
#include "report/json/tables.h"
#include "report/text/scope_words.h"

#define WHAT_IF_MAX 20u

/* ---- states: shares of the mean duration ---- */

static val *group_states(struct json *j, const void *from)
{
	const isc_analysis_scope_group *g = from;
	isc_analysis_breakdown b = {.unattributed = g->unattributed};

	if (g->count == 0 || g->mean_us <= 0)
		return yyjson_mut_null(j->doc);
	for (int s = 0; s < ISC_STATES; s++)
		b.pct[s] = g->state_us[s] >= 0 ? g->state_us[s] / g->mean_us * 100 : -1;
	memcpy(b.source, g->source, sizeof(b.source));
	return isc_fields_object(j, isc_states_rows, &b);
}

static void read_group_states(isc_reading in)
{
	isc_analysis_scope_group *g = in.into;
	isc_analysis_breakdown b = {0};

	isc_fields_read(in.a, in.value, isc_states_rows, &b);
	g->unattributed = b.unattributed;
	for (int s = 0; s < ISC_STATES; s++)
		g->state_us[s] = b.pct[s] >= 0 ? b.pct[s] * g->mean_us / 100 : -1;
	memcpy(g->source, b.source, sizeof(g->source));
}

/* Of all scopes together only shares are written, so any mean will do. */
static void read_all_states(isc_reading in)
{
	isc_analysis_scope_group *g = in.into;

	g->mean_us = 100;
	g->count = yyjson_is_obj(in.value);
	read_group_states(in);
}

#define GROUP(as, member) ISC_AT(as, isc_analysis_scope_group, member)
static const isc_field group_rows[] = {
	{"count", GROUP(COUNT, count)},
	{"mean_us", GROUP(US, mean_us)},
	{"breakdown", .value = group_states, .read = read_group_states},
	{.kind = ISC_FIELD_END},
};

/* ---- causes ---- */

static val *cause_name(struct json *j, const void *from)
{
	return words_of(j, isc_cause_name(from));
}

static void read_cause_name(isc_reading in)
{
	isc_analysis_cause *c = in.into;

	c->state = (enum isc_state)isc_field_named(ISC_NAMES_STATES, in.value);
	c->event_loop = yyjson_equals_str(in.value, "event_loop");
	c->not_seen = yyjson_equals_str(in.value, "not_seen");
}

static val *cause_where(struct json *j, const void *from)
{
	return isc_place_value(j, isc_scope_words_at(from));
}

static void write_cause_place(struct json *j, val *object, const void *from)
{
	isc_fields_write(j, object, isc_place_rows, isc_scope_words_at(from));
}

/* The report has the holder only as text, which becomes a name. */
static void read_cause_place(isc_reading in)
{
	yyjson_val *where = yyjson_obj_get(in.value, "where"), *held = yyjson_obj_get(in.value, "held_by");
	isc_analysis_cause *c = in.into;
	bool held_there = c->state == ISC_STATE_GIL_WAIT && !c->event_loop && yyjson_equals(where, held);

	/* When the place of a GIL wait is unknown, the holder's place is written instead. */
	isc_fields_read(in.a, in.value, isc_place_rows, held_there ? &c->holder : &c->where);
	if (!held_there)
		c->holder.name = text_from(in.a->arena, held);
}

#define CAUSE(as, member) ISC_AT(as, isc_analysis_cause, member)
static const isc_field cause_rows[] = {
	{"cause", .value = cause_name, .read = read_cause_name},
	{"where", .value = cause_where},
	{"extra_us", CAUSE(US, extra_us)},
	{NULL, .write = write_cause_place, .read = read_cause_place},
	{"held_by", CAUSE(CUSTOM, holder), .value = isc_place_value},
	{"holder_thread_id", CAUSE(ID, holder_tid)},
	{.kind = ISC_FIELD_END},
};

static void read_what_if_where(isc_reading in)
{
	((isc_analysis_cause *)in.into)->where.name = text_from(in.a->arena, in.value);
}

#define WHAT_IF(as, member) ISC_AT(as, isc_analysis_what_if, member)
static const isc_field what_if_rows[] = {
	{"without", WHAT_IF(CUSTOM, cause), .value = cause_name, .read = read_cause_name},
	{"where", WHAT_IF(CUSTOM, cause), .value = cause_where, .read = read_what_if_where},
	{"held_by", WHAT_IF(CUSTOM, cause.holder), .value = isc_place_value, .read = isc_place_read},
	{"saves_at_most_us", WHAT_IF(US, saves_at_most_us)},
	{"total_us", WHAT_IF(US, total_us)},
	{.kind = ISC_FIELD_END},
};

/* ---- scopes ---- */

#define NESTED(as, member) ISC_AT(as, isc_analysis_nested, member)
static const isc_field nested_rows[] = {
	{"name", NESTED(NAME, name)},	      {"count", NESTED(COUNT, count)},	{"total_us", NESTED(US, total_us)},
	{"us_median", NESTED(US, us_median)}, {"us_slow", NESTED(US, us_slow)}, {.kind = ISC_FIELD_END},
};

#define SLOWEST(as, member) ISC_AT(as, isc_analysis_slowest, member)
static const isc_field slowest_rows[] = {
	{"start_us", SLOWEST(US, start_us)}, {"dur_us", SLOWEST(US, dur_us)}, {"thread_id", SLOWEST(ID, tid)},
	{"process_id", SLOWEST(ID, pid)},    {.kind = ISC_FIELD_END},
};

#define BIN(as, member) ISC_AT(as, isc_analysis_bin, member)
static const isc_field bin_rows[] = {
	{"from_us", BIN(US, from_us)},
	{"to_us", BIN(US, to_us)},
	{"count", BIN(COUNT, count)},
	{.kind = ISC_FIELD_END},
};

#define SCOPE(as, member) ISC_AT(as, isc_analysis_scope, member)
static const isc_field groups_rows[] = {
	{"median", SCOPE(OBJECT, median), .of = group_rows},
	{"slow", SCOPE(OBJECT, slow), .of = group_rows},
	{.kind = ISC_FIELD_END},
};

const isc_field isc_scope_rows[] = {
	{"name", SCOPE(NAME, name)},
	{"count", SCOPE(COUNT, count)},
	{"open", SCOPE(COUNT, open)},
	{"unmatched", SCOPE(COUNT, unmatched)},
	{"total_us", SCOPE(US, total_us)},
	{"mean_us", SCOPE(US, mean_us)},
	{"p50_us", SCOPE(US, p50_us)},
	{"p90_us", SCOPE(US, p90_us)},
	{"p99_us", SCOPE(US, p99_us)},
	{"max_us", SCOPE(US, max_us)},
	{"unseen_us", SCOPE(US, all.unseen_us), ISC_IF(isc_analysis_scope, all.count)},
	{"breakdown", SCOPE(CUSTOM, all), .value = group_states, .read = read_all_states},
	{"slow_because", ISC_LIST(isc_analysis_scope, causes, cause_count, cause_rows)},
	{"histogram", ISC_LIST(isc_analysis_scope, bins, bin_count, bin_rows)},
	{"groups", .kind = ISC_FIELD_OBJECT, .of = groups_rows, ISC_IF(isc_analysis_scope, median.count),
	 ISC_AND(isc_analysis_scope, slow.count)},
	{"what_if", ISC_LIST(isc_analysis_scope, what_if, what_if_count, what_if_rows), .most = WHAT_IF_MAX},
	{"nested", ISC_LIST(isc_analysis_scope, nested, nested_count, nested_rows)},
	{"slowest", ISC_LIST(isc_analysis_scope, slowest, slowest_count, slowest_rows)},
	{.kind = ISC_FIELD_END},
};
