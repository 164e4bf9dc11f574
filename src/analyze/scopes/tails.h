/*
 * tails.h - why the slow ones of a scope are slow: where the time of slow scopes went,
 * less where that of median ones went.
 *
 * What is slow and what lies in the middle is known beforehand from the durations of
 * all scopes of a name.  One walk through the events gives every open scope what its
 * thread or task did (tail_walk.c), one through the switches when it had a CPU
 * (tail_switches.c); what is left of a scope are sums of its group.  In the end groups
 * are settled as threads are, and compared (tail_causes.c).
 */
#ifndef ISC_ANALYZE_SCOPES_TAILS_H
#define ISC_ANALYZE_SCOPES_TAILS_H

#include "analyze/time/account.h"
#include "analyze/scopes/cells.h"
#include "analyze/code/places.h"
#include "analyze/code/stack_tree.h"
#include "timeline/states.h"

enum { ISC_TAIL_ALL, ISC_TAIL_MEDIAN, ISC_TAIL_SLOW, ISC_TAIL_GROUPS };

/* Where calls were not recorded, fewer samples name nobody: of scopes that slow ones are compared with, for which those of
 * all can stand in, ... */
#define ISC_TAIL_SAMPLES_MIN 10u
/* ... of slow ones, for which nothing can, and of one function.  Whether chance explains more, tail_causes.c judges. */
#define ISC_TAIL_SLOW_SAMPLES_MIN 4u

/* What a key is of, besides the states. */
enum {
	ISC_TAIL_RUN = ISC_STATES, /* between waits, by traced calls */
	ISC_TAIL_AWAIT,		   /* a task waited, and so did its event loop */
	ISC_TAIL_LOOP,		   /* a task did not run, and others had its event loop */
	ISC_TAIL_UNSEEN,	   /* like the first, where calls were not recorded: nobody's yet */
	ISC_TAIL_HOLE,		   /* samples in a function (holder) that the open call (place) had called unseen */
	ISC_TAIL_OUTER /* of what is nobody's: the call (place) that has it if the scope proves to be whole */
};

/* Keys of cells: ranks in the table of keys, from 1, or nodes of the tree of stacks. */
#define ISC_TAIL_NODE (1u << 31)
/* With that: of samples while calls were not recorded, and of those with the open call's own function. */
#define ISC_TAIL_NODE_UNSEEN (1u << 30)

typedef struct isc_tail_key {
	uint8_t kind;	     /* enum isc_state, or above */
	uint32_t place;	     /* in places; 0: not known */
	uint32_t holder;     /* likewise, of who had what was waited for */
	uint32_t holder_tid; /* 0: not known; UINT32_MAX: several */
} isc_tail_key;

/* What became of the time of one scope, or of many. */
typedef struct isc_tail_sums {
	double told[ISC_STATES];	      /* waits and collections */
	double run_us;			      /* neither, as far as events and switches tell */
	double queued_us;		      /* ready, without a CPU; of threads, tail_switches.c has all of it */
	double unseen_us;		      /* of that: calls were not recorded */
	double loop_us;			      /* others had the event loop */
	double python_us, native_us, spin_us; /* CPU time by samples */
	double unattributed_us[ISC_UNATTRIBUTED_REASONS];
	uint64_t samples;
	isc_cells cells; /* last: what is before it is cleared at once */
} isc_tail_sums;

typedef struct isc_tail_group {
	uint64_t count;
	double wall_us;
	double task_us; /* of it: of scopes of tasks, and of that: */
	double task_run_us, task_queued_us, task_told_us;
	isc_tail_sums sums;
	/* Of slow and median ones, where a process has holes: those with every call recorded. */
	uint64_t whole_count;
	isc_tail_sums whole; /* what ran, by call; no samples */
	/* From switches, of some of the scopes: */
	double watched_us; /* wall time of those */
	double on_cpu_us, queue_us, blocked_us, unwatched_us, fault_us;
} isc_tail_group;

/* One name. */
typedef struct isc_tail {
	isc_tail_group group[ISC_TAIL_GROUPS];
	isc_cells nested[ISC_TAIL_GROUPS]; /* scopes directly inside, by rank + 1 */
	isc_cells more;			   /* by which removing a key may save more than the key has */
	uint32_t process;		   /* of one of them */
} isc_tail;

/* One scope whose switches are looked up. */
typedef struct isc_tail_watch {
	uint32_t thread; /* index */
	uint32_t tail;
	uint64_t from_ns, to_ns;
	uint8_t group; /* besides all */
} isc_tail_watch;

typedef struct isc_tails {
	isc_build *b;
	struct isc_tail_walk *walk; /* while events are read */
	isc_stack_tree *tree;	    /* no nodes: nothing was sampled */
	isc_tail *tail;		    /* beside a->scopes */
	isc_places places;
	isc_tail_key *key;
	size_t key_count, key_room;
	isc_hashmap by_key;
	isc_tail_watch *watch;
	size_t watch_count, watch_room;
	unsigned stride, stepped; /* every so many scopes are watched */
} isc_tails;

/* The number of a key; 0: no memory. */
uint32_t isc_tails_key(isc_tails *t, uint8_t kind, uint32_t place, uint32_t holder, uint32_t holder_tid);

void isc_tail_sums_fini(isc_tail_sums *s);
void isc_tail_sums_clear(isc_tail_sums *s);
bool isc_tail_sums_merge(isc_tail_sums *into, const isc_tail_sums *from, double factor);

/* A scope has ended: into its groups; false: no memory.  more: see isc_tail. */
bool isc_tails_count(isc_tails *t, size_t tail, const isc_tail_sums *sums, const isc_cells *nested,
		     const isc_cells *more, bool task, uint32_t process, uint32_t thread, uint64_t from_ns,
		     uint64_t to_ns);

/* tail_walk.c: listens to states and joins the walk, ends with it, and gives back what was kept; false: no memory. */
bool isc_tail_walk_join(isc_tails *t, isc_states *states, isc_walk *walk);
bool isc_tail_walk_end(isc_tails *t);
void isc_tail_walk_drop(isc_tails *t);

/* The other parts, in their order; false: no memory. */
bool isc_tails_switches(isc_tails *t);
bool isc_tails_fill_holes(isc_tails *t);
bool isc_tails_explain(isc_tails *t);

/* What could be saved, of one name (whatif.c); false: no memory. */
bool isc_tails_what_if(isc_tails *t, const isc_tail *tail, isc_analysis_scope *s);

/* Joins the walk, after the samples are in the tree; *out is NULL if there is nothing to tell of.  false: no memory. */
bool isc_tails_join(isc_build *b, isc_stack_tree *tree, isc_states *states, isc_walk *walk, isc_tails **out);

/* The walk is over: explains slow scopes.  false: no memory; so of NULL, which is fine, true. */
bool isc_tails_end(isc_tails *t);

/* NULL is fine. */
void isc_tails_drop(isc_tails *t);

#endif
