#include "analyze/scopes/median.h"

#include <stddef.h>

void isc_median_find(const isc_histogram *h, isc_median *m)
{
	uint64_t count;
	size_t at = 0;

	m->half = (double)h->count / 2;
	while (isc_histogram_next(h, &at, &m->low, &m->high, &count) && m->before + (double)count < m->half)
		m->before += (double)count;
}

void isc_median_refine(isc_median *m, uint64_t value)
{
	size_t i;

	if (value < m->low || value > m->high)
		return;
	/* Of buckets wider than 2^53 the last values round up to the end. */
	i = (size_t)((double)(value - m->low) / ((double)(m->high - m->low) + 1) * ISC_MEDIAN_CELLS);
	m->cell[i < ISC_MEDIAN_CELLS ? i : ISC_MEDIAN_CELLS - 1]++;
}

double isc_median_of(const isc_median *m)
{
	double width = ((double)(m->high - m->low) + 1) / ISC_MEDIAN_CELLS, before = m->before;

	for (size_t i = 0; i < ISC_MEDIAN_CELLS; i++) {
		before += m->cell[i];
		if (before >= m->half)
			return (double)m->low + ((double)i + 0.5) * width;
	}
	return (double)m->high;
}
