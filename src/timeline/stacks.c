/*
 * stacks.c - samples without a moment, as one tree: stacks that begin alike share
 * their beginning.
 *
 * The tree and its names have limits of their own.  When a stack would not fit, the
 * lightest places go (stacks_fold.c), so a heavy stack is kept wherever in the file
 * it stands, and no sample is lost.
 */
#include <stdlib.h>

#include "base/grow.h"
#include "timeline/state.h"

void isc_stacks_fini(isc_stacks *s)
{
	free(s->node);
	isc_hashmap_fini(&s->of);
	isc_strings_fini(&s->names);
	*s = (isc_stacks){0};
}

isc_facts_stack *isc_stacks_child(isc_stacks *s, uint32_t parent, uint32_t name)
{
	uint64_t *place = isc_hashmap_put(&s->of, isc_hashmap_key(parent, name), NULL);
	isc_facts_stack *grown;

	if (place == NULL)
		return NULL;
	if (*place == 0) {
		grown = isc_grow(s->node, s->count, &s->room, sizeof(*s->node));
		if (grown == NULL)
			return NULL;
		s->node = grown;
		s->node[s->count] = (isc_facts_stack){.parent = parent, .depth = s->node[parent].depth + 1, .id = name};
		*place = s->count++;
	}
	return &s->node[*place];
}

void isc_stacks_count(isc_facts_stack *node, uint64_t samples, int64_t ns)
{
	node->samples = node->samples + samples >= samples ? node->samples + samples : UINT64_MAX;
	if (ns > 0)
		node->ns = node->ns <= INT64_MAX - ns ? node->ns + ns : INT64_MAX;
}

/* The place that is above all. */
static bool begin(isc_stacks *s)
{
	isc_facts_stack *grown = s->count == 0 ? isc_grow(s->node, 0, &s->room, sizeof(*grown)) : s->node;

	if (grown == NULL)
		return false;
	s->node = grown;
	if (s->count == 0)
		s->node[s->count++] = (isc_facts_stack){0};
	return true;
}

static bool make_room(isc_stacks *s, const isc_text *names, size_t count)
{
	size_t bytes = 0;

	for (size_t i = 0; i < count; i++)
		bytes += names[i].len < ISC_STRING_BYTES_MOST ? names[i].len : ISC_STRING_BYTES_MOST;
	return (s->count + count <= ISC_STACKS_MOST && s->names.count + count <= ISC_STACKS_NAMES_MOST &&
		s->names.bytes + bytes <= ISC_STACKS_BYTES_MOST) ||
	       isc_stacks_fold(s);
}

isc_status isc_timeline_stack(isc_timeline *t, const isc_text *names, size_t count, uint64_t samples, int64_t ns,
			      isc_error *err)
{
	isc_stacks *s = &t->stacks;
	isc_facts_stack *node;

	if (count > ISC_STACK_DEPTH_MOST) {
		t->facts.too_deep++;
		count = ISC_STACK_DEPTH_MOST;
	}
	if (!begin(s) || !make_room(s, names, count))
		return isc_timeline_no_memory(err);
	node = s->node;
	for (size_t i = 0; i < count; i++) {
		uint32_t name = isc_strings_put(&s->names, names[i].at, names[i].len);

		node = name != 0 ? isc_stacks_child(s, (uint32_t)(node - s->node), name) : NULL;
		if (node == NULL)
			return isc_timeline_no_memory(err);
	}
	isc_stacks_count(node, samples, ns);
	return ISC_OK;
}

isc_text isc_timeline_stack_text(const isc_timeline *t, uint32_t id)
{
	return isc_strings_get(&t->stacks.names, id);
}
