#include "timeline/gpu/causality.h"

#include <stdlib.h>

#include "timeline/gpu/clock_sync.h"

#define BINS (1u << 17)	    /* 2 MiB */
#define BIN_LEAST_NS 100000 /* 13 s; then each stands for twice as long */
#define NONE INT64_MAX
/* No clock is off by so much: such a record is a bad one, and says nothing. */
#define FAR_NS 3600000000000ll

/* The error lies between, at this time. */
struct bin {
	int64_t low, high; /* -NONE, NONE: not bounded */
};

/* And the loosest bounds that there were: of a bin in which the clock jumps nothing else is sure. */
struct loose {
	int64_t low, high; /* NONE, -NONE: there were none */
};

/* What a bin says by itself. */
struct own {
	struct bin bounds;
	bool torn;  /* it contradicts itself: the clock has jumped inside */
	bool first; /* it contradicts those before it */
};

struct isc_causality {
	int64_t begin_ns, width_ns;
	size_t used; /* bins, up to the last that has something */
	struct bin *bins;
	struct loose *loose;
	struct own *own; /* as long as it is fitted */
	isc_causality_stats stats;
};

isc_causality *isc_causality_new(int64_t begin_ns)
{
	isc_causality *c = calloc(1, sizeof(*c));

	if (c == NULL)
		return NULL;
	c->bins = malloc(BINS * sizeof(*c->bins));
	c->loose = malloc(BINS * sizeof(*c->loose));
	if (c->bins == NULL || c->loose == NULL) {
		isc_causality_free(c);
		return NULL;
	}
	c->begin_ns = begin_ns;
	c->width_ns = BIN_LEAST_NS;
	return c;
}

void isc_causality_free(isc_causality *c)
{
	if (c == NULL)
		return;
	free(c->bins);
	free(c->loose);
	free(c);
}

/* What the error may change in such a time. */
static int64_t drift(int64_t ns)
{
	return (int64_t)((double)ns * ISC_CLOCK_SLOPE_MOST) + 1;
}

static int64_t less(int64_t a, int64_t b)
{
	return a < b ? a : b;
}

static int64_t more(int64_t a, int64_t b)
{
	return a > b ? a : b;
}

static int64_t later(int64_t high, int64_t ns)
{
	return high == NONE ? NONE : high + drift(ns);
}

static int64_t lower(int64_t low, int64_t ns)
{
	return low == -NONE ? -NONE : low - drift(ns);
}

static int64_t bound(int64_t ns)
{
	return less(more(ns, -NONE / 4), NONE / 4);
}

static void widen(isc_causality *c)
{
	size_t half = (c->used + 1) / 2;

	for (size_t i = 0; i < half; i++) {
		struct bin first = c->bins[2 * i];
		struct bin second = 2 * i + 1 < c->used ? c->bins[2 * i + 1] : (struct bin){-NONE, NONE};

		c->bins[i] = (struct bin){more(first.low, second.low), less(first.high, second.high)};
		c->loose[i] = c->loose[2 * i];
		if (2 * i + 1 < c->used) {
			c->loose[i].low = less(c->loose[i].low, c->loose[2 * i + 1].low);
			c->loose[i].high = more(c->loose[i].high, c->loose[2 * i + 1].high);
		}
	}
	c->used = half;
	c->width_ns *= 2;
}

static size_t place_of(const isc_causality *c, int64_t ns)
{
	return ns <= c->begin_ns ? 0 : (size_t)((ns - c->begin_ns) / c->width_ns);
}

void isc_causality_add(isc_causality *c, int64_t called_ns, int64_t waited_ns, int64_t start_ns, int64_t end_ns)
{
	/* The device's side is known at a moment between call and wait. */
	int64_t high = bound(start_ns) - bound(called_ns), low = -NONE, unsure;
	struct bin *b;
	size_t at;

	waited_ns = waited_ns != ISC_CAUSALITY_NEVER ? bound(waited_ns) : waited_ns;
	start_ns = bound(start_ns);
	end_ns = bound(end_ns);
	called_ns = bound(called_ns);
	if (waited_ns < called_ns)
		waited_ns = ISC_CAUSALITY_NEVER;
	if (high < -FAR_NS || high > FAR_NS || called_ns >= NONE / 4)
		return;
	unsure =
		waited_ns != ISC_CAUSALITY_NEVER ? more(waited_ns - called_ns - (end_ns - start_ns), 0) : more(high, 0);
	high += drift(unsure);
	if (waited_ns != ISC_CAUSALITY_NEVER)
		low = end_ns - waited_ns - drift(more(waited_ns - called_ns, 0));
	while ((at = place_of(c, called_ns)) >= BINS)
		widen(c);
	for (; c->used <= at; c->used++) {
		c->bins[c->used] = (struct bin){-NONE, NONE};
		c->loose[c->used] = (struct loose){NONE, -NONE};
	}
	b = &c->bins[at];
	b->high = less(b->high, high);
	b->low = more(b->low, low);
	c->loose[at].high = more(c->loose[at].high, high);
	if (low != -NONE)
		c->loose[at].low = less(c->loose[at].low, low);
}

/* Bounds of bins before it hold for this one too, unless they contradict it. */
static bool carry(struct bin *to, struct bin from, int64_t ns)
{
	struct bin both = {more(to->low, lower(from.low, ns)), less(to->high, later(from.high, ns))};

	if (both.low > both.high)
		return false;
	*to = both;
	return true;
}

static bool agree(struct bin a, struct bin b)
{
	return a.low <= b.high && b.low <= a.high;
}

