/*
 * unseen.h - when calls were not recorded, to stay inside the budget.
 *
 * A pause stops the recording of all calls of a process, and so does a closed gate, but for calls that
 * units begin with; a governed function is left out alone.  Each leaves a hole: who is open when it begins may have ended in it, and what
 * was called in it is not known.  Whoever follows calls has to ask here before time is given
 * to the innermost open one.
 */
#ifndef ISC_ANALYZE_TIME_UNSEEN_H
#define ISC_ANALYZE_TIME_UNSEEN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hashmap.h"
#include "timeline/walk.h"

struct isc_build;

typedef struct isc_pause {
	uint64_t from_ns, to_ns; /* to_ns UINT64_MAX: it has no end */
} isc_pause;

/* Of one process image. */
typedef struct isc_unseen_process {
	isc_pause *pause; /* in order, apart from each other */
	size_t count, room;
} isc_unseen_process;

typedef struct isc_unseen {
	struct isc_build *b;
	isc_hashmap processes; /* process image -> isc_unseen_process; none: all its calls were recorded */
	isc_hashmap governed;  /* process image and code -> when it was first left out */
} isc_unseen;

/* A zeroed struct is empty. */
void isc_unseen_fini(isc_unseen *u);

/* Joins the walk if the totals of the run know of a hole; nothing is known before isc_unseen_end(). */
void isc_unseen_join(isc_unseen *u, struct isc_build *b, isc_walk *walk);
void isc_unseen_end(isc_unseen *u);

/* NULL: all calls of the process were recorded. */
const isc_unseen_process *isc_unseen_of(const isc_unseen *u, uint32_t process);

/* When a function was first left out; UINT64_MAX: never. */
uint64_t isc_unseen_governed_ns(const isc_unseen *u, uint32_t process, uint32_t code);

/*
 * The pauses that lie in the time between two moments, as one from the first to the last, cut to that time; false: none
 * does.  *at is the caller's for each thread, 0 at first: moments of a thread come in order.  p may be NULL.
 */
bool isc_unseen_pause(const isc_unseen_process *p, size_t *at, uint64_t from_ns, uint64_t to_ns, isc_pause *out);

#endif
