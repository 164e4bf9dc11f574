/*
 * clock.h - the session's clock as the recorder and the reader see it.
 *
 * Ticks are the time-stamp counter when the kernel itself keeps time with it,
 * else nanoseconds of CLOCK_MONOTONIC.  Pairs of both, taken through the whole
 * run, turn ticks into nanoseconds piece by piece.
 */
#ifndef ISC_BASE_CLOCK_H
#define ISC_BASE_CLOCK_H

#include <stddef.h>
#include <stdint.h>

typedef struct isc_clock_pair {
	uint64_t ticks;
	uint64_t mono_ns;
} isc_clock_pair;

/* enum isc_clock_source of runtime/layout.h: 1 when the time-stamp counter is
 * constant and the kernel's current clock source. */
uint32_t isc_clock_source(void);

uint64_t isc_clock_ticks(uint32_t source);
uint64_t isc_clock_mono_ns(void);
uint64_t isc_clock_unix_ns(void);
uint64_t isc_clock_thread_ns(void); /* CPU time of the calling thread */

/* One pair: the closest of several tries. */
isc_clock_pair isc_clock_read_pair(uint32_t source);

/* Ticks in a microsecond, from what passed since a pair was read; waits until that is a millisecond. */
uint32_t isc_clock_per_us(uint32_t source, isc_clock_pair since);

/* Ticks to ns over pairs sorted by ticks: inside by the neighbouring two,
 * outside by the slope of the whole.  With one pair and source 0 the slope is 1;
 * with one pair and source 1 it is unknown and every time is that of the pair. */
uint64_t isc_clock_to_ns(const isc_clock_pair *pairs, size_t n, uint32_t source, uint64_t ticks);

#endif
