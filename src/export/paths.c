#include "export/paths.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

void isc_paths_fini(isc_paths *p)
{
	isc_frames_fini(&p->frames);
	free(p->node);
	free(p->row);
	isc_hashmap_fini(&p->by_step);
	isc_hashmap_fini(&p->by_place);
	isc_hashmap_fini(&p->by_lane);
}

/* The place below a place; 0: no memory. */
static size_t step(isc_paths *p, size_t parent, size_t frame)
{
	isc_path_node *bigger = isc_grow(p->node, p->node_count, &p->node_room, sizeof(*bigger));
	uint64_t *known = NULL;

	if (bigger != NULL)
		p->node = bigger;
	if (bigger != NULL && frame != SIZE_MAX)
		known = isc_hashmap_put(&p->by_step, (uint64_t)parent << 32 | frame, NULL);
	if (known == NULL) {
		p->failed = true;
		return 0;
	}
	if (*known == 0) {
		p->node[p->node_count++] = (isc_path_node){parent, frame};
		*known = p->node_count;
	}
	return (size_t)*known;
}

static isc_path_row *row_of(isc_paths *p, size_t node, const isc_listener_thread *on, const char *state)
{
	isc_path_row *bigger = isc_grow(p->row, p->row_count, &p->row_room, sizeof(*bigger));
	uint64_t *first = isc_hashmap_put(&p->by_place, node, NULL);

	if (bigger != NULL)
		p->row = bigger;
	if (first == NULL || bigger == NULL) {
		p->failed = true;
		return NULL;
	}
	for (size_t i = (size_t)*first; i != 0; i = p->row[i - 1].next)
		if (!p->apart || (p->row[i - 1].on == on && strcmp(p->row[i - 1].state, state) == 0))
			return &p->row[i - 1];
	p->row[p->row_count++] = (isc_path_row){.node = node, .on = on, .state = state, .next = (size_t)*first};
	*first = p->row_count;
	return &p->row[p->row_count - 1];
}

static uint64_t *lane_of(isc_paths *p, const isc_slice *s)
{
	uint64_t *at = isc_hashmap_put(&p->by_lane, (uint64_t)s->on->thread << 8 | s->stream, NULL);

	p->failed |= at == NULL;
	return at;
}

/* A collection is told of after the calls inside it: it has no place among them. */
void isc_paths_open(isc_paths *p, const isc_slice *s)
{
	uint64_t *at = s->kind != ISC_SLICE_GC ? lane_of(p, s) : NULL;
	size_t below = at != NULL ? step(p, (size_t)*at, isc_frames_of_slice(&p->frames, s)) : 0;

	if (below != 0)
		*at = below;
}

void isc_paths_close(isc_paths *p, const isc_slice *s)
{
	uint64_t *at = s->kind != ISC_SLICE_GC ? lane_of(p, s) : NULL, took = s->end_ns - s->start_ns;
	isc_path_row *row;

	if (at == NULL || *at == 0 || p->failed)
		return;
	row = row_of(p, (size_t)*at, s->on, "traced");
	if (row == NULL)
		return;
	row->self_ns += took > s->inner_ns ? took - s->inner_ns : 0;
	row->calls++;
	*at = p->node[*at - 1].parent;
}

static isc_path_row *row_of_stack(isc_paths *p, const isc_listener_thread *on, uint32_t stack, const char *state)
{
	size_t numbers[ISC_STACK_FRAMES_MAX], node = 0;
	size_t n = isc_frames_stack(&p->frames, on->process, stack, numbers, ISC_STACK_FRAMES_MAX);

	p->failed |= p->frames.failed;
	for (size_t i = n; i > 0 && !p->failed; i--)
		node = step(p, node, numbers[i - 1]);
	return p->failed ? NULL : row_of(p, node, on, state);
}

void isc_paths_memory(isc_paths *p, const isc_listener_memory *m)
{
	isc_path_row *row = m->alloc ? row_of_stack(p, m->on, m->stack, "allocated") : NULL;

	if (row == NULL)
		return;
	p->memory = true;
	row->allocations += m->times;
	row->allocated += m->times * (double)m->bytes;
}

void isc_paths_sample(isc_paths *p, const isc_listener_sample *s)
{
	isc_path_row *row = row_of_stack(p, s->on, s->stack, s->state);

	if (row == NULL)
		return;
	p->sampled |= s->wait_ns == 0;
	row->samples += s->steps;
	row->cpu_ns += s->cpu_ns;
	row->wall_ns += s->cpu_ns + s->wait_ns;
}

size_t isc_paths_frames(const isc_paths *p, size_t node, size_t *frames, size_t most)
{
	size_t n = 0;

	for (; node != 0 && n < most; node = p->node[node - 1].parent)
		frames[n++] = p->node[node - 1].frame;
	return n;
}
