/*
 * hot_lines.c - the lines that took the CPU time: of a stack the newest Python
 * frame's, with the native code that it called; of one without Python the newest.
 */
#include <stdlib.h>

#include "analyze/code/stack_tree.h"

#define LINES_MAX 100u

struct line {
	uint32_t node; /* one that stands on it; 0: none yet */
	uint64_t samples;
	double self_us, native_us;
};

/* Times first; where they are equal, the order in which the trace had them. */
static int by_time(const void *x, const void *y)
{
	const struct line *l = x, *m = y;

	if (l->self_us != m->self_us)
		return l->self_us < m->self_us ? 1 : -1;
	if (l->samples != m->samples)
		return l->samples < m->samples ? 1 : -1;
	return (l->node > m->node) - (l->node < m->node);
}

static void sum_up(const isc_stack_tree *t, struct line *line)
{
	for (size_t i = 0; i < t->count; i++) {
		const isc_tree_node *n = &t->node[i];
		uint32_t at = n->python != 0 && !n->stand_in ? n->python : (uint32_t)i;
		struct line *l;

		if (n->samples == 0 || !isc_tree_is_frame(n))
			continue;
		l = &line[t->node[at].frame];
		l->node = l->node != 0 ? l->node : at;
		l->samples += n->samples;
		l->self_us += n->self_us;
		l->native_us += n->python != i ? n->self_us : 0;
	}
}

bool isc_build_lines(isc_build *b, const isc_stack_tree *t)
{
	struct line *line = isc_arena_array(b->arena, t->frame_count, sizeof(*line));
	isc_analysis *a = b->a;
	size_t n = 0;

	if (line == NULL)
		return false;
	sum_up(t, line);
	/* Those of which the line is not known are told by their functions. */
	for (size_t i = 0; i < t->frame_count; i++) {
		if (line[i].node != 0 && t->frame[t->node[line[i].node].frame].line != 0)
			line[n++] = line[i];
	}
	if (n > 0)
		qsort(line, n, sizeof(*line), by_time);
	a->samples.lines = n;
	a->line_count = n < LINES_MAX || b->part ? n : LINES_MAX;
	a->lines = isc_arena_array(b->arena, a->line_count, sizeof(*a->lines));
	if (a->lines == NULL)
		return false;
	for (size_t i = 0; i < n; i++) {
		const struct line *l = &line[i];
		size_t rank;

		if (i >= a->line_count) {
			a->samples.other_line_samples += l->samples;
			a->samples.other_lines_us += l->self_us;
			continue;
		}
		rank = isc_stack_tree_rank(t, l->node);
		a->lines[i] = (isc_analysis_line){.at = isc_stack_tree_frame(t, b, l->node),
						  .pid = rank < a->process_count ? a->processes[rank].pid : 0,
						  .samples = l->samples,
						  .self_us = l->self_us,
						  .native_us = l->native_us};
	}
	return true;
}
