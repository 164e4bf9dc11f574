/*
 * sink.h - where the recorder's drain puts things: into the trace, with indices
 * from the table of processes.
 */
#ifndef ISC_SESSION_DRAIN_SINK_H
#define ISC_SESSION_DRAIN_SINK_H

#include <stdint.h>

#include "base/clock.h"
#include "base/hashmap.h"
#include "base/status.h"
#include "session/drain/drain.h"
#include "session/follow/follow.h"
#include "session/namer.h"
#include "trace/writer.h"

typedef struct isc_event_sink {
	isc_writer *writer;
	isc_follow *follow;
	isc_namer *namer; /* NULL: native places stay without names */
	uint32_t clock_source;
	isc_clock_pair pair[2]; /* the first and the latest */
	size_t pairs;
	uint64_t produced;			/* events of all streams so far */
	isc_hashmap latest;			/* thread and stream -> events produced by it */
	isc_trace_account shared;		/* of streams that found no room for their own: process and thread 0 */
	isc_hashmap shared_stored, shared_lost; /* what is of each stream in it */
	isc_status failed;			/* the first failure of the writer, with err */
	isc_error err;
	bool resume; /* an earlier recorder's numbers go on */
} isc_event_sink;

/* Another calibration pair, for the times of threads. */
void isc_event_sink_clock(isc_event_sink *s, isc_clock_pair pair);

/* Once, when the writer is open. */
isc_status isc_event_sink_begin(isc_event_sink *s, isc_error *err);

isc_drain_sink isc_event_sink_drain(isc_event_sink *s);
void isc_event_sink_fini(isc_event_sink *s);

#endif
