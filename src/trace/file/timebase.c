#include "trace/file/timebase.h"

#include <stdlib.h>

static uint64_t rate_of(const isc_clock_pair *a, const isc_clock_pair *b)
{
	unsigned __int128 rate;

	if (b->ticks <= a->ticks || b->mono_ns < a->mono_ns)
		return 0;
	rate = ((unsigned __int128)(b->mono_ns - a->mono_ns) << ISC_TIMEBASE_FRACTION) / (b->ticks - a->ticks);
	return rate > UINT64_MAX ? UINT64_MAX : (uint64_t)rate;
}

bool isc_timebase_init(isc_timebase *t, const isc_clock_pair *pairs, size_t n, uint32_t source)
{
	*t = (isc_timebase){.source = source};
	if (source == 0 || n == 0)
		return true;
	t->piece = calloc(n, sizeof(*t->piece));
	if (t->piece == NULL)
		return false;
	t->count = n;
	for (size_t i = 0; i < n; i++) {
		/* Behind the last pair by the rate of the whole. */
		t->piece[i] = (isc_timebase_piece){
			.ticks = pairs[i].ticks,
			.span = i + 1 < n ? pairs[i + 1].ticks - pairs[i].ticks : UINT64_MAX - pairs[i].ticks,
			.ns = pairs[i].mono_ns,
			.rate = i + 1 < n ? rate_of(&pairs[i], &pairs[i + 1]) : rate_of(&pairs[0], &pairs[n - 1])};
	}
	return true;
}

void isc_timebase_fini(isc_timebase *t)
{
	free(t->piece);
	*t = (isc_timebase){0};
}

static size_t find(const isc_timebase *t, uint64_t ticks)
{
	size_t low = 0, high = t->count;

	while (high - low > 1) {
		size_t mid = low + (high - low) / 2;

		if (t->piece[mid].ticks <= ticks)
			low = mid;
		else
			high = mid;
	}
	return low;
}

uint64_t isc_timebase_search(const isc_timebase *t, uint64_t ticks, size_t *hint)
{
	const isc_timebase_piece *p;
	uint64_t back;

	*hint = find(t, ticks);
	p = &t->piece[*hint];
	if (ticks >= p->ticks)
		return p->ns + isc_timebase_length(ticks - p->ticks, p->rate);
	/* Before the first pair, by the rate of the whole. */
	back = isc_timebase_length(p->ticks - ticks, t->piece[t->count - 1].rate);
	return back < p->ns ? p->ns - back : 0;
}
