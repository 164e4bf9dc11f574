/*
 * counter.h - what a thread has executed, counted by the hardware.
 *
 * One event of perf per thread, which is read and never signals.
 */
#ifndef ISC_COLLECT_SAMPLE_COUNTER_H
#define ISC_COLLECT_SAMPLE_COUNTER_H

#include <stdbool.h>
#include <stdint.h>

/* A descriptor, or -errno.  counter: enum isc_profile_counter.  Signal-safe. */
int isc_counter_open(uint32_t counter, uint32_t tid);

/* Signal-safe. */
bool isc_counter_read(int fd, uint64_t *value);

#endif
