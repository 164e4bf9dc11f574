#include "analyze/scopes/slow_scopes.h"

#include <math.h>
#include <stdlib.h>

/* Fewer of a name are not told apart: two of so many are slow. */
#define SCOPES_ENOUGH 20u
#define SLOW_SHARE 0.1
#define SLOW_MOST 0.5	/* what more than half do is the usual */
#define SLOW_GAP 1.2	/* that parts more than a tenth from the others, at least */
#define SLOW_APART 1.02 /* by that much the fastest of them is slower than the middle */
#define SLOW_FEW 2u	/* one alone says nothing of the others */

/* Durations are looked at on a scale of so many steps for each power of two: 2.2% each, wider than the buckets of a histogram. */
#define STEPS 32
/* A dip is looked for in windows of that many steps and their doubles, from 7% to a factor of 2.8. */
#define DIP_LEAST 3
#define DIP_MOST 48
/* The hills on both sides exceed a dip by so many standard errors of the difference.  Of 600 that decay evenly, few have one by
 * chance. */
#define DIP_ERRORS 2.5
/* Nothing counts as longer than that many times the median when a dip is chosen: single ones that had bad luck do not decide. */
#define LONGEST 4

/* ---- hills ---- */

struct scale {
	double base;   /* of its first step, in steps from 1 */
	double *below; /* scopes before each step */
	double *sum;   /* of their steps, none counted above the longest */
	int steps;
	double count;
};

static double step_of(double value)
{
	return log2(value) * STEPS;
}

/* A bucket lies in one step or in several, evenly. */
static void spread_bucket(struct scale *s, double low, double high, double count)
{
	double from = step_of(fmax(low, 0.5)) - s->base, to = step_of(high) - s->base;

	for (int i = (int)fmax(from, 0); i < s->steps && i < to; i++)
		s->below[i + 1] += count * (fmin(to, i + 1) - fmax(from, i)) / (to - from);
}

static bool make_scale(struct scale *s, const isc_histogram *h)
{
	uint64_t low, high, count;
	double longest;
	size_t at = 0;

	s->base = floor(step_of(fmax((double)h->min, 1)) - STEPS);
	s->steps = (int)(step_of((double)h->max + 1) - s->base) + STEPS;
	s->below = calloc((size_t)s->steps + 1, sizeof(*s->below));
	s->sum = calloc((size_t)s->steps + 1, sizeof(*s->sum));
	if (s->below == NULL || s->sum == NULL)
		return false;
	while (isc_histogram_next(h, &at, &low, &high, &count))
		spread_bucket(s, (double)low, (double)high + 1, (double)count);
	longest = step_of(fmax((double)isc_histogram_percentile(h, 0.5), 1) * LONGEST) - s->base;
	for (int i = 0; i < s->steps; i++) {
		s->sum[i + 1] = s->sum[i] + s->below[i + 1] * fmin(i, longest);
		s->below[i + 1] += s->below[i];
	}
	s->count = s->below[s->steps];
	return true;
}

static double in_window(const struct scale *s, int from, int width)
{
	int to = from + width;

	from = from < 0 ? 0 : from > s->steps ? s->steps : from;
	to = to < 0 ? 0 : to > s->steps ? s->steps : to;
	return s->below[to] - s->below[from];
}

