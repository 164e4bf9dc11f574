#include "timeline/states.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"

/* What one thread wrote, apart from what its signal handlers did. */
struct isc_states_lane {
	uint64_t since_ns;
	uint32_t process, thread, stack;
	uint8_t call; /* 0: it waits for nothing */
	uint8_t stream;
};

void isc_states_init(isc_states *s, isc_waits *waits, double ns_per_tick)
{
	*s = (isc_states){.waits = waits, .ns_per_tick = ns_per_tick};
}

void isc_states_fini(isc_states *s)
{
	isc_hashmap_fini(&s->lane_of);
	free(s->lane);
	*s = (isc_states){0};
}

void isc_states_listen(isc_states *s, isc_states_fn take, void *self)
{
	assert(s->listeners < ISC_STATES_LISTENERS);
	s->listener[s->listeners++] = (struct isc_states_listener){take, self};
}

uint64_t isc_states_began_ns(const isc_states *s, uint64_t now_ns, uint64_t ticks)
{
	double ns = (double)ticks * s->ns_per_tick;

	return ns < (double)now_ns ? now_ns - (uint64_t)ns : 0;
}

static bool tell_interval(const isc_states *s, isc_thread_interval *i)
{
	const isc_trace_thread *thread = isc_trace_thread_find(s->waits->trace, i->thread);

	i->tid = thread != NULL ? thread->tid : 0;
	for (size_t n = 0; n < s->listeners; n++) {
		if (!s->listener[n].take(s->listener[n].self, i))
			return false;
	}
	return true;
}

static bool tell_wait(isc_states *s, isc_thread_interval *i)
{
	i->state = (uint8_t)isc_waits_of(s->waits, &(isc_total_wait){.process = i->process,
								     .thread = i->thread,
								     .call = i->call,
								     .stack = i->stack,
								     .holder = i->holder});
	return tell_interval(s, i);
}

/* ---- waits whose beginning was told ---- */

/* NULL: none was. */
static struct isc_states_lane *lane_of(isc_states *s, uint32_t thread, uint8_t stream)
{
	/* Events come in runs of one thread. */
	if (s->last.thread != thread || s->last.stream != stream) {
		const uint64_t *rank = isc_hashmap_find(&s->lane_of, (uint64_t)thread << 8 | stream);

		s->last = (struct isc_states_last){thread, stream, rank != NULL ? (size_t)*rank : 0};
	}
	return s->last.lane != 0 ? &s->lane[s->last.lane - 1] : NULL;
}

static struct isc_states_lane *add_lane(isc_states *s, const isc_event *ev)
{
	struct isc_states_lane *lanes = isc_grow(s->lane, s->count, &s->room, sizeof(*lanes));
	uint64_t *rank;

	if (lanes == NULL)
		return NULL;
	s->lane = lanes;
	rank = isc_hashmap_put(&s->lane_of, (uint64_t)ev->thread << 8 | ev->stream, NULL);
	if (rank == NULL)
		return NULL;
	s->lane[s->count++] =
		(struct isc_states_lane){.process = ev->process, .thread = ev->thread, .stream = ev->stream};
	*rank = s->last.lane = s->count;
	return &s->lane[s->count - 1];
}

static bool close_wait(isc_states *s, struct isc_states_lane *l, uint64_t now_ns)
{
	isc_thread_interval i = {.from_ns = l->since_ns,
				 .to_ns = now_ns,
				 .process = l->process,
				 .thread = l->thread,
				 .stack = l->stack,
				 .call = l->call,
				 .stream = l->stream,
				 .open = true};

	if (l->call == 0)
		return true;
	l->call = 0;
	s->open--;
	return now_ns <= l->since_ns || tell_wait(s, &i);
}

bool isc_states_end_open(isc_states *s, uint32_t thread, uint8_t stream, uint64_t now_ns)
{
	struct isc_states_lane *l = s->open > 0 ? lane_of(s, thread, stream) : NULL;

	return l == NULL || close_wait(s, l, now_ns);
}

bool isc_states_end(isc_states *s, uint64_t end_ns)
{
	for (size_t i = 0; i < s->count; i++) {
		struct isc_states_lane *l = &s->lane[i];

		if (l->stream == 0 && !close_wait(s, l, isc_trace_thread_end_ns(s->waits->trace, l->thread, end_ns)))
			return false;
	}
	return true;
}

