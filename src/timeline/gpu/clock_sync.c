#include "timeline/gpu/clock_sync.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* No straight line misses the readings of a window by so much, but for a jump: a clock that is
 * steered bends by less than a microsecond in a second. */
#define JUMP_NS 4000.0
/* Bounds of causality that are kept; when they are more, of every two the tighter stays. */
#define BOUNDS_MOST 8192u
#define TRIPLES_MOST (1u << 22)

struct knot {
	double x, y, half; /* device, host, half the round trip */
	double bend;	   /* how far the clock bends around it */
};

struct segment {	     /* between two jumps */
	size_t first, count; /* of the knots */
	double from, to;     /* of the device: as read, and into the jumps on both sides */
	double host_from, host_to;
};

struct isc_clock_sync {
	isc_clock_triple *triples;
	size_t count, room;
	isc_clock_bound *asked, *waited;
	size_t asked_count, waited_count;
	int64_t device0, host0; /* what x and y count from */
	bool based;
	struct knot *knots;
	size_t knot_count;
	struct segment *segments;
	size_t segment_count;
	isc_clock_line line; /* of causality */
	double line_first, line_last;
	double margin;
	isc_clock_stats stats;
};

isc_status isc_clock_sync_new(isc_clock_sync **out, isc_error *err)
{
	*out = calloc(1, sizeof(**out));
	return *out != NULL ? ISC_OK : isc_fail(err, ISC_ERR_NOMEM, "no memory to compare clocks");
}

void isc_clock_sync_free(isc_clock_sync *s)
{
	if (s == NULL)
		return;
	free(s->triples);
	free(s->asked);
	free(s->waited);
	free(s->knots);
	free(s->segments);
	free(s);
}

const char *isc_clock_method_name(enum isc_clock_method method)
{
	static const char *const names[] = {"direct", "causality", "assumed"};

	return (unsigned)method < 3 ? names[method] : "?";
}

static void set_base(isc_clock_sync *s, int64_t device_ns, int64_t host_ns)
{
	if (s->based)
		return;
	s->device0 = device_ns;
	s->host0 = host_ns;
	s->based = true;
}

static double x_of(const isc_clock_sync *s, int64_t device_ns)
{
	return (double)(int64_t)((uint64_t)device_ns - (uint64_t)s->device0);
}

static double y_of(const isc_clock_sync *s, int64_t host_ns)
{
	return (double)(int64_t)((uint64_t)host_ns - (uint64_t)s->host0);
}

bool isc_clock_sync_read(isc_clock_sync *s, const isc_clock_triple *triple)
{
	if (triple->after_ns < triple->before_ns ||
	    (s->count > 0 && triple->before_ns < s->triples[s->count - 1].before_ns) || s->count == TRIPLES_MOST) {
		s->stats.dropped++;
		return true;
	}
	if (s->count == s->room) {
		size_t room = s->room > 0 ? s->room * 2 : 256;
		isc_clock_triple *triples = realloc(s->triples, room * sizeof(*triples));

		if (triples == NULL)
			return false;
		s->triples = triples;
		s->room = room;
	}
	set_base(s, triple->device_ns, triple->before_ns);
	s->triples[s->count++] = *triple;
	return true;
}

/* Of neighbours the one that bounds more stays; they are near enough that drift between them is nothing. */
static void thin(isc_clock_bound *bounds, size_t *count, bool upper)
{
	size_t n = 0;

	for (size_t i = 0; i + 1 < *count; i += 2) {
		double first = upper ? bounds[i].low : -bounds[i].high;
		double second = upper ? bounds[i + 1].low : -bounds[i + 1].high;

		first -= upper ? bounds[i].x : -bounds[i].x;
		second -= upper ? bounds[i + 1].x : -bounds[i + 1].x;
		bounds[n++] = first > second ? bounds[i] : bounds[i + 1];
	}
	*count = n;
}

