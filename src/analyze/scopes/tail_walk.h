/*
 * tail_walk.h - scopes that are open while events are read.  Internal to the tails.
 *
 * A thread, or a task of one, has a pile of open scopes.  What it does is counted for the
 * innermost, and goes to the one around it when that is left.  Whoever waits for a
 * scope of another task or thread gets the time of that instead of its own waiting.
 */
#ifndef ISC_ANALYZE_SCOPES_TAIL_WALK_H
#define ISC_ANALYZE_SCOPES_TAIL_WALK_H

#include "analyze/scopes/tails.h"

/* Open or kept at a time; more are not looked at. */
#define ISC_TAIL_OPEN_MAX 65536u
/* Threads are read in runs, so that a scope and the one that waits for it may come in any order:
 * so many that are left wait for their other half. */
#define ISC_TAIL_KEPT 4096u

typedef struct isc_tail_pile isc_tail_pile;

typedef struct isc_tail_open {
	uint32_t process, thread, tail;
	uint64_t id, parent; /* of a span; 0: none */
	uint64_t from_ns, to_ns;
	isc_tail_pile *pile;
	struct isc_tail_open *below; /* in its pile, in the list of one parent, or of the free ones */
	bool left;		     /* is kept */
	bool task;		     /* of a task */
	bool waits;		     /* for others: kept until they are read */
	isc_tail_sums own;
	isc_tail_sums elsewhere; /* of scopes inside it that ran on another thread or task */
	double elsewhere_us;
	isc_cells nested;
	isc_cells more; /* see isc_tail */
} isc_tail_open;

/* Of a thread (task 0) or of a task on it. */
struct isc_tail_pile {
	uint32_t thread, task;
	isc_tail_open *top;
	uint64_t since_ns; /* a task that does not run: when it stopped to */
	double idle_us;	   /* what its thread had waited for work by then */
	uint32_t awaited;  /* place where it waits */
	isc_tail_pile *next_free;
};

typedef struct isc_tail_opens {
	isc_tails *t;
	isc_hashmap piles;   /* thread and task -> pile */
	isc_tail_pile *last; /* that of a thread, which stays, found last */
	isc_hashmap by_span; /* process and instance -> open or kept */
	isc_hashmap orphans; /* process and instance of the parent -> kept ones */
	isc_tail_open *kept[ISC_TAIL_KEPT];
	size_t kept_at;
	size_t taken;	  /* opens in use */
	size_t open;	  /* of these, not left */
	uint64_t changes; /* of which piles have any */
	isc_tail_open *free_opens;
	isc_tail_pile *free_piles;
	isc_tail_open **all; /* to be freed */
	size_t all_count, all_room;
} isc_tail_opens;

void isc_tail_opens_fini(isc_tail_opens *o);

/* NULL: none is open. */
isc_tail_pile *isc_tail_pile_find(const isc_tail_opens *o, uint32_t thread, uint32_t task);

/* A scope is entered; false: no memory. */
bool isc_tail_opens_enter(isc_tail_opens *o, const isc_event *ev, uint32_t task, size_t tail, uint64_t id,
			  uint64_t parent);

/* The innermost of a name on a thread, or the span of that number; NULL: none. */
isc_tail_open *isc_tail_opens_find(const isc_tail_opens *o, const isc_event *ev, size_t tail, uint64_t id);

/* It is left, having taken so long.  counted: its time is known to be its own.  False: no memory. */
bool isc_tail_opens_leave(isc_tail_opens *o, isc_tail_open *s, uint64_t from_ns, uint64_t to_ns, bool counted);

/* Events of a thread were lost: what is open on it is not known any more. */
void isc_tail_opens_drop(isc_tail_opens *o, uint32_t thread, uint32_t task);

/* Nothing more is read: what is kept counts.  False: no memory. */
bool isc_tail_opens_end(isc_tail_opens *o);

#endif
