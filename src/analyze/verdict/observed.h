/*
 * observed.h - what was read of the focus thread, before it is put into words.
 */
#ifndef ISC_ANALYZE_VERDICT_OBSERVED_H
#define ISC_ANALYZE_VERDICT_OBSERVED_H

#include "analyze/time/account.h"
#include "analyze/verdict/focus.h"
#include "analyze/code/stack_facts.h"
#include "analyze/verdict/evidence.h"
#include "timeline/states.h"

/* Places are kept for each state, and for these. */
enum {
	ISC_OBSERVED_HOT = ISC_STATES, /* functions by their own time in the interpreter */
	ISC_OBSERVED_LOGGED,
	ISC_OBSERVED_LOOP,
	ISC_OBSERVED_OTHERS, /* CPU time of the other threads of the process */
	ISC_OBSERVED_POOL,   /* what workers of pools do */
	ISC_OBSERVED_FILLED, /* the newest functions where the kernel fills pages */
	ISC_OBSERVED_NET,    /* waits for the other end of a connection */
	ISC_OBSERVED_KINDS
};

struct isc_observed_stage {
	uint64_t instance;
	uint32_t name;
};

#define ISC_OBSERVED_RECENT 64u

struct isc_observed_sample {
	uint64_t time_ns;
	double ns;
	isc_stack_place at;
};

typedef struct isc_observed {
	isc_build *b;
	isc_focus focus;
	isc_focus gpu_waits; /* the times that it waited for GPUs, inside the focus */
	isc_account account;
	isc_stack_facts stacks;
	isc_hashmap place_of;  /* kind, code and line -> ns */
	isc_hashmap blame;     /* holder (the top bit: of the GIL) and its stack -> ns */
	isc_hashmap worker_of; /* thread of a pool -> idle ns */
	isc_hashmap stage_of;  /* name -> ns */
	isc_hashmap in_stage;  /* name and code -> ns */
	uint64_t samples, brief;
	double logged_ns, pool_ns, blocked_ns, net_ns;
	double faults, fault_ns, mapping_ns;	   /* page faults, CPU time in them, and in calls that map */
	uint64_t faulting;			   /* samples in them */
	uint64_t start_up_calls, start_up_samples; /* before the window, of the process */
	double call_ns, start_up_ns, start_up_own_ns;
	bool loop, tasks;
	uint64_t step_ns; /* when the loop's step began */
	struct isc_observed_stage stage[64];
	struct isc_observed_sample recent[ISC_OBSERVED_RECENT]; /* a ring of the last ones of the judged thread */
	unsigned recent_count;
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
} isc_observed;

/* Fills b->observed, listens to states and joins the walk; false: no memory. */
bool isc_observed_join(isc_build *b, isc_states *states, isc_walk *walk);

/* The walk is over: the rest of it.  false: no memory. */
bool isc_observed_end(isc_build *b);

/* Nothing is fine. */
void isc_observed_drop(isc_build *b);

/* observed_gpu.c: the times that the focus thread waited for GPUs, and where.  False: no memory. */
bool isc_observed_gpu_read(isc_observed *d);

/* conclude.c: a function and a line of the judged process, with texts that outlive the trace; code 0: none. */
isc_place isc_observed_place(const isc_observed *d, uint32_t code, uint32_t line);

/* observed.c: so much time of a kind was at a place; false: no memory. */
bool isc_observed_put(isc_observed *d, unsigned what, isc_stack_place at, double ns);

#endif
