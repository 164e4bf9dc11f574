/*
 * threads.c - threads and the waits between them.
 */
#include "report/json/tables.h"

#define THREAD(as, member) ISC_AT(as, isc_analysis_thread, member)
const isc_field isc_thread_rows[] = {
	{"thread_id", THREAD(COUNT32, tid)},
	{"process_id", THREAD(ID, pid)},
	{"name", THREAD(TEXT, name)},
	{"start_us", THREAD(US, start_us)},
	{"wall_us", THREAD(US, wall_us)},
	{"on_cpu_us", THREAD(US, on_cpu_us)},
	{"run_queue_us", THREAD(US, run_queue_us)},
	{"waiting_us", THREAD(US, waiting_us)},
	{"unwatched_us", THREAD(US, unwatched_us)},
	{NULL, THREAD(MAP, state_us), .names = ISC_NAMES_STATES, .each = &isc_each_us},
	{"unattributed_because", THREAD(ENUM, unattributed), .names = ISC_NAMES_UNATTRIBUTED,
	 ISC_IF(isc_analysis_thread, state_us[ISC_STATE_UNATTRIBUTED])},
	{"estimated", THREAD(FLAG, estimated)},
	{"switches", THREAD(COUNT, switches)},
	{"events", THREAD(COUNT, events)},
	{NULL, THREAD(OBJECT, judged), .of = isc_judged_rows},
	{.kind = ISC_FIELD_END},
};

#define JUDGED(as, member) ISC_AT(as, isc_analysis_judged, member)
static const isc_field judged_rows[] = {
	{"judged_us", JUDGED(US_0, us), ISC_KNOWN(isc_analysis_judged, known)},
	{"judged_calls", JUDGED(COUNT, calls), ISC_IF(isc_analysis_judged, known)},
	{.kind = ISC_FIELD_END},
};

#define WAIT(as, member) ISC_AT(as, isc_analysis_wait, member)
const isc_field isc_wait_rows[] = {
	{"state", WAIT(ENUM, state), .names = ISC_NAMES_STATES},
	{"where", WAIT(CUSTOM, where), .value = isc_place_value, .read = isc_place_read},
	{"held_by", WAIT(CUSTOM, held_by), .value = isc_place_value, .read = isc_place_read},
	{"count", WAIT(COUNT, count)},
	{"us", WAIT(US, us)},
	{NULL, WAIT(OBJECT, judged), .of = judged_rows},
	{.kind = ISC_FIELD_END},
};
