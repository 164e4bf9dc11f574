/*
 * scopes.c - how long each scope took, by name over all processes and threads.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/names.h"
#include "analyze/build.h"

/* Neighbouring buckets are shown as one while the wider one is at most this much
 * longer than where it begins: about 30 bars from 1 us to 1 s. */
#define BIN_GROWTH 1.5

/* Fewer of a name are not told apart: two of so many are slow. */
#define SCOPES_ENOUGH 20u
#define SLOW_SHARE 0.1
#define SLOW_GAP 1.2	/* that parts more than a tenth from the others, at least */
#define SLOW_APART 1.02 /* by that much the fastest of them is slower than the middle */

struct tally {
	uint64_t count, open, unmatched;
	double total_ticks;
	isc_histogram ticks;
};

struct tallies {
	struct tally *at;
	size_t count, room;
	isc_names names;
};

const char *isc_build_name(const isc_build *b, enum isc_folded kind, uint32_t process, uint32_t name, uint32_t *len)
{
	const char *text = isc_totals_rest_text(kind);

	if (name != ISC_TOTAL_REST)
		return isc_build_label(b, process, name, len);
	*len = (uint32_t)strlen(text);
	return text;
}

static bool gather(isc_build *b, struct tallies *s)
{
	const isc_total_scope *total;

	for (size_t i = 0; (total = isc_totals_scope_at(b->totals, i)) != NULL; i++) {
		uint32_t len = 0;
		const char *name = isc_build_name(b, ISC_FOLDED_SCOPES, total->process, total->name, &len);
		size_t n = isc_names_put(&s->names, b->arena, name, len);
		struct tally *t;

		if (n == SIZE_MAX)
			return false;
		if (n == s->count && isc_arena_push(b->arena, &s->at, &s->count, &s->room, sizeof(*s->at)) == NULL)
			return false;
		t = &s->at[n];
		t->count += total->count;
		t->open += total->open;
		t->unmatched += total->unmatched;
		t->total_ticks += (double)total->total_ticks;
		if (total->histogram != NULL && !isc_histogram_merge(&t->ticks, total->histogram))
			return false;
	}
	return true;
}

bool isc_build_bins(isc_arena *arena, const isc_histogram *h, double us, isc_analysis_scope *out)
{
	size_t at = 0, room = 0;
	uint64_t low, high, count;
	isc_analysis_bin *bin = NULL;

	while (isc_histogram_next(h, &at, &low, &high, &count)) {
		double from = (double)low * us, to = ((double)high + 1) * us;

		if (bin == NULL || to > bin->from_us * BIN_GROWTH) {
			bin = isc_arena_push(arena, &out->bins, &out->bin_count, &room, sizeof(*bin));
			if (bin == NULL)
				return false;
			bin->from_us = from;
		}
		bin->to_us = to;
		bin->count += count;
	}
	return true;
}

/* Those from the tenth down to where a gap parts them from the rest are as slow as it: the gap is wider
 * than they differ among themselves.  Without such a gap it stays at the tenth. */
static double down_to_gap(const isc_histogram *h, double us, double from_us, double tenth_us)
{
	double widest = SLOW_GAP, found = tenth_us, before = 0;
	uint64_t low, high, count;
	size_t at = 0;

	while (isc_histogram_next(h, &at, &low, &high, &count)) {
		double begin = (double)low * us;

		if (begin > tenth_us)
			break;
		if (before > 0 && begin > from_us && begin / before > widest && tenth_us / begin < begin / before) {
			widest = begin / before;
			found = begin;
		}
		before = ((double)high + 1) * us;
	}
	return found;
}

/* From which duration on they are the slow ones: a tenth at most, so that many that take the same
 * time are not called slow for the few that differ; more if they are alike and apart from the others.
 * Negative: none stand out. */
static double slow_from(const isc_histogram *h, double us, double p60_us)
{
	uint64_t low = 0, high, count, below = 0;
	double most = (double)h->count * SLOW_SHARE;
	size_t at = 0;

	if (h->count < SCOPES_ENOUGH)
		return -1;
	while (isc_histogram_next(h, &at, &low, &high, &count) && (double)(h->count - below) > most)
		below += count;
	if ((double)low * us <= p60_us * SLOW_APART)
		return -1;
	return down_to_gap(h, us, p60_us, (double)low * us);
}

static bool take_scope(isc_build *b, const struct tally *t, const isc_text *name, isc_analysis_scope *out)
{
	double us = b->us_per_tick;

	out->name = *name;
	out->count = t->count;
	out->open = t->open;
	out->unmatched = t->unmatched;
	out->p40_us = out->p60_us = out->slow_from_us = -1;
	out->total_us = out->mean_us = out->p50_us = out->p90_us = out->p99_us = out->max_us = -1;
	if (t->count == 0 || us <= 0)
		return true;
	out->total_us = t->total_ticks * us;
	out->mean_us = out->total_us / (double)t->count;
	out->p50_us = (double)isc_histogram_percentile(&t->ticks, 0.50) * us;
	out->p40_us = (double)isc_histogram_percentile(&t->ticks, 0.40) * us;
	out->p60_us = (double)isc_histogram_percentile(&t->ticks, 0.60) * us;
	out->p90_us = (double)isc_histogram_percentile(&t->ticks, 0.90) * us;
	out->p99_us = (double)isc_histogram_percentile(&t->ticks, 0.99) * us;
	out->max_us = (double)t->ticks.max * us;
	out->slow_from_us = slow_from(&t->ticks, us, out->p60_us);
	return isc_build_bins(b->arena, &t->ticks, us, out);
}

static int by_total(const void *x, const void *y)
{
	const isc_analysis_scope *s = x, *t = y;

	if (s->total_us != t->total_us)
		return s->total_us < t->total_us ? 1 : -1;
	return isc_names_compare(&s->name, &t->name);
}

static bool fill(isc_build *b, struct tallies *s)
{
	isc_analysis *a = b->a;

	if (!gather(b, s))
		return false;
	a->scopes = isc_arena_array(b->arena, s->count, sizeof(*a->scopes));
	if (a->scopes == NULL)
		return false;
	a->scope_count = s->count;
	for (size_t i = 0; i < s->count; i++) {
		if (!take_scope(b, &s->at[i], &s->names.text[i], &a->scopes[i]))
			return false;
	}
	qsort(a->scopes, a->scope_count, sizeof(*a->scopes), by_total);
	return true;
}

isc_status isc_build_scopes(isc_build *b, isc_error *err)
{
	struct tallies s = {0};
	bool ok = fill(b, &s);

	for (size_t i = 0; i < s.count; i++)
		isc_histogram_fini(&s.at[i].ticks);
	isc_names_fini(&s.names);
	return ok ? ISC_OK : isc_build_no_memory(err);
}
