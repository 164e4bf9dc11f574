/*
 * walk.h - one reading of the events of a trace, for all parts that want some of them.
 *
 * A part joins with the groups of kinds that it wants and gets their events in the order of the file: those of a thread
 * in the order of time, threads in runs that may be 250 ms apart.  It may get others of the same group, and none twice.
 * No part moves the cursor of the trace.
 */
#ifndef ISC_TIMELINE_WALK_H
#define ISC_TIMELINE_WALK_H

#include "trace/reader.h"

#define ISC_WALK_PARTS 16 /* at most */

/* Groups of eight kinds, as enum isc_kind numbers them. */
#define ISC_WALK_GROUP(kind) (1u << ((kind) >> 3))
#define ISC_WALK_MARKS (ISC_WALK_GROUP(ISC_KIND_SCOPE_ENTER) | ISC_WALK_GROUP(ISC_KIND_SPAN_EXIT))
#define ISC_WALK_CALLS (ISC_WALK_GROUP(ISC_KIND_CALL_ENTER) | ISC_WALK_GROUP(ISC_KIND_BURST))
#define ISC_WALK_SAMPLES ISC_WALK_GROUP(ISC_KIND_SAMPLE)
#define ISC_WALK_WAITS ISC_WALK_GROUP(ISC_KIND_WAIT_EXIT)
#define ISC_WALK_MEMORY ISC_WALK_GROUP(ISC_KIND_MEMORY_ALLOC)
#define ISC_WALK_GPU ISC_WALK_GROUP(ISC_KIND_GPU_CALL)
#define ISC_WALK_ALL UINT32_MAX

/* An event comes; false: no memory. */
typedef bool (*isc_walk_fn)(void *self, const isc_event *ev);

typedef struct isc_walk {
	struct isc_walk_part {
		isc_walk_fn take;
		void *self;
		uint32_t groups;
	} part[ISC_WALK_PARTS];
	size_t count;
} isc_walk;

/* A zeroed struct has no parts.  self stays the part's, and is there until the walk is over. */
void isc_walk_join(isc_walk *w, uint32_t groups, isc_walk_fn take, void *self);

/* From the first event to the last; without parts none is read.  false: no memory. */
bool isc_walk_run(const isc_walk *w, isc_trace *trace);

#endif