/* The step that so many lie before. */
static int step_before(const struct scale *s, double count)
{
	int low = 0, high = s->steps;

	while (low < high) {
		int middle = low + (high - low) / 2;

		if (s->below[middle] < count)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

/* How well a cut tells them apart: what of their differences is between the two sides.  More than a tenth are slow only if
 * the middle of each side is apart from the other: a few that are far off must not drag ordinary ones along. */
static double parted(const struct scale *s, int cut)
{
	double below = s->below[cut], above = s->count - below, apart;

	if (below < 1 || above < 1 || above > s->count * SLOW_MOST)
		return 0;
	apart = (s->sum[s->steps] - s->sum[cut]) / above - s->sum[cut] / below;
	if (above > s->count * SLOW_SHARE &&
	    step_before(s, below + above / 2) - step_before(s, below / 2) < log2(SLOW_GAP) * STEPS)
		return 0;
	return below * above * apart * apart;
}

/* The emptiest place of a dip; of several alike the middle one. */
static int bottom_of(const struct scale *s, int from, int width)
{
	int best = from + width / 2;

	for (int i = 0; i <= width; i++) {
		int at = from + width / 2 + (i % 2 == 0 ? i / 2 : -(i + 1) / 2);

		if (in_window(s, at - 1, 2) < in_window(s, best - 1, 2))
			best = at;
	}
	return best < 1 ? 1 : best > s->steps ? s->steps : best;
}

/* The best cut in a dip of some width; best and the cut stay where none is better. */
static void find_dip(const struct scale *s, int width, double *best, int *cut)
{
	double right = 0, *left = calloc((size_t)s->steps + 1, sizeof(*left));

	if (left == NULL)
		return;
	for (int i = 1; i <= s->steps; i++)
		left[i] = fmax(left[i - 1], in_window(s, i - width, width));
	for (int i = s->steps; i > 0; i--) {
		double in = in_window(s, i, width), hill;
		int at;

		right = fmax(right, in_window(s, i + width, width));
		hill = fmin(left[i], right);
		if (hill <= in || hill - in < DIP_ERRORS * sqrt(hill + in))
			continue;
		at = bottom_of(s, i, width);
		if (parted(s, at) > *best) {
			*best = parted(s, at);
			*cut = at;
		}
	}
	free(left);
}

/* Where the second hill begins, or 0. */
static double second_hill(const isc_histogram *h)
{
	struct scale s = {0};
	double best = 0;
	int cut = 0;

	if (make_scale(&s, h)) {
		for (int width = DIP_LEAST; width <= DIP_MOST; width *= 2)
			find_dip(&s, width, &best, &cut);
	}
	free(s.below);
	free(s.sum);
	return cut > 0 ? exp2((s.base + cut) / STEPS) : 0;
}

/* ---- the slowest tenth ---- */

/* Those from the tenth down to where a gap parts them from the rest are as slow as it: the gap is wider
 * than they differ among themselves.  Without such a gap it stays at the tenth. */
static double down_to_gap(const isc_histogram *h, double from, double tenth)
{
	double widest = SLOW_GAP, found = tenth, before = 0;
	uint64_t low, high, count;
	size_t at = 0;

	while (isc_histogram_next(h, &at, &low, &high, &count)) {
		double begin = (double)low;

		if (begin > tenth)
			break;
		if (before > 0 && begin > from && begin / before > widest && tenth / begin < begin / before) {
			widest = begin / before;
			found = begin;
		}
		before = (double)high + 1;
	}
	return found;
}

/* Few that are further from the next than that is from the median leave the others of the tenth behind. */
static double up_to_gap(const isc_histogram *h, double tenth)
{
	double median = (double)isc_histogram_percentile(h, 0.5), before = 0;
	uint64_t low, high, count, below = 0;
	size_t at = 0;

	while (isc_histogram_next(h, &at, &low, &high, &count) && h->count - below >= SLOW_FEW) {
		double begin = (double)low;

		if (begin > tenth && before >= median && begin / before > SLOW_GAP &&
		    begin / before > before / fmax(median, 1))
			return begin;
		before = (double)high + 1;
		below += count;
	}
	return tenth;
}

/* A tenth at most, so that many that take the same time are not called slow for the few that differ; more if they are alike and
 * apart from the others. */
static double slowest_tenth(const isc_histogram *h)
{
	double p60 = (double)isc_histogram_percentile(h, 0.6), found;
	uint64_t low = 0, high, count, below = 0;
	size_t at = 0;

	while (isc_histogram_next(h, &at, &low, &high, &count) &&
	       (double)(h->count - below) > (double)h->count * SLOW_SHARE)
		below += count;
	if ((double)low <= p60 * SLOW_APART)
		return 0;
	found = down_to_gap(h, p60, (double)low);
	return found < (double)low ? found : up_to_gap(h, (double)low);
}

uint64_t isc_slow_scopes_from(const isc_histogram *h)
{
	double from;

	if (h->count < SCOPES_ENOUGH)
		return 0;
	from = second_hill(h);
	return (uint64_t)(from > 0 ? from : slowest_tenth(h));
}

double isc_slow_scopes_below(const isc_histogram *h, uint64_t from)
{
	uint64_t low, high, count, below = 0;
	size_t at = 0;

	while (isc_histogram_next(h, &at, &low, &high, &count) && low < from)
		below += count;
	return h->count > 0 ? (double)below / (double)h->count : 0;
}
