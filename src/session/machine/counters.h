/*
 * counters.h - can instructions and cycles be counted here?
 *
 * Tried once, on ourselves, before the program begins: where the processor does not count for
 * us, or nobody may ask it, no thread of the program has to try.
 */
#ifndef ISC_SESSION_MACHINE_COUNTERS_H
#define ISC_SESSION_MACHINE_COUNTERS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

typedef struct isc_counters {
	uint32_t type;	    /* of perf */
	uint64_t config[2]; /* instructions, cycles */
	bool stand_in;	    /* tests asked for other events, which every kernel counts */
} isc_counters;

/* ISC_OK, or why they cannot be. */
isc_status isc_counters_find(isc_counters *out, isc_error *err);

#endif
