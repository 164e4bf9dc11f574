/*
 * scopes.c - how long each scope took, by name over all processes and threads.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/names.h"
#include "analyze/build.h"
#include "analyze/scopes/slow_scopes.h"

/* Neighbouring buckets are shown as one while the wider one is at most this much
 * longer than where it begins: about 30 bars from 1 us to 1 s. */
#define BIN_GROWTH 1.5

struct scope_tally {
	uint64_t count, open, unmatched;
	double total_ticks;
	isc_histogram ticks;
};

struct tallies {
	struct scope_tally *at;
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
		struct scope_tally *t;

		if (n == SIZE_MAX)
			return false;
		if (n == s->count && isc_arena_push(b->arena, &s->at, &s->count, &s->room, sizeof(*s->at)) == NULL)
			return false;
		t = &s->at[n];
		t->count += total->count;
		t->open += total->open;
		t->unmatched += total->unmatched;
		t->total_ticks += (double)total->total_ticks;
		if (!isc_histogram_merge(&t->ticks, &total->histogram))
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

/* Which are slow, and which of the others lie in the middle. */
static void part_scopes(const isc_histogram *h, double us, isc_analysis_scope *out)
{
	uint64_t from = isc_slow_scopes_from(h);
	double others = from > 0 ? isc_slow_scopes_below(h, from) : 1;

	out->slow_from_us = from > 0 ? (double)from * us : -1;
	out->p40_us = (double)isc_histogram_percentile(h, 0.40 * others) * us;
	out->p60_us = (double)isc_histogram_percentile(h, 0.60 * others) * us;
}

static bool take_scope(isc_build *b, const struct scope_tally *t, const isc_text *name, isc_analysis_scope *out)
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
	out->p90_us = (double)isc_histogram_percentile(&t->ticks, 0.90) * us;
	out->p99_us = (double)isc_histogram_percentile(&t->ticks, 0.99) * us;
	out->max_us = (double)t->ticks.max * us;
	part_scopes(&t->ticks, us, out);
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
