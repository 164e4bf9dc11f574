/* memory.h - what a record of memory stands for. */
#ifndef ISC_TRACE_MEMORY_H
#define ISC_TRACE_MEMORY_H

#include "base/record.h"

/* Allocations like it: one over the probability with which it was recorded; at least 1. */
double isc_trace_memory_times(const isc_memory *m);

#endif
