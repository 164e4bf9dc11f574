/*
 * memory.h - who took memory, what is still held, and what grows.
 *
 * Records of memory are samples: each stands for the bytes that its probability
 * says.  Totals of calls and bytes are exact.  Figures go up to the moment when a program
 * begins to clean up: what Python frees at its end was in use to the end.
 */
#ifndef ISC_ANALYZE_MEMORY_H
#define ISC_ANALYZE_MEMORY_H

#include "analyze/build.h"

/* One record, in the order of time. */
typedef struct isc_memory_op {
	uint64_t time_ns;
	uint64_t address;
	double bytes; /* that it stands for */
	double count; /* allocations, likewise */
	uint32_t process;
	uint32_t site;	/* its number */
	uint32_t other; /* of memory taken: the record + 1 that gives it back; 0: none */
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

/* What a reader should doubt of memory that was recorded. */
void isc_memory_warn(isc_build *b);

#endif
