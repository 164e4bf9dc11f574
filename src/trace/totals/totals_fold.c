/*
 * totals_fold.c - rows that there is no room for, counted with others.
 *
 * Of a part the quarter that was used least lately goes at once, so that folding
 * costs little a row.  What a row did before counts half as much with every
 * time that its part is folded.  Each row gets another label, and rows that then
 * have the same one become one: functions the rest of their file, stacks and what
 * was seen from them the stack of their caller, other names the rest of their
 * kind.
 */
#include <stdlib.h>
#include <string.h>

#include "trace/kin.h"
#include "trace/sample.h"
#include "trace/totals/totals_fold.h"

#define LEAST_ROWS 8u /* fewer are not worth it */
#define PASSES_MAX 64 /* towards the root: deeper stacks go on with the next fold */

void isc_totals_note_folded(isc_totals *t, enum isc_folded kind, uint32_t process, uint32_t name)
{
	isc_distinct_add(&t->folded_of[kind], isc_hashmap_key(process, name));
}

uint64_t isc_totals_folded(const isc_totals *t, enum isc_folded kind)
{
	return isc_distinct_count(&t->folded_of[kind]);
}

const char *isc_totals_rest_text(enum isc_folded kind)
{
	static const char *const text[ISC_FOLDED_KINDS] = {
		[ISC_FOLDED_FUNCTIONS] = "(other functions)", [ISC_FOLDED_STACKS] = "(other stacks)",
		[ISC_FOLDED_SCOPES] = "(other scopes)",	      [ISC_FOLDED_MARKS] = "(other marks)",
		[ISC_FOLDED_COUNTERS] = "(other counters)",   [ISC_FOLDED_WAITS] = "(other waits)",
		[ISC_FOLDED_SYSCALLS] = "(other calls)",      [ISC_FOLDED_THREADS] = "(other threads)"};

	return text[kind];
}

/* ---- the coldest ---- */

static int by_heat(const void *x, const void *y)
{
	const uint64_t *a = x, *b = y;

	return (*a > *b) - (*a < *b);
}

/* The heat up to which rows go, and how many of them; 0 rows: there is nothing to fold.  False: no memory. */
bool isc_fold_coldest(const uint64_t *heat, size_t n, uint64_t *limit, size_t *rows)
{
	uint64_t *sorted = malloc((n + 1) * sizeof(*sorted));
	size_t count = 0;

	*rows = 0;
	if (sorted == NULL)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (heat[i] != ISC_FOLD_STAYS)
			sorted[count++] = heat[i];
	}
	if (count > 0) {
		*rows = n / 4 + 1 < count ? n / 4 + 1 : count;
		qsort(sorted, count, sizeof(*sorted), by_heat);
		*limit = sorted[*rows - 1];
	}
	free(sorted);
	return true;
}

/* Is this one of them?  Rows are asked in order, once. */
bool isc_fold_is_cold(uint64_t heat, uint64_t limit, size_t *rows)
{
	if (*rows == 0 || heat == ISC_FOLD_STAYS || heat > limit)
		return false;
	--*rows;
	return true;
}

uint64_t isc_fold_heat(uint64_t now, uint64_t *before)
{
	uint64_t heat = now > *before ? now - *before : 0;

	*before = now - heat / 2;
	return heat;
}

uint64_t *isc_fold_heats(size_t n)
{
	return malloc((n + 1) * sizeof(uint64_t));
}

/* ---- all other rows ---- */

uint32_t isc_totals_caller_of(const isc_totals *t, uint32_t process, uint32_t stack)
{
	uint32_t kin, native;

	if (stack == 0 || isc_stack_is_none(stack))
		return 0;
	kin = isc_totals_kin_of(t, process, stack & ~ISC_STACK_TAGS);
	native = isc_stack_is_cut(stack) ? stack & ISC_STACK_NONE : kin & ISC_KIN_NATIVE ? ISC_STACK_NONE : 0;
	kin &= ~ISC_KIN_NATIVE;
	return kin != 0 ? kin | ISC_STACK_LEAF_CUT | native : 0;
}

