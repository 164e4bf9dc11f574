/*
 * median.h - a median of nanoseconds, more exactly than a histogram has it.
 *
 * A histogram finds the bucket that the median is in, 1.6% wide.  A second pass over the same values puts those of the
 * bucket into finer ones: two medians may differ by less than a bucket.
 */
#ifndef ISC_ANALYZE_SCOPES_MEDIAN_H
#define ISC_ANALYZE_SCOPES_MEDIAN_H

#include <stdint.h>

#include "base/histogram.h"

#define ISC_MEDIAN_CELLS 256u

typedef struct isc_median {
	uint64_t low, high;  /* of the bucket that it is in */
	double half, before; /* so many are below it, and below its bucket */
	uint32_t cell[ISC_MEDIAN_CELLS];
} isc_median;

/* Into a zeroed struct, from a histogram of all values. */
void isc_median_find(const isc_histogram *h, isc_median *m);

/* Takes each of the values once more. */
void isc_median_refine(isc_median *m, uint64_t value);

double isc_median_of(const isc_median *m);

#endif
