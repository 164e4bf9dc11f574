/*
 * hot_stacks.c - the stacks with the most CPU time, and all others as one: their
 * sum is that of all samples.
 */
#include <stdlib.h>

#include "analyze/code/stack_tree.h"

#define STACKS_MAX 100u

/* Counts of fewer of its samples than that say too little of a stack. */
#define COUNTED_SHARE 0.95

struct hot_stack {
	uint32_t node;
	uint64_t samples;
	double us;
};

static int by_time(const void *x, const void *y)
{
	const struct hot_stack *s = x, *u = y;

	if (s->us != u->us)
		return s->us < u->us ? 1 : -1;
	if (s->samples != u->samples)
		return s->samples < u->samples ? 1 : -1;
	return (s->node > u->node) - (s->node < u->node);
}

static void add_more(const isc_build *b, const isc_tree_node *n, isc_analysis_stack *to)
{
	to->counted = (double)n->counted >= COUNTED_SHARE * (double)n->samples;
	to->instructions += n->instructions;
	to->cycles += n->cycles;
	to->memory_bytes += n->grown;
	to->us_median = b->a->samples.scope.len > 0 ? to->us_median + n->median_us : -1;
	to->us_slow = b->a->samples.scope.len > 0 ? to->us_slow + n->slow_us : -1;
}

static bool fill(isc_build *b, const isc_stack_tree *t, const struct hot_stack *from, isc_analysis_stack *to)
{
	size_t rank = isc_stack_tree_rank(t, from->node), n = t->node[from->node].depth - 1u, at = from->node;

	*to = (isc_analysis_stack){.frames = isc_arena_array(b->arena, n, sizeof(*to->frames)),
				   .frame_count = n,
				   .pid = rank < b->a->process_count ? b->a->processes[rank].pid : 0,
				   .samples = from->samples,
				   .us = from->us};
	add_more(b, &t->node[from->node], to);
	for (; to->frames != NULL && n > 0; at = t->node[at].parent)
		to->frames[--n] = isc_stack_tree_frame(t, b, at);
	return to->frames != NULL;
}

bool isc_build_stacks(isc_build *b, const isc_stack_tree *t)
{
	struct hot_stack *stack = isc_arena_array(b->arena, t->count, sizeof(*stack));
	isc_analysis *a = b->a;
	isc_analysis_stack *other;
	uint64_t counted = 0;
	size_t n = 0, shown;

	if (stack == NULL)
		return false;
	for (size_t i = 0; i < t->count; i++) {
		if (t->node[i].samples > 0)
			stack[n++] = (struct hot_stack){(uint32_t)i, t->node[i].samples, t->node[i].self_us};
	}
	if (n > 0)
		qsort(stack, n, sizeof(*stack), by_time);
	shown = n < STACKS_MAX || b->part ? n : STACKS_MAX;
	a->samples.stacks = n;
	a->stack_count = shown + (n > shown);
	a->stacks = isc_arena_array(b->arena, a->stack_count, sizeof(*a->stacks));
	if (a->stacks == NULL)
		return false;
	for (size_t i = 0; i < shown; i++) {
		if (!fill(b, t, &stack[i], &a->stacks[i]))
			return false;
	}
	for (size_t i = shown; i < n; i++) {
		other = &a->stacks[shown];
		other->samples += stack[i].samples;
		other->us += stack[i].us;
		counted += t->node[stack[i].node].counted;
		add_more(b, &t->node[stack[i].node], other);
		other->counted = (double)counted >= COUNTED_SHARE * (double)other->samples;
	}
	return true;
}
