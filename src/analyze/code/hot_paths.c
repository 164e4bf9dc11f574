/*
 * hot_paths.c - who called whom, as a short tree: by function and not by line, a
 * function that calls itself once, small branches left out, and functions that
 * only lead to one other in the same row as that.
 */
#include <stdlib.h>

#include "analyze/code/stack_tree.h"

/* A row takes at least that share of all samples' time; more when rows would be too many. */
#define SHARE_MIN 0.01
#define ROWS_MAX 40u

#define NONE UINT32_MAX

struct branch {
	uint32_t parent; /* 0: above all */
	uint32_t function;
	uint32_t node; /* one of the tree of stacks that it stands for */
	uint32_t child, next;
	uint64_t samples;
	double us;
};

struct paths {
	isc_build *b;
	const isc_stack_tree *tree;
	struct branch *branch;
	size_t count, room;
	isc_hashmap by_child; /* branch and function -> branch */
	size_t processes;
	double least_us;
	size_t row_room;
	bool failed;
};

static uint32_t add_branch(struct paths *p, uint32_t parent, uint32_t function, uint32_t node)
{
	struct branch *made = isc_arena_push(p->b->arena, &p->branch, &p->count, &p->room, sizeof(*made));

	if (made == NULL)
		return 0;
	*made = (struct branch){.parent = parent, .function = function, .node = node, .next = p->branch[parent].child};
	p->branch[parent].child = (uint32_t)(p->count - 1);
	return (uint32_t)(p->count - 1);
}

/* The branch that a node of the tree of stacks belongs to; 0: no memory. */
static uint32_t branch_of(struct paths *p, uint32_t parent, uint32_t node)
{
	const isc_tree_node *n = &p->tree->node[node];
	uint32_t function;
	uint64_t *known;

	if (n->depth == 1) {
		p->processes++;
		return add_branch(p, parent, NONE, node);
	}
	function = p->tree->frame[n->frame].function;
	if (p->branch[parent].function == function)
		return parent;
	known = isc_hashmap_put(&p->by_child, isc_hashmap_key(parent, function), NULL);
	if (known != NULL && *known == 0)
		*known = add_branch(p, parent, function, node);
	return known != NULL ? (uint32_t)*known : 0;
}

static bool grow(struct paths *p)
{
	const isc_stack_tree *t = p->tree;
	uint32_t *of = isc_arena_array(p->b->arena, t->count, sizeof(*of));

	if (of == NULL || isc_arena_push(p->b->arena, &p->branch, &p->count, &p->room, sizeof(*p->branch)) == NULL)
		return false;
	p->branch[0].function = NONE;
	for (uint32_t i = 1; i < t->count; i++) {
		of[i] = branch_of(p, of[t->node[i].parent], i);
		if (of[i] == 0)
			return false;
		p->branch[of[i]].us += t->node[i].self_us;
		p->branch[of[i]].samples += t->node[i].samples;
	}
	for (size_t i = p->count; i-- > 1;) {
		p->branch[p->branch[i].parent].us += p->branch[i].us;
		p->branch[p->branch[i].parent].samples += p->branch[i].samples;
	}
	return true;
}

/* The child with the most time that comes after `after`; 0: no more that is large enough. */
static uint32_t next_child(const struct paths *p, uint32_t parent, uint32_t after)
{
	const struct branch *bound = after != 0 ? &p->branch[after] : NULL, *best = NULL;
	uint32_t found = 0;

	for (uint32_t i = p->branch[parent].child; i != 0; i = p->branch[i].next) {
		const struct branch *c = &p->branch[i];

		if (c->us < p->least_us || (bound != NULL && (c->us > bound->us || (c->us == bound->us && i <= after))))
			continue;
		if (best == NULL || c->us > best->us || (c->us == best->us && i < found)) {
			best = c;
			found = i;
		}
	}
	return found;
}

/* Does all of its time go on to one function? */
static uint32_t only_child(const struct paths *p, uint32_t at)
{
	uint32_t child = next_child(p, at, 0);

	return child != 0 && p->branch[at].function != NONE && next_child(p, at, child) == 0 &&
			       p->branch[at].us - p->branch[child].us < p->least_us
		       ? child
		       : 0;
}

/* How many rows there would be; stops when they are too many. */
static size_t count_rows(const struct paths *p, uint32_t at, size_t rows)
{
	uint32_t folded;

	while ((folded = only_child(p, at)) != 0)
		at = folded;
	rows++;
	for (uint32_t c = next_child(p, at, 0); c != 0 && rows <= ROWS_MAX; c = next_child(p, at, c))
		rows = count_rows(p, c, rows);
	return rows;
}

static isc_analysis_frame frame_of(const struct paths *p, uint32_t at)
{
	isc_analysis_frame frame = isc_stack_tree_frame(p->tree, p->b, p->branch[at].node);

	/* It stands for all lines of the function. */
	frame.line = p->b->a->functions[p->branch[at].function].line;
	return frame;
}

static void add_row(struct paths *p, uint32_t at, unsigned depth)
{
	isc_analysis *a = p->b->a;
	size_t rank = isc_stack_tree_rank(p->tree, p->branch[at].node), n = p->branch[at].function != NONE, frames = 0;
	isc_analysis_path *row = isc_arena_push(p->b->arena, &a->paths, &a->path_count, &p->row_room, sizeof(*row));

	for (uint32_t c = at; n > 0 && (c = only_child(p, c)) != 0;)
		n++;
	if (row != NULL)
		*row = (isc_analysis_path){.depth = depth,
					   .frames = isc_arena_array(p->b->arena, n, sizeof(*row->frames)),
					   .frame_count = n,
					   .pid = rank < a->process_count ? a->processes[rank].pid : 0,
					   .samples = p->branch[at].samples,
					   .us = p->branch[at].us};
	if (row == NULL || row->frames == NULL) {
		p->failed = true;
		return;
	}
	if (n > 0)
		row->frames[frames++] = frame_of(p, at);
	for (; frames < n; frames++) {
		at = only_child(p, at);
		row->frames[frames] = frame_of(p, at);
	}
	for (uint32_t c = next_child(p, at, 0); c != 0 && !p->failed; c = next_child(p, at, c))
		add_row(p, c, depth + 1);
}

bool isc_build_paths(isc_build *b, const isc_stack_tree *t)
{
	struct paths p = {.b = b, .tree = t};
	uint32_t top = 0;
	bool ok = grow(&p);

	/* Steps without a length say nothing of time. */
	if (ok && p.branch[0].us > 0) {
		/* One process needs no row of its own. */
		top = p.processes == 1 ? p.branch[0].child : 0;
		p.least_us = p.branch[0].us * SHARE_MIN;
		while (count_rows(&p, top, 0) > ROWS_MAX)
			p.least_us *= 1.5;
		for (uint32_t c = next_child(&p, top, 0); c != 0 && !p.failed; c = next_child(&p, top, c))
			add_row(&p, c, 0);
	}
	isc_hashmap_fini(&p.by_child);
	return ok && !p.failed;
}
