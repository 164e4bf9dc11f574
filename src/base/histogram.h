/*
 * histogram.h - how often each size of a number came, in little memory.
 *
 * Log-linear: numbers below 64 have a bucket each, and every power of two above
 * is cut into 64, so that the middle of a bucket is within 1/128 (0.8%) of any
 * number in it.  Only powers of two that occur take memory: 512 bytes each, 30 KiB
 * at most.
 */
#ifndef ISC_BASE_HISTOGRAM_H
#define ISC_BASE_HISTOGRAM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

#define ISC_HISTOGRAM_STEPS 64u	  /* buckets of one power of two */
#define ISC_HISTOGRAM_OCTAVES 59u /* 0: numbers below 64 */
#define ISC_HISTOGRAM_BUCKETS (ISC_HISTOGRAM_STEPS * ISC_HISTOGRAM_OCTAVES)

typedef struct isc_histogram {
	uint64_t count;
	uint64_t min, max; /* exact; 0 when there is nothing */
	uint64_t octaves;  /* one bit for each that has a row below */
	uint64_t *rows;	   /* ISC_HISTOGRAM_STEPS counts for each bit, low octave first */
	uint8_t rank[64];  /* of an octave's row among the rows */
	uint32_t buckets;  /* that are not 0 */
} isc_histogram;

/* A zeroed struct is an empty histogram. */
void isc_histogram_fini(isc_histogram *h);

/* False when there is no memory; nothing is counted then. */
bool isc_histogram_add(isc_histogram *h, uint64_t value);

/* As add, but takes no further bucket: a number without one is counted in the
 * nearest that is in use.  The first number always gets its own. */
bool isc_histogram_add_rough(isc_histogram *h, uint64_t value);

/* Takes out what an earlier state of the same histogram had; least and most stay. */
void isc_histogram_less(isc_histogram *h, const isc_histogram *earlier);

bool isc_histogram_merge(isc_histogram *into, const isc_histogram *from);

/* The number that a share of all numbers does not exceed: 0.5 is the median.
 * 0 when empty; never outside min and max. */
uint64_t isc_histogram_percentile(const isc_histogram *h, double share);

/* Walks the buckets in use: start with *at = 0; lowest and highest number of
 * each and its count. */
bool isc_histogram_next(const isc_histogram *h, size_t *at, uint64_t *low, uint64_t *high, uint64_t *count);

/* To bytes and back.  Bytes are not trusted; on false h is empty. */
void isc_histogram_write(const isc_histogram *h, isc_buffer *out);
bool isc_histogram_read(isc_histogram *h, const uint8_t **at, const uint8_t *end);

#endif
