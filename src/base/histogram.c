#include "base/histogram.h"

#include <stdlib.h>
#include <string.h>

#include "base/varint.h"

#define STEP_BITS 6

static unsigned bucket_of(uint64_t value)
{
	unsigned top;

	if (value < ISC_HISTOGRAM_STEPS)
		return (unsigned)value;
	top = 63u - (unsigned)__builtin_clzll(value);
	return (top - STEP_BITS + 1) * ISC_HISTOGRAM_STEPS + (unsigned)(value >> (top - STEP_BITS)) -
	       ISC_HISTOGRAM_STEPS;
}

static void range_of(unsigned bucket, uint64_t *low, uint64_t *high)
{
	unsigned octave = bucket / ISC_HISTOGRAM_STEPS, step = bucket % ISC_HISTOGRAM_STEPS;

	if (octave == 0) {
		*low = *high = step;
		return;
	}
	*low = (uint64_t)(ISC_HISTOGRAM_STEPS + step) << (octave - 1);
	*high = *low + ((1ull << (octave - 1)) - 1);
}

static uint64_t *cell_find(const isc_histogram *h, unsigned bucket)
{
	unsigned octave = bucket / ISC_HISTOGRAM_STEPS;

	if (!(h->octaves >> octave & 1))
		return NULL;
	return &h->rows[h->rank[octave] * ISC_HISTOGRAM_STEPS + bucket % ISC_HISTOGRAM_STEPS];
}

static bool add_row(isc_histogram *h, unsigned octave)
{
	const size_t row = ISC_HISTOGRAM_STEPS * sizeof(*h->rows);
	unsigned rank = (unsigned)__builtin_popcountll(h->octaves & ((1ull << octave) - 1));
	unsigned rows = (unsigned)__builtin_popcountll(h->octaves);
	uint64_t *bigger = realloc(h->rows, (rows + 1) * row);

	if (bigger == NULL)
		return false;
	h->rows = bigger;
	memmove(bigger + (rank + 1) * ISC_HISTOGRAM_STEPS, bigger + rank * ISC_HISTOGRAM_STEPS, (rows - rank) * row);
	memset(bigger + rank * ISC_HISTOGRAM_STEPS, 0, row);
	h->octaves |= 1ull << octave;
	/* Counting bits for every number would cost more than the rest. */
	for (unsigned i = octave, at = rank; i < 64; i++)
		if (h->octaves >> i & 1)
			h->rank[i] = (uint8_t)at++;
	return true;
}

static uint64_t *cell_put(isc_histogram *h, unsigned bucket)
{
	unsigned octave = bucket / ISC_HISTOGRAM_STEPS;

	if (!(h->octaves >> octave & 1) && !add_row(h, octave))
		return NULL;
	return &h->rows[h->rank[octave] * ISC_HISTOGRAM_STEPS + bucket % ISC_HISTOGRAM_STEPS];
}

void isc_histogram_fini(isc_histogram *h)
{
	free(h->rows);
	*h = (isc_histogram){0};
}

static void note_range(isc_histogram *h, uint64_t min, uint64_t max, uint64_t count)
{
	h->min = h->count == 0 || min < h->min ? min : h->min;
	h->max = h->count == 0 || max > h->max ? max : h->max;
	h->count += count;
}

static bool count_in(isc_histogram *h, unsigned bucket, uint64_t count)
{
	uint64_t *cell = cell_put(h, bucket);

	if (cell == NULL)
		return false;
	h->buckets += *cell == 0;
	*cell += count;
	return true;
}

bool isc_histogram_add(isc_histogram *h, uint64_t value)
{
	if (!count_in(h, bucket_of(value), 1))
		return false;
	note_range(h, value, value, 1);
	return true;
}

bool isc_histogram_add_rough(isc_histogram *h, uint64_t value)
{
	unsigned bucket = bucket_of(value);

	if (h->buckets == 0)
		return isc_histogram_add(h, value);
	for (unsigned away = 0; away < ISC_HISTOGRAM_BUCKETS; away++) {
		uint64_t *below = away <= bucket ? cell_find(h, bucket - away) : NULL;
		uint64_t *above = bucket + away < ISC_HISTOGRAM_BUCKETS ? cell_find(h, bucket + away) : NULL;
		uint64_t *cell = below != NULL && *below != 0 ? below : above != NULL && *above != 0 ? above : NULL;

		if (cell != NULL) {
			++*cell;
			break;
		}
	}
	note_range(h, value, value, 1);
	return true;
}

