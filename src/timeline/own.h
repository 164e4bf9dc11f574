/*
 * own.h - a trace of ours for a listener: events become slices, scopes, marks and samples.
 */
#ifndef ISC_TIMELINE_OWN_H
#define ISC_TIMELINE_OWN_H

#include "base/arena.h"
#include "timeline/cut.h"
#include "timeline/listener.h"
#include "timeline/waits.h"

typedef struct isc_own_options {
	const isc_cut *cut;
	void (*progress)(void *self, uint64_t done, uint64_t total); /* may be NULL */
	void *progress_self;
	isc_waits *waits; /* that are known of the trace; NULL: none are */
} isc_own_options;

/* Reads the events once, from the first; ISC_ERR_NOMEM, or what after() returned.  The threads that
 * the listener hears of live as long as the arena. */
isc_status isc_own_run(isc_trace *trace, const isc_own_options *options, const isc_listener_class *class,
		       isc_listener *self, isc_arena *arena, isc_listener_counts *counts, isc_error *err);

#endif