static bool begin_wait(isc_states *s, const isc_event *ev)
{
	struct isc_states_lane *l;

	if (ev->arg == 0 || ev->arg >= ISC_WAIT_CALLS)
		return true;
	l = lane_of(s, ev->thread, ev->stream);
	l = l != NULL ? l : add_lane(s, ev);
	if (l == NULL)
		return false;
	l->call = (uint8_t)ev->arg;
	l->stack = ev->id;
	l->since_ns = ev->time_ns;
	s->open++;
	return true;
}

/* ---- what has ended ---- */

static bool end_wait(isc_states *s, const isc_event *ev, isc_thread_interval *i)
{
	struct isc_states_lane *l = s->open > 0 ? lane_of(s, ev->thread, ev->stream) : NULL;
	isc_wait wait;

	memcpy(&wait, ev->extra, sizeof(wait));
	i->from_ns = isc_states_began_ns(s, ev->time_ns, wait.ticks);
	i->stack = ev->id;
	i->holder = wait.holder;
	i->holder_stack = wait.holder_stack;
	/* One that a handler had inside another is not its end. */
	if (l != NULL && l->call == ev->arg) {
		i->stack = i->stack != 0 ? i->stack : l->stack;
		l->call = 0;
		s->open--;
	}
	return tell_wait(s, i);
}

static bool end_brief(const isc_states *s, const isc_event *ev, isc_thread_interval *i)
{
	isc_wait_brief brief;

	memcpy(&brief, ev->extra, sizeof(brief));
	i->from_ns = isc_states_began_ns(s, ev->time_ns, brief.ticks);
	i->count = brief.count;
	i->kind = ISC_INTERVAL_BRIEF;
	i->state = (uint8_t)isc_waits_brief(ev->arg, (double)brief.ticks * s->ns_per_tick, brief.count);
	return tell_interval(s, i);
}

static bool end_collection(const isc_states *s, const isc_event *ev, isc_thread_interval *i)
{
	isc_gc gc;

	memcpy(&gc, ev->extra, sizeof(gc));
	i->from_ns = isc_states_began_ns(s, ev->time_ns, gc.ticks);
	i->generation = ev->arg;
	i->call = ISC_WAIT_GC;
	i->state = ISC_STATE_GC;
	return tell_interval(s, i);
}

static bool end_one(isc_states *s, const isc_event *ev)
{
	isc_thread_interval i = {.to_ns = ev->time_ns,
				 .process = ev->process,
				 .thread = ev->thread,
				 .call = (uint8_t)ev->arg,
				 .stream = ev->stream};

	_Static_assert(sizeof(isc_wait) == sizeof(isc_wait_brief) && sizeof(isc_wait) == sizeof(isc_gc),
		       "one length is looked at");
	if (ev->extra_len < sizeof(isc_wait))
		return true;
	if (ev->kind == ISC_KIND_GC)
		return ev->arg == ISC_GC_WATCHED || end_collection(s, ev, &i);
	if (ev->arg == 0 || ev->arg >= ISC_WAIT_CALLS)
		return true; /* of a later version */
	return ev->kind == ISC_KIND_WAIT_BRIEF ? end_brief(s, ev, &i) : end_wait(s, ev, &i);
}

bool isc_states_take(isc_states *s, const isc_event *ev)
{
	/* What only a thread that runs can tell: it has jumped out of the wait.  Nearly all events are of this kind. */
	if (ev->kind <= ISC_KIND_MISSED)
		return s->open == 0 || isc_states_end_open(s, ev->thread, ev->stream, ev->time_ns);
	switch (ev->kind) {
	case ISC_KIND_WAIT_ENTER:
		return isc_states_end_open(s, ev->thread, ev->stream, ev->time_ns) && begin_wait(s, ev);
	case ISC_KIND_WAIT_EXIT:
	case ISC_KIND_WAIT_BRIEF:
	case ISC_KIND_GC:
		return end_one(s, ev);
	default:
		return true;
	}
}

static bool take_event(void *self, const isc_event *ev)
{
	return isc_states_take(self, ev);
}

void isc_states_join(isc_states *s, isc_walk *walk)
{
	isc_walk_join(walk, ISC_WALK_MARKS | ISC_WALK_CALLS | ISC_WALK_WAITS, take_event, s);
}
