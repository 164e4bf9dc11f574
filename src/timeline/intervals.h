/*
 * intervals.h - what each thread was doing at each moment, for whoever goes from thread to thread.
 *
 * Events of threads are apart in the file, so what crosses threads is gathered here while they are read: the states that
 * threads told of (states.h) and their samples, each as a small interval.  Then the states of a thread are laid side by
 * side: of two at once the first counts in the order of the verdict (gc, gil_wait, lock_wait, io_wait, sleep, idle, ...),
 * and of two alike the later.  What lies between them, from the beginning of the thread to its end, is ISC_STATE_OTHER
 * without a stack: it ran, or wanted to.  So every moment of a thread that told of anything is in exactly one.
 *
 * Intervals are read thread by thread in the order of time, from any moment on.  Memory is bounded: what is too much goes
 * into a temporary file.  Brief waits, of which only the sum is known, are at no moment, and not here.
 */
#ifndef ISC_TIMELINE_INTERVALS_H
#define ISC_TIMELINE_INTERVALS_H

#include "base/status.h"
#include "timeline/states.h"

typedef struct isc_intervals isc_intervals;

isc_status isc_intervals_new(const isc_trace *trace, isc_intervals **out, isc_error *err);
void isc_intervals_free(isc_intervals *in); /* NULL is fine */

/* Listens to states and joins the walk for samples. */
void isc_intervals_join(isc_intervals *in, isc_states *states, isc_walk *walk);

/* The walk is over; ISC_ERR_NOMEM, or what the temporary file met. */
isc_status isc_intervals_end(isc_intervals *in, isc_error *err);

/*
 * The first interval of a thread and of a kind that ends at this moment or later, and those behind it in the order of time;
 * borrowed until the next call.  NULL: there is none, or the file could not be read: isc_intervals_failed() tells.
 */
const isc_thread_interval *isc_intervals_find(isc_intervals *in, uint32_t tid, enum isc_interval_kind kind,
					      uint64_t time_ns);
const isc_thread_interval *isc_intervals_next(isc_intervals *in);
isc_status isc_intervals_failed(const isc_intervals *in, isc_error *err);

#endif
