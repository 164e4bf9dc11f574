/* clock_line.c - the line that runs between bounds with the most room. */
#include <math.h>

#include "timeline/gpu/clock_sync.h"

/* Each step leaves two thirds: this many find the slope to 1e-13. */
#define STEPS 60

static double gap_of(const isc_clock_bound *b, size_t n, double slope, double *at)
{
	double low = -INFINITY, high = INFINITY;

	for (size_t i = 0; i < n; i++) {
		low = fmax(low, b[i].low - slope * b[i].x);
		high = fmin(high, b[i].high - slope * b[i].x);
	}
	*at = isinf(low) ? high : isinf(high) ? low : (low + high) / 2;
	return high - low;
}

isc_clock_line isc_clock_line_fit(const isc_clock_bound *bounds, size_t count)
{
	double from = 1 - ISC_CLOCK_SLOPE_MOST, to = 1 + ISC_CLOCK_SLOPE_MOST, at;
	isc_clock_line line;

	/* The gap is the least of sums of lines: it rises to one top and falls from there. */
	for (int i = 0; i < STEPS; i++) {
		double left = from + (to - from) / 3, right = to - (to - from) / 3;

		if (gap_of(bounds, count, left, &at) < gap_of(bounds, count, right, &at))
			from = left;
		else
			to = right;
	}
	line.slope = (from + to) / 2;
	line.gap = gap_of(bounds, count, line.slope, &line.at);
	return line;
}
