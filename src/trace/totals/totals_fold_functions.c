/*
 * totals_fold_functions.c - functions that there is no room for become the rest of their file.
 *
 * Those that are open, or whose calls are being counted, stay.  Everything that knows a
 * function by its index is told the new one.
 */
#include <stdlib.h>

#include "trace/kin.h"
#include "trace/totals/totals_fold.h"

#define RELABELED (1u << 31)

_Static_assert(ISC_KIN_MODULE == ISC_TOTAL_REST, "the bit of a module becomes that of the rest");

/* Of a rest the whole time is its own: its functions may have called each other. */
static void merge_function(isc_total_function *into, const isc_total_function *f)
{
	isc_totals_fields_add(isc_function_fields, into, f);
	isc_totals_fields_add(isc_function_window_fields, into, f);
	isc_totals_fields_add(isc_function_exact_fields, into, f);
	into->total_ticks = into->self_ticks;
	into->exact_total = into->exact_self;
	into->rate_most += f->rate_most;
	if (f->first_ticks != 0 && (into->first_ticks == 0 || f->first_ticks < into->first_ticks))
		into->first_ticks = f->first_ticks;
	into->paused_before = f->paused_before < into->paused_before ? f->paused_before : into->paused_before;
	into->before += f->before;
	into->estimated |= f->estimated;
	into->governed |= f->governed;
	into->unseen |= f->unseen;
}

static void find_open(const isc_totals *t, uint64_t *heat)
{
	for (size_t i = 0; i < t->lane_count; i++) {
		const isc_totals_calls *c = t->lanes[i]->calls;

		for (size_t k = 0; c != NULL && k < c->depth; k++) {
			if (c->open[k].id != ISC_CALL_GAP)
				heat[c->open[k].function] = ISC_FOLD_STAYS;
		}
	}
}

static void find_heats(isc_totals *t, bool startup_only, uint64_t *heat)
{
	size_t rests = 0;

	for (size_t i = 0; i < t->function_count; i++)
		rests += (t->functions[i].code & ISC_TOTAL_REST) != 0;
	for (size_t i = 0; i < t->function_count; i++) {
		isc_total_function *f = &t->functions[i];
		bool rest = (f->code & ISC_TOTAL_REST) != 0;

		heat[i] = f->startup ? 0 : 1 + isc_fold_heat(f->self_ticks, &f->before);
		/* Files may be as many as functions are elsewhere: then their rests go together too. */
		if (f->counted || f->off || (startup_only && !f->startup) || i + 1 == t->held ||
		    (rest && (f->code == ISC_TOTAL_REST || rests < t->function_count / 2)))
			heat[i] = ISC_FOLD_STAYS;
	}
	find_open(t, heat);
}

/* Everything that knows functions by their place. */
static void move_functions(isc_totals *t, const uint32_t *moved)
{
	for (size_t i = 0; i < t->lane_count; i++) {
		isc_totals_calls *c = t->lanes[i]->calls;

		for (size_t k = 0; c != NULL && k < c->depth; k++) {
			if (c->open[k].id != ISC_CALL_GAP)
				c->open[k].function = moved[c->open[k].function] & ~RELABELED;
		}
		for (size_t k = 0; c != NULL && k < (size_t)1 << c->bits; k++) {
			isc_totals_slot *s = &c->cache[k];
			uint32_t to = s->function != 0 ? moved[s->function - 1] : 0;

			/* One that is called again gets a row of its own again. */
			if (s->function != 0 && to & RELABELED)
				*s = (isc_totals_slot){0};
			else if (s->function != 0)
				s->function = to + 1;
		}
	}
	for (size_t i = 0; i < t->process_count; i++) {
		struct isc_totals_process *p = &t->processes[i];

		for (size_t k = 0; k < p->counted_count; k++)
			p->counted[k] = moved[p->counted[k]] & ~RELABELED;
	}
	if (t->held != 0)
		t->held = (moved[t->held - 1] & ~RELABELED) + 1;
}

/* Rows move to the front in their order, so that none is written over before it was read. */
static bool regroup_functions(isc_totals *t, const uint64_t *heat, uint64_t limit, size_t rows, uint32_t *moved,
			      isc_hashmap *map)
{
	size_t kept = 0;
	uint64_t weight = 0;

	for (size_t i = 0; i < t->function_count; i++) {
		isc_total_function f = t->functions[i];
		bool cold = isc_fold_is_cold(heat[i], limit, &rows), fresh;
		uint64_t *at;

		if (cold) {
			if ((f.code & ISC_TOTAL_REST) == 0)
				isc_totals_note_folded(t, ISC_FOLDED_FUNCTIONS, f.process, f.code);
			f.code = isc_totals_rest_of(t, f.process, f.code);
			f.startup = f.module = f.shutdown = f.runner = false;
			f.window = 0;
			f.rate = (isc_total_range){0};
			f.total_ticks = f.self_ticks;
			f.exact_total = f.exact_self;
		}
		at = isc_hashmap_put(map, isc_hashmap_key(f.process, f.code), &fresh);
		if (at == NULL)
			return false;
		if (fresh) {
			*at = kept;
			t->functions[kept++] = f;
		} else {
			merge_function(&t->functions[*at], &f);
		}
		moved[i] = (uint32_t)*at | (cold ? RELABELED : 0);
	}
	t->function_count = kept;
	for (size_t i = 0; i < kept; i++)
		weight += isc_totals_function_weight(&t->functions[i]);
	isc_totals_weigh(t, ISC_PART_FUNCTIONS, (int64_t)(weight - t->part[ISC_PART_FUNCTIONS]));
	return true;
}

static void replace_map(isc_hashmap *map, isc_hashmap *by)
{
	isc_hashmap_fini(map);
	*map = *by;
}

bool isc_fold_functions(isc_totals *t, bool startup_only)
{
	uint64_t *heat = isc_fold_heats(t->function_count), limit = 0;
	uint32_t *moved = malloc((t->function_count + 1) * sizeof(*moved));
	isc_hashmap map = {0};
	size_t rows = 0;
	bool ok = heat != NULL && moved != NULL;

	if (ok) {
		find_heats(t, startup_only, heat);
		ok = isc_fold_coldest(heat, t->function_count, &limit, &rows);
	}
	if (ok && rows > 0) {
		ok = regroup_functions(t, heat, limit, rows, moved, &map);
		if (ok) {
			move_functions(t, moved);
			replace_map(&t->by_name[ISC_BY_FUNCTION], &map);
		} else {
			isc_hashmap_fini(&map);
			t->broken = true;
		}
	}
	free(heat);
	free(moved);
	return ok;
}
