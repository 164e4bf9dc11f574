#include "base/distinct.h"

#include <math.h>

#define ROW_BITS 10u
#define BIAS 0.7213 /* of the harmonic mean, for many rows */

/* Numbers are often small and in order: every bit of them must reach every bit here. */
static uint64_t mix(uint64_t n)
{
	n = (n ^ n >> 30) * 0xbf58476d1ce4e5b9ull;
	n = (n ^ n >> 27) * 0x94d049bb133111ebull;
	return n ^ n >> 31;
}

void isc_distinct_add(isc_distinct *d, uint64_t number)
{
	uint64_t h = mix(number + 0x9e3779b97f4a7c15ull);
	uint8_t run = (uint8_t)(__builtin_clzll(h << ROW_BITS | 1ull << (ROW_BITS - 1)) + 1);
	uint8_t *row = &d->row[h >> (64 - ROW_BITS)];

	*row = run > *row ? run : *row;
}

bool isc_distinct_is_empty(const isc_distinct *d)
{
	for (unsigned i = 0; i < ISC_DISTINCT_ROWS; i++) {
		if (d->row[i] != 0)
			return false;
	}
	return true;
}

uint64_t isc_distinct_count(const isc_distinct *d)
{
	const double rows = ISC_DISTINCT_ROWS;
	double sum = 0, n;
	unsigned empty = 0;

	for (unsigned i = 0; i < ISC_DISTINCT_ROWS; i++) {
		sum += ldexp(1, -(int)d->row[i]);
		empty += d->row[i] == 0;
	}
	n = BIAS / (1 + 1.079 / rows) * rows * rows / sum;
	/* While rows are empty, how many are says more. */
	if (n < 2.5 * rows && empty > 0)
		n = rows * log(rows / empty);
	return (uint64_t)(n + 0.5);
}
