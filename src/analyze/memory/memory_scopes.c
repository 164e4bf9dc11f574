/*
 * memory_scopes.c - how memory grows from scope to scope.
 *
 * What a thread takes and gives back while it is in a scope counts for the scope: a request that puts
 * something into a full cache takes as much as it throws out, and one that only takes grows.  What a scope
 * takes and gives back itself cancels out, sample by sample.
 */
#include "analyze/memory/memory.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SLICES 10u	  /* of the time in which scopes of the name took memory */
#define SLICES_LEAST 7u	  /* that grew */
#define SCOPES_LEAST 10u  /* fewer are no row */
#define SAMPLES_LEAST 10u /* fewer say nothing of when */
#define BYTES_LEAST 1048576.0
#define HALF_LEAST 0.2 /* of it: in each half of that time */
#define DEPTH_MAX 256u
#define TWO_SIDED_95 1.96

/* A scope that is open on a thread. */
typedef struct open_scope {
	uint64_t instance; /* of a span; 0: none */
	uint64_t end_ns;   /* if it is left on another thread, else never */
	uint32_t task;
	uint32_t name;
} open_scope;

typedef struct isc_memory_lane {
	uint32_t task;
	open_scope *open;
	size_t depth, room;
	uint64_t expected;
} lane;

/* A record that is a scope's. */
typedef struct isc_memory_share {
	uint32_t op; /* in the file's order */
	uint32_t name;
} share;

static uint64_t key_of(uint32_t process, uint64_t instance)
{
	return (uint64_t)process << 40 ^ instance;
}

void isc_memory_scopes_fini(isc_memory_scopes *s)
{
	isc_names_fini(&s->names);
	isc_hashmap_fini(&s->lanes);
	isc_hashmap_fini(&s->moved);
	isc_hashmap_fini(&s->number);
}

static bool take_end(void *self, const isc_event *ev)
{
	isc_memory_scopes *s = self;
	isc_span span;
	uint64_t *end;

	if (ev->arg != ISC_SPAN_MOVED || ev->extra_len < sizeof(span))
		return true;
	memcpy(&span, ev->extra, sizeof(span));
	end = isc_hashmap_put(&s->moved, key_of(ev->process, span.instance), NULL);
	if (end != NULL)
		*end = ev->time_ns;
	return end != NULL;
}

void isc_memory_scopes_join(isc_memory_scopes *s, isc_build *b, isc_walk *walk)
{
	s->b = b;
	isc_walk_join(walk, ISC_KIND_BIT(ISC_KIND_SPAN_EXIT), take_end, s);
}

static lane *lane_of(isc_memory_scopes *s, isc_build *b, const isc_event *ev)
{
	uint64_t *rank = isc_hashmap_put(&s->lanes, ev->thread, NULL);
	lane *l;

	if (rank == NULL)
		return NULL;
	if (*rank == 0) {
		l = isc_arena_push(b->arena, &s->lane, &s->lane_count, &s->lane_room, sizeof(*l));
		if (l == NULL)
			return NULL;
		*l = (lane){.expected = ev->number};
		*rank = s->lane_count;
	}
	l = &s->lane[*rank - 1];
	/* Behind a gap nobody knows what is open. */
	if (ev->number != l->expected)
		l->depth = 0;
	l->expected = ev->number + 1;
	return l;
}

/* The number of a scope's name; UINT32_MAX: no memory. */
static uint32_t name_of(isc_memory_scopes *s, isc_build *b, const isc_event *ev)
{
	uint64_t *known = isc_hashmap_put(&s->number, isc_hashmap_key(ev->process, ev->id), NULL);
	uint32_t len = 0;
	const char *text;
	size_t n;

	if (known == NULL)
		return UINT32_MAX;
	if (*known != 0)
		return (uint32_t)(*known - 1);
	text = isc_build_label(b, ev->process, ev->id, &len);
	n = isc_names_put(&s->names, b->arena, text, len);
	if (n == SIZE_MAX)
		return UINT32_MAX;
	if (n == s->count && isc_arena_push(b->arena, &s->at, &s->count, &s->room, sizeof(*s->at)) == NULL)
		return UINT32_MAX;
	*known = n + 1;
	return (uint32_t)n;
}

