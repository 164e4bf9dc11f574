#include "analyze/verdict/hot_path.h"

#include <math.h>

#include "analyze/verdict/setup_calls.h"

#define FRAMES_MAX 512u	     /* of a stack, the outermost ones: what is deeper counts for the last of them */
#define NODES_MAX (1u << 17) /* 12 MiB */
#define KEEPS 0.9	     /* of its parent, that a child has to have */
#define INTERPRETED_PCT 40.0 /* of the judged time: less is no cause of its own */
#define PARTS 8u	     /* of the judged time: what is made again is made in nearly all of them */
#define PARTS_WITH 0.8

/* What makes a subtree a cause. */
enum { INTERPRETED, SET_UP, CAUSES };

struct path_node {
	uint32_t code, parent;
	uint32_t child, next;
	uint32_t frame; /* definition with the most time: its line is told */
	bool own;	/* the user's code */
	bool makes;	/* what a program makes once */
	double frame_ns, total_ns;
	double cause_ns[CAUSES]; /* without the waits for a CPU */
	uint64_t when;		 /* it makes something */
};

struct path_tree {
	const isc_observed *d;
	double stretch; /* of CPU time, to what it took with the waits for a CPU */
	struct path_node *node;
	size_t count, room;
	isc_hashmap by_child; /* node and code -> node */
	uint64_t searched;
	uint64_t when; /* the thread did anything */
	bool full;     /* what is new counts for its callers */
};

/* 0: no memory, or no room. */
static uint32_t child_of(struct path_tree *t, uint32_t parent, const isc_frame *frame)
{
	uint64_t *known = isc_hashmap_put(&t->by_child, isc_hashmap_key(parent, frame->code), NULL);
	struct path_node *fresh;

	if (known == NULL)
		return 0;
	if (*known != 0)
		return (uint32_t)*known;
	if (t->count >= NODES_MAX) {
		t->full = true;
		return 0;
	}
	fresh = isc_arena_push(t->d->b->arena, &t->node, &t->count, &t->room, sizeof(*fresh));
	if (fresh == NULL)
		return 0;
	*known = t->count - 1;
	*fresh = (struct path_node){.code = frame->code,
				    .parent = parent,
				    .next = t->node[parent].child,
				    .own = !isc_stack_is_installed(&frame->file),
				    .makes = isc_setup_of(frame) != ISC_SETUP_NONE};
	t->node[parent].child = (uint32_t)*known;
	return (uint32_t)*known;
}

/* The functions of a stack. */
struct path_stack {
	uint32_t id[FRAMES_MAX]; /* definitions of frames; the outermost has the highest number, modulo the room */
	size_t count;		 /* of all */
	bool own;		 /* the newest is the user's code */
};

static void read_stack(const struct path_tree *t, uint32_t id, struct path_stack *out)
{
	isc_frame frame;

	out->count = 0;
	out->own = false;
	while (id != 0 && isc_trace_frame(t->d->b->trace, t->d->focus.process, id, &frame)) {
		if (frame.kind == ISC_FRAME_PYTHON && frame.code != 0) {
			out->own = out->count == 0 ? !isc_stack_is_installed(&frame.file) : out->own;
			out->id[out->count++ % FRAMES_MAX] = id;
		}
		id = frame.parent;
	}
}

static void add_to(struct path_node *n, uint32_t frame, double ns)
{
	n->total_ns += ns;
	if (ns > n->frame_ns) {
		n->frame = frame;
		n->frame_ns = ns;
	}
}

/* The nodes of a stack, root first; how many, the node above all apart.  SIZE_MAX: no memory. */
static size_t enter_stack(struct path_tree *t, const struct path_stack *stack, double ns, uint32_t *path)
{
	size_t left = stack->count < FRAMES_MAX ? stack->count : FRAMES_MAX, depth = 0;
	isc_frame frame;

	path[0] = 0;
	for (size_t i = stack->count; left-- > 0; i--) {
		uint32_t id = stack->id[(i - 1) % FRAMES_MAX];

		if (!isc_trace_frame(t->d->b->trace, t->d->focus.process, id, &frame))
			break;
		path[depth + 1] = child_of(t, path[depth], &frame);
		if (path[depth + 1] == 0)
			return t->full ? depth : SIZE_MAX;
		add_to(&t->node[path[++depth]], id, ns);
	}
	return depth;
}

/* Its time is the subtree's of every function on the stack; what is made counts down to who makes it. */
static bool add_stack(struct path_tree *t, const isc_stack_fact *fact)
{
	double ns = fact->ran_ns * t->stretch + fact->waited_ns;
	uint32_t path[FRAMES_MAX + 1];
	struct path_stack stack;
	size_t depth, maker = 0;

	t->when |= fact->when;
	if (ns <= 0)
		return true;
	t->node[0].total_ns += ns;
	read_stack(t, fact->stack, &stack);
	depth = enter_stack(t, &stack, ns, path);
	if (depth == SIZE_MAX)
		return false;
	while (maker <= depth && !t->node[path[maker]].makes)
		maker++;
	for (size_t i = 0; i <= depth; i++) {
		struct path_node *at = &t->node[path[i]];

		if (maker > depth && stack.own)
			at->cause_ns[INTERPRETED] += fact->hot_ns;
		if (maker <= depth && i <= maker) {
			at->cause_ns[SET_UP] += fact->ran_ns + fact->waited_ns;
			at->when |= fact->when;
		}
	}
	return true;
}

