#include "trace/file/timebase.h"

#include <stdlib.h>

#define FRACTION 40 /* bits behind the point of a rate: 2^-40 ns a tick adds up to 1 ns in 18 minutes of GHz */

struct isc_timebase_piece {
	uint64_t ticks; /* from here to the next piece */
	uint64_t ns;
	uint64_t rate; /* ns a tick, times 2^FRACTION */
};

static uint64_t rate_of(const isc_clock_pair *a, const isc_clock_pair *b)
{
	unsigned __int128 rate;

	if (b->ticks <= a->ticks || b->mono_ns < a->mono_ns)
		return 0;
	rate = ((unsigned __int128)(b->mono_ns - a->mono_ns) << FRACTION) / (b->ticks - a->ticks);
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
		t->piece[i] = (struct isc_timebase_piece){pairs[i].ticks, pairs[i].mono_ns,
							  i + 1 < n ? rate_of(&pairs[i], &pairs[i + 1])
								    : rate_of(&pairs[0], &pairs[n - 1])};
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

uint64_t isc_timebase_ns(const isc_timebase *t, uint64_t ticks, size_t *hint)
{
	const struct isc_timebase_piece *p;

	if (t->count == 0)
		return ticks;
	p = &t->piece[*hint];
	if (ticks < p->ticks || (*hint + 1 < t->count && ticks >= p[1].ticks)) {
		*hint = find(t, ticks);
		p = &t->piece[*hint];
	}
	if (ticks < p->ticks) {
		/* Before the first pair, by the rate of the whole. */
		uint64_t back =
			(uint64_t)((unsigned __int128)(p->ticks - ticks) * t->piece[t->count - 1].rate >> FRACTION);

		return back < p->ns ? p->ns - back : 0;
	}
	return p->ns + (uint64_t)((unsigned __int128)(ticks - p->ticks) * p->rate >> FRACTION);
}
