/*
 * work.h - from buffers of CUPTI to records of the trace, on our own thread.
 */
#ifndef ISC_CUDA_WORK_H
#define ISC_CUDA_WORK_H

#include <stdbool.h>
#include <stdint.h>

#include "cuda/cupti.h"

typedef struct isc_work_stats {
	uint64_t records;
	uint64_t kernels, in_graphs; /* of these: parts of graphs */
	uint64_t scopes;	     /* calls whose scope was told */
	uint64_t damaged;	     /* buffers that could not be read to the end */
} isc_work_stats;

/* Times are CLOCK_MONOTONIC, or CLOCK_REALTIME, which is turned into it. */
void isc_work_begin(const isc_cupti *cupti, bool monotonic);

/* Reads every buffer that has come back, no faster than the recorder takes the records. */
void isc_work_read(void);

const isc_work_stats *isc_work_stats_get(void);

#endif
