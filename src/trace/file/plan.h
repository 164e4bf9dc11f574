/*
 * plan.h - how a file of a given limit is divided.  Internal to trace/; the
 * reader needs it too, because the bound of the totals follows from it.
 *
 * A segment is small, so that a short trace is a small file and little is
 * dropped at a time, and large enough that the unused rest behind its last
 * chunk does not matter.
 */
#ifndef ISC_TRACE_FILE_PLAN_H
#define ISC_TRACE_FILE_PLAN_H

#include <stdint.h>

#define ISC_PLAN_LIMIT_MIN (1u << 20)
#define ISC_PLAN_SEGMENT_START 4096u

typedef struct isc_plan {
	uint32_t segment_size;
	uint32_t segments;	      /* at most; UINT32_MAX: no limit */
	uint32_t checkpoint_segments; /* that a checkpoint may take */
	uint32_t journal_segments;    /* that what changed since the last one may take, beside it */
	uint32_t keep_segments;	      /* that definitions may take */
	uint32_t chunk_slots;	      /* of events; a few chunks shall fit into a segment */
	uint64_t totals_weight;	      /* what totals may weigh in a checkpoint */
	uint64_t state_weight;	      /* and processes, threads, accounts, clock and facts together */
	uint32_t clock_pairs;
	uint32_t argv_bytes; /* kept of one process */
	uint32_t meta_bytes;
} isc_plan;

isc_plan isc_plan_of(uint64_t limit_bytes);

#endif
