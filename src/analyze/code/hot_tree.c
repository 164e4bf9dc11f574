/*
 * hot_tree.c - the tree of stacks for a flame graph: its largest places, and below
 * each of them one that stands for all that are too small to be drawn.
 */
#include <stdlib.h>

#include "analyze/code/stack_tree.h"

#define NODES_MAX 8000u /* a screen has fewer columns than that, and few rows are full */

static int by_size(const void *x, const void *y)
{
	double a = *(const double *)x, b = *(const double *)y;

	return (a < b) - (a > b);
}

/* With no more than this a place is too small; negative: none is. */
static bool find_limit(isc_build *b, const isc_stack_tree *t, double *limit)
{
	double *size;

	*limit = -1;
	if (t->count <= NODES_MAX)
		return true;
	size = isc_arena_array(b->arena, t->count, sizeof(*size));
	if (size == NULL)
		return false;
	for (size_t i = 0; i < t->count; i++)
		size[i] = t->node[i].total_us;
	qsort(size, t->count, sizeof(*size), by_size);
	*limit = size[NODES_MAX];
	return true;
}

struct copying {
	isc_build *b;
	const isc_stack_tree *t;
	uint32_t *place; /* of a node, or of what stands for it */
	uint32_t *small; /* of those too small below a place + 1 */
	uint32_t *frame; /* its number in the analysis + 1 */
};

static uint32_t push(struct copying *c, uint32_t parent)
{
	isc_analysis *a = c->b->a;

	a->tree[a->tree_count] = (isc_analysis_node){.parent = parent};
	return (uint32_t)a->tree_count++;
}

static uint32_t frame_of(struct copying *c, size_t node)
{
	isc_analysis *a = c->b->a;
	uint32_t at = c->t->node[node].frame;

	if (c->frame[at] == 0) {
		a->tree_frames[a->tree_frame_count] = isc_stack_tree_frame(c->t, c->b, node);
		c->frame[at] = (uint32_t)++a->tree_frame_count;
	}
	return c->frame[at];
}

static uint32_t place_of(struct copying *c, size_t i, double limit)
{
	const isc_tree_node *n = &c->t->node[i];
	uint32_t parent = i == 0 ? 0 : c->place[n->parent], at;
	isc_analysis *a = c->b->a;
	size_t rank;

	if (i > 0 && n->total_us <= limit) {
		/* Its caller is too small as well: one stands for both. */
		if (c->t->node[n->parent].total_us <= limit && n->parent > 0)
			return parent;
		if (c->small[parent] == 0)
			c->small[parent] = push(c, parent) + 1;
		return c->small[parent] - 1;
	}
	at = push(c, parent);
	if (isc_tree_is_frame(n)) {
		a->tree[at].frame = frame_of(c, i);
	} else if (i > 0) {
		rank = isc_stack_tree_rank(c->t, i);
		a->tree[at].pid = rank < a->process_count ? a->processes[rank].pid : 0;
	}
	return at;
}

bool isc_build_tree(isc_build *b, const isc_stack_tree *t)
{
	struct copying c = {.b = b, .t = t};
	isc_analysis *a = b->a;
	/* Each place may have one more for those that are too small below it. */
	size_t room = (t->count < NODES_MAX ? t->count : NODES_MAX) * 2 + 2;
	double limit;

	a->tree = isc_arena_array(b->arena, room, sizeof(*a->tree));
	a->tree_frames = isc_arena_array(b->arena, t->frame_count + 1, sizeof(*a->tree_frames));
	c.place = isc_arena_array(b->arena, t->count + 1, sizeof(*c.place));
	c.small = isc_arena_array(b->arena, room, sizeof(*c.small));
	c.frame = isc_arena_array(b->arena, t->frame_count + 1, sizeof(*c.frame));
	if (a->tree == NULL || a->tree_frames == NULL || c.place == NULL || c.small == NULL || c.frame == NULL ||
	    !find_limit(b, t, &limit))
		return false;
	for (size_t i = 0; i < t->count; i++) {
		const isc_tree_node *n = &t->node[i];
		isc_analysis_node *to;

		c.place[i] = place_of(&c, i, limit);
		to = &a->tree[c.place[i]];
		to->samples += n->samples;
		to->us += n->self_us;
		to->median_us += n->median_us;
		to->slow_us += n->slow_us;
	}
	return true;
}
