#include "timeline/replay_scopes.h"

#include <string.h>

struct isc_replay_scopes_place {
	isc_mark mark;
	size_t outer;  /* of the same thread: place + 1; 0: none.  Of a free one: the next free */
	uint64_t lane; /* 0: it belongs to a task, not to a thread */
	bool used;
};

void isc_replay_scopes_init(isc_replay_scopes *s, isc_arena *arena, double ns_per_tick, isc_replay_scopes_tell left,
			    isc_replay_scopes_tell entered, void *self)
{
	*s = (isc_replay_scopes){
		.arena = arena, .ns_per_tick = ns_per_tick, .left = left, .entered = entered, .self = self};
}

void isc_replay_scopes_fini(isc_replay_scopes *s)
{
	isc_hashmap_fini(&s->open);
	isc_hashmap_fini(&s->gone);
	isc_hashmap_fini(&s->by_thread);
}

static size_t take_place(isc_replay_scopes *s)
{
	size_t place = s->unused;

	if (place != 0) {
		s->unused = s->place[place - 1].outer;
		return place;
	}
	return isc_arena_push(s->arena, &s->place, &s->count, &s->room, sizeof(*s->place)) != NULL ? s->count : 0;
}

static void free_place(isc_replay_scopes *s, size_t place)
{
	s->place[place - 1] = (struct isc_replay_scopes_place){.outer = s->unused};
	s->unused = place;
}

static isc_mark begin(const isc_listener_thread *on, const isc_event *ev, uint32_t task, uint16_t cpu)
{
	return (isc_mark){.on = on,
			  .kind = ISC_MARK_SCOPE,
			  .start_ns = ev->time_ns,
			  .end_ns = ev->time_ns,
			  .id = ev->id,
			  .task = task,
			  .cpu = cpu};
}

static void enter(const isc_replay_scopes *s, size_t place)
{
	if (s->entered != NULL)
		s->entered(s->self, &s->place[place - 1].mark);
}

static uint64_t key_of(const isc_event *ev, const isc_span *span)
{
	return (uint64_t)ev->process << 44 ^ span->instance;
}

static bool enter_span(isc_replay_scopes *s, const isc_listener_thread *on, const isc_event *ev, uint32_t task,
		       uint16_t cpu)
{
	isc_span span;
	uint64_t *known;
	size_t place;

	if (ev->extra_len < sizeof(span))
		return true;
	memcpy(&span, ev->extra, sizeof(span));
	if (isc_hashmap_find(&s->gone, key_of(ev, &span)) != NULL) {
		isc_hashmap_remove(&s->gone, key_of(ev, &span));
		return true;
	}
	place = take_place(s);
	known = place != 0 ? isc_hashmap_put(&s->open, key_of(ev, &span), NULL) : NULL;
	if (known == NULL)
		return false;
	*known = place;
	s->place[place - 1] = (struct isc_replay_scopes_place){.mark = begin(on, ev, task, cpu), .used = true};
	s->place[place - 1].mark.instance = span.instance;
	s->place[place - 1].mark.inside = span.more;
	enter(s, place);
	return true;
}

static bool leave_span(isc_replay_scopes *s, const isc_listener_thread *on, const isc_event *ev, uint32_t task,
		       uint16_t cpu)
{
	isc_mark mark = begin(on, ev, task, cpu);
	uint64_t *known;
	isc_span span;
	double ns;

	if (ev->extra_len < sizeof(span))
		return true;
	memcpy(&span, ev->extra, sizeof(span));
	known = isc_hashmap_find(&s->open, key_of(ev, &span));
	if (known != NULL) {
		mark = s->place[*known - 1].mark;
		mark.end_ns = ev->time_ns > mark.start_ns ? ev->time_ns : mark.start_ns;
		s->left(s->self, &mark);
		free_place(s, (size_t)*known);
		isc_hashmap_remove(&s->open, key_of(ev, &span));
		return true;
	}
	if (span.more == ISC_SPAN_UNKNOWN)
		return true;
	ns = (double)span.more * s->ns_per_tick;
	mark.instance = span.instance;
	mark.start_ns = ns < (double)ev->time_ns ? ev->time_ns - (uint64_t)ns : 0;
	s->left(s->self, &mark);
	return ev->arg != ISC_SPAN_MOVED || isc_hashmap_put(&s->gone, key_of(ev, &span), NULL) != NULL;
}

static bool enter_scope(isc_replay_scopes *s, const isc_listener_thread *on, const isc_event *ev, uint32_t task,
			uint16_t cpu)
{
	uint64_t lane = (uint64_t)ev->thread << 8 | ev->stream;
	uint64_t *inner = isc_hashmap_put(&s->by_thread, lane, NULL);
	size_t place = inner != NULL ? take_place(s) : 0;

	if (place == 0)
		return false;
	s->place[place - 1] = (struct isc_replay_scopes_place){
		.mark = begin(on, ev, task, cpu), .outer = (size_t)*inner, .lane = lane + 1, .used = true};
	/* Numbers of tasks' scopes are small; these have the highest bit but one. */
	s->place[place - 1].mark.instance = 1ull << 62 | ++s->made;
	if (*inner != 0)
		s->place[place - 1].mark.inside = s->place[*inner - 1].mark.instance;
	*inner = place;
	enter(s, place);
	return true;
}

static void end_scope(isc_replay_scopes *s, uint64_t *inner, uint64_t ns, uint8_t flags)
{
	size_t place = (size_t)*inner;
	isc_mark mark = s->place[place - 1].mark;

	*inner = s->place[place - 1].outer;
	mark.end_ns = ns > mark.start_ns ? ns : mark.start_ns;
	mark.flags |= flags;
	s->left(s->self, &mark);
	free_place(s, place);
}

static bool leave_scope(isc_replay_scopes *s, const isc_event *ev)
{
	uint64_t *inner = isc_hashmap_put(&s->by_thread, (uint64_t)ev->thread << 8 | ev->stream, NULL);
	size_t place;

	if (inner == NULL)
		return false;
	for (place = (size_t)*inner; place != 0 && s->place[place - 1].mark.id != ev->id;)
		place = s->place[place - 1].outer;
	if (place == 0)
		return true;
	while (*inner != place)
		end_scope(s, inner, ev->time_ns, ISC_SLICE_UNFINISHED);
	end_scope(s, inner, ev->time_ns, 0);
	return true;
}

bool isc_replay_scopes_note(isc_replay_scopes *s, const isc_listener_thread *on, const isc_event *ev, uint32_t task,
			    uint16_t cpu)
{
	s->last_ns = ev->time_ns > s->last_ns ? ev->time_ns : s->last_ns;
	switch (ev->kind) {
	case ISC_KIND_SPAN_ENTER:
		return enter_span(s, on, ev, task, cpu);
	case ISC_KIND_SPAN_EXIT:
		return leave_span(s, on, ev, task, cpu);
	case ISC_KIND_SCOPE_ENTER:
		return enter_scope(s, on, ev, task, cpu);
	default:
		return leave_scope(s, ev);
	}
}

void isc_replay_scopes_finish(isc_replay_scopes *s)
{
	for (size_t i = 0; i < s->count; i++) {
		isc_mark mark = s->place[i].mark;

		if (!s->place[i].used)
			continue;
		mark.end_ns = s->last_ns > mark.start_ns ? s->last_ns : mark.start_ns;
		mark.flags |= ISC_SLICE_UNFINISHED;
		s->left(s->self, &mark);
	}
}
