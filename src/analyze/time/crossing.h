/*
 * crossing.h - which calls are open on each thread while events are read, so that
 * a part of the run can be looked at: calls that cross its edges count with the
 * time that they spent inside.
 */
#ifndef ISC_ANALYZE_TIME_CROSSING_H
#define ISC_ANALYZE_TIME_CROSSING_H

#include "analyze/build.h"

typedef struct isc_crossing_span {
	uint64_t instance;
	uint64_t end_ns; /* if it is left on another thread, else never */
	uint32_t task;	 /* that entered it */
} isc_crossing_span;

typedef struct isc_crossing_lane {
	uint32_t process, thread;
	uint8_t stream;
	bool gap;		  /* events before this one were lost */
	bool inside;		  /* of the part that is looked at */
	uint64_t expected;	  /* number of the next event */
	uint64_t time_ns;	  /* of the last one */
	uint64_t scopes;	  /* how deep in the scope that is asked for */
	uint32_t task;		  /* that runs */
	bool within;		  /* it runs in a span that is inside what is asked for */
	isc_crossing_span *spans; /* open ones of those */
	size_t span_count, span_room;
	uint64_t until_ns;  /* the first of them is left elsewhere */
	uint32_t wait_call; /* of a wait that is open; 0: none */
	uint32_t wait_stack;
	uint32_t *open; /* codes, outermost first */
	size_t depth, room;
	size_t stale; /* so many of these may have ended while calls were not recorded */
	size_t pause; /* where it is in the pauses of its process */
} isc_crossing_lane;

typedef struct isc_crossing {
	isc_crossing_lane *lane;
	size_t count, room;
	isc_hashmap by_lane; /* thread and stream -> rank + 1 */
	isc_crossing_lane *last;
	const isc_unseen *unseen; /* when calls were not recorded; NULL: never */
} isc_crossing;

/* A zeroed struct is empty. */
void isc_crossing_fini(isc_crossing *r);

/* The lane of an event, valid until the next; sets gap.  NULL: no memory. */
isc_crossing_lane *isc_crossing_lane_of(isc_crossing *r, isc_arena *arena, const isc_event *ev);

/* What is open begins to count now, or ends to. */
isc_status isc_crossing_enter(isc_crossing_lane *lane, isc_totals *totals, uint64_t ns, isc_error *err);
void isc_crossing_leave(isc_crossing_lane *lane, isc_totals *totals, uint64_t ns);

/* The event has happened; false: no memory. */
bool isc_crossing_note(isc_crossing_lane *lane, isc_arena *arena, const isc_event *ev);

#endif
