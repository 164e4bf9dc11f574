/*
 * collector.h - work of CUDA devices, through CUPTI: libinferscope_cuda.so.
 *
 * The CUDA driver loads the library named by CUDA_INJECTION64_PATH when it is
 * initialised, and calls InitializeInjection() in it; the Python package calls
 * isc_cuda_start() in a process that is running already.
 *
 *	cupti.c		which CUPTI, and its functions
 *	collector.c	begin, flush, give way, end
 *	calls.c		calls of the program, as they happen, with thread and stack
 *	buffers.c	memory that CUPTI fills
 *	activity.c	what is in it
 *	work.c		as records of the trace
 *	scopes.c	scopes of the program, for CUPTI to name with each call
 *
 * Nothing here prints, and what goes wrong is told in the trace.
 */
#ifndef ISC_CUDA_COLLECTOR_H
#define ISC_CUDA_COLLECTOR_H

#include <stdbool.h>
#include <stdint.h>

#include "inferscope/status.h"

/* What the driver looks for; 1: all is well, also when nothing is recorded. */
ISC_API int InitializeInjection(void);

enum isc_cuda_state { ISC_CUDA_OFF = 0, ISC_CUDA_ON = 1, ISC_CUDA_GAVE_WAY = 2, ISC_CUDA_FAILED = 3 };

/* Begins, or is on already; the state then.  Not signal-safe. */
ISC_API int isc_cuda_start(void);

/* Everything up to now is in the trace; then off. */
ISC_API void isc_cuda_stop(void);

/* Everything that the devices have done so far, into the trace; waits for it. */
ISC_API void isc_cuda_flush(void);

/* Another profiler of this process needs CUPTI: it wins. */
ISC_API void isc_cuda_give_way(void);

#endif