/* Buckets in use, by number, from *at on. */
static uint64_t *next_cell(const isc_histogram *h, size_t *at)
{
	for (; *at < ISC_HISTOGRAM_BUCKETS; (*at)++) {
		uint64_t *cell = cell_find(h, (unsigned)*at);

		if (cell == NULL)
			*at |= ISC_HISTOGRAM_STEPS - 1;
		else if (*cell != 0)
			return cell;
	}
	return NULL;
}

bool isc_histogram_merge(isc_histogram *into, const isc_histogram *from)
{
	size_t at;
	uint64_t *cell;

	/* All memory first, so that a failure changes no count. */
	for (unsigned octave = 0; octave < ISC_HISTOGRAM_OCTAVES; octave++) {
		if ((from->octaves >> octave & 1) && cell_put(into, octave * ISC_HISTOGRAM_STEPS) == NULL)
			return false;
	}
	for (at = 0; (cell = next_cell(from, &at)) != NULL; at++)
		count_in(into, (unsigned)at, *cell);
	if (from->count > 0)
		note_range(into, from->min, from->max, from->count);
	return true;
}

void isc_histogram_less(isc_histogram *h, const isc_histogram *earlier)
{
	uint64_t *cell;

	for (size_t at = 0; (cell = next_cell(earlier, &at)) != NULL; at++) {
		uint64_t *own = cell_find(h, (unsigned)at), gone = own == NULL ? 0 : *cell < *own ? *cell : *own;

		if (gone == 0)
			continue;
		*own -= gone;
		h->buckets -= *own == 0;
		h->count -= gone < h->count ? gone : h->count;
	}
}

uint64_t isc_histogram_percentile(const isc_histogram *h, double share)
{
	uint64_t seen = 0, rank, *cell;
	size_t at;

	if (h->count == 0)
		return 0;
	if (!(share > 0))
		return h->min;
	if (share >= 1)
		return h->max;
	rank = (uint64_t)(share * (double)h->count);
	rank += (double)rank < share * (double)h->count;
	for (at = 0; (cell = next_cell(h, &at)) != NULL; at++) {
		uint64_t low, high, middle;

		seen += *cell;
		if (seen < rank)
			continue;
		range_of((unsigned)at, &low, &high);
		middle = low + (high - low) / 2;
		return middle < h->min ? h->min : middle > h->max ? h->max : middle;
	}
	return h->max;
}

bool isc_histogram_next(const isc_histogram *h, size_t *at, uint64_t *low, uint64_t *high, uint64_t *count)
{
	uint64_t *cell = next_cell(h, at);

	if (cell == NULL)
		return false;
	range_of((unsigned)*at, low, high);
	*count = *cell;
	(*at)++;
	return true;
}

void isc_histogram_write(const isc_histogram *h, isc_buffer *out)
{
	size_t at, last = 0;
	uint64_t *cell;

	isc_varint_add(out, h->buckets);
	isc_varint_add(out, h->min);
	isc_varint_add(out, h->max);
	for (at = 0; (cell = next_cell(h, &at)) != NULL; at++) {
		isc_varint_add(out, at - last);
		isc_varint_add(out, *cell);
		last = at;
	}
}

bool isc_histogram_read(isc_histogram *h, const uint8_t **at, const uint8_t *end)
{
	uint64_t n, min, max, step, count, bucket = 0, sum = 0;

	*h = (isc_histogram){0};
	if (!isc_varint_get_max(at, end, ISC_HISTOGRAM_BUCKETS, &n) || !isc_varint_get(at, end, &min) ||
	    !isc_varint_get(at, end, &max))
		return false;
	for (uint64_t i = 0; i < n; i++) {
		if (!isc_varint_get_max(at, end, ISC_HISTOGRAM_BUCKETS, &step) || !isc_varint_get(at, end, &count))
			goto bad;
		bucket += step;
		if (bucket >= ISC_HISTOGRAM_BUCKETS || (i > 0 && step == 0) || count == 0 ||
		    __builtin_add_overflow(sum, count, &sum) || !count_in(h, (unsigned)bucket, count))
			goto bad;
	}
	if (n > 0)
		note_range(h, min, max, sum);
	if (max >= min)
		return true;
bad:
	isc_histogram_fini(h);
	return false;
}