/* A kind of row: what it is used for counts, what it is labelled with, and how two become one. */
struct fold_rows {
	void *at;
	size_t size;
	size_t *count;
	isc_hashmap *map;
	enum isc_folded kind;
	size_t used, before; /* uint64_t: how much a row was used, now and when rows were folded last */
	size_t name;	     /* uint32_t: what a label stands in place of */
	/* The label that it would get, the same as it has: it stays. */
	uint32_t (*label)(const isc_totals *t, const void *row, uint32_t *process);
	uint64_t (*key)(const void *row);
	bool (*merge)(void *into, void *row);
};

static uint32_t stack_label(const isc_totals *t, const void *row, uint32_t *process)
{
	const isc_total_stack *s = row;
	uint32_t caller = isc_totals_caller_of(t, s->process, s->stack);

	*process = s->process;
	return caller != 0 ? caller : s->stack;
}

static uint64_t stack_key(const void *row)
{
	const isc_total_stack *s = row;

	return isc_hashmap_key(s->thread, s->stack);
}

static bool stack_merge(void *to, void *row)
{
	isc_total_stack *into = to, *s = row;

	into->flags |= s->flags;
	isc_totals_fields_add(isc_stack_fields, into, s);
	isc_totals_fields_add(isc_stack_counts_fields, into, s);
	isc_totals_fields_add(isc_stack_faults_fields, into, s);
	return true;
}

/* Where a wait was made from may be not known, so a root has that to go to. */
static uint32_t wait_label(const isc_totals *t, const void *row, uint32_t *process)
{
	const isc_total_wait *w = row;

	*process = w->process;
	return w->stack != 0 ? isc_totals_kin_of(t, w->process, w->stack) & ~ISC_KIN_NATIVE : 0;
}

static uint64_t wait_key(const void *row)
{
	const isc_total_wait *w = row;

	return isc_hashmap_key(ISC_WAIT_KEY(w->thread, w->call), w->stack);
}

static bool wait_merge(void *to, void *row)
{
	isc_total_wait *into = to, *w = row;

	isc_totals_fields_add(isc_wait_fields, into, w);
	if (w->max_ticks > into->max_ticks) {
		into->max_ticks = w->max_ticks;
		into->holder = w->holder;
		into->holder_stack = w->holder_stack;
	}
	return true;
}

static uint32_t syscall_label(const isc_totals *t, const void *row, uint32_t *process)
{
	const isc_total_syscall *s = row;

	*process = s->process;
	if (s->kind != ISC_SYSCALL_SITE && s->kind != ISC_SYSCALL_LIKE)
		return s->key;
	return s->key != 0 ? isc_totals_kin_of(t, s->process, s->key) & ~ISC_KIN_NATIVE : 0;
}

static uint64_t syscall_key(const void *row)
{
	return isc_totals_syscall_key(row);
}

static bool syscall_merge(void *to, void *row)
{
	isc_total_syscall *into = to, *s = row;

	isc_totals_fields_add(isc_syscall_fields, into, s);
	if (s->max_ticks > into->max_ticks) {
		into->max_ticks = s->max_ticks;
		into->detail = s->detail;
	}
	return true;
}

/* One that is open would not find itself again. */
static uint32_t scope_label(const isc_totals *t, const void *row, uint32_t *process)
{
	const isc_total_scope *e = row;

	(void)t;
	*process = e->process;
	return e->open == 0 && e->early == 0 ? ISC_TOTAL_REST : e->name;
}

static uint64_t scope_key(const void *row)
{
	const isc_total_scope *e = row;

	return isc_hashmap_key(e->process, e->name);
}

static bool scope_merge(void *to, void *row)
{
	isc_total_scope *s = to, *e = row;

	if (!isc_histogram_merge(&s->histogram, &e->histogram))
		return false;
	isc_histogram_fini(&e->histogram);
	if (e->count > 0) {
		s->min_ticks = s->count == 0 || e->min_ticks < s->min_ticks ? e->min_ticks : s->min_ticks;
		s->max_ticks = e->max_ticks > s->max_ticks ? e->max_ticks : s->max_ticks;
	}
	isc_totals_fields_add(isc_scope_fields, s, e);
	s->open += e->open;
	s->early += e->early;
	return true;
}