/* The clock has jumped before this bin; when, only bins that contradict what is now can say.  Between the last of
 * these and this one both may hold. */
static void reach_back(isc_causality *c, size_t at, size_t first)
{
	struct bin now = c->bins[at], before = c->bins[at - 1];

	/* Work of this bin whose own bounds allow it may have begun before the jump. */
	if (c->loose[at].low <= before.high && before.low <= c->loose[at].high) {
		c->bins[at].low = less(now.low, lower(before.low, c->width_ns));
		c->bins[at].high = more(now.high, later(before.high, c->width_ns));
	}
	for (size_t k = at; k > first; k--) {
		now = (struct bin){lower(now.low, c->width_ns), later(now.high, c->width_ns)};
		if (c->own[k - 1].torn || !agree(c->own[k - 1].bounds, now))
			return;
		c->bins[k - 1].low = less(c->bins[k - 1].low, now.low);
		c->bins[k - 1].high = more(c->bins[k - 1].high, now.high);
	}
}

static void note_own(isc_causality *c)
{
	for (size_t i = 0; i < c->used; i++) {
		struct bin *b = &c->bins[i];

		b->low = lower(b->low, c->width_ns);
		b->high = later(b->high, c->width_ns);
		/* Of one that contradicts itself both hold, each for a part. */
		c->own[i].torn = b->low > b->high;
		if (c->own[i].torn)
			*b = (struct bin){lower(c->loose[i].low, c->width_ns), later(c->loose[i].high, c->width_ns)};
		c->own[i].bounds = *b;
		c->own[i].first = false;
		c->stats.jumps += c->own[i].torn;
	}
}

static void relax(isc_causality *c)
{
	struct bin before;
	size_t first = 0;

	note_own(c);
	for (size_t i = 1; i <= c->used; i++) {
		if (i < c->used && !c->own[i].torn && carry(&c->bins[i], c->bins[i - 1], c->width_ns))
			continue;
		/* A stretch without a contradiction has ended: its later bounds hold for its earlier bins. */
		before = c->bins[i - 1];
		for (size_t k = i - 1; k > first + c->own[first].torn; k--) {
			carry(&c->bins[k - 1], before, c->width_ns);
			before = c->bins[k - 1];
		}
		if (i < c->used && !c->own[i].torn) {
			c->own[i].first = true;
			c->stats.jumps++;
		}
		first = i;
	}
	first = 0;
	for (size_t i = 1; i < c->used; i++)
		if (c->own[i].first) {
			reach_back(c, i, first);
			first = i;
		}
}

static int64_t off_of(const isc_causality *c, const struct bin *b, int64_t *error_ns)
{
	int64_t off = c->stats.off && b->low != -NONE && b->high != NONE ? b->low + (b->high - b->low) / 2 : 0;

	*error_ns = b->low == -NONE || b->high == NONE ? -1 : more(b->high - off, off - b->low);
	return off;
}

static int64_t apart(int64_t a, int64_t b)
{
	return a > b ? a - b : b - a;
}

static bool contradict(int64_t off, int64_t error, int64_t other, int64_t other_error)
{
	return error >= 0 && other_error >= 0 && apart(off, other) > error + other_error;
}

const isc_causality_stats *isc_causality_fit(isc_causality *c)
{
	c->stats = (isc_causality_stats){.bounded = false};
	c->own = malloc((c->used > 0 ? c->used : 1) * sizeof(*c->own));
	if (c->own == NULL)
		return &c->stats;
	c->stats.bounded = c->used > 0;
	relax(c);
	free(c->own);
	c->own = NULL;
	for (size_t i = 0; i < c->used; i++)
		c->stats.off |= c->bins[i].low > 0 || c->bins[i].high < 0;
	for (size_t i = 0; i < c->used; i++) {
		int64_t error, other_error, off = off_of(c, &c->bins[i], &error);
		int64_t other = off_of(c, &c->bins[i > 0 ? i - 1 : 0], &other_error);

		c->stats.bounded &= error >= 0;
		c->stats.error_ns = more(c->stats.error_ns, error);
		if (contradict(off, error, other, other_error))
			c->stats.error_ns = more(c->stats.error_ns, apart(off, other) + more(error, other_error));
	}
	return &c->stats;
}

int64_t isc_causality_off(const isc_causality *c, int64_t host_ns, int64_t *error_ns)
{
	size_t at = place_of(c, bound(host_ns));
	int64_t off;

	*error_ns = -1;
	if (c->used == 0)
		return 0;
	off = off_of(c, &c->bins[at < c->used ? at : c->used - 1], error_ns);
	/* Behind the last that was compared it may go on changing. */
	if (at >= c->used && *error_ns >= 0)
		*error_ns += drift((int64_t)(at - c->used + 1) * c->width_ns);
	return off;
}

int64_t isc_causality_place(const isc_causality *c, int64_t called_ns, int64_t start_ns, int64_t *error_ns)
{
	int64_t off = isc_causality_off(c, called_ns, error_ns), then, then_error;

	start_ns = bound(start_ns);
	/* Where that is not known to a bin, no bin says more. */
	if (*error_ns < 0 || *error_ns > c->width_ns || start_ns - off <= called_ns)
		return start_ns - off;
	then = isc_causality_off(c, start_ns - off, &then_error);
	if (contradict(then, then_error, off, *error_ns))
		then_error = apart(then, off) + more(then_error, *error_ns);
	*error_ns = then_error;
	return start_ns - then;
}
