/*
 * thread_state.h - the states of a thread, and their names.  A thread is in one of them at each moment.
 */
#ifndef ISC_TIMELINE_THREAD_STATE_H
#define ISC_TIMELINE_THREAD_STATE_H

#include "base/state_table.h"

/* In the order of reports. */
#define ISC_STATE_ID_(id, ...) ISC_STATE_##id,
enum isc_state { ISC_STATE_TABLE(ISC_STATE_ID_) ISC_STATES };

const char *isc_state_name(enum isc_state state);

#endif