static uint32_t mark_label(const isc_totals *t, const void *row, uint32_t *process)
{
	(void)t;
	*process = ((const isc_total_mark *)row)->process;
	return ISC_TOTAL_REST;
}

static uint64_t mark_key(const void *row)
{
	const isc_total_mark *m = row;

	return isc_hashmap_key(m->process, m->name);
}

static bool mark_merge(void *to, void *row)
{
	isc_total_mark *into = to, *m = row;

	isc_totals_fields_add(isc_mark_fields, into, m);
	return true;
}

static uint32_t counter_label(const isc_totals *t, const void *row, uint32_t *process)
{
	(void)t;
	*process = ((const isc_total_counter *)row)->process;
	return ISC_TOTAL_REST;
}

static uint64_t counter_key(const void *row)
{
	const isc_total_counter *c = row;

	return isc_hashmap_key(c->process, c->name);
}

static bool counter_merge(void *to, void *row)
{
	isc_total_counter *into = to, *c = row;

	into->min = c->min < into->min ? c->min : into->min;
	into->max = c->max > into->max ? c->max : into->max;
	into->last = c->last;
	isc_totals_fields_add(isc_counter_fields, into, c);
	return true;
}

static uint32_t *name_in(const struct fold_rows *r, void *row)
{
	return (uint32_t *)(void *)((char *)row + r->name);
}

static uint64_t *before_in(const struct fold_rows *r, void *row)
{
	return (uint64_t *)(void *)((char *)row + r->before);
}

static uint64_t heat_of(const struct fold_rows *r, void *row, bool again)
{
	uint64_t used = *(const uint64_t *)(const void *)((const char *)row + r->used);

	return again ? used - *before_in(r, row) : isc_fold_heat(used, before_in(r, row));
}

/* Gives the coldest their next label, and puts together what is alike then; false: no memory. */
static bool relabel(isc_totals *t, const struct fold_rows *r, bool again)
{
	size_t n = *r->count, cold = 0, kept = 0;
	uint64_t *heat = isc_fold_heats(n), limit = 0;
	isc_hashmap map = {0};
	uint32_t process;
	bool ok = heat != NULL;

	for (size_t i = 0; ok && i < n; i++) {
		void *row = (char *)r->at + i * r->size;

		heat[i] = heat_of(r, row, again);
		if (r->label(t, row, &process) == *name_in(r, row))
			heat[i] = ISC_FOLD_STAYS;
	}
	ok = ok && isc_fold_coldest(heat, n, &limit, &cold);
	if (!ok || cold == 0) {
		free(heat);
		return ok;
	}
	for (size_t i = 0; ok && i < n; i++) {
		void *row = (char *)r->at + i * r->size, *to;
		uint64_t *at;
		bool fresh;

		if (isc_fold_is_cold(heat[i], limit, &cold)) {
			uint32_t next = r->label(t, row, &process);

			isc_totals_note_folded(t, r->kind, process, *name_in(r, row));
			*name_in(r, row) = next;
		}
		at = isc_hashmap_put(&map, r->key(row), &fresh);
		if (at != NULL && fresh)
			*at = kept++;
		to = at != NULL ? (char *)r->at + *at * r->size : NULL;
		ok = at != NULL && (fresh || r->merge(to, row));
		if (ok && !fresh)
			*before_in(r, to) += *before_in(r, row);
		if (ok && fresh && to != row)
			memcpy(to, row, r->size);
	}
	free(heat);
	/* Half of it is of no use; who feeds is told that there is no memory. */
	t->broken |= !ok;
	*r->count = ok ? kept : 0;
	isc_hashmap_fini(r->map);
	*r->map = map;
	return ok;
}

