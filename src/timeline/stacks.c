/*
 * stacks.c - samples without a moment, as one tree: stacks that begin alike share
 * their beginning.
 */
#include "timeline/state.h"

/* Functions below it are left out and counted; the recorder's own stacks are no deeper. */
#define DEPTH_MOST 512u

static isc_facts_stack *node_at(const isc_timeline *t, size_t i)
{
	return (isc_facts_stack *)t->stacks.at + i;
}

static isc_facts_stack *push(isc_timeline *t)
{
	return isc_arena_push(t->arena, &t->stacks.at, &t->stacks.count, &t->stacks.room, sizeof(isc_facts_stack));
}

/* The place below a parent; the parent's own when the table is full.  False: no memory. */
static bool child_of(isc_timeline *t, uint32_t parent, uint32_t name, uint32_t *out)
{
	uint64_t key = isc_hashmap_key(parent, name);
	uint64_t *place = isc_hashmap_find(&t->stack_of, key);
	isc_facts_stack *node;

	*out = place != NULL ? (uint32_t)*place : parent;
	if (place != NULL)
		return true;
	if (t->stacks.count >= ISC_ROWS_MOST) {
		t->folded++;
		return true;
	}
	place = isc_hashmap_put(&t->stack_of, key, NULL);
	node = place != NULL ? push(t) : NULL;
	if (node == NULL)
		return false;
	node->parent = parent;
	node->depth = node_at(t, parent)->depth + 1;
	node->id = name;
	*out = (uint32_t)(t->stacks.count - 1);
	*place = *out;
	return true;
}

isc_status isc_timeline_stack(isc_timeline *t, const uint32_t *names, size_t count, uint64_t samples, int64_t ns,
			      isc_error *err)
{
	isc_facts_stack *node;
	uint32_t at = 0;

	if (t->stacks.count == 0 && push(t) == NULL)
		return isc_timeline_no_memory(err);
	for (size_t i = 0; i < count; i++) {
		if (i == DEPTH_MOST) {
			t->facts.too_deep++;
			break;
		}
		if (!child_of(t, at, names[i], &at))
			return isc_timeline_no_memory(err);
	}
	node = node_at(t, at);
	node->samples = node->samples + samples >= samples ? node->samples + samples : UINT64_MAX;
	if (ns > 0)
		node->ns = node->ns <= INT64_MAX - ns ? node->ns + ns : INT64_MAX;
	return ISC_OK;
}
