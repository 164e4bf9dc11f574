/*
 * states.h - the one maker of states: what a thread told of its waits and collections, as intervals.
 *
 * Waits and collections come when they have ended and say how long they took; a long wait may be told of when it begins too,
 * and a thread that jumps out of it, or never comes back, tells of no end.  All that becomes intervals here, once: whoever
 * wants to know what a thread was doing listens, and does no arithmetic of its own.
 *
 * What a thread told of is not all that it did: switches and samples say what it did in between, and analyze/time/account.h
 * puts both together.  System calls that are slow and did not wait are no state: samples say what ran.
 *
 * Intervals are as they were told, so those of one thread may overlap, as when a collection waits for a lock; intervals.h
 * lays them side by side.
 */
#ifndef ISC_TIMELINE_STATES_H
#define ISC_TIMELINE_STATES_H

#include "timeline/waits.h"
#include "timeline/walk.h"

#define ISC_STATES_LISTENERS 4 /* at most */

enum isc_interval_kind {
	ISC_INTERVAL_STATE, /* a wait or a collection: all of it in this state */
	ISC_INTERVAL_BRIEF, /* a sum of brief waits, which were told of at its end: it is as long as they were together */
	ISC_INTERVAL_SAMPLE /* of intervals.h: so much CPU time, which a sample at its end stands for */
};

typedef struct isc_thread_interval {
	uint64_t from_ns, to_ns;  /* CLOCK_MONOTONIC */
	uint64_t count;		  /* waits in the sum; 0: it is none */
	uint32_t process, thread; /* indices of the trace */
	uint32_t tid;		  /* 0: not known */
	uint32_t stack;		  /* where the thread was; 0: not known */
	uint32_t holder;	  /* tid of who had what was waited for; 0: not known */
	uint32_t holder_stack;	  /* where that was when it was last seen; 0: not known */
	uint16_t generation;	  /* of a collection */
	uint8_t call;		  /* enum isc_wait_call; of a collection ISC_WAIT_GC */
	uint8_t kind;		  /* enum isc_interval_kind */
	uint8_t state;		  /* enum isc_state */
	uint8_t stream;		  /* 1: inside a signal handler */
	bool open;		  /* its end was not seen */
} isc_thread_interval;

/* One has ended; false: no memory. */
typedef bool (*isc_states_fn)(void *self, const isc_thread_interval *i);

typedef struct isc_states {
	isc_waits *waits; /* borrowed */
	double ns_per_tick;
	struct isc_states_listener {
		isc_states_fn take;
		void *self;
	} listener[ISC_STATES_LISTENERS];
	size_t listeners;
	isc_hashmap lane_of; /* thread and stream -> rank + 1, of those that told of the beginning of a wait */
	struct isc_states_lane *lane;
	size_t count, room;
	size_t open; /* waits that are */
	struct isc_states_last {
		uint32_t thread;
		uint8_t stream;
		size_t lane; /* rank + 1; 0: it has none */
	} last;		     /* that an event was of */
} isc_states;

void isc_states_init(isc_states *s, isc_waits *waits, double ns_per_tick);
void isc_states_fini(isc_states *s); /* a zeroed struct is fine */

/* self stays the listener's, and is there until the end. */
void isc_states_listen(isc_states *s, isc_states_fn take, void *self);

/* Parts that join after it hear of an interval before they get the event that ends it. */
void isc_states_join(isc_states *s, isc_walk *walk);

/* The same for who reads events without a walk.  An event ends one interval at most.  False: no memory. */
bool isc_states_take(isc_states *s, const isc_event *ev);

/* When a wait began that took so many ticks and ended now. */
uint64_t isc_states_began_ns(const isc_states *s, uint64_t now_ns, uint64_t ticks);

/* A wait of this thread that is still open ends now; false: no memory. */
bool isc_states_end_open(isc_states *s, uint32_t thread, uint8_t stream, uint64_t now_ns);

/* All of them end as their threads do, or where nobody knows that at this moment; of handlers nobody knows when.  False: no
 * memory. */
bool isc_states_end(isc_states *s, uint64_t end_ns);

#endif
