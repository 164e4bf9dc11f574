#include "analyze/coverage.h"

#include "analyze/build.h"

/* Gaps that take more of a time than that decide what its calls look like. */
#define CUT_SHARE 0.1

void isc_coverage_fini(isc_coverage_map *m)
{
	isc_hashmap_fini(&m->called);
}

/* They come by process and time; those that meet are one. */
static bool put_gap(isc_coverage_gaps *g, isc_arena *arena, const isc_trace_gap *gap)
{
	struct isc_coverage_gap *last = g->count > 0 ? &g->at[g->count - 1] : NULL;

	if (last != NULL && last->process == gap->process && gap->from_ns <= last->to_ns) {
		last->to_ns = gap->to_ns > last->to_ns ? gap->to_ns : last->to_ns;
		return true;
	}
	last = isc_arena_push(arena, &g->at, &g->count, &g->room, sizeof(*last));
	if (last != NULL)
		*last = (struct isc_coverage_gap){gap->process, gap->from_ns, gap->to_ns};
	return last != NULL;
}

static isc_coverage_gaps *gaps_of(isc_coverage_map *m, uint32_t kind)
{
	return kind == ISC_GAP_THINNED				 ? &m->thinned
	       : kind == ISC_GAP_GATED || kind == ISC_GAP_PAUSED ? &m->blind
								 : &m->lost;
}

bool isc_coverage_read(isc_coverage_map *m, isc_build *b)
{
	const isc_total_function *f;
	const isc_trace_gap *gap;

	for (size_t i = 0; (gap = isc_trace_gap_at(b->trace, i)) != NULL; i++) {
		if (!put_gap(gaps_of(m, gap->kind), b->arena, gap) ||
		    (gap->kind == ISC_GAP_PAUSED && !put_gap(&m->paused, b->arena, gap)))
			return false;
	}
	for (size_t i = 0; (f = isc_totals_function_at(b->totals, i)) != NULL; i++) {
		if (isc_hashmap_put(&m->called, f->process, NULL) == NULL)
			return false;
	}
	return true;
}

/* The first gap of the process that ends after a moment, or NULL. */
static const struct isc_coverage_gap *find_gap(const isc_coverage_gaps *g, uint32_t process, uint64_t time_ns)
{
	size_t low = 0, high = g->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct isc_coverage_gap *at = &g->at[middle];

		if (at->process > process || (at->process == process && at->to_ns > time_ns))
			high = middle;
		else
			low = middle + 1;
	}
	return low < g->count && g->at[low].process == process ? &g->at[low] : NULL;
}

static bool touches(const isc_coverage_gaps *g, uint32_t process, uint64_t from_ns, uint64_t to_ns)
{
	const struct isc_coverage_gap *gap = find_gap(g, process, from_ns);

	return gap != NULL && gap->from_ns < to_ns;
}

static bool covers(const isc_coverage_gaps *g, uint32_t process, uint64_t from_ns, uint64_t to_ns)
{
	const struct isc_coverage_gap *gap = find_gap(g, process, from_ns);

	return gap != NULL && gap->from_ns <= from_ns && gap->to_ns >= to_ns;
}

/* How much of a time gaps take. */
static uint64_t missing_ns(const isc_coverage_gaps *g, uint32_t process, uint64_t from_ns, uint64_t to_ns)
{
	const struct isc_coverage_gap *gap = find_gap(g, process, from_ns);
	uint64_t sum = 0;

	for (; gap != NULL && gap < g->at + g->count && gap->process == process && gap->from_ns < to_ns; gap++) {
		uint64_t from = gap->from_ns > from_ns ? gap->from_ns : from_ns;

		sum += (gap->to_ns < to_ns ? gap->to_ns : to_ns) - from;
	}
	return sum;
}

bool isc_coverage_is_cut(const isc_coverage_map *m, uint32_t process, uint64_t from_ns, uint64_t to_ns)
{
	double missing = (double)missing_ns(&m->blind, process, from_ns, to_ns) +
			 (double)missing_ns(&m->lost, process, from_ns, to_ns);

	return to_ns > from_ns && missing > (double)(to_ns - from_ns) * CUT_SHARE;
}

bool isc_coverage_is_paused(const isc_coverage_map *m, uint32_t process, uint64_t from_ns, uint64_t to_ns)
{
	return touches(&m->paused, process, from_ns, to_ns);
}

enum isc_coverage isc_coverage_of(const isc_coverage_map *m, uint32_t process, uint64_t from_ns, uint64_t to_ns)
{
	if (isc_hashmap_find(&m->called, process) == NULL || covers(&m->blind, process, from_ns, to_ns))
		return ISC_COVERAGE_NONE;
	if (touches(&m->blind, process, from_ns, to_ns) || touches(&m->lost, process, from_ns, to_ns))
		return ISC_COVERAGE_PARTIAL;
	return touches(&m->thinned, process, from_ns, to_ns) ? ISC_COVERAGE_THINNED : ISC_COVERAGE_WHOLE;
}
