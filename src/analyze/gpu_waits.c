#include "analyze/gpu_waits.h"

#include <string.h>

#include "analyze/waits.h"
#include "timeline/recorded.h"

/* Waits of a thread that may lie in the call that it is in. */
#define RECENT 64u

struct recent {
	uint64_t end_ns, ns;
	uint8_t state;
};

struct thread {
	struct recent wait[RECENT];
	unsigned count, next;
};

struct search {
	isc_build *b;
	isc_gpu_waits *out;
	isc_hashmap place_of; /* thread -> place + 1 */
	struct thread *thread;
	size_t count, room;
	double ns_per_tick;
};

static size_t place_of(struct search *s, uint32_t thread)
{
	uint64_t *place = isc_hashmap_put(&s->place_of, thread, NULL);
	isc_gpu_waiting *w;

	if (place == NULL)
		return SIZE_MAX;
	if (*place == 0) {
		w = isc_arena_push(s->b->arena, &s->out->thread, &s->out->count, &s->out->room, sizeof(*w));
		if (w == NULL ||
		    isc_arena_push(s->b->arena, &s->thread, &s->count, &s->room, sizeof(*s->thread)) == NULL)
			return SIZE_MAX;
		w->thread = thread;
		*place = s->out->count;
	}
	return *place - 1;
}

static bool note_wait(struct search *s, const isc_event *ev)
{
	isc_total_wait row = {.process = ev->process, .thread = ev->thread, .call = ev->arg, .stack = ev->id};
	struct thread *t;
	isc_wait body;
	size_t place;

	if (ev->extra_len < sizeof(body))
		return true;
	place = place_of(s, ev->thread);
	if (place == SIZE_MAX)
		return false;
	memcpy(&body, ev->extra, sizeof(body));
	row.holder = body.holder;
	t = &s->thread[place];
	t->wait[t->next] = (struct recent){.end_ns = ev->time_ns,
					   .ns = (uint64_t)((double)body.ticks * s->ns_per_tick),
					   .state = (uint8_t)isc_waits_of(s->b->trace, &row)};
	t->next = (t->next + 1) % RECENT;
	t->count += t->count < RECENT;
	return true;
}

static bool note_call(struct search *s, const isc_event *ev, const isc_gpu_called *c)
{
	unsigned role = ISC_GPU_ARG_WHAT(ev->arg), time = ISC_GPU_ARG_TIME(ev->arg);
	uint64_t start = time == ISC_GPU_TIME_TICKS ? isc_trace_ticks_to_ns(s->b->trace, c->start) : c->start;
	uint64_t end = time == ISC_GPU_TIME_TICKS ? isc_trace_ticks_to_ns(s->b->trace, c->end) : c->end;
	size_t place = place_of(s, ev->thread);
	isc_gpu_waiting *w;
	struct thread *t;

	/* What another thread tells of is not this one's. */
	if (place == SIZE_MAX || c->tid != 0 || time == ISC_GPU_TIME_DEVICE || end < start)
		return place != SIZE_MAX;
	w = &s->out->thread[place];
	t = &s->thread[place];
	if (isc_build_inside_us(s->b, start, end) > 0)
		w->calls += c->correlation != 0;
	if (role == ISC_ROLE_SYNC || ISC_GPU_ARG_HOLDS(ev->arg)) {
		w->us += isc_build_inside_us(s->b, start, end);
		for (unsigned i = 0; i < t->count; i++) {
			const struct recent *r = &t->wait[i];
			uint64_t from = r->end_ns - (r->ns < r->end_ns ? r->ns : r->end_ns);

			if (r->end_ns >= start && r->end_ns <= end)
				w->inside_us[r->state] +=
					isc_build_inside_us(s->b, from > start ? from : start, r->end_ns);
		}
	}
	t->count = t->next = 0;
	return true;
}

bool isc_gpu_waits_find(isc_build *b, isc_gpu_waits *out)
{
	struct search s = {.b = b, .out = out, .ns_per_tick = b->tick_us * 1e3};
	isc_gpu_called call;
	bool good = true;
	isc_event ev;

	/* Of a scope nobody knows which calls are inside it. */
	if (!isc_recorded_any(b->trace) || b->only.at != NULL)
		return true;
	isc_trace_rewind(b->trace);
	while (good && isc_trace_next(b->trace, &ev)) {
		if (ev.kind == ISC_KIND_WAIT_EXIT)
			good = note_wait(&s, &ev);
		else if (isc_trace_gpu_called(&ev, &call))
			good = note_call(&s, &ev, &call);
	}
	isc_hashmap_fini(&s.place_of);
	return good;
}
