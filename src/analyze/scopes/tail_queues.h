/*
 * tail_queues.h - when threads were ready and had no CPU, by switches.  Internal to the tails.
 */
#ifndef ISC_ANALYZE_SCOPES_TAIL_QUEUES_H
#define ISC_ANALYZE_SCOPES_TAIL_QUEUES_H

#include "analyze/build.h"

typedef struct isc_tail_queued {
	uint64_t from_ns, to_ns;
} isc_tail_queued;

/* Of one thread. */
typedef struct isc_tail_queue {
	isc_tail_queued *queued; /* in order, apart from each other */
	size_t count, room;
	uint64_t since_ns;   /* while switches are read: put off since then; 0: it is not */
	uint64_t since_gaps; /* gaps up to that */
} isc_tail_queue;

typedef struct isc_tail_queues {
	isc_hashmap by_tid; /* tid -> isc_tail_queue */
	size_t count;	    /* of all */
	uint64_t gaps;	    /* begins and ends of gaps that were read */
} isc_tail_queues;

/* A zeroed struct is empty. */
void isc_tail_queues_fini(isc_tail_queues *q);

/* Reads all switches; false: no memory. */
bool isc_tail_queues_read(isc_tail_queues *q, isc_build *b);

/* NULL: it was never put off. */
const isc_tail_queue *isc_tail_queues_of(const isc_tail_queues *q, uint32_t tid);

/* How long of the time between two moments it was put off.  *at is the caller's, 0 at first: moments come in order.  q may
 * be NULL. */
double isc_tail_queue_us(const isc_tail_queue *q, size_t *at, uint64_t from_ns, uint64_t to_ns);

#endif
