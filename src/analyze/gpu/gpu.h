/*
 * gpu.h - GPUs of a trace of ours, as a timeline has them.  Internal to analyze/.
 */
#ifndef ISC_ANALYZE_GPU_GPU_H
#define ISC_ANALYZE_GPU_GPU_H

#include "analyze/build.h"

#define ISC_GPU_SOURCES_MAX 8u /* that are told apart */

/* What a source of GPU records said of itself, over all processes. */
typedef struct isc_gpu_word {
	isc_text source;
	isc_text detail; /* of the last */
	uint32_t code;	 /* likewise */
	uint64_t times, count;
} isc_gpu_word;

typedef struct isc_gpu_words {
	isc_gpu_word word[ISC_GPU_SOURCES_MAX][ISC_GPU_REDUCED + 1]; /* by enum isc_gpu_news */
	size_t sources;
	uint64_t failed_calls;
	bool on_cpu;		  /* a device takes the time of the program's own processors */
	bool beside;		  /* a file of Nsight Systems was read too */
	bool placed;		  /* and says when it began */
	const char *beside_wrong; /* NULL, or why it could not be read, or not all of it */
} isc_gpu_words;

/* The warnings that follow from them. */
void isc_gpu_warn(isc_build *b);

/* gpu_place.c: where a thread was, as a name of the timeline: "file.py(12): name". */
typedef struct isc_gpu_places {
	isc_hashmap stacks, codes; /* process and id -> name */
} isc_gpu_places;

uint32_t isc_gpu_place_stack(isc_gpu_places *p, const isc_trace *trace, isc_timeline *t, uint32_t process,
			     uint32_t stack);
uint32_t isc_gpu_place_code(isc_gpu_places *p, const isc_trace *trace, isc_timeline *t, uint32_t process,
			    const uint32_t *open, size_t depth);

#endif
