/*
 * scopes.h - scopes of the program, pushed to CUPTI.
 *
 * While a thread is in a scope CUPTI says so of each of its calls that asks for work
 * (external correlation).  So a kernel has its scope by its correlation, also where the
 * call itself could not be told of.
 *
 * Threads push as they enter and leave; our thread switches the records on, at the first
 * scope of the process: a program without scopes has none of it.  Where CUPTI cannot tell
 * of single calls (before 12.5) nothing is pushed, and the thread and the time of the call tell.
 */
#ifndef ISC_CUDA_SCOPES_H
#define ISC_CUDA_SCOPES_H

#include <stdbool.h>
#include <stdint.h>

#include "cuda/cupti.h"

/* Scopes are watched from now on, if CUPTI has what it takes. */
void isc_scopes_begin(const isc_cupti *cupti);

/* And no more.  Records are off too. */
void isc_scopes_end(void);

/* On our thread: switches the records on when there was a scope. */
void isc_scopes_settle(void);

bool isc_scopes_on(void);

/* What was pushed, as the name of the scope and its instance. */
uint32_t isc_scopes_read(uint64_t pushed, uint64_t *instance);

#endif