/* The more labels there are on the way to the last, the more passes it takes until rows are alike. */
static bool fold_rows(isc_totals *t, const struct fold_rows *r)
{
	size_t before = *r->count;

	if (before < LEAST_ROWS)
		return true;
	for (int i = 0; i < PASSES_MAX && *r->count > before - before / 8; i++) {
		if (!relabel(t, r, i > 0))
			return false;
	}
	return true;
}

static void weigh_names(isc_totals *t)
{
	uint64_t weight = t->scope_count * ISC_WEIGHT_SCOPE + t->mark_count * ISC_WEIGHT_MARK +
			  t->counter_count * ISC_WEIGHT_COUNTER,
		 rows = 0;

	for (size_t i = 0; i < t->scope_count; i++) {
		weight += (uint64_t)t->scopes[i].histogram.buckets * ISC_WEIGHT_BUCKET;
		rows += (uint64_t)__builtin_popcountll(t->scopes[i].histogram.octaves);
	}
	t->memory = rows * ISC_HISTOGRAM_STEPS * sizeof(uint64_t);
	memset(t->recent, 0, sizeof(t->recent));
	isc_totals_weigh(t, ISC_PART_NAMES, (int64_t)(weight - t->part[ISC_PART_NAMES]));
}

#define ROWS(t, rows, count, map, kind, type, used_, name_, of) \
	{(t)->rows, \
	 sizeof(*(t)->rows), \
	 &(t)->count, \
	 map, \
	 kind, \
	 offsetof(type, used_), \
	 offsetof(type, before), \
	 offsetof(type, name_), \
	 of##_label, \
	 of##_key, \
	 of##_merge}

static bool fold_names(isc_totals *t)
{
	const struct fold_rows scopes = ROWS(t, scopes, scope_count, &t->by_name[ISC_BY_SCOPE], ISC_FOLDED_SCOPES,
					     isc_total_scope, total_ticks, name, scope);
	const struct fold_rows marks = ROWS(t, marks, mark_count, &t->by_name[ISC_BY_MARK], ISC_FOLDED_MARKS,
					    isc_total_mark, count, name, mark);
	const struct fold_rows counters = ROWS(t, counters, counter_count, &t->by_name[ISC_BY_COUNTER],
					       ISC_FOLDED_COUNTERS, isc_total_counter, count, name, counter);
	bool ok = fold_rows(t, &scopes) && fold_rows(t, &marks) && fold_rows(t, &counters);

	weigh_names(t);
	return ok;
}

static bool fold_stacks(isc_totals *t)
{
	const struct fold_rows stacks =
		ROWS(t, stacks, stack_count, &t->by_stack, ISC_FOLDED_STACKS, isc_total_stack, cpu_ns, stack, stack);
	bool ok = fold_rows(t, &stacks);

	isc_totals_weigh(t, ISC_PART_STACKS, (int64_t)(t->stack_count * ISC_WEIGHT_STACK - t->part[ISC_PART_STACKS]));
	return ok;
}

static bool fold_waits(isc_totals *t)
{
	const struct fold_rows waits =
		ROWS(t, waits, wait_count, &t->by_wait, ISC_FOLDED_WAITS, isc_total_wait, ticks, stack, wait);
	const struct fold_rows syscalls = ROWS(t, syscalls, syscall_count, &t->by_syscall, ISC_FOLDED_SYSCALLS,
					       isc_total_syscall, ticks, key, syscall);
	bool ok = fold_rows(t, &waits) && fold_rows(t, &syscalls);
	uint64_t weight = t->wait_count * ISC_WEIGHT_WAIT + t->syscall_count * ISC_WEIGHT_SYSCALL;

	isc_totals_weigh(t, ISC_PART_WAITS, (int64_t)(weight - t->part[ISC_PART_WAITS]));
	return ok;
}

bool isc_totals_fold(isc_totals *t, enum isc_totals_part part, bool startup_only)
{
	switch (part) {
	case ISC_PART_FUNCTIONS:
		return isc_fold_functions(t, startup_only);
	case ISC_PART_STACKS:
		return fold_stacks(t);
	case ISC_PART_NAMES:
		return fold_names(t);
	default:
		return fold_waits(t);
	}
}
