#include "analyze/code/stack_tree.h"

#include <string.h>

#include "analyze/time/attribution.h"
#include "trace/sample.h"

#define DEPTH_MAX (ISC_STACK_FRAMES_MAX + 1u)
/* Finding lines takes as long as their tables are: one that is made to be slow goes without. */
#define SEARCHED_MAX (4ull << 30)

void isc_stack_tree_fini(isc_stack_tree *t)
{
	isc_hashmap_fini(&t->by_frame);
	isc_hashmap_fini(&t->by_child);
	isc_hashmap_fini(&t->by_definition);
	isc_hashmap_fini(&t->by_process);
}

size_t isc_stack_tree_rank(const isc_stack_tree *t, size_t node)
{
	while (t->node[node].depth > 1)
		node = t->node[node].parent;
	return (size_t)t->node[node].frame - 1;
}

isc_analysis_frame isc_stack_tree_frame(const isc_stack_tree *t, const isc_build *b, size_t node)
{
	const isc_tree_frame *frame = &t->frame[t->node[node].frame];
	const isc_analysis_function *f = &b->a->functions[frame->function];

	return (isc_analysis_frame){.python = t->node[node].kind == ISC_FRAME_PYTHON,
				    .native = t->node[node].kind == ISC_FRAME_NATIVE,
				    .name = f->name,
				    .file = f->file,
				    .module = f->module,
				    .line = frame->line};
}

/* 0: no memory, for that is no child's number. */
static uint32_t add_node(isc_stack_tree *t, isc_arena *arena, uint32_t parent, uint32_t frame, uint8_t kind)
{
	isc_tree_node *node;
	uint32_t n;

	if (t->count >= UINT32_MAX)
		return 0;
	node = isc_arena_push(arena, &t->node, &t->count, &t->room, sizeof(*node));
	if (node == NULL)
		return 0;
	n = (uint32_t)(t->count - 1);
	*node = (isc_tree_node){.parent = parent,
				.frame = frame,
				.kind = kind,
				.known = true,
				.depth = (uint16_t)(t->node[parent].depth + 1u),
				.python = kind == ISC_FRAME_PYTHON ? n : t->node[parent].python,
				.next = t->node[parent].child};
	t->node[parent].child = n;
	return n;
}

static uint32_t process_node(isc_stack_tree *t, isc_build *b, size_t rank)
{
	uint64_t *known = isc_hashmap_put(&t->by_process, (uint64_t)rank + 1, NULL);

	if (t->count == 0 && isc_arena_push(b->arena, &t->node, &t->count, &t->room, sizeof(*t->node)) == NULL)
		return 0;
	if (known != NULL && *known == 0)
		*known = add_node(t, b->arena, 0, (uint32_t)(rank + 1), ISC_FRAME_UNKNOWN);
	return known != NULL ? (uint32_t)*known : 0;
}

static uint32_t child_node(isc_stack_tree *t, isc_build *b, uint32_t parent, size_t function, uint32_t line,
			   uint8_t kind)
{
	uint64_t *frame, *child;
	isc_tree_frame *new_frame;

	if (function >= UINT32_MAX)
		return 0;
	frame = isc_hashmap_put(&t->by_frame, isc_hashmap_key((uint32_t)function, line), NULL);
	if (frame != NULL && *frame == 0) {
		new_frame = isc_arena_push(b->arena, &t->frame, &t->frame_count, &t->frame_room, sizeof(*new_frame));
		if (new_frame == NULL)
			return 0;
		*new_frame = (isc_tree_frame){(uint32_t)function, line};
		*frame = t->frame_count;
	}
	child = frame != NULL ? isc_hashmap_put(&t->by_child, isc_hashmap_key(parent, (uint32_t)*frame), NULL) : NULL;
	if (child != NULL && *child == 0)
		*child = add_node(t, b->arena, parent, (uint32_t)*frame - 1, kind);
	return child != NULL ? (uint32_t)*child : 0;
}

/* A word instead of frames; what is above it may be known. */
static uint32_t stand_in_node(isc_stack_tree *t, isc_build *b, uint32_t parent, size_t rank, const char *name,
			      bool known)
{
	size_t function = isc_function_table_named(b, rank, name);
	uint32_t n = function != SIZE_MAX ? child_node(t, b, parent, function, 0, ISC_FRAME_UNKNOWN) : 0;

	if (n != 0) {
		t->node[n].known = known;
		t->node[n].stand_in = true;
	}
	return n;
}

