#include "analyze/verdict/whatif.h"

#include <math.h>
#include <stdlib.h>

#include "analyze/names.h"
#include "analyze/scopes/tails.h"

/* Below this share of a scope nobody asks. */
#define SHARE_MIN 0.005
#define LISTED_MAX 64u

static bool same_place(const isc_analysis_frame *x, const isc_analysis_frame *y)
{
	return isc_names_compare(&x->name, &y->name) == 0 && isc_names_compare(&x->file, &y->file) == 0;
}

static const isc_analysis_scope *scope_of(const isc_analysis *a, const isc_text *name)
{
	for (size_t i = 0; i < a->scope_count; i++) {
		if (isc_names_compare(&a->scopes[i].name, name) == 0)
			return a->scopes[i].all.count > 0 ? &a->scopes[i] : NULL;
	}
	return NULL;
}

static bool is_at(const isc_analysis_what_if *w, const isc_analysis_frame *where)
{
	return (same_place(&w->cause.where, where) && (where->line == 0 || where->line == w->cause.where.line)) ||
	       same_place(&w->cause.holder, where);
}

/* What a function runs is not told apart here. */
bool isc_whatif_runs(enum isc_state state)
{
	return state == ISC_STATE_PYTHON || state == ISC_STATE_NATIVE || state == ISC_STATE_ON_CPU ||
	       state == ISC_STATE_SPIN || state == ISC_STATE_UNATTRIBUTED;
}

static bool same_state(enum isc_state x, enum isc_state y)
{
	return x == y || (isc_whatif_runs(x) && isc_whatif_runs(y));
}

double isc_whatif_bound(const isc_analysis *a, const isc_text *scope, enum isc_state state,
			const isc_analysis_frame *where)
{
	const isc_analysis_scope *s = scope_of(a, scope);
	double sum = 0;

	if (s == NULL)
		return -1;
	if (where == NULL || where->name.len == 0)
		return fmin(isc_whatif_runs(state) ? s->path_us[ISC_STATE_PYTHON] + s->path_us[ISC_STATE_ON_CPU]
						   : s->path_us[state],
			    s->all.mean_us);
	for (size_t i = 0; i < s->what_if_count; i++) {
		const isc_analysis_what_if *w = &s->what_if[i];

		if (same_state(w->cause.state, state) && is_at(w, where))
			sum += w->saves_at_most_us;
	}
	return fmin(sum, s->all.mean_us);
}

double isc_whatif_mean(const isc_analysis *a, const isc_text *scope)
{
	const isc_analysis_scope *s = scope_of(a, scope);

	return s != NULL ? s->all.mean_us : -1;
}

double isc_whatif_loop(const isc_analysis *a, const isc_text *scope)
{
	const isc_analysis_scope *s = scope_of(a, scope);

	return s != NULL ? fmin(s->path_loop_us, s->all.mean_us) : -1;
}

double isc_whatif_nested(const isc_analysis *a, const isc_text *scope, const isc_text *inside)
{
	const isc_analysis_scope *s = scope_of(a, scope);

	for (size_t i = 0; s != NULL && i < s->nested_count; i++) {
		if (isc_names_compare(&s->nested[i].name, inside) == 0)
			return fmin(s->nested[i].total_us / (double)s->all.count, s->all.mean_us);
	}
	return -1;
}

double isc_whatif_function(const isc_analysis *a, const isc_text *scope, const isc_analysis_frame *function)
{
	const isc_analysis_scope *s = scope_of(a, scope);
	double sum = 0;

	if (s == NULL || function->name.len == 0)
		return -1;
	for (size_t i = 0; i < s->what_if_count; i++) {
		if (same_place(&s->what_if[i].cause.where, function) ||
		    same_place(&s->what_if[i].cause.holder, function))
			sum += s->what_if[i].saves_at_most_us;
	}
	return fmin(sum, s->all.mean_us);
}

static int by_bound(const void *x, const void *y)
{
	const isc_analysis_what_if *w = x, *v = y;
	int order;

	if (w->total_us < v->total_us || w->total_us > v->total_us)
		return w->total_us < v->total_us ? 1 : -1;
	order = isc_names_compare(&w->cause.where.name, &v->cause.where.name);
	return order != 0 ? order : (int)w->cause.state - (int)v->cause.state;
}

static isc_analysis_what_if one_of(const isc_tails *t, const isc_tail *tail, const isc_cell *cell, double mean_us)
{
	const isc_tail_group *all = &tail->group[ISC_TAIL_ALL];
	const isc_tail_key *key = &t->key[cell->key - 1];
	const isc_cell *more = isc_cells_find(&tail->more, cell->key);
	isc_analysis_what_if w = {.total_us = fmax(cell->us, 0) + (more != NULL ? more->us : 0)};

	w.cause.event_loop = key->kind == ISC_TAIL_LOOP;
	w.cause.state = key->kind == ISC_TAIL_RUN     ? (t->b->facts.native_off ? ISC_STATE_ON_CPU : ISC_STATE_PYTHON)
			: key->kind == ISC_TAIL_LOOP  ? ISC_STATE_OTHER
			: key->kind == ISC_TAIL_AWAIT ? ISC_STATE_IDLE
						      : (enum isc_state)key->kind;
	w.cause.holder_tid = key->holder_tid != UINT32_MAX ? key->holder_tid : 0;
	if (key->place != 0)
		w.cause.where = t->places.at[key->place];
	if (key->holder != 0)
		w.cause.holder = t->places.at[key->holder];
	/* No scope is shorter than nothing. */
	w.total_us = fmin(w.total_us, all->wall_us);
	w.saves_at_most_us = fmin(w.total_us / (double)all->count, mean_us);
	return w;
}

bool isc_tails_what_if(isc_tails *t, const isc_tail *tail, isc_analysis_scope *s)
{
	const isc_tail_group *all = &tail->group[ISC_TAIL_ALL];
	const isc_cell *cell;
	size_t at = 0, room = 0;

	if (all->count == 0)
		return true;
	while ((cell = isc_cells_next(&all->sums.cells, &at)) != NULL) {
		isc_analysis_what_if w, *place;

		if (cell->key & ISC_TAIL_NODE || t->key[cell->key - 1].kind >= ISC_TAIL_UNSEEN)
			continue;
		w = one_of(t, tail, cell, s->all.mean_us);
		*(w.cause.event_loop ? &s->path_loop_us : &s->path_us[w.cause.state]) +=
			w.total_us / (double)all->count;
		if (w.saves_at_most_us < s->all.mean_us * SHARE_MIN)
			continue;
		place = isc_arena_push(t->b->arena, &s->what_if, &s->what_if_count, &room, sizeof(*place));
		if (place == NULL)
			return false;
		*place = w;
	}
	if (s->what_if_count > 0)
		qsort(s->what_if, s->what_if_count, sizeof(*s->what_if), by_bound);
	s->what_if_count = s->what_if_count < LISTED_MAX ? s->what_if_count : LISTED_MAX;
	return true;
}
