/*
 * spans.h - which spans lie inside the scope that is asked for: those of its
 * name and all that were entered inside one of them, whatever thread or task
 * they ran on.
 */
#ifndef ISC_ANALYZE_SCOPES_SPANS_H
#define ISC_ANALYZE_SCOPES_SPANS_H

#include "analyze/time/crossing.h"
#include "timeline/walk.h"

#define ISC_SPANS_NAMES 256u /* names of scopes that are known without a search */

typedef struct isc_spans {
	isc_build *b;
	struct isc_span_found *found; /* while events are read */
	size_t count, room;
	isc_hashmap inside; /* process and instance */
	isc_hashmap moved;  /* the same -> when it was left on another thread */
	isc_hashmap named;  /* process and id -> 1 the scope, 2 another name */
	struct isc_span_name {
		uint64_t key_plus_1; /* 0: empty */
		bool named;
	} recent[ISC_SPANS_NAMES];
} isc_spans;

/* A zeroed struct is empty. */
void isc_spans_fini(isc_spans *s);

/* Joins the walk; which lie inside is known after isc_spans_end().  false: no memory. */
void isc_spans_join(isc_spans *s, isc_build *b, isc_walk *walk);
bool isc_spans_end(isc_spans *s);

/* Has the event's scope the name that is asked for?  false: no memory. */
bool isc_spans_named(isc_spans *s, isc_build *b, const isc_event *ev, bool *yes);

/* An event of the lane comes: sets lane->within, and *take when the event itself
 * belongs to a span inside.  false: no memory. */
bool isc_spans_step(isc_spans *s, isc_arena *arena, isc_crossing_lane *lane, const isc_event *ev, bool *take);

#endif
