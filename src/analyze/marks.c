/*
 * marks.c - instants and counters, by name over all processes and threads.
 */
#include <stdlib.h>

#include "analyze/build.h"
#include "analyze/names.h"

static int by_count(const void *x, const void *y)
{
	const isc_analysis_mark *m = x, *n = y;

	if (m->count != n->count)
		return m->count < n->count ? 1 : -1;
	return isc_names_compare(&m->name, &n->name);
}

static int by_name(const void *x, const void *y)
{
	return isc_names_compare(&((const isc_analysis_counter *)x)->name, &((const isc_analysis_counter *)y)->name);
}

static size_t number_of(isc_build *b, isc_names *names, enum isc_folded kind, uint32_t process, uint32_t id)
{
	uint32_t len = 0;
	const char *name = isc_build_name(b, kind, process, id, &len);

	return isc_names_put(names, b->arena, name, len);
}

static bool fill_marks(isc_build *b, isc_names *names)
{
	isc_analysis *a = b->a;
	const isc_total_mark *total;
	size_t room = 0;

	for (size_t i = 0; (total = isc_totals_mark_at(b->totals, i)) != NULL; i++) {
		size_t n = number_of(b, names, ISC_FOLDED_MARKS, total->process, total->name);

		if (n == SIZE_MAX)
			return false;
		if (n == a->mark_count &&
		    isc_arena_push(b->arena, &a->marks, &a->mark_count, &room, sizeof(*a->marks)) == NULL)
			return false;
		a->marks[n].name = names->text[n];
		a->marks[n].count += total->count;
	}
	if (a->mark_count > 0)
		qsort(a->marks, a->mark_count, sizeof(*a->marks), by_count);
	return true;
}

static bool fill_counters(isc_build *b, isc_names *names)
{
	isc_analysis *a = b->a;
	const isc_total_counter *total;
	uint32_t *last = NULL; /* the process that c->last is from */
	size_t room = 0, last_count = 0, last_room = 0;

	for (size_t i = 0; (total = isc_totals_counter_at(b->totals, i)) != NULL; i++) {
		size_t n = number_of(b, names, ISC_FOLDED_COUNTERS, total->process, total->name);
		isc_analysis_counter *c;

		if (n == SIZE_MAX)
			return false;
		if (n == a->counter_count &&
		    (isc_arena_push(b->arena, &a->counters, &a->counter_count, &room, sizeof(*a->counters)) == NULL ||
		     isc_arena_push(b->arena, &last, &last_count, &last_room, sizeof(*last)) == NULL))
			return false;
		c = &a->counters[n];
		c->name = names->text[n];
		c->min = c->count == 0 || total->min < c->min ? total->min : c->min;
		c->max = c->count == 0 || total->max > c->max ? total->max : c->max;
		c->mean += total->sum; /* until all are there */
		c->count += total->count;
		if (total->process >= last[n]) {
			last[n] = total->process;
			c->last = total->last;
		}
	}
	for (size_t i = 0; i < a->counter_count; i++)
		a->counters[i].mean = a->counters[i].count > 0 ? a->counters[i].mean / (double)a->counters[i].count : 0;
	if (a->counter_count > 0)
		qsort(a->counters, a->counter_count, sizeof(*a->counters), by_name);
	return true;
}

isc_status isc_build_marks(isc_build *b, isc_error *err)
{
	isc_names marks = {0}, counters = {0};
	bool ok = fill_marks(b, &marks) && fill_counters(b, &counters);

	isc_names_fini(&marks);
	isc_names_fini(&counters);
	return ok ? ISC_OK : isc_build_no_memory(err);
}
