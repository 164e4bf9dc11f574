/*
 * focus.h - which thread is judged, and in which part of the run.
 *
 * With scopes: the scope with the most time of those that were entered again and
 * again, and the thread that was in it longest; its times in it are the window.  The first few that took
 * far longer than the others are the warm-up, and apart.  Without scopes: the thread that
 * limits (limiter.h), while its process serves (phases.h).
 */
#ifndef ISC_ANALYZE_VERDICT_FOCUS_H
#define ISC_ANALYZE_VERDICT_FOCUS_H

#include "analyze/build.h"
#include "timeline/walk.h"

typedef struct isc_interval {
	uint64_t from_ns, to_ns;
} isc_interval;

typedef struct isc_focus {
	uint32_t thread, process; /* indices in the trace; 0: there is none */
	uint32_t tid;
	isc_interval *at; /* in order, apart from each other */
	size_t count, room;
	isc_text scope; /* empty: none */
	uint64_t scopes;
	double start_up_us; /* before the window and the warm-up */
	double warm_up_us;  /* of scopes that were left out for it */
	uint64_t warm_ups;
	bool serving; /* of its process, without scopes */
} isc_focus;

/* Joins the walk, after threads and scopes are known; false: no memory. */
bool isc_focus_join(isc_build *b, isc_walk *walk);

/* After it; false: no memory.  A focus without a thread: nothing can be judged. */
bool isc_focus_find(isc_focus *f, isc_build *b);

/* What was kept of the walk; nothing is fine. */
void isc_focus_drop(isc_build *b);

/* How much of a time lies in the window, in nanoseconds. */
uint64_t isc_focus_overlap(const isc_focus *f, uint64_t from_ns, uint64_t to_ns);

bool isc_focus_holds(const isc_focus *f, uint64_t time_ns);

uint64_t isc_focus_length(const isc_focus *f);

#endif
