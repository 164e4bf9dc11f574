/*
 * distinct.h - how many different numbers were seen, in 1 KiB (HyperLogLog): within
 * 7% in 19 of 20 cases, and nearly exact below a few hundred.
 */
#ifndef ISC_BASE_DISTINCT_H
#define ISC_BASE_DISTINCT_H

#include <stdbool.h>
#include <stdint.h>

#define ISC_DISTINCT_ROWS 1024u

/* A zeroed struct has seen nothing. */
typedef struct isc_distinct {
	uint8_t row[ISC_DISTINCT_ROWS]; /* the longest run of zeros among the numbers that fall here, plus 1 */
} isc_distinct;

void isc_distinct_add(isc_distinct *d, uint64_t number);
bool isc_distinct_is_empty(const isc_distinct *d);
uint64_t isc_distinct_count(const isc_distinct *d);

#endif
