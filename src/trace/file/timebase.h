/*
 * timebase.h - ticks to nanoseconds, without a division for each event.
 * Internal to trace/.  Says the same as isc_clock_to_ns() within a nanosecond.
 */
#ifndef ISC_TRACE_FILE_TIMEBASE_H
#define ISC_TRACE_FILE_TIMEBASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/clock.h"

#define ISC_TIMEBASE_FRACTION 40 /* bits behind the point of a rate: 2^-40 ns a tick adds up to 1 ns in 18 min of GHz */

typedef struct isc_timebase_piece {
	uint64_t ticks, span; /* from here on for so long; the last one goes on */
	uint64_t ns;
	uint64_t rate; /* ns a tick, times 2^ISC_TIMEBASE_FRACTION */
} isc_timebase_piece;

typedef struct isc_timebase {
	isc_timebase_piece *piece; /* by ticks; the first also serves what comes before it */
	size_t count;
	uint32_t source;
} isc_timebase;

/* Pairs sorted, both parts rising.  False: no memory. */
bool isc_timebase_init(isc_timebase *t, const isc_clock_pair *pairs, size_t n, uint32_t source);
void isc_timebase_fini(isc_timebase *t);

/* Of so many ticks in ns. */
static inline uint64_t isc_timebase_length(uint64_t ticks, uint64_t rate)
{
	return (uint64_t)((unsigned __int128)ticks * rate >> ISC_TIMEBASE_FRACTION);
}

/* Moves the hint to the piece of a moment, which is counted from there, or back if it lies before the first. */
uint64_t isc_timebase_search(const isc_timebase *t, uint64_t ticks, size_t *hint);

/* hint, 0 at first, keeps where the last answer came from. */
static inline uint64_t isc_timebase_ns(const isc_timebase *t, uint64_t ticks, size_t *hint)
{
	const isc_timebase_piece *p;

	if (t->count == 0)
		return ticks;
	p = &t->piece[*hint];
	/* What lies before the piece wraps around. */
	if (ticks - p->ticks >= p->span)
		return isc_timebase_search(t, ticks, hint);
	return p->ns + isc_timebase_length(ticks - p->ticks, p->rate);
}

#endif
