/*
 * totals_less.c - what was counted between two moments: the totals at the later one less those at the earlier.
 *
 * Sums and counts are exact.  Least and most, and what a row was last, stay those of the later moment: a difference
 * does not know them.  A row that the later totals folded into another is taken from that one.
 */
#include "trace/kin.h"
#include "trace/totals/totals_lane.h"

static void less(uint64_t *value, uint64_t earlier)
{
	*value -= earlier < *value ? earlier : *value;
}

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
		less(&f->calls, e->calls);
		less(&f->resumes, e->resumes);
		less(&f->self_ticks, e->self_ticks);
		less(&f->total_ticks, e->total_ticks);
		less(&f->unmatched, e->unmatched);
		less(&f->window_calls, e->window_calls);
		less(&f->exact_calls, e->exact_calls);
		less(&f->exact_resumes, e->exact_resumes);
		less(&f->exact_self, e->exact_self);
		less(&f->exact_total, e->exact_total);
		f->between.least -= e->between.least < f->between.least ? e->between.least : f->between.least;
		f->between.likely -= e->between.likely < f->between.likely ? e->between.likely : f->between.likely;
		f->between.most -= e->between.most < f->between.most ? e->between.most : f->between.most;
		f->spread -= e->spread < f->spread ? e->spread : f->spread;
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
		less(&s->samples, e->samples);
		less(&s->steps, e->steps);
		less(&s->cpu_ns, e->cpu_ns);
		less(&s->counted, e->counted);
		less(&s->instructions, e->instructions);
		less(&s->cycles, e->cycles);
		less(&s->grown, e->grown);
		less(&s->faults, e->faults);
		less(&s->fault_ns, e->fault_ns);
		less(&s->faulting, e->faulting);
	}
}

static void less_waits(isc_totals *t, const isc_totals *earlier)
{
	for (size_t i = 0; i < earlier->wait_count; i++) {
		const isc_total_wait *e = &earlier->waits[i];
		const uint64_t *at = wait_row(t, e);
		isc_total_wait *w = at != NULL ? &t->waits[*at] : NULL;

		if (w == NULL)
			continue;
		less(&w->count, e->count);
		less(&w->ticks, e->ticks);
		less(&w->brief_ticks, e->brief_ticks);
		less(&w->unseen, e->unseen);
	}
}

static void less_syscalls(isc_totals *t, const isc_totals *earlier)
{
	for (size_t i = 0; i < earlier->syscall_count; i++) {
		const isc_total_syscall *e = &earlier->syscalls[i];
		isc_total_syscall *s = isc_totals_syscall_find(t, e);

		if (s == NULL)
			continue;
		less(&s->count, e->count);
		less(&s->ticks, e->ticks);
		less(&s->bytes, e->bytes);
		less(&s->errors, e->errors);
		less(&s->slow, e->slow);
	}
}

static void less_threads(isc_totals *t, const isc_totals *earlier)
{
	for (size_t i = 0; i < earlier->thread_count; i++) {
		const isc_total_thread *e = &earlier->threads[i];
		const uint64_t *at = row_of(&t->by_thread, e->process, e->thread, 0);

		if (at == NULL)
			continue;
		less(&t->threads[*at].events, e->events);
		less(&t->threads[*at].scope_ticks, e->scope_ticks);
	}
}

static void less_scopes(isc_totals *t, const isc_totals *earlier)
{
	for (size_t i = 0; i < earlier->scope_count; i++) {
		const isc_total_scope *e = &earlier->scopes[i].scope;
		const uint64_t *at = row_of(&t->by_name[ISC_BY_SCOPE], e->process, e->name, ISC_TOTAL_REST);

		if (at == NULL)
			continue;
		less(&t->scopes[*at].scope.count, e->count);
		less(&t->scopes[*at].scope.unmatched, e->unmatched);
		less(&t->scopes[*at].scope.total_ticks, e->total_ticks);
		isc_histogram_less(&t->scopes[*at].histogram, &earlier->scopes[i].histogram);
	}
	for (size_t i = 0; i < earlier->mark_count; i++) {
		const uint64_t *at = row_of(&t->by_name[ISC_BY_MARK], earlier->marks[i].process, earlier->marks[i].name,
					    ISC_TOTAL_REST);

		if (at != NULL)
			less(&t->marks[*at].count, earlier->marks[i].count);
	}
}

void isc_totals_less(isc_totals *t, const isc_totals *earlier)
{
	less(&t->events, earlier->events);
	less_functions(t, earlier);
	less_stacks(t, earlier);
	less_waits(t, earlier);
	less_syscalls(t, earlier);
	less_threads(t, earlier);
	less_scopes(t, earlier);
}
