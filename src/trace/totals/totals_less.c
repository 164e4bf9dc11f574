/*
 * totals_less.c - what was counted between two moments: the totals at the later one less those at the earlier.
 *
 * Sums and counts are exact.  Least and most, and what a row was last, stay those of the later moment: a difference
 * does not know them.  A row that the later totals folded into another is taken from that one.
 */
#include "trace/kin.h"
#include "trace/totals/totals_fields.h"
#include "trace/totals/totals_lane.h"

/* The row of a key, or the one that those without room are counted in; NULL: neither. */
static const uint64_t *row_of(const isc_hashmap *map, uint32_t first, uint32_t second, uint32_t rest)
{
	const uint64_t *at = isc_hashmap_find(map, isc_hashmap_key(first, second));

	return at != NULL ? at : isc_hashmap_find(map, isc_hashmap_key(first, rest));
}

/* Or of the nearest caller that has one. */
static const uint64_t *stack_row(const isc_totals *t, const isc_total_stack *e)
{
	const uint64_t *at = isc_hashmap_find(&t->by_stack, isc_hashmap_key(e->thread, e->stack));
	uint32_t stack = e->stack;

	for (uint32_t i = 0; i < ISC_STACK_FRAMES_MAX && at == NULL && stack != 0; i++) {
		stack = isc_totals_caller_of(t, e->process, stack);
		at = isc_hashmap_find(&t->by_stack, isc_hashmap_key(e->thread, stack));
	}
	return at;
}

static const uint64_t *wait_row(const isc_totals *t, const isc_total_wait *e)
{
	uint32_t key = ISC_WAIT_KEY(e->thread, e->call), stack = e->stack;
	const uint64_t *at = isc_hashmap_find(&t->by_wait, isc_hashmap_key(key, stack));

	for (uint32_t i = 0; i < ISC_STACK_FRAMES_MAX && at == NULL && stack != 0; i++) {
		stack = isc_totals_kin_of(t, e->process, stack) & ~ISC_KIN_NATIVE;
		at = isc_hashmap_find(&t->by_wait, isc_hashmap_key(key, stack));
	}
	return at;
}

static void less_functions(isc_totals *t, const isc_totals *earlier)
{
	for (size_t i = 0; i < earlier->function_count; i++) {
		const isc_total_function *e = &earlier->functions[i];
		const uint64_t *at = row_of(&t->by_name[ISC_BY_FUNCTION], e->process, e->code,
					    isc_totals_rest_of(t, e->process, e->code));
		isc_total_function *f = at != NULL ? &t->functions[*at] : NULL;

		if (f == NULL)
			continue;
		isc_totals_fields_less(isc_function_fields, f, e);
		isc_totals_fields_less(isc_function_window_fields, f, e);
		isc_totals_fields_less(isc_function_exact_fields, f, e);
	}
}

static void less_stacks(isc_totals *t, const isc_totals *earlier)
{
	for (size_t i = 0; i < earlier->stack_count; i++) {
		const isc_total_stack *e = &earlier->stacks[i];
		const uint64_t *at = stack_row(t, e);
		isc_total_stack *s = at != NULL ? &t->stacks[*at] : NULL;

		if (s == NULL)
			continue;
		isc_totals_fields_less(isc_stack_fields, s, e);
		isc_totals_fields_less(isc_stack_counts_fields, s, e);
		isc_totals_fields_less(isc_stack_faults_fields, s, e);
	}
}

static void less_waits(isc_totals *t, const isc_totals *earlier)
{
	for (size_t i = 0; i < earlier->wait_count; i++) {
		const isc_total_wait *e = &earlier->waits[i];
		const uint64_t *at = wait_row(t, e);

		if (at != NULL)
			isc_totals_fields_less(isc_wait_fields, &t->waits[*at], e);
	}
}

static void less_syscalls(isc_totals *t, const isc_totals *earlier)
{
	for (size_t i = 0; i < earlier->syscall_count; i++) {
		const isc_total_syscall *e = &earlier->syscalls[i];
		isc_total_syscall *s = isc_totals_syscall_find(t, e);

		if (s != NULL)
			isc_totals_fields_less(isc_syscall_fields, s, e);
	}
}

static void less_threads(isc_totals *t, const isc_totals *earlier)
{
	for (size_t i = 0; i < earlier->thread_count; i++) {
		const isc_total_thread *e = &earlier->threads[i];
		const uint64_t *at = row_of(&t->by_thread, e->process, e->thread, 0);

		if (at == NULL)
			continue;
		isc_totals_fields_less(isc_thread_fields, &t->threads[*at], e);
		isc_totals_fields_less(isc_thread_scopes_fields, &t->threads[*at], e);
	}
}

static void less_scopes(isc_totals *t, const isc_totals *earlier)
{
	for (size_t i = 0; i < earlier->scope_count; i++) {
		const isc_total_scope *e = &earlier->scopes[i];
		const uint64_t *at = row_of(&t->by_name[ISC_BY_SCOPE], e->process, e->name, ISC_TOTAL_REST);

		if (at == NULL)
			continue;
		isc_totals_fields_less(isc_scope_fields, &t->scopes[*at], e);
		isc_histogram_less(&t->scopes[*at].histogram, &earlier->scopes[i].histogram);
	}
	for (size_t i = 0; i < earlier->mark_count; i++) {
		const uint64_t *at = row_of(&t->by_name[ISC_BY_MARK], earlier->marks[i].process, earlier->marks[i].name,
					    ISC_TOTAL_REST);

		if (at != NULL)
			isc_totals_fields_less(isc_mark_fields, &t->marks[*at], &earlier->marks[i]);
	}
}

void isc_totals_less(isc_totals *t, const isc_totals *earlier)
{
	t->events -= earlier->events < t->events ? earlier->events : t->events;
	less_functions(t, earlier);
	less_stacks(t, earlier);
	less_waits(t, earlier);
	less_syscalls(t, earlier);
	less_threads(t, earlier);
	less_scopes(t, earlier);
}