static uint32_t frame_node(isc_stack_tree *t, isc_build *b, uint32_t parent, uint32_t process, uint32_t id)
{
	isc_frame frame;
	size_t function;
	uint32_t line = 0;

	/* Only in a file that is not ours. */
	if (t->node[parent].depth >= DEPTH_MAX)
		return parent;
	if (!isc_trace_frame(b->trace, process, id, &frame))
		return stand_in_node(t, b, parent, isc_build_process_rank(b, process), "?", false);
	/* Names of stand-ins are words of ours, and end. */
	if (frame.stand_in)
		return stand_in_node(t, b, parent, isc_build_process_rank(b, process), frame.name.at,
				     isc_stack_is_cut(id));
	if (t->searched < SEARCHED_MAX)
		line = isc_trace_frame_line(b->trace, process, &frame, &t->searched);
	function = isc_function_table_frame(b, process, &frame);
	return function != SIZE_MAX ? child_node(t, b, parent, function, line, frame.kind) : 0;
}

/* The node of a stack's newest frame; goes up to the first that is known already. */
static uint32_t stack_node(isc_stack_tree *t, isc_build *b, uint32_t root, uint32_t process, uint32_t stack)
{
	uint32_t ids[ISC_STACK_FRAMES_MAX], n = 0, node = root;
	isc_frame frame;

	for (uint32_t id = stack; id != 0 && n < ISC_STACK_FRAMES_MAX; id = frame.parent) {
		const uint64_t *known = isc_hashmap_find(&t->by_definition, isc_hashmap_key(process, id));

		if (known != NULL) {
			node = (uint32_t)*known;
			break;
		}
		ids[n++] = id;
		if (!isc_trace_frame(b->trace, process, id, &frame))
			break;
	}
	while (n > 0 && node != 0) {
		uint32_t id = ids[--n];
		uint64_t *known;

		node = frame_node(t, b, node, process, id);
		known = node != 0 ? isc_hashmap_put(&t->by_definition, isc_hashmap_key(process, id), NULL) : NULL;
		if (known == NULL)
			return 0;
		*known = node;
	}
	return node;
}

static uint64_t sum(uint64_t x, uint64_t y)
{
	return x + y >= x ? x + y : UINT64_MAX;
}

bool isc_stack_tree_add(isc_stack_tree *t, isc_build *b, const isc_total_stack *s)
{
	isc_attribution what = isc_attribution_of(b, s->process, s->stack);
	size_t rank = isc_build_process_rank(b, s->process);
	uint32_t root = process_node(t, b, rank), stack = s->stack, n;
	double us = (double)s->cpu_ns / 1e3;
	isc_frame newest;

	if (root == 0)
		return false;
	/* One that the trace had no room for is like none at all. */
	if (!isc_trace_frame(b->trace, s->process, stack, &newest))
		stack = ISC_STACK_NONE | ISC_STACK_NONE_UNKNOWN;
	n = stack_node(t, b, root, s->process, stack);
	if (n == 0)
		return false;
	t->node[n].state = (uint8_t)what.state;
	t->node[n].samples = sum(t->node[n].samples, s->samples);
	t->node[n].self_us += us;
	t->node[n].counted = sum(t->node[n].counted, s->counted);
	t->node[n].instructions += (double)s->instructions;
	t->node[n].cycles += (double)s->cycles;
	t->node[n].grown += (double)s->grown;
	b->a->samples.counted = sum(b->a->samples.counted, s->counted);
	b->a->samples.count = sum(b->a->samples.count, s->samples);
	b->a->samples.steps = sum(b->a->samples.steps, s->steps);
	b->a->samples.us += us;
	if (what.state == ISC_STATE_UNATTRIBUTED) {
		b->a->samples.unknown_us += us;
		b->a->samples.unattributed_us[what.why] += us;
	}
	if (isc_stack_is_cut(s->stack))
		b->a->samples.cut_us += us;
	return true;
}

uint32_t isc_stack_tree_find(const isc_stack_tree *t, uint32_t process, uint32_t stack)
{
	const uint64_t *known =
		stack != 0 ? isc_hashmap_find(&t->by_definition, isc_hashmap_key(process, stack)) : NULL;

	return known != NULL ? (uint32_t)*known : 0;
}

void isc_stack_tree_sum(isc_stack_tree *t)
{
	for (size_t i = t->count; i-- > 0;) {
		isc_tree_node *n = &t->node[i], *up = &t->node[n->parent];

		n->total_us += n->self_us;
		n->total_samples = sum(n->total_samples, n->samples);
		if (i > 0) {
			up->total_us += n->total_us;
			up->total_samples = sum(up->total_samples, n->total_samples);
		}
	}
}
