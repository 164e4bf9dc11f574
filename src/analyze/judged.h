/*
 * judged.h - what was read of the focus thread, before it is put into words.
 */
#ifndef ISC_ANALYZE_JUDGED_H
#define ISC_ANALYZE_JUDGED_H

#include "analyze/account.h"
#include "analyze/focus.h"
#include "analyze/stack_facts.h"

/* Places are kept for each state, and for these. */
enum {
	ISC_JUDGED_HOT = ISC_STATES, /* functions by their own time in the interpreter */
	ISC_JUDGED_LOGGED,
	ISC_JUDGED_LOOP,
	ISC_JUDGED_OTHERS, /* CPU time of the other threads of the process */
	ISC_JUDGED_POOL,   /* what workers of pools do */
	ISC_JUDGED_FILLED, /* the newest functions where the kernel fills pages */
	ISC_JUDGED_KINDS
};

struct isc_judged_stage {
	uint64_t instance;
	uint32_t name;
};

typedef struct isc_judged {
	isc_build *b;
	isc_focus focus;
	isc_focus gpu_waits; /* the times that it waited for GPUs, inside the focus */
	isc_account account;
	isc_stack_facts stacks;
	isc_hashmap place_of;  /* kind, code and line -> ns */
	isc_hashmap state_of;  /* call and stack -> state + 1 */
	isc_hashmap blame;     /* holder (the top bit: of the GIL) and its stack -> ns */
	isc_hashmap worker_of; /* thread of a pool -> idle ns */
	isc_hashmap stage_of;  /* name -> ns */
	isc_hashmap in_stage;  /* name and code -> ns */
	uint64_t samples, brief;
	double logged_ns, pool_ns, blocked_ns;
	double faults, fault_ns, mapping_ns;	   /* page faults, CPU time in them, and in calls that map */
	uint64_t faulting;			   /* samples in them */
	uint64_t start_up_calls, start_up_samples; /* before the window, of the process */
	double call_ns, start_up_ns, start_up_own_ns;
	bool loop, tasks;
	uint64_t step_ns; /* when the loop's step began */
	isc_event open;	  /* the wait that is open; kind 0: none */
	struct isc_judged_stage stage[64];
	uint32_t depth;
	/* Of switches. */
	bool switched;
	int running;
	uint64_t since_ns;
	double waited_us;
	isc_hashmap wants; /* tid -> since when it wants a CPU */
	isc_hashmap lasts; /* tid -> its last switch */
	double wanted_ns;
	uint64_t cpu_seen[8];
} isc_judged;

/* Fills b->judged and joins the walk; false: no memory. */
bool isc_judged_join(isc_build *b, isc_walk *walk);

/* The walk is over: the rest of it.  false: no memory. */
bool isc_judged_end(isc_build *b);

/* Nothing is fine. */
void isc_judged_drop(isc_build *b);

/* judged_gpu.c: the times that the focus thread waited for GPUs, and where.  False: no memory. */
bool isc_judged_gpu_read(isc_judged *d);

/* judged.c: so much time of a kind was at a place; false: no memory. */
bool isc_judged_put(isc_judged *d, unsigned what, isc_stack_place at, double ns);

#endif
