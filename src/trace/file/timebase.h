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

struct isc_timebase_piece;

typedef struct isc_timebase {
	struct isc_timebase_piece *piece; /* by ticks; the first also serves what comes before it */
	size_t count;
	uint32_t source;
} isc_timebase;

/* Pairs sorted, both parts rising.  False: no memory. */
bool isc_timebase_init(isc_timebase *t, const isc_clock_pair *pairs, size_t n, uint32_t source);
void isc_timebase_fini(isc_timebase *t);

/* hint, 0 at first, keeps where the last answer came from. */
uint64_t isc_timebase_ns(const isc_timebase *t, uint64_t ticks, size_t *hint);

#endif
