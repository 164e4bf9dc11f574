/*
 * pace.h - how long the steps of each thread are, when samples have to be fewer.
 *
 * Threads that together have most of the CPU time keep the step that was asked for, or
 * 5 ms where a shorter one was.  The others are thinned out first, down to ten samples a
 * second; after that those that matter go to 10 ms and never below.  Pure: no
 * clock, no memory of its own.  Signal-safe.
 */
#ifndef ISC_COLLECT_SAMPLE_PACE_H
#define ISC_COLLECT_SAMPLE_PACE_H

#include <stdbool.h>
#include <stdint.h>

#define ISC_PACE_KEPT_NS 5000000u
#define ISC_PACE_LEAST_NS 10000000u
#define ISC_PACE_MOST_NS 100000000u /* of threads that matter little */

/* CPU time of threads by the number of bits that it has: enough to tell who has most of it. */
#define ISC_PACE_SIZES 65u
typedef struct isc_pace_sums {
	uint64_t ns[ISC_PACE_SIZES];
} isc_pace_sums;

static inline uint32_t isc_pace_size(uint64_t ns)
{
	return ns == 0 ? 0 : 64u - (uint32_t)__builtin_clzll(ns);
}

/* Threads of this size or more together have four fifths of the CPU time; 1 at least. */
uint32_t isc_pace_cut(const isc_pace_sums *sums);

/* The step at this level of thinning: 0 is none. */
uint32_t isc_pace_step_ns(uint32_t asked_ns, uint32_t level, bool kept);

/* The highest level there is. */
uint32_t isc_pace_level_most(uint32_t asked_ns);

/* What the bucket says, in ticks. */
typedef struct isc_pace_look {
	int64_t left, then; /* in it, now and at the last look */
	int64_t most;
	double share;	/* of the time that may be spent, on everything */
	double samples; /* of the time that samples took since the last look */
} isc_pace_look;

/* The next level: one more, one less, or the same. */
uint32_t isc_pace_next(uint32_t asked_ns, uint32_t level, const isc_pace_look *look);

#endif
