/*
 * memory.h - who took memory, what is still held, and what grows.
 *
 * Records of memory are samples: each stands for the bytes that its probability
 * says.  Totals of calls and bytes are exact.  Figures go up to the moment when a program
 * begins to clean up: what Python frees at its end was in use to the end.
 */
#ifndef ISC_ANALYZE_MEMORY_MEMORY_H
#define ISC_ANALYZE_MEMORY_MEMORY_H

#include "analyze/build.h"
#include "analyze/names.h"
#include "timeline/walk.h"

/* One record, in the order of time. */
typedef struct isc_memory_op {
	uint64_t time_ns;
	uint64_t address;
	double bytes; /* that it stands for */
	double count; /* allocations, likewise */
	uint32_t process;
	uint32_t node;	/* of the CPU it was taken on; ISC_NODE_UNKNOWN: not known */
	uint32_t site;	/* its number */
	uint32_t other; /* the record + 1 of its other end; 0: none */
	uint32_t order; /* in the file */
	bool alloc;
	bool ended;  /* after its process began to clean up */
	bool inside; /* of the part that is looked at */
} isc_memory_op;

/* When a process ran, up to the moment when it began to clean up. */
typedef struct isc_memory_run {
	uint32_t process;
	uint64_t from_ns, to_ns;
} isc_memory_run;

/* Sites whose live memory grew to the end of their process, most first; false: no memory. */
bool isc_memory_find_leaks(isc_build *b, const isc_memory_op *op, size_t count, const isc_memory_run *run, size_t runs);

/* memory_scopes.c: scopes that are open while records are read, by name. */
typedef struct isc_memory_scopes {
	isc_build *b;
	isc_names names;
	isc_analysis_memory_scope *at; /* by number of the name */
	size_t count, room;
	struct isc_memory_lane *lane; /* one for each thread */
	size_t lane_count, lane_room;
	struct isc_memory_share *share; /* records that are a scope's */
	size_t share_count, share_room;
	isc_hashmap lanes, moved, number;
} isc_memory_scopes;

/* A zeroed struct is empty. */
void isc_memory_scopes_fini(isc_memory_scopes *s);

/* Before the others: joins a walk for scopes that end on another thread. */
void isc_memory_scopes_join(isc_memory_scopes *s, isc_build *b, isc_walk *walk);

/* An event comes; op: the number of the record that it became, UINT32_MAX: none.  false: no memory. */
bool isc_memory_scopes_step(isc_memory_scopes *s, isc_build *b, const isc_event *ev, uint32_t op);

/* All records, sorted, with their other ends: fills the scopes of the analysis; false: no memory. */
bool isc_memory_scopes_sum(isc_memory_scopes *s, isc_build *b, const isc_memory_op *op, size_t count);

/* memory.c: joins the first walk and then the second, for records of memory; false: no memory. */
bool isc_memory_survey(isc_build *b, isc_walk *walk);
void isc_memory_join(isc_build *b, isc_walk *walk);

/* What was kept of them; nothing is fine. */
void isc_memory_drop(isc_build *b);

/* What a reader should doubt of memory that was recorded. */
void isc_memory_warn(isc_build *b);

#endif
