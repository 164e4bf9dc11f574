/*
 * calls.h - calls of CUDA that are worth a record, and the records.
 *
 * Which numbers calls have differs between versions, what they are called does
 * not: at the start the names of all are looked through.
 */
#ifndef ISC_CUDA_CALLS_H
#define ISC_CUDA_CALLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/record.h"
#include "cuda/cupti.h"

/* What a call of this name is: "cudaLaunchKernel_v7000"; false: it is not told of. */
bool isc_calls_role(const char *name, enum isc_gpu_role *role);

/* Switches the callbacks of all that are told of on; how many, 0: none could be. */
unsigned isc_calls_enable(const isc_cupti *cupti, isc_cupti_subscriber *subscriber);

/* Records of those that ask for work, on or off; how many.  Needs isc_calls_enable() before. */
unsigned isc_calls_records(const isc_cupti *cupti, bool on);

/* The callback; self: NULL, or what to do before a device is reset. */
void isc_calls_told(void *self, uint32_t domain, uint32_t number, const void *data);

typedef void isc_calls_reset(void);

#endif
