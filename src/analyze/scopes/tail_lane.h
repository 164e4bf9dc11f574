/*
 * tail_lane.h - what each thread has open while the tails walk through the events.  Internal to the tails.
 *
 * Calls that were not recorded leave holes (analyze/time/unseen.h): time is given to the innermost open
 * call only where that is known to be the one that ran.
 */
#ifndef ISC_ANALYZE_SCOPES_TAIL_LANE_H
#define ISC_ANALYZE_SCOPES_TAIL_LANE_H

#include "analyze/names.h"
#include "analyze/scopes/tail_queues.h"
#include "analyze/scopes/tail_walk.h"
#include "analyze/time/unseen.h"

/* Steps of an event loop that are remembered, to say what had it while a task waited. */
#define ISC_TAIL_STEPS 64u
/* Names of scopes that are known without a look into a table of all; a power of two. */
#define ISC_TAIL_NAMES 256u
/* Waits that may lie in the call of a GPU's library that is told of next. */
#define ISC_TAIL_RECENT 16u

typedef struct isc_tail_call {
	uint32_t code;
	uint32_t key;	      /* of what runs in it; 0: not looked up */
	uint64_t from_ns;     /* when it began */
	uint64_t governed_ns; /* from then on it may have ended unseen; UINT64_MAX: never */
} isc_tail_call;

typedef struct isc_tail_step {
	uint64_t from_ns, to_ns;
	uint32_t place;
} isc_tail_step;

typedef struct isc_tail_recent {
	uint64_t from_ns, to_ns;
	uint32_t key;
	uint8_t state;
} isc_tail_recent;

typedef struct isc_tail_lane {
	uint32_t process, thread;
	uint64_t expected;
	uint64_t last_ns; /* 0: nothing yet */
	uint32_t task;
	isc_tail_call *calls; /* open ones, outermost first */
	size_t depth, room;
	size_t stale;			  /* so many of these, outermost first, were open when a pause began */
	const isc_unseen_process *unseen; /* NULL: all calls were recorded */
	size_t pause;			  /* of unseen: where it is */
	const isc_tail_queue *queue;	  /* NULL: it always had a CPU, as far as is known */
	size_t queued;			  /* of queue: where it is */
	isc_tail_pile *pile, *running;	  /* of the thread; of the task that runs; NULL: none */
	double idle_us;			  /* that it waited while no task ran */
	uint64_t changes;		  /* when those were found */
	isc_tail_step *steps;		  /* ISC_TAIL_STEPS of them, when it has tasks */
	size_t step;
	uint64_t step_ns;  /* when this one began */
	double longest_us; /* of its pieces */
	uint32_t longest;  /* where that was */
	uint32_t first;	   /* the function that it began with */
	uint32_t awaited;  /* where a coroutine of it stopped to run; 0: it runs */
	bool yields;
	isc_tail_recent recent[ISC_TAIL_RECENT];
	unsigned recents;
} isc_tail_lane;

typedef struct isc_tail_walk {
	isc_tails *t;
	isc_tail_opens opens;
	isc_tail_queues queues;
	isc_hashmap lanes; /* thread -> lane */
	isc_hashmap named; /* process and id -> rank of the scope + 2; 1: none */
	isc_names names;   /* of all scopes, by rank, and others behind them */
	isc_tail_lane *last;
	isc_thread_interval told; /* that the event of now ends */
	bool is_told;
	uint32_t bare;	 /* key of what runs in no call; 0: not looked up */
	uint32_t unseen; /* key of what runs where calls are not known; 0: not looked up */
	struct {
		uint64_t name; /* process and id, + 1 */
		size_t tail;
	} recent_names[ISC_TAIL_NAMES];
} isc_tail_walk;

void isc_tail_lane_find_piles(isc_tail_walk *w, isc_tail_lane *l);

/* The place of the innermost open call; 0: none, or whether it still runs is not known. */
uint32_t isc_tail_lane_place(isc_tail_walk *w, isc_tail_lane *l);

/* tail_tasks.c: another task goes on; a coroutine of one stops to run.  False: no memory. */
bool isc_tail_lane_task(isc_tail_walk *w, isc_tail_lane *l, const isc_event *ev);
void isc_tail_lane_yield(isc_tail_walk *w, isc_tail_lane *l, const isc_event *ev);

/* tail_holes.c: time up to now, of the time since the last event, in which nobody knows what was called. */
double isc_tail_lane_unseen_us(isc_tail_walk *w, isc_tail_lane *l, uint64_t now_ns);
/* The open call that this time belongs to if the scope, which began at a moment, has every call recorded: its key.  *key is 0
 * if nobody knows then either.  False: no memory. */
bool isc_tail_lane_outer(isc_tail_walk *w, isc_tail_lane *l, uint64_t scope_ns, uint32_t *key);
/* A sample says who ran, for so long; what the open calls miss of that is noted.  False: no memory. */
bool isc_tail_lane_sampled(isc_tail_walk *w, isc_tail_lane *l, isc_tail_sums *s, uint64_t now_ns, uint32_t node,
			   double us);

#endif
