#include "analyze/gpu/gpu_waits.h"

#include <string.h>

#include "analyze/time/waits.h"
#include "timeline/gpu/recorded.h"
#include "timeline/walk.h"

/* Waits of a thread that may lie in the call that it is in. */
#define RECENT 64u

/* Such copies that are kept: 32 MB at most. */
#define HELD_MOST (1u << 20)

/* Waits that are kept one by one: 24 MiB. */
#define WAITS_MOST (1u << 20)

struct recent_wait {
	uint64_t end_ns, ns;
	uint8_t state;
};

struct waiting_thread {
	struct recent_wait wait[RECENT];
	unsigned count, next;
};

struct wait_search {
	isc_build *b;
	isc_gpu_waits *out;
	isc_hashmap place_of; /* thread -> place + 1 */
	struct waiting_thread *thread;
	size_t count, room;
	double ns_per_tick;
};

static size_t place_of(struct wait_search *s, uint32_t thread)
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

static bool note_wait(struct wait_search *s, const isc_event *ev)
{
	isc_total_wait row = {.process = ev->process, .thread = ev->thread, .call = ev->arg, .stack = ev->id};
	struct waiting_thread *t;
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
	t->wait[t->next] = (struct recent_wait){.end_ns = ev->time_ns,
						.ns = (uint64_t)((double)body.ticks * s->ns_per_tick),
						.state = (uint8_t)isc_waits_of(s->b->trace, &row)};
	t->next = (t->next + 1) % RECENT;
	t->count += t->count < RECENT;
	return true;
}

/* What another thread tells of is not this one's, and times of devices are not the host's. */
static bool own_times(const isc_build *b, const isc_event *ev, const isc_gpu_called *c, isc_gpu_wait *out)
{
	unsigned time = ISC_GPU_ARG_TIME(ev->arg);

	*out = (isc_gpu_wait){.from_ns = c->start, .to_ns = c->end, .thread = ev->thread, .stack = c->stack};
	if (time == ISC_GPU_TIME_TICKS) {
		out->from_ns = isc_trace_ticks_to_ns(b->trace, c->start);
		out->to_ns = isc_trace_ticks_to_ns(b->trace, c->end);
	}
	return c->tid == 0 && time != ISC_GPU_TIME_DEVICE && out->to_ns >= out->from_ns;
}

static uint64_t call_key(uint32_t process, uint64_t correlation)
{
	return correlation ^ (uint64_t)process << 40;
}

/* A copy into memory that can be paged out returns when it is done, whatever its name says of asynchronous. */
static bool note_held(void *self, const isc_event *ev)
{
	isc_build *b = self;
	uint64_t *held;
	isc_gpu_work w;

	if (ISC_GPU_ARG_WHAT(ev->arg) != ISC_JOB_D2H || ISC_GPU_ARG_PAGE(ev->arg) != ISC_PAGE_PAGEABLE ||
	    !isc_trace_gpu_work(ev, &w) || w.correlation == 0 || b->gpu_held.count >= HELD_MOST)
		return true;
	held = isc_hashmap_put(&b->gpu_held, call_key(ev->process, w.correlation), NULL);
	if (held != NULL)
		*held = 1;
	return held != NULL;
}

static bool waits(const isc_build *b, const isc_event *ev, const isc_gpu_called *c)
{
	return ISC_GPU_ARG_WHAT(ev->arg) == ISC_ROLE_SYNC || ISC_GPU_ARG_HOLDS(ev->arg) ||
	       (ISC_GPU_ARG_WHAT(ev->arg) == ISC_ROLE_COPY && c->correlation != 0 &&
		isc_hashmap_find(&b->gpu_held, call_key(ev->process, c->correlation)) != NULL);
}

static bool keep(isc_build *b, const isc_gpu_wait *wait)
{
	isc_gpu_wait_list *list = b->gpu_waits;
	isc_gpu_wait *at;

	if (list->count >= WAITS_MOST)
		return true;
	at = isc_arena_push(b->arena, &list->at, &list->count, &list->room, sizeof(*at));
	if (at != NULL)
		*at = *wait;
	return at != NULL;
}

static bool note_call(struct wait_search *s, const isc_event *ev, const isc_gpu_called *c)
{
	isc_gpu_waiting *w;
	isc_gpu_wait wait;
	struct waiting_thread *t;
	size_t place;
	bool waited;

	if (!own_times(s->b, ev, c, &wait))
		return true;
	waited = waits(s->b, ev, c);
	if (waited && !keep(s->b, &wait))
		return false;
	/* Of a scope nobody knows which calls are inside it. */
	if (s->b->only.at != NULL)
		return true;
	place = place_of(s, ev->thread);
	if (place == SIZE_MAX)
		return false;
	w = &s->out->thread[place];
	t = &s->thread[place];
	if (isc_build_inside_us(s->b, wait.from_ns, wait.to_ns) > 0)
		w->calls += c->correlation != 0;
	if (waited) {
		w->us += isc_build_inside_us(s->b, wait.from_ns, wait.to_ns);
		for (unsigned i = 0; i < t->count; i++) {
			const struct recent_wait *r = &t->wait[i];
			uint64_t from = r->end_ns - (r->ns < r->end_ns ? r->ns : r->end_ns);

			if (r->end_ns >= wait.from_ns && r->end_ns <= wait.to_ns)
				w->inside_us[r->state] +=
					isc_build_inside_us(s->b, from > wait.from_ns ? from : wait.from_ns, r->end_ns);
		}
	}
	t->count = t->next = 0;
	return true;
}

/* Work is told of by another thread, and behind its call: what held its caller has to be known before. */
static bool find_held(isc_build *b)
{
	double margin_us = b->options != NULL && b->options->margin_us > 0 ? b->options->margin_us : 1000;
	isc_walk walk = {0};

	if (isc_recorded_begin(b->trace, &b->recorded, NULL) != ISC_OK)
		return false;
	isc_recorded_join(b->recorded, &walk);
	isc_walk_join(&walk, ISC_KIND_BIT(ISC_KIND_GPU_WORK), note_held, b);
	return isc_walk_run(&walk, b->trace) &&
	       isc_recorded_end(b->recorded, (int64_t)(margin_us * 1e3), NULL) == ISC_OK;
}

static bool take_event(void *self, const isc_event *ev)
{
	struct wait_search *s = self;
	isc_gpu_called call;

	if (ev->kind == ISC_KIND_WAIT_EXIT)
		return s->b->only.at != NULL || note_wait(s, ev);
	if (!isc_trace_gpu_called(ev, &call))
		return true;
	s->b->gpu_calls = true;
	return note_call(s, ev, &call);
}

bool isc_gpu_waits_find(isc_build *b, isc_gpu_waits *out)
{
	struct wait_search s = {.b = b, .out = out, .ns_per_tick = b->tick_us * 1e3};
	isc_walk walk = {0};
	bool good;

	b->gpu_calls = false;
	if (!isc_recorded_any(b->trace))
		return true;
	b->gpu_waits = isc_arena_alloc(b->arena, sizeof(*b->gpu_waits));
	if (b->gpu_waits == NULL || !find_held(b))
		return false;
	isc_walk_join(&walk, ISC_WALK_WAITS | ISC_WALK_GPU, take_event, &s);
	good = isc_walk_run(&walk, b->trace);
	isc_hashmap_fini(&s.place_of);
	return good;
}