static bool enter(isc_memory_scopes *s, isc_build *b, lane *l, const isc_event *ev, uint64_t instance)
{
	const uint64_t *end = instance != 0 ? isc_hashmap_find(&s->moved, key_of(ev->process, instance)) : NULL;
	uint32_t name = name_of(s, b, ev);
	open_scope *o;

	if (name == UINT32_MAX)
		return false;
	s->at[name].count += ev->time_ns >= b->from_ns && ev->time_ns <= b->to_ns;
	if (l->depth >= DEPTH_MAX)
		return true;
	o = isc_arena_push(b->arena, &l->open, &l->depth, &l->room, sizeof(*o));
	if (o != NULL)
		*o = (open_scope){instance, end != NULL ? *end : UINT64_MAX, l->task, name};
	return o != NULL;
}

/* The innermost that it may be; scopes of a context may be left in any order. */
static void leave(lane *l, uint64_t instance, uint32_t name)
{
	for (size_t i = l->depth; i > 0; i--) {
		const open_scope *o = &l->open[i - 1];

		if (o->instance != instance || (instance == 0 && o->name != name))
			continue;
		memmove(&l->open[i - 1], &l->open[i], (l->depth - i) * sizeof(*l->open));
		l->depth--;
		return;
	}
}

static bool is_new(const lane *l, size_t from, uint32_t name)
{
	for (size_t i = from + 1; i < l->depth; i++) {
		if (l->open[i].name == name && l->open[i].task == l->task)
			return false;
	}
	return true;
}

static bool take(isc_memory_scopes *s, isc_build *b, const lane *l, const isc_event *ev, uint32_t op)
{
	for (size_t i = l->depth; i > 0; i--) {
		const open_scope *o = &l->open[i - 1];
		share *at;

		/* While another task runs on the thread, this one's scopes wait. */
		if (o->task != l->task || o->end_ns < ev->time_ns || !is_new(l, i - 1, o->name))
			continue;
		at = isc_arena_push(b->arena, &s->share, &s->share_count, &s->share_room, sizeof(*at));
		if (at == NULL)
			return false;
		*at = (share){op, o->name};
	}
	return true;
}

bool isc_memory_scopes_step(isc_memory_scopes *s, isc_build *b, const isc_event *ev, uint32_t op)
{
	isc_span span = {0, 0};
	lane *l;

	if (ev->stream != 0)
		return true;
	l = lane_of(s, b, ev);
	if (l == NULL)
		return false;
	if (ev->extra_len >= sizeof(span) && (ev->kind == ISC_KIND_SPAN_ENTER || ev->kind == ISC_KIND_SPAN_EXIT))
		memcpy(&span, ev->extra, sizeof(span));
	switch (ev->kind) {
	case ISC_KIND_TASK:
		l->task = ev->id;
		return true;
	case ISC_KIND_SCOPE_ENTER:
	case ISC_KIND_SPAN_ENTER:
		return enter(s, b, l, ev, span.instance);
	case ISC_KIND_SCOPE_EXIT:
	case ISC_KIND_SPAN_EXIT:
		if (l->depth > 0)
			leave(l, span.instance, name_of(s, b, ev));
		return true;
	case ISC_KIND_MEMORY_ALLOC:
	case ISC_KIND_MEMORY_FREE:
		return l->depth == 0 || op == UINT32_MAX || take(s, b, l, ev, op);
	default:
		return true;
	}
}

/* ---- sums ---- */

typedef struct growth {
	uint64_t first_ns, last_ns;
	double slice[SLICES];
	double squares;
} growth;

static bool counts(const isc_memory_op *op)
{
	return op->inside && !op->ended && (op->alloc || op->other != 0);
}

