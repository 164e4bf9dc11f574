/*
 * slow_scopes.c - which stacks had the CPU in slow scopes, and which in those of the
 * middle: what makes the slow ones slow stands out.
 *
 * The scope with the most time is looked at, if there are enough of it.  From its
 * totals it is known what is slow and what lies in the middle; the samples of a scope
 * that is open are kept until it is left and its time is known.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/stack_tree.h"

#define SCOPES_ENOUGH 20u /* two of them are slow */
#define WITHIN 0.01	  /* percentiles are known to 0.8% */
#define PENDING_MAX 65536u
#define DEPTH_MAX 64u

struct pending {
	uint64_t time_ns;
	double us;
	uint32_t node;
	uint32_t task;
};

struct lane {
	uint32_t task;
	uint32_t spans; /* entered and not left on this thread */
	uint32_t depth; /* scopes of a thread that are open */
	uint64_t open_ns[DEPTH_MAX];
	struct pending *pending;
	size_t count, room;
};

struct slow {
	isc_build *b;
	isc_stack_tree *t;
	const isc_analysis_scope *scope;
	isc_hashmap lanes; /* thread -> index + 1 */
	isc_hashmap named; /* process and id -> 1 yes, 2 no */
	struct lane **lane;
	size_t lane_count, lane_room;
};

static const isc_analysis_scope *choose(const isc_analysis *a)
{
	const isc_analysis_scope *s;

	/* Most time first. */
	for (size_t i = 0; i < a->scope_count; i++) {
		s = &a->scopes[i];
		if (s->count >= SCOPES_ENOUGH && s->p60_us > 0 && s->p90_us * (1 - WITHIN) > s->p60_us * (1 + WITHIN))
			return s;
	}
	return NULL;
}

static struct lane *lane_of(struct slow *s, uint32_t thread)
{
	uint64_t *rank = isc_hashmap_put(&s->lanes, thread, NULL);
	struct lane **place;

	if (rank == NULL)
		return NULL;
	if (*rank == 0) {
		place = isc_arena_push(s->b->arena, &s->lane, &s->lane_count, &s->lane_room, sizeof(*place));
		if (place == NULL)
			return NULL;
		*place = isc_arena_array(s->b->arena, 1, sizeof(**place));
		if (*place == NULL)
			return NULL;
		*rank = s->lane_count;
	}
	return s->lane[*rank - 1];
}

static bool is_named(struct slow *s, const isc_event *ev, bool *yes)
{
	uint64_t *known = isc_hashmap_put(&s->named, isc_hashmap_key(ev->process, ev->id), NULL);
	uint32_t len = 0;
	const char *name;

	if (known == NULL)
		return false;
	if (*known == 0) {
		name = isc_trace_name(s->b->trace, ev->process, ev->id, &len);
		*known = len == s->scope->name.len && memcmp(name, s->scope->name.at, len) == 0 ? 1 : 2;
	}
	*yes = *known == 1;
	return true;
}

/* One is left.  task: whose samples are its own; UINT32_MAX: all of the thread. */
static void leave(struct slow *s, struct lane *l, uint64_t from_ns, uint64_t to_ns, uint32_t task)
{
	double us = (double)(to_ns - from_ns) / 1e3;
	bool slow = us >= s->scope->p90_us * (1 - WITHIN);
	bool median = us >= s->scope->p40_us * (1 - WITHIN) && us <= s->scope->p60_us * (1 + WITHIN);
	isc_analysis_samples *all = &s->b->a->samples;

	if (from_ns < s->b->from_ns || to_ns > s->b->to_ns || (!slow && !median))
		return;
	all->slow_scopes += slow;
	all->median_scopes += !slow;
	for (size_t i = l->count; i-- > 0 && l->pending[i].time_ns >= from_ns;) {
		isc_tree_node *n = &s->t->node[l->pending[i].node];

		if (task != UINT32_MAX && l->pending[i].task != task)
			continue;
		*(slow ? &n->slow_us : &n->median_us) += l->pending[i].us;
	}
}

static void clear_when_closed(struct lane *l)
{
	if (l->depth == 0 && l->spans == 0)
		l->count = 0;
}

