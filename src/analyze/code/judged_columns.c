/*
 * judged_columns.c - of functions, lines, stacks and threads: what of them lies in the time that was judged.
 *
 * Their own figures are of the whole run.  The totals of the judged time are the difference of the totals at its end
 * and at its beginning, which snapshots in the trace or its events tell; the same parts that made the figures of the
 * whole run then make those of the difference.
 */
#include <math.h>
#include <stdlib.h>

#include "analyze/build.h"
#include "analyze/names.h"

#define NEAR_NS 2000 /* a snapshot so near to an edge of the window is the one of that edge: clocks are rounded */

/* ---- totals of the window ---- */

/* The moment of a snapshot there, or the first ticks that are not before it. */
static uint64_t ticks_at(const isc_build *b, uint64_t ns)
{
	uint64_t low = 0, high = 1;
	const isc_trace_snapshot *s;
	const isc_total_thread *t;

	for (size_t i = 0; (s = isc_trace_snapshot_at(b->trace, i)) != NULL; i++) {
		uint64_t at = isc_trace_ticks_to_ns(b->trace, s->ticks);

		if (at <= ns + NEAR_NS && ns <= at + NEAR_NS)
			return s->ticks;
	}
	for (size_t i = 0; (t = isc_totals_thread_at(b->totals, i)) != NULL; i++)
		high = t->last_ticks >= high ? t->last_ticks + 1 : high;
	while (low < high) {
		uint64_t middle = low + (high - low) / 2;

		if (isc_trace_ticks_to_ns(b->trace, middle) < ns)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static bool is_before_all(const isc_build *b, uint64_t ticks)
{
	const isc_total_thread *t;

	for (size_t i = 0; (t = isc_totals_thread_at(b->totals, i)) != NULL; i++) {
		if (t->events > 0 && t->first_ticks < ticks)
			return false;
	}
	return true;
}

/* Everything before a moment, with what is open ended there.  ISC_ERR_ABSENT: nothing tells. */
static isc_status totals_until(const isc_build *b, uint64_t ns, isc_totals **out, isc_error *err)
{
	isc_build at = *b;
	isc_status st;

	st = ns >= b->end_ns ? isc_trace_totals(b->trace, out, err)
			     : isc_trace_totals_until(b->trace, ticks_at(b, ns), out, err);
	at.totals = *out;
	at.to_ns = ns;
	if (st == ISC_OK)
		isc_build_settle(&at);
	return st;
}

static isc_status totals_between(const isc_build *b, uint64_t from_ns, uint64_t to_ns, isc_totals **out, isc_error *err)
{
	isc_totals *before = NULL;
	isc_status st = totals_until(b, to_ns, out, err);

	if (st == ISC_OK && !is_before_all(b, ticks_at(b, from_ns))) {
		st = totals_until(b, from_ns, &before, err);
		if (st == ISC_OK)
			isc_totals_less(*out, before);
		isc_totals_free(before);
	}
	return st;
}

/* ---- which is which ---- */

static void add_frame(isc_buffer *key, const isc_analysis_frame *f)
{
	isc_buffer_format(key, "%d%d %u %zu %zu ", f->python, f->native, f->line, f->name.len, f->file.len);
	isc_buffer_add(key, f->name.at, f->name.len);
	isc_buffer_add(key, f->file.at, f->file.len);
	isc_buffer_add(key, f->module.at, f->module.len);
}

static void key_of_function(isc_buffer *key, const void *row)
{
	const isc_analysis_function *f = row;

	isc_buffer_format(key, "%u %d ", f->pid, f->native);
	add_frame(key, &(isc_analysis_frame){.name = f->name, .file = f->file, .module = f->module, .line = f->line});
}

static void key_of_line(isc_buffer *key, const void *row)
{
	const isc_analysis_line *l = row;

	isc_buffer_format(key, "%u ", l->pid);
	add_frame(key, &l->at);
}

static void key_of_stack(isc_buffer *key, const void *row)
{
	const isc_analysis_stack *s = row;

	isc_buffer_format(key, "%u %zu ", s->pid, s->frame_count);
	for (size_t i = 0; i < s->frame_count; i++)
		add_frame(key, &s->frames[i]);
}

static void key_of_thread(isc_buffer *key, const void *row)
{
	const isc_analysis_thread *t = row;

	isc_buffer_format(key, "%u %u %.3f", t->pid, t->tid, t->start_us);
}

static void key_of_wait(isc_buffer *key, const void *row)
{
	const isc_analysis_wait *w = row;

	isc_buffer_format(key, "%d ", w->state);
	add_frame(key, &w->where);
	add_frame(key, &w->held_by);
}

/* A kind of row: the same in the whole run and in the window. */
struct judged_rows {
	const void *whole, *part;
	size_t whole_count, part_count, size;
	void (*key)(isc_buffer *key, const void *row);
};

static const void *row_at(const void *rows, size_t i, size_t size)
{
	return (const char *)rows + i * size;
}

/* For each row of the whole its row of the part + 1, 0: it has none.  NULL: no memory. */
static size_t *match(const struct judged_rows *r, isc_arena *arena)
{
	size_t *of = isc_arena_array(arena, r->whole_count + 1, sizeof(*of)), *place, number;
	isc_buffer key = {0};
	isc_names names = {0};
	bool good = of != NULL;

	place = isc_arena_array(arena, r->part_count + 1, sizeof(*place)); /* number of a key -> its row + 1 */
	good &= place != NULL;
	for (size_t i = 0; good && i < r->part_count; i++) {
		isc_buffer_clear(&key);
		r->key(&key, row_at(r->part, i, r->size));
		number = isc_names_put(&names, arena, key.data, key.len);
		good = number != SIZE_MAX && !key.failed;
		if (good && place[number] == 0)
			place[number] = i + 1;
	}
	for (size_t i = 0; good && i < r->whole_count; i++) {
		isc_buffer_clear(&key);
		r->key(&key, row_at(r->whole, i, r->size));
		number = isc_names_put(&names, arena, key.data, key.len);
		good = number != SIZE_MAX && !key.failed;
		of[i] = good && number < r->part_count ? place[number] : 0;
	}
	isc_names_fini(&names);
	isc_buffer_fini(&key);
	return good ? of : NULL;
}

static bool take_functions(isc_build *b, const isc_analysis *part)
{
	isc_analysis *a = b->a;
	struct judged_rows r = {a->functions,	      part->functions,	     a->function_count,
				part->function_count, sizeof(*a->functions), key_of_function};
	const size_t *of = match(&r, b->arena);

	for (size_t i = 0; of != NULL && i < a->function_count; i++) {
		const isc_analysis_function *f = of[i] != 0 ? &part->functions[of[i] - 1] : NULL;

		a->functions[i].judged = (isc_analysis_judged){.known = a->functions[i].self_us >= 0,
							       .us = f != NULL ? fmax(f->self_us, 0) : 0,
							       .samples = f != NULL ? f->samples : 0,
							       .calls = f != NULL ? f->calls : 0};
	}
	return of != NULL;
}

static bool take_lines(isc_build *b, const isc_analysis *part)
{
	isc_analysis *a = b->a;
	struct judged_rows r = {a->lines, part->lines, a->line_count, part->line_count, sizeof(*a->lines), key_of_line};
	const size_t *of = match(&r, b->arena);

	for (size_t i = 0; of != NULL && i < a->line_count; i++) {
		const isc_analysis_line *l = of[i] != 0 ? &part->lines[of[i] - 1] : NULL;

		a->lines[i].judged = (isc_analysis_judged){
			.known = true, .us = l != NULL ? l->self_us : 0, .samples = l != NULL ? l->samples : 0};
	}
	return of != NULL;
}

/* The last may be all others together: what is left of the part. */
static bool take_stacks(isc_build *b, const isc_analysis *part)
{
	isc_analysis *a = b->a;
	struct judged_rows r = {a->stacks,	   part->stacks,       a->stack_count,
				part->stack_count, sizeof(*a->stacks), key_of_stack};
	const size_t *of = match(&r, b->arena);
	isc_analysis_judged rest = {.known = true};
	isc_analysis_stack *last = a->stack_count > 0 ? &a->stacks[a->stack_count - 1] : NULL;

	for (size_t i = 0; i < part->stack_count; i++) {
		rest.us += part->stacks[i].us;
		rest.samples += part->stacks[i].samples;
	}
	for (size_t i = 0; of != NULL && i < a->stack_count; i++) {
		const isc_analysis_stack *s = of[i] != 0 ? &part->stacks[of[i] - 1] : NULL;

		a->stacks[i].judged = (isc_analysis_judged){
			.known = true, .us = s != NULL ? s->us : 0, .samples = s != NULL ? s->samples : 0};
		if (&a->stacks[i] == last && last->frames == NULL)
			last->judged = rest;
		rest.us = fmax(rest.us - a->stacks[i].judged.us, 0);
		rest.samples -= a->stacks[i].judged.samples < rest.samples ? a->stacks[i].judged.samples : rest.samples;
	}
	return of != NULL;
}

static bool take_threads(isc_build *b, const isc_analysis *part)
{
	isc_analysis *a = b->a;
	struct judged_rows r = {a->threads,	    part->threads,	 a->thread_count,
				part->thread_count, sizeof(*a->threads), key_of_thread};
	const size_t *of = match(&r, b->arena);

	for (size_t i = 0; of != NULL && i < a->thread_count; i++) {
		const isc_analysis_thread *t = of[i] != 0 ? &part->threads[of[i] - 1] : NULL;

		a->threads[i].judged = (isc_analysis_judged){.known = t == NULL || t->on_cpu_us >= 0,
							     .us = t != NULL ? fmax(t->on_cpu_us, 0) : 0,
							     .samples = t != NULL ? t->samples : 0};
	}
	return of != NULL;
}

static bool take_waits(isc_build *b, const isc_analysis *part)
{
	isc_analysis *a = b->a;
	struct judged_rows r = {a->waits, part->waits, a->wait_count, part->wait_count, sizeof(*a->waits), key_of_wait};
	const size_t *of = match(&r, b->arena);

	for (size_t i = 0; of != NULL && i < a->wait_count; i++) {
		const isc_analysis_wait *w = of[i] != 0 ? &part->waits[of[i] - 1] : NULL;

		a->waits[i].judged = (isc_analysis_judged){
			.known = true, .us = w != NULL ? w->us : 0, .calls = w != NULL ? w->count : 0};
	}
	return of != NULL;
}

/* ---- the order of reports ---- */

static int by_judged(const isc_analysis_judged *x, const isc_analysis_judged *y)
{
	return x->known && y->known ? (x->us < y->us) - (x->us > y->us) : 0;
}

static int by_judged_line(const void *x, const void *y)
{
	const isc_analysis_line *l = x, *m = y;
	int order = by_judged(&l->judged, &m->judged);

	if (order == 0)
		order = (l->self_us < m->self_us) - (l->self_us > m->self_us);
	if (order == 0)
		order = isc_names_compare(&l->at.file, &m->at.file);
	return order != 0 ? order : (l->at.line > m->at.line) - (l->at.line < m->at.line);
}

/* All the others together stay last. */
static int by_judged_stack(const void *x, const void *y)
{
	const isc_analysis_stack *s = x, *t = y;
	int order = (s->frames == NULL) - (t->frames == NULL);

	if (order == 0)
		order = by_judged(&s->judged, &t->judged);
	if (order == 0)
		order = (s->us < t->us) - (s->us > t->us);
	for (size_t i = 0; order == 0 && i < s->frame_count && i < t->frame_count; i++)
		order = isc_names_compare(&s->frames[i].name, &t->frames[i].name);
	return order != 0 ? order : (s->frame_count > t->frame_count) - (s->frame_count < t->frame_count);
}

static void sort_rows(isc_build *b)
{
	isc_analysis *a = b->a;

	isc_build_sort_functions(b);
	if (a->line_count > 1)
		qsort(a->lines, a->line_count, sizeof(*a->lines), by_judged_line);
	if (a->stack_count > 1)
		qsort(a->stacks, a->stack_count, sizeof(*a->stacks), by_judged_stack);
}

/* ---- all of it ---- */

/* The figures of the report are those of the window. */
static void take_own(isc_analysis *a)
{
	for (size_t i = 0; i < a->function_count; i++) {
		const isc_analysis_function *f = &a->functions[i];

		a->functions[i].judged =
			(isc_analysis_judged){f->self_us >= 0, fmax(f->self_us, 0), f->samples, f->calls};
	}
	for (size_t i = 0; i < a->line_count; i++)
		a->lines[i].judged = (isc_analysis_judged){true, a->lines[i].self_us, a->lines[i].samples, 0};
	for (size_t i = 0; i < a->stack_count; i++)
		a->stacks[i].judged = (isc_analysis_judged){true, a->stacks[i].us, a->stacks[i].samples, 0};
	for (size_t i = 0; i < a->thread_count; i++) {
		const isc_analysis_thread *t = &a->threads[i];

		a->threads[i].judged = (isc_analysis_judged){t->on_cpu_us >= 0, fmax(t->on_cpu_us, 0), t->samples, 0};
	}
}

static isc_status make_part(isc_build *b, isc_totals *totals, uint64_t from_ns, uint64_t to_ns, isc_error *err)
{
	isc_build p = *b;
	isc_status st = ISC_OK;

	p.a = isc_arena_alloc(b->arena, sizeof(*p.a));
	if (p.a == NULL)
		return isc_build_no_memory(err);
	*p.a = (isc_analysis){.arena = b->a->arena,
			      .exit_known = b->a->exit_known,
			      .retired = b->a->retired,
			      .usage = b->a->usage,
			      .process_count = b->a->process_count};
	p.a->processes = isc_arena_array(b->arena, b->a->process_count, sizeof(*p.a->processes));
	if (p.a->processes == NULL)
		return isc_build_no_memory(err);
	for (size_t i = 0; i < b->a->process_count; i++)
		p.a->processes[i] = b->a->processes[i];
	p.totals = totals;
	p.limited = p.part = true;
	p.from_ns = from_ns;
	p.to_ns = to_ns;
	p.table = (isc_function_table){0};
	p.cpu_since_ns = NULL;
	p.sampled = NULL;
	st = isc_build_threads(&p, err);
	if (st == ISC_OK)
		st = isc_build_functions(&p, err);
	if (st == ISC_OK)
		st = isc_build_stacks_of_samples(&p, err);
	if (st == ISC_OK)
		st = isc_build_samples(&p, err);
	if (st == ISC_OK)
		st = isc_build_contention(&p, err);
	isc_samples_drop(&p);
	isc_function_table_fini(&p.table);
	if (st == ISC_OK && !(take_functions(b, p.a) && take_lines(b, p.a) && take_stacks(b, p.a) &&
			      take_threads(b, p.a) && take_waits(b, p.a)))
		st = isc_build_no_memory(err);
	return st;
}

isc_status isc_build_judged_columns(isc_build *b, isc_error *err)
{
	const isc_analysis_window *w = &b->a->window;
	uint64_t from = b->start_ns + (uint64_t)(w->from_us * 1e3), to = b->start_ns + (uint64_t)(ceil(w->to_us * 1e3));
	isc_totals *totals = NULL;
	isc_status st;

	if (b->cut || (from <= b->start_ns && to >= b->end_ns)) {
		take_own(b->a);
		return ISC_OK;
	}
	if (b->us_per_tick <= 0)
		return ISC_OK;
	st = totals_between(b, from, to, &totals, err);
	if (st == ISC_OK)
		st = make_part(b, totals, from, to, err);
	if (st == ISC_OK)
		sort_rows(b);
	isc_totals_free(totals);
	/* Events of before the window are gone, and no snapshot is of its edges: judged figures are null. */
	b->judged_absent = st == ISC_ERR_ABSENT || st == ISC_ERR_LIMIT;
	return b->judged_absent ? ISC_OK : st;
}