static bool grows(const isc_analysis_memory_scope *m, const growth *g)
{
	double half[2] = {0, 0};
	unsigned grown = 0;

	if (m->count < SCOPES_LEAST || m->samples < SAMPLES_LEAST || m->growth < BYTES_LEAST || m->growth < m->error)
		return false;
	for (unsigned i = 0; i < SLICES; i++) {
		grown += g->slice[i] > 0;
		half[i >= SLICES / 2] += g->slice[i];
	}
	return grown >= SLICES_LEAST && half[0] >= m->growth * HALF_LEAST && half[1] >= m->growth * HALF_LEAST;
}

static int most_grown(const void *x, const void *y)
{
	const isc_analysis_memory_scope *a = x, *b = y;

	if (fabs(a->growth - b->growth) > 0)
		return a->growth > b->growth ? -1 : 1;
	return isc_names_compare(&a->name, &b->name);
}

/* Which records of a name are the two ends of one piece of memory. */
static bool find_both(const isc_memory_scopes *s, isc_hashmap *has)
{
	for (size_t i = 0; i < s->share_count; i++) {
		if (isc_hashmap_put(has, isc_hashmap_key(s->share[i].op, s->share[i].name), NULL) == NULL)
			return false;
	}
	return true;
}

static void add(isc_analysis_memory_scope *m, growth *g, const isc_memory_op *op, bool both)
{
	double bytes = op->alloc ? op->bytes : -op->bytes;
	uint64_t span = g->last_ns - g->first_ns;
	unsigned slice = span > 0 ? (unsigned)((double)(op->time_ns - g->first_ns) / (double)span * SLICES) : 0;

	m->bytes += op->alloc ? op->bytes : 0;
	if (both)
		return;
	m->growth += bytes;
	m->samples++;
	g->slice[slice < SLICES ? slice : SLICES - 1] += bytes;
	g->squares += op->bytes * op->bytes * (1 - 1 / op->count);
}

bool isc_memory_scopes_sum(isc_memory_scopes *s, isc_build *b, const isc_memory_op *op, size_t count)
{
	isc_analysis_memory *m = &b->a->memory;
	uint32_t *rank = isc_arena_array(b->arena, count + 1, sizeof(*rank));
	growth *g = isc_arena_array(b->arena, s->count + 1, sizeof(*g));
	isc_hashmap has = {0};
	bool good = rank != NULL && g != NULL && find_both(s, &has);
	size_t kept = 0;

	for (size_t i = 0; good && i < count; i++)
		rank[op[i].order] = (uint32_t)i;
	for (size_t n = 0; good && n < s->count; n++)
		s->at[n].name = s->names.text[n];
	for (size_t i = 0; good && i < s->share_count; i++) {
		const isc_memory_op *o = &op[rank[s->share[i].op]];
		growth *of = &g[s->share[i].name];

		if (!counts(o))
			continue;
		of->first_ns = of->first_ns == 0 || o->time_ns < of->first_ns ? o->time_ns : of->first_ns;
		of->last_ns = o->time_ns > of->last_ns ? o->time_ns : of->last_ns;
	}
	for (size_t i = 0; good && i < s->share_count; i++) {
		const isc_memory_op *o = &op[rank[s->share[i].op]], *other = o->other != 0 ? &op[o->other - 1] : NULL;
		bool both = other != NULL && counts(other) &&
			    isc_hashmap_find(&has, isc_hashmap_key(other->order, s->share[i].name)) != NULL;

		if (counts(o))
			add(&s->at[s->share[i].name], &g[s->share[i].name], o, both);
	}
	isc_hashmap_fini(&has);
	for (size_t n = 0; good && n < s->count; n++) {
		isc_analysis_memory_scope *of = &s->at[n];

		of->error = TWO_SIDED_95 * sqrt(g[n].squares);
		of->grows = grows(of, &g[n]);
		if (of->bytes > 0 || of->samples > 0)
			s->at[kept++] = *of;
	}
	if (kept > 0)
		qsort(s->at, kept, sizeof(*s->at), most_grown);
	m->scopes = s->at;
	m->scope_count = good ? kept : 0;
	return good;
}
