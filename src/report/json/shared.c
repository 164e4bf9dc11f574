/*
 * shared.c - rows that several objects of the report have in common.
 */
#include "report/json/tables.h"
#include "report/text/scope_words.h"

const isc_field isc_each_us = {.kind = ISC_FIELD_US};
const isc_field isc_each_name = {.kind = ISC_FIELD_NAME};
const isc_field isc_each_whole = {.kind = ISC_FIELD_WHOLE};

static const isc_field each_source = {.kind = ISC_FIELD_ENUM, .size = 1, .names = ISC_NAMES_SOURCES};

#define STATES(as, member) ISC_AT(as, isc_analysis_breakdown, member)
const isc_field isc_states_rows[] = {
	{NULL, STATES(MAP, pct), .names = ISC_NAMES_STATES, .each = &isc_each_us},
	{"sources", STATES(MAP, source), .names = ISC_NAMES_STATES, .each = &each_source},
	{"unattributed_because", STATES(ENUM, unattributed), .names = ISC_NAMES_UNATTRIBUTED,
	 ISC_IF(isc_analysis_breakdown, pct[ISC_STATE_UNATTRIBUTED])},
	{.kind = ISC_FIELD_END},
};

#define JUDGED(as, member) ISC_AT(as, isc_analysis_judged, member)
const isc_field isc_judged_rows[] = {
	{"judged_us", JUDGED(US_0, us), ISC_KNOWN(isc_analysis_judged, known)},
	{"judged_samples", JUDGED(COUNT, samples), ISC_IF(isc_analysis_judged, known)},
	{.kind = ISC_FIELD_END},
};

#define PLACE(as, member) ISC_AT(as, isc_analysis_frame, member)
const isc_field isc_place_rows[] = {
	{"function", PLACE(TEXT, name)}, {"file", PLACE(TEXT, file)}, {"line", PLACE(ID, line)},
	{"module", PLACE(TEXT, module)}, {.kind = ISC_FIELD_END},
};

val *isc_raw_value(struct json *j, isc_buffer *raw)
{
	val *value = raw->len > 0 ? text_of(j, &(isc_text){raw->data, raw->len}) : yyjson_mut_null(j->doc);

	j->failed |= raw->failed;
	isc_buffer_fini(raw);
	return value;
}

val *isc_place_value(struct json *j, const void *frame)
{
	isc_buffer raw = {0};

	isc_scope_words_place(&raw, frame);
	return isc_raw_value(j, &raw);
}

void isc_place_read(isc_reading in)
{
	((isc_analysis_frame *)in.into)->name = text_from(in.a->arena, in.value);
}