static bool add_bound(isc_clock_sync *s, isc_clock_bound **bounds, size_t *count, bool asked, int64_t host_ns,
		      int64_t device_ns)
{
	isc_clock_bound *b;

	if (*bounds == NULL)
		*bounds = calloc(BOUNDS_MOST, sizeof(**bounds));
	if (*bounds == NULL)
		return false;
	if (*count == BOUNDS_MOST)
		thin(*bounds, count, asked);
	set_base(s, device_ns, host_ns);
	b = &(*bounds)[(*count)++];
	b->x = x_of(s, device_ns);
	b->low = asked ? y_of(s, host_ns) : -INFINITY;
	b->high = asked ? INFINITY : y_of(s, host_ns);
	return true;
}

bool isc_clock_sync_asked(isc_clock_sync *s, int64_t host_ns, int64_t device_ns)
{
	return add_bound(s, &s->asked, &s->asked_count, true, host_ns, device_ns);
}

bool isc_clock_sync_waited(isc_clock_sync *s, int64_t host_ns, int64_t device_ns)
{
	return add_bound(s, &s->waited, &s->waited_count, false, host_ns, device_ns);
}

/* ---- readings ---- */

static isc_clock_bound bound_of(const isc_clock_sync *s, size_t i)
{
	const isc_clock_triple *t = &s->triples[i];

	return (isc_clock_bound){x_of(s, t->device_ns), y_of(s, t->before_ns), y_of(s, t->after_ns)};
}

/* Does the clock jump between the reading before this one and this one?  Readings of the segment up
 * to a window back are taken together. */
static bool jumps_at(const isc_clock_sync *s, size_t segment, size_t i)
{
	isc_clock_bound bounds[ISC_CLOCK_WINDOW];
	size_t from = i - segment >= ISC_CLOCK_WINDOW ? i + 1 - ISC_CLOCK_WINDOW : segment, n = 0;
	double origin, at;

	if (s->triples[i].device_ns < s->triples[i - 1].device_ns)
		return true;
	for (size_t k = from; k <= i; k++)
		bounds[n++] = bound_of(s, k);
	/* Small numbers fit to the last bit. */
	origin = bounds[0].x;
	at = bounds[0].low;
	for (size_t k = 0; k < n; k++) {
		bounds[k].x -= origin;
		bounds[k].low -= at;
		bounds[k].high -= at;
	}
	return isc_clock_line_fit(bounds, n).gap < -2 * JUMP_NS;
}

static struct knot knot_of(isc_clock_bound b)
{
	return (struct knot){b.x, (b.low + b.high) / 2, (b.high - b.low) / 2, 0};
}

/* The reading with the smallest round trip of [from, to). */
static struct knot best_of(const isc_clock_sync *s, size_t from, size_t to)
{
	isc_clock_bound best = bound_of(s, from);

	for (size_t i = from + 1; i < to; i++) {
		isc_clock_bound b = bound_of(s, i);

		if (b.high - b.low < best.high - best.low)
			best = b;
	}
	return knot_of(best);
}

/* A piece between two knots is judged by the bends of so many knots before and behind it. */
#define BENDS_BEFORE 2u
#define BENDS_BEHIND 2u

/* The longest of the pieces that the bend of this knot is to bound. */
static double longest_piece(const struct knot *k, size_t n, size_t knot)
{
	size_t from = knot > BENDS_BEHIND + 1 ? knot - BENDS_BEHIND - 1 : 0;
	double longest = 0;

	for (size_t i = from; i + 1 < n && i <= knot + BENDS_BEFORE; i++)
		longest = fmax(longest, k[i + 1].x - k[i].x);
	return longest;
}

/*
 * How far each knot lies from the line of two others: what the clock bends, with the
 * noise of the readings.  A bound takes the largest of those around.  Over a piece of
 * length L a clock that bends evenly leaves the line by a quarter of what it does at a
 * knot with L to both sides, so the two others are half a piece away at least: next to
 * a knot nothing bends, and a longer piece beside it does.
 */