static bool keep(struct slow *s, struct lane *l, const isc_event *ev)
{
	isc_sample body;
	struct pending *p;
	uint32_t node;

	if ((l->depth == 0 && l->spans == 0) || ev->extra_len < sizeof(body))
		return true;
	node = isc_stack_tree_find(s->t, ev->process, ev->id);
	if (node == 0)
		return true;
	memcpy(&body, ev->extra, sizeof(body));
	if (l->count == PENDING_MAX) {
		l->count /= 2;
		memmove(l->pending, l->pending + l->count, l->count * sizeof(*l->pending));
	}
	p = isc_arena_push(s->b->arena, &l->pending, &l->count, &l->room, sizeof(*p));
	if (p == NULL)
		return false;
	*p = (struct pending){ev->time_ns, (double)ev->arg * body.period_ns / 1e3, node, body.task};
	return true;
}

static void step_span(struct slow *s, struct lane *l, const isc_event *ev)
{
	isc_span span;
	double ns;

	if (ev->kind == ISC_KIND_SPAN_ENTER) {
		l->spans++;
		return;
	}
	if (ev->extra_len >= sizeof(span) && ev->arg != ISC_SPAN_MOVED) {
		memcpy(&span, ev->extra, sizeof(span));
		ns = (double)span.more * s->b->tick_us * 1e3;
		if (span.more != ISC_SPAN_UNKNOWN && ns < (double)ev->time_ns)
			leave(s, l, ev->time_ns - (uint64_t)ns, ev->time_ns, l->task);
		l->spans -= l->spans > 0;
	}
	clear_when_closed(l);
}

static void step_scope(struct slow *s, struct lane *l, const isc_event *ev)
{
	if (ev->kind == ISC_KIND_SCOPE_ENTER) {
		if (l->depth < DEPTH_MAX)
			l->open_ns[l->depth] = ev->time_ns;
		l->depth++;
		return;
	}
	if (l->depth == 0)
		return;
	if (--l->depth < DEPTH_MAX)
		leave(s, l, l->open_ns[l->depth], ev->time_ns, UINT32_MAX);
	clear_when_closed(l);
}

static bool feed(struct slow *s, const isc_event *ev)
{
	bool span = ev->kind == ISC_KIND_SPAN_ENTER || ev->kind == ISC_KIND_SPAN_EXIT;
	bool scope = ev->kind == ISC_KIND_SCOPE_ENTER || ev->kind == ISC_KIND_SCOPE_EXIT, named;
	struct lane *l;

	/* What interrupted a write of ours is read apart from it, and is not much. */
	if (ev->stream != 0 || (!span && !scope && ev->kind != ISC_KIND_SAMPLE && ev->kind != ISC_KIND_TASK))
		return true;
	l = lane_of(s, ev->thread);
	if (l == NULL)
		return false;
	if (ev->kind == ISC_KIND_TASK) {
		l->task = ev->id;
		return true;
	}
	if (ev->kind == ISC_KIND_SAMPLE)
		return keep(s, l, ev);
	if (!is_named(s, ev, &named))
		return false;
	if (named && span)
		step_span(s, l, ev);
	else if (named)
		step_scope(s, l, ev);
	return true;
}

bool isc_build_slow_scopes(isc_build *b, isc_stack_tree *t)
{
	struct slow s = {.b = b, .t = t, .scope = choose(b->a)};
	isc_analysis_samples *all = &b->a->samples;
	bool good = true;
	isc_event ev;

	if (s.scope == NULL || b->tick_us <= 0)
		return true;
	isc_trace_rewind(b->trace);
	while (good && isc_trace_next(b->trace, &ev))
		good = feed(&s, &ev);
	isc_hashmap_fini(&s.lanes);
	isc_hashmap_fini(&s.named);
	if (!good || all->slow_scopes == 0 || all->median_scopes == 0)
		return good;
	all->scope = s.scope->name;
	for (size_t i = 0; i < t->count; i++) {
		t->node[i].median_us /= (double)all->median_scopes;
		t->node[i].slow_us /= (double)all->slow_scopes;
	}
	return true;
}
