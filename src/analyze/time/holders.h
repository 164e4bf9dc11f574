/*
 * holders.h - where a thread was while others waited for what it held.
 *
 * A wait that ends names the thread that had the lock, and where that was when it was
 * looked at: at the end, when it may be back in the function that called the one with the
 * lock.  What it did while it was waited for is in the trace already, as its samples and as
 * its own waits; the function with most of that time is the one that held it.
 */
#ifndef ISC_ANALYZE_TIME_HOLDERS_H
#define ISC_ANALYZE_TIME_HOLDERS_H

#include "analyze/build.h"
#include "timeline/intervals.h"

/* Listens to states, unless nobody waited for a thread that is known: then b->holders stays empty.  false: no memory. */
bool isc_holders_join(isc_build *b, isc_states *states);

/* The walk is over, and b->intervals have what was read; false: no memory. */
bool isc_holders_end(isc_build *b);

/*
 * The stack of who held what was waited for; the one that the wait told of when nothing better is known.
 */
uint32_t isc_holders_stack(const isc_build *b, const isc_thread_interval *i);

void isc_holders_free(struct isc_holders *h);

#endif