static void measure_bends(struct knot *k, size_t n)
{
	for (size_t i = 1; i + 1 < n; i++) {
		double away = longest_piece(k, n, i) / 2, share;
		size_t low = i - 1, high = i + 1;

		while (low > 0 && k[i].x - k[low].x < away)
			low--;
		while (high + 1 < n && k[high].x - k[i].x < away)
			high++;
		share = (k[i].x - k[low].x) / (k[high].x - k[low].x);
		k[i].bend = fabs(k[i].y - (k[low].y + share * (k[high].y - k[low].y)));
	}
	if (n > 2) {
		k[0].bend = k[1].bend;
		k[n - 1].bend = k[n - 2].bend;
	}
}

static int by_value(const void *a, const void *b)
{
	const double *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

/* A round trip that a reading without a delay has, of all windows of a segment. */
static double usual_half(const struct knot *k, size_t n, double *scratch)
{
	for (size_t i = 0; i < n; i++)
		scratch[i] = k[i].half;
	qsort(scratch, n, sizeof(*scratch), by_value);
	return scratch[n / 2];
}

static void add_knot(isc_clock_sync *s, struct segment *g, struct knot knot)
{
	if (g->count > 0 && knot.x <= s->knots[s->knot_count - 1].x)
		return;
	s->knots[s->knot_count++] = knot;
	g->count++;
}

/*
 * One knot a window, the last window taking what is left over.  A window in which
 * every reading was held up says nothing that its neighbours do not say better.
 * The first and the last good reading are knots too, so that next to nothing lies
 * outside of all knots.
 */
static void add_segment(isc_clock_sync *s, size_t from, size_t to, struct knot *best, double *scratch)
{
	size_t n = to - from, windows = n / ISC_CLOCK_WINDOW > 0 ? n / ISC_CLOCK_WINDOW : 1, end = to;
	struct segment *g = &s->segments[s->segment_count++];
	double most;

	*g = (struct segment){.first = s->knot_count, .from = bound_of(s, from).x, .to = bound_of(s, to - 1).x};
	g->host_from = bound_of(s, from).low;
	g->host_to = bound_of(s, to - 1).high;
	for (size_t w = 0; w < windows; w++)
		best[w] = best_of(s, from + w * ISC_CLOCK_WINDOW,
				  w + 1 < windows ? from + (w + 1) * ISC_CLOCK_WINDOW : to);
	most = 2 * usual_half(best, windows, scratch) + 1;
	while (from < to && knot_of(bound_of(s, from)).half > most)
		from++;
	if (from < to)
		add_knot(s, g, knot_of(bound_of(s, from)));
	for (size_t w = 0; w < windows; w++) {
		if (best[w].half <= most)
			add_knot(s, g, best[w]);
	}
	while (end > from && knot_of(bound_of(s, end - 1)).half > most)
		end--;
	if (end > from)
		add_knot(s, g, knot_of(bound_of(s, end - 1)));
	measure_bends(s->knots + g->first, g->count);
}

/* Between the last reading before a jump and the first after it, either may hold. */
static void reach_into_jumps(isc_clock_sync *s)
{
	for (size_t i = 0; i + 1 < s->segment_count; i++) {
		struct segment *g = &s->segments[i], *next = g + 1;
		double between = (next->host_from - g->host_to) * (1 + ISC_CLOCK_SLOPE_MOST) +
				 2 * (s->knots[g->first].half + s->knots[next->first].half) + 100e3;

		g->to += between;
		next->from -= between;
	}
}

static bool fit_readings(isc_clock_sync *s)
{
	struct knot *best = calloc(s->count, sizeof(*best));
	double *scratch = calloc(s->count, sizeof(*scratch));
	bool enough = best != NULL && scratch != NULL;
	size_t from = 0;

	/* A segment has two knots more than windows, and may have one reading alone. */
	s->knots = calloc(s->count * 2 + 2, sizeof(*s->knots));
	s->segments = calloc(s->count, sizeof(*s->segments));
	enough &= s->knots != NULL && s->segments != NULL;
	for (size_t i = 1; enough && i < s->count; i++) {
		if (jumps_at(s, from, i)) {
			add_segment(s, from, i, best, scratch);
			from = i;
		}
	}
	if (enough) {
		add_segment(s, from, s->count, best, scratch);
		reach_into_jumps(s);
	}
	free(best);
	free(scratch);
	s->stats.windows = s->knot_count;
	s->stats.segments = s->segment_count;
	return enough;
}

/* ---- causality ---- */

/* Without bounds from both sides there is no line between them. */
static bool fit_causality(isc_clock_sync *s, bool *fits)
{
	size_t n = s->asked_count + s->waited_count;
	isc_clock_bound *all;

	*fits = false;
	if (s->asked_count == 0 || s->waited_count == 0)
		return true;
	all = calloc(n, sizeof(*all));
	if (all == NULL)
		return false;
	memcpy(all, s->asked, s->asked_count * sizeof(*all));
	memcpy(all + s->asked_count, s->waited, s->waited_count * sizeof(*all));
	s->line = isc_clock_line_fit(all, n);
	s->line_first = s->line_last = all[0].x;
	for (size_t i = 1; i < n; i++) {
		s->line_first = fmin(s->line_first, all[i].x);
		s->line_last = fmax(s->line_last, all[i].x);
	}
	*fits = s->line.gap >= 0;
	free(all);
	return true;
}

/* ---- mapping ---- */

static double clamp_slope(double slope)
{
	return fmin(fmax(slope, 1 - ISC_CLOCK_SLOPE_MOST), 1 + ISC_CLOCK_SLOPE_MOST);
}

static double largest_bend(const struct knot *k, size_t n, size_t piece)
{
	double bend = 0;

	for (size_t i = piece > BENDS_BEFORE ? piece - BENDS_BEFORE : 0; i < n && i <= piece + 1 + BENDS_BEHIND; i++)
		bend = fmax(bend, k[i].bend);
	return bend;
}

/* By one segment; outside of its knots the last piece goes on, and the bound grows. */
static double map_segment(const isc_clock_sync *s, const struct segment *g, double x, double *error)
{
	const struct knot *k = s->knots + g->first;
	size_t low = 0, high = g->count - 1;
	double length, slope, bend, outside, half;

	if (g->count == 1) {
		*error = k[0].half + fabs(x - k[0].x) * ISC_CLOCK_SLOPE_MOST;
		return k[0].y + (x - k[0].x);
	}
	while (high - low > 1) {
		size_t middle = (low + high) / 2;

		if (k[middle].x <= x)
			low = middle;
		else
			high = middle;
	}
	length = k[high].x - k[low].x;
	slope = clamp_slope((k[high].y - k[low].y) / length);
	bend = largest_bend(k, g->count, low);
	half = fmax(k[low].half, k[high].half);
	outside = x < k[low].x ? (k[low].x - x) / length : x > k[high].x ? (x - k[high].x) / length : 0;
	/* Beyond the end the halves turn the line, and the bend goes on bending. */
	*error = half + bend + outside * (k[low].half + k[high].half) + bend * outside * (outside + 1);
	if (x > k[high].x)
		return k[high].y + (x - k[high].x) * slope;
	return k[low].y + (x - k[low].x) * slope;
}

/* By the readings: all segments that it may lie in and that what is known does not rule out; the bound
 * covers what they say.  Outside of all, the first or the last goes on. */
static double map_readings(const isc_clock_sync *s, double x, double not_before, double not_after, double *error)
{
	double low = INFINITY, high = -INFINITY, y, e;

	for (int strict = 1; strict >= 0 && low > high; strict--) {
		for (size_t i = 0; i < s->segment_count; i++) {
			const struct segment *g = &s->segments[i];
			bool reaches = (x >= g->from || i == 0) && (x <= g->to || i + 1 == s->segment_count);

			y = map_segment(s, g, x, &e);
			if (strict && (!reaches || y + e < not_before || y - e > not_after))
				continue;
			low = fmin(low, y - e);
			high = fmax(high, y + e);
		}
	}
	*error = (high - low) / 2;
	return (high + low) / 2;
}

static int64_t whole(double value)
{
	return value >= 9.2e18 ? INT64_MAX : value <= -9.2e18 ? INT64_MIN + 1 : (int64_t)llround(value);
}

int64_t isc_clock_sync_map(const isc_clock_sync *s, int64_t device_ns, isc_clock_range known, int64_t *error_ns)
{
	double x = x_of(s, device_ns), y, error;

	switch (s->stats.method) {
	case ISC_CLOCK_DIRECT:
		y = map_readings(s, x, known.not_before_ns > INT64_MIN ? y_of(s, known.not_before_ns) : -INFINITY,
				 known.not_after_ns < INT64_MAX ? y_of(s, known.not_after_ns) : INFINITY, &error);
		break;
	case ISC_CLOCK_CAUSALITY:
		y = s->line.at + s->line.slope * x;
		error = s->line.gap / 2;
		/* Past the bounds the line may turn by its gap. */
		if (s->line_last > s->line_first)
			error *= 1 + 2 * fmax(0, fmax(s->line_first - x, x - s->line_last)) /
					     (s->line_last - s->line_first);
		break;
	default:
		*error_ns = (int64_t)s->margin;
		return device_ns;
	}
	*error_ns = whole(ceil(error));
	return (int64_t)((uint64_t)s->host0 + (uint64_t)whole(y));
}

bool isc_clock_sync_fit(isc_clock_sync *s, int64_t margin_ns)
{
	bool fits = false;
	double worst = 0;

	s->margin = (double)(margin_ns > 0 ? margin_ns : 0);
	s->stats.method = ISC_CLOCK_ASSUMED;
	s->stats.error_ns = (int64_t)s->margin;
	if (s->count > 0) {
		if (!fit_readings(s))
			return false;
		s->stats.method = ISC_CLOCK_DIRECT;
		for (size_t i = 0; i < s->segment_count; i++) {
			const struct segment *g = &s->segments[i];

			for (size_t k = 0; k < g->count; k++)
				worst = fmax(worst, s->knots[g->first + k].half +
							    largest_bend(s->knots + g->first, g->count, k));
		}
		s->stats.error_ns = whole(ceil(worst));
		return true;
	}
	if (!fit_causality(s, &fits))
		return false;
	/* A line with more room than the margin says less than the margin does. */
	if (fits && s->line.gap / 2 <= s->margin) {
		s->stats.method = ISC_CLOCK_CAUSALITY;
		s->stats.error_ns = whole(ceil(s->line.gap / 2));
	}
	return true;
}

void isc_clock_sync_place(isc_clock_sync *s, isc_clock_range known, int64_t *start_ns, int64_t *end_ns,
			  int64_t *error_ns)
{
	int64_t start = isc_clock_sync_map(s, *start_ns, known, error_ns), other;
	int64_t end = isc_clock_sync_map(s, *end_ns, known, &other);

	*error_ns = other > *error_ns ? other : *error_ns;
	/* A line that is as steep as a clock may be never turns times around, but a jump can. */
	end = end < start ? start : end;
	if (start < known.not_before_ns) {
		end += known.not_before_ns - start;
		start = known.not_before_ns;
		s->stats.fixes++;
	}
	*start_ns = start;
	*end_ns = end;
}

const isc_clock_stats *isc_clock_sync_stats(const isc_clock_sync *s)
{
	return &s->stats;
}
