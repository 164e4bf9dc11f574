/*
 * recorder_state.h - what a recorder holds.  Internal to recorder*.c.
 */
#ifndef ISC_SESSION_RECORDER_STATE_H
#define ISC_SESSION_RECORDER_STATE_H

#include <sys/resource.h>

#include "session/machine/counters.h"
#include "session/machine/crowding.h"
#include "session/drain/drain.h"
#include "session/follow/follow.h"
#include "session/machine/kernel_calls.h"
#include "session/namer.h"
#include "session/machine/numa.h"
#include "session/recorder.h"
#include "session/drain/sink.h"
#include "session/machine/switches.h"
#include "session/machine/throttle.h"
#include "session/machine/usage.h"
#include "trace/writer.h"

struct isc_recorder {
	const isc_settings *settings;
	isc_recorder_say say;
	void *say_self;
	uint32_t clock_source;
	uint64_t start_ns;
	uint64_t begin_ns;		     /* the program was let go */
	uint64_t begin_cpu_ns, ended_cpu_ns; /* CPU time of this thread then, and when the program had ended */
	uint64_t collect_ns;		     /* --delay has passed here */
	uint64_t collected_from_ns;	     /* when collection really began; 0: not yet */
	uint64_t next_clock_ns;
	uint64_t next_flush_ns;
	uint64_t period_ns; /* when the period began that goes on */
	isc_folder folder;
	isc_writer *writer;
	isc_follow *follow;
	isc_switches *switches; /* NULL: refused */
	isc_drain *drain;
	isc_counters counters;
	isc_error counters_refused; /* says nothing: they are not */
	isc_throttle throttle;
	isc_error throttle_unknown; /* why not */
	isc_kernel_calls calls;
	isc_error calls_unknown; /* why not */
	isc_usage usage;
	isc_crowding crowding;
	isc_numa numa;
	uint32_t moves_told;
	struct rusage use; /* of the program, when it had ended */
	isc_event_sink sink;
	isc_namer *namer;
	isc_drain_cycle cycle;
	uint64_t unit_ns; /* how long the longest units of work take, by process */
	isc_trace_end end;
	bool write_failed; /* said once */
	uint64_t ended_ns;
	int bell; /* readable: a process of the program asks for a flush; -1: it has to wait until we look */
};

/* What was written, or why not.  The first failure is told at once; the program is not disturbed by any. */
void isc_recorder_wrote(isc_recorder *r, isc_status st, const isc_error *err);

/* recorder_sources.c: what the program has to know of them beforehand, then each of them in turn. */
void isc_recorder_prepare_sources(isc_recorder *r, isc_folder_options *folder);
void isc_recorder_open_sources(isc_recorder *r, pid_t root, bool running);
void isc_recorder_look_at_sources(isc_recorder *r, uint64_t now, bool flush, bool last);
void isc_recorder_tell_sources(isc_recorder *r);
void isc_recorder_close_sources(isc_recorder *r);

/* recorder_facts.c: what recording took so far beside calls and samples. */
double isc_recorder_cost_apart_ns(const isc_recorder *r);

/* What is known at the end, into the trace. */
void isc_recorder_last_facts(isc_recorder *r);

#endif