static uint32_t heaviest_child(const struct path_tree *t, uint32_t node, int cause)
{
	uint32_t most = 0;

	for (uint32_t c = t->node[node].child; c != 0; c = t->node[c].next) {
		const struct path_node *n = &t->node[c], *m = &t->node[most];

		/* Of two alike the one that was defined first: the same trace gives the same report. */
		if (n->cause_ns[cause] > 0 && (most == 0 || n->cause_ns[cause] > m->cause_ns[cause] ||
					       (n->cause_ns[cause] >= m->cause_ns[cause] && n->code < m->code)))
			most = c;
	}
	return most;
}

/* It holds nearly all that the thread does. */
static bool is_whole(const struct path_tree *t, uint32_t node)
{
	return t->node[node].total_ns >= t->node[0].total_ns * KEEPS;
}

/* From the root down, for a cause of so much time at least. */
static uint32_t descend(const struct path_tree *t, int cause, double least_ns)
{
	uint32_t at = 0, next;

	while ((next = heaviest_child(t, at, cause)) != 0) {
		double has = t->node[next].cause_ns[cause];

		if (has < t->node[at].cause_ns[cause] * KEEPS && (has < least_ns || !is_whole(t, at)))
			break;
		at = next;
	}
	return at;
}

/* Whether something is made in nearly all parts of the time in which the thread does anything. */
static bool is_repeated(const struct path_tree *t, uint32_t node)
{
	unsigned seen = 0, with = 0;

	for (unsigned i = 0; i < PARTS; i++) {
		uint64_t part = (UINT64_MAX >> (64 - 64 / PARTS)) << (i * (64 / PARTS));

		seen += (t->when & part) != 0;
		with += (t->node[node].when & part) != 0;
	}
	return seen >= PARTS / 2 && with >= seen * PARTS_WITH;
}

/* The function with the most time below a node that makes something, itself included; 0: none. */
static uint32_t maker_in(const struct path_tree *t, uint32_t node)
{
	uint32_t most = 0;

	while (!t->node[node].makes) {
		most = heaviest_child(t, node, SET_UP);
		if (most == 0)
			return 0;
		node = most;
	}
	return node;
}

static isc_place place_at(struct path_tree *t, uint32_t node)
{
	const isc_trace *trace = t->d->b->trace;
	isc_frame frame;
	uint32_t line = 0;

	if (node == 0)
		return (isc_place){0};
	if (isc_trace_frame(trace, t->d->focus.process, t->node[node].frame, &frame))
		line = isc_trace_frame_line(trace, t->d->focus.process, &frame, &t->searched);
	return isc_observed_place(t->d, t->node[node].code, line);
}

/* The nearest code of the user's, which is what can be changed. */
static uint32_t own_code(const struct path_tree *t, uint32_t node)
{
	uint32_t at = node;

	while (at != 0 && !t->node[at].own)
		at = t->node[at].parent;
	return at != 0 ? at : node;
}

static void take(isc_evidence *j, struct path_tree *t, uint32_t node, int cause)
{
	const struct path_node *n = &t->node[node];
	double us = (is_whole(t, node) ? n->cause_ns[cause] : n->total_ns) / 1e3;

	if (us <= j->path.us)
		return;
	j->path = place_at(t, own_code(t, node));
	j->path.us = fmin(us, j->window_us);
	j->path_us = fmin(n->cause_ns[cause] / 1e3, j->path.us);
	j->made = cause == SET_UP ? place_at(t, maker_in(t, node)) : (isc_place){0};
}

static void judge_path(isc_evidence *j, struct path_tree *t)
{
	double least = j->window_us * 1e3 * INTERPRETED_PCT / 100;
	uint32_t node = descend(t, INTERPRETED, least);

	/* All of the program is not one part of it. */
	if (!j->merged && !is_whole(t, node) && t->node[node].cause_ns[INTERPRETED] >= least)
		take(j, t, node, INTERPRETED);
	node = descend(t, SET_UP, t->node[0].cause_ns[SET_UP] / 2);
	if (node != 0 && is_repeated(t, node))
		take(j, t, node, SET_UP);
}

bool isc_hot_path_find(isc_evidence *j, const isc_observed *d, double stretch)
{
	struct path_tree t = {.d = d, .stretch = stretch};
	bool good = isc_arena_push(d->b->arena, &t.node, &t.count, &t.room, sizeof(*t.node)) != NULL;

	for (size_t i = 0; good && i < d->stacks.count; i++)
		good = add_stack(&t, &d->stacks.fact[i]);
	if (good)
		judge_path(j, &t);
	isc_hashmap_fini(&t.by_child);
	return good;
}
