/*
 * phases.c - what each process did when, and how long the one that is judged took to start.
 */
#include "report/json/tables.h"
#include "report/text/phase_words.h"

#define PHASE(as, member) ISC_AT(as, isc_analysis_phase, member)
const isc_field isc_phase_rows[] = {
	{"name", PHASE(ENUM, phase), .names = ISC_NAMES_PHASES},
	{"process_id", PHASE(ID, pid)},
	{"from_us", PHASE(US_0, from_us)},
	{"to_us", PHASE(US_0, to_us)},
	{"why", PHASE(NAME, why)},
	{.kind = ISC_FIELD_END},
};

#define IMPORT(as, member) ISC_AT(as, isc_analysis_import, member)
static const isc_field import_rows[] = {
	{"name", IMPORT(NAME, name)},
	{"file", IMPORT(NAME, file)},
	{"us", IMPORT(US_0, us)},
	{.kind = ISC_FIELD_END},
};

static val *startup_headline(struct json *j, const void *from)
{
	isc_buffer text = {0};

	isc_phase_words_startup(from, &text);
	return isc_raw_value(j, &text);
}

#define STARTUP(as, member) ISC_AT(as, isc_analysis_startup, member)
const isc_field isc_startup_rows[] = {
	{"headline", .value = startup_headline},
	{"process_id", STARTUP(ID, pid)},
	{"took_us", STARTUP(US, took_us)},
	{"imports_us", STARTUP(US_0, imports_us)},
	{"loading_us", STARTUP(US_0, loading_us)},
	{"top", ISC_LIST(isc_analysis_startup, top, top_count, import_rows)},
	{.kind = ISC_FIELD_END},
};
