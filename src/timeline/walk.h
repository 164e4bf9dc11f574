/*
 * walk.h - one reading of the events of a trace, for all parts that want some of them.
 *
 * A part joins with the kinds that it wants and gets their events in the order of the file: those of a thread in the
 * order of time, threads in runs that may be 250 ms apart.  It gets no others, and none twice.  Chunks that hold nothing that any part wants are not opened, so a part that looks for gaps in the numbers of events
 * has to want all of them.  No part moves the cursor of the trace.
 */
#ifndef ISC_TIMELINE_WALK_H
#define ISC_TIMELINE_WALK_H

#include "trace/reader.h"

#define ISC_WALK_PARTS 16 /* at most */

#define ISC_WALK_MARKS ISC_KINDS_FROM(0, 15)
#define ISC_WALK_CALLS ISC_KINDS_FROM(16, 31)
#define ISC_WALK_SAMPLES ISC_KINDS_FROM(32, 39)
#define ISC_WALK_WAITS ISC_KINDS_FROM(48, 55)
#define ISC_WALK_MEMORY ISC_KINDS_FROM(64, 71)
#define ISC_WALK_GPU ISC_KINDS_FROM(80, 87)
#define ISC_WALK_ALL ISC_KINDS_ALL

/* An event comes; false: no memory. */
typedef bool (*isc_walk_fn)(void *self, const isc_event *ev);

typedef struct isc_walk {
	struct isc_walk_part {
		isc_walk_fn take;
		void *self;
		isc_kinds kinds;
		uint32_t thread; /* 0: all */
	} part[ISC_WALK_PARTS];
	size_t count;
	void (*tell)(void *self, uint64_t passed); /* now and then: how many events lie behind; NULL: nobody asks */
	void *tell_self;
} isc_walk;

/* A zeroed struct has no parts.  self stays the part's, and is there until the walk is over. */
void isc_walk_join(isc_walk *w, isc_kinds kinds, isc_walk_fn take, void *self);

/* The same of one thread alone; 0: of all. */
void isc_walk_join_thread(isc_walk *w, uint32_t thread, isc_kinds kinds, isc_walk_fn take, void *self);

/* From the first event to the last; without parts none is read.  false: no memory. */
bool isc_walk_run(const isc_walk *w, isc_trace *trace);

#endif
