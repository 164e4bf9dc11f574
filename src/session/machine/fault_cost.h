/*
 * fault_cost.h - what a page fault takes on this machine, when there is nothing to read.
 */
#ifndef ISC_SESSION_MACHINE_FAULT_COST_H
#define ISC_SESSION_MACHINE_FAULT_COST_H

#include <stdint.h>

/* Measured here and now, in about a tenth of a millisecond; 0: it cannot be. */
uint64_t isc_fault_cost_ns(void);

#endif
