/*
 * units.c - units of work: the family that the program is judged by, then every family.
 */
#include "report/json/tables.h"

/* unit_words.c tells kinds apart by their first letter. */
static void read_kind(isc_reading in)
{
	static const char *const kinds[] = {"loop", "scope", "task", "item"};
	const char *kind = kinds[0];

	for (size_t i = 1; i < sizeof(kinds) / sizeof(kinds[0]); i++)
		kind = yyjson_equals_str(in.value, kinds[i]) ? kinds[i] : kind;
	*(const char **)in.into = kind;
}

#define FRAME(as, member) ISC_AT(as, isc_analysis_frame, member)
static const isc_field frame_rows[] = {
	{"name", FRAME(TEXT, name)},
	{"file", FRAME(TEXT, file)},
	{"line", FRAME(ID, line)},
	{.kind = ISC_FIELD_END},
};

#define FAMILY(as, member) ISC_AT(as, isc_analysis_unit_family, member)
static const isc_field family_rows[] = {
	{"kind", FAMILY(WORDS, kind), .read = read_kind},
	{NULL, FAMILY(OBJECT, at), .of = frame_rows},
	{"looper", FAMILY(OBJECT, looper), .of = frame_rows, ISC_IF(isc_analysis_unit_family, looper.name.len)},
	{"process_id", FAMILY(ID, pid)},
	{"count", FAMILY(COUNT, count)},
	{"whole", FAMILY(COUNT, whole)},
	{"partial", FAMILY(COUNT, partial)},
	{"thinned", FAMILY(COUNT, thinned)},
	{"none", FAMILY(COUNT, none)},
	{"p50_us", FAMILY(US, p50_us)},
	{"p90_us", FAMILY(US, p90_us)},
	{"p99_us", FAMILY(US, p99_us)},
	{"max_us", FAMILY(US, max_us)},
	{"total_us", FAMILY(US, total_us)},
	{.kind = ISC_FIELD_END},
};

/* The keys of the first family, which is read back from the list. */
static void write_first(struct json *j, val *object, const void *from)
{
	isc_fields_write(j, object, family_rows, ((const isc_analysis_units *)from)->families);
}

const isc_field isc_unit_rows[] = {
	{NULL, .write = write_first},
	{"families", ISC_LIST(isc_analysis_units, families, family_count, family_rows)},
	{"unlisted", ISC_AT(COUNT, isc_analysis_units, unlisted)},
	{.kind = ISC_FIELD_END},
};
