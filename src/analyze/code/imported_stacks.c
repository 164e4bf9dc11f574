/*
 * imported_stacks.c - the samples of other tools, as our own are shown: functions
 * with their CPU time, stacks, who called whom.
 *
 * Such samples tell of no process: functions that were also called are found by
 * their name and place when the trace is of one process.
 */
#include "analyze/imported.h"
#include "analyze/code/stack_tree.h"
#include "base/ns.h"
#include "timeline/python_place.h"
#include "trace/stack.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

void isc_imported_place(isc_text s, isc_analysis_function *out)
{
	isc_python_place place;

	isc_python_place_of(s, &place);
	out->name = place.name;
	out->file = place.file;
	out->line = place.line;
}

struct stacks {
	isc_analysis *a;
	isc_arena *arena;
	isc_stack_tree tree;
	isc_hashmap by_name;  /* of a function: its number + 1 */
	isc_hashmap by_place; /* of functions that were called: likewise */
	size_t room;
	uint32_t *open; /* by function */
};

static uint64_t place_key(const isc_analysis_function *f)
{
	return XXH3_64bits_withSeed(f->name.at, f->name.len, XXH3_64bits_withSeed(f->file.at, f->file.len, f->line));
}

/* Its number; SIZE_MAX: no memory. */
static size_t function_of(struct stacks *s, uint32_t name)
{
	uint64_t *known = isc_hashmap_put(&s->by_name, name, NULL), *called;
	isc_analysis_function made = {0};

	if (known == NULL)
		return SIZE_MAX;
	if (*known != 0)
		return *known - 1;
	isc_imported_place(isc_timeline_stack_text(s->a->timeline_own, name), &made);
	called = isc_hashmap_find(&s->by_place, place_key(&made));
	if (called == NULL) {
		isc_analysis_function *f =
			isc_arena_push(s->arena, &s->a->functions, &s->a->function_count, &s->room, sizeof(*f));

		if (f == NULL)
			return SIZE_MAX;
		*f = made;
		*known = s->a->function_count;
	} else {
		*known = *called;
	}
	return *known - 1;
}

static bool take_called(struct stacks *s)
{
	isc_analysis *a = s->a;
	/* The list was made to measure: one that grows is a copy. */
	isc_analysis_function *functions = isc_arena_array(s->arena, a->function_count + 64, sizeof(*functions));

	if (functions == NULL)
		return false;
	if (a->function_count > 0)
		memcpy(functions, a->functions, a->function_count * sizeof(*functions));
	a->functions = functions;
	s->room = a->function_count + 64;
	for (size_t i = 0; a->process_count <= 1 && i < a->function_count; i++) {
		uint64_t *place = isc_hashmap_put(&s->by_place, place_key(&functions[i]), NULL);

		if (place == NULL)
			return false;
		*place = *place == 0 ? i + 1 : *place;
	}
	return true;
}

/* The same tree, below a process that is not known. */
static bool copy_tree(struct stacks *s)
{
	const isc_timeline_facts *f = s->a->timeline;
	isc_stack_tree *t = &s->tree;

	t->node = isc_arena_array(s->arena, f->stack_count + 1, sizeof(*t->node));
	t->frame = isc_arena_array(s->arena, f->stack_count + 1, sizeof(*t->frame));
	if (t->node == NULL || t->frame == NULL)
		return false;
	t->count = f->stack_count + 1;
	t->node[0].child = 1;
	for (size_t i = 0; i < f->stack_count; i++) {
		const isc_facts_stack *from = &f->stacks[i];
		isc_tree_node *to = &t->node[i + 1];

		to->parent = i > 0 ? from->parent + 1 : 0;
		to->depth = (uint16_t)(from->depth + 1);
		to->samples = from->samples;
		to->self_us = (double)from->ns / 1e3;
		to->known = true;
		s->a->samples.count = isc_count_plus(s->a->samples.count, from->samples);
		s->a->samples.us += to->self_us;
		if (i == 0)
			continue;
		to->next = t->node[to->parent].child;
		t->node[to->parent].child = (uint32_t)(i + 1);
	}
	return true;
}

/* One frame for a function: such samples have no lines of their own. */
static bool name_frames(struct stacks *s)
{
	const isc_timeline_facts *f = s->a->timeline;
	isc_stack_tree *t = &s->tree;

	for (size_t i = 1; i < f->stack_count; i++) {
		size_t function = function_of(s, f->stacks[i].id);
		uint64_t *frame;

		if (function >= UINT32_MAX)
			return false;
		frame = isc_hashmap_put(&t->by_frame, function, NULL);
		if (frame == NULL)
			return false;
		if (*frame == 0) {
			t->frame[t->frame_count++] = (isc_tree_frame){(uint32_t)function, 0};
			*frame = t->frame_count;
		}
		t->node[i + 1].frame = (uint32_t)*frame - 1;
	}
	/* Samples without a function. */
	s->a->samples.unknown_us = f->stack_count > 0 ? t->node[1].self_us : 0;
	return true;
}

/* In the order of calls: a function is counted where it is outermost. */
static bool count_functions(struct stacks *s)
{
	const isc_stack_tree *t = &s->tree;
	uint32_t at = 0;

	s->open = isc_arena_array(s->arena, s->a->function_count, sizeof(*s->open));
	if (s->open == NULL)
		return false;
	for (;;) {
		const isc_tree_node *n = &t->node[at];

		if (isc_tree_is_frame(n)) {
			isc_analysis_function *f = &s->a->functions[t->frame[n->frame].function];

			f->samples += n->samples;
			f->cpu_self_us += n->self_us;
			if (s->open[t->frame[n->frame].function]++ == 0)
				f->cpu_total_us += n->total_us;
		}
		if (n->child != 0) {
			at = n->child;
			continue;
		}
		for (;; at = n->parent) {
			n = &t->node[at];
			if (isc_tree_is_frame(n))
				s->open[t->frame[n->frame].function]--;
			if (at == 0 || n->next != 0)
				break;
		}
		if (at == 0)
			return true;
		at = n->next;
	}
}

static void settle_functions(struct stacks *s)
{
	const isc_analysis_samples *all = &s->a->samples;

	for (size_t i = 0; i < s->a->function_count; i++) {
		isc_analysis_function *f = &s->a->functions[i];

		f->cpu_error_us = isc_samples_error_us(f->samples, all->count, all->us);
		if (f->traced)
			continue;
		f->by_samples = f->estimated = true;
		f->self_us = f->cpu_self_us;
		f->total_us = f->cpu_total_us;
	}
}

static bool fill(struct stacks *s)
{
	isc_build b = {.a = s->a, .arena = s->arena};

	if (!take_called(s) || !copy_tree(s) || !name_frames(s))
		return false;
	s->a->samples.steps = s->a->samples.count;
	isc_stack_tree_sum(&s->tree);
	if (!count_functions(s))
		return false;
	settle_functions(s);
	if (!isc_build_stacks(&b, &s->tree) || !isc_build_paths(&b, &s->tree) || !isc_build_tree(&b, &s->tree))
		return false;
	isc_build_sort_functions(&b);
	return true;
}

bool isc_imported_stacks(isc_analysis *a, isc_arena *arena)
{
	struct stacks s = {.a = a, .arena = arena};
	bool ok = a->timeline->stack_count == 0 || fill(&s);

	isc_stack_tree_fini(&s.tree);
	isc_hashmap_fini(&s.by_name);
	isc_hashmap_fini(&s.by_place);
	return ok;
}
