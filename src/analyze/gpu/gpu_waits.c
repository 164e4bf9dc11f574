#include "analyze/gpu/gpu_waits.h"

#include "timeline/gpu/recorded.h"
#include "timeline/states.h"

/* Such copies that are kept: 32 MB at most. */
#define HELD_MOST (1u << 20)

/* Waits that are kept one by one: 24 MiB. */
#define WAITS_MOST (1u << 20)

struct wait_search {
	isc_build *b;
	isc_gpu_waits *out;
	isc_hashmap place_of; /* thread -> place + 1 */
};

/* NULL: no memory. */
static isc_gpu_waiting *waiting_of(struct wait_search *s, uint32_t thread)
{
	uint64_t *place = isc_hashmap_put(&s->place_of, thread, NULL);
	isc_gpu_waiting *w;

	if (place == NULL)
		return NULL;
	if (*place == 0) {
		w = isc_arena_push(s->b->arena, &s->out->thread, &s->out->count, &s->out->room, sizeof(*w));
		if (w == NULL)
			return NULL;
		w->thread = thread;
		*place = s->out->count;
	}
	return &s->out->thread[*place - 1];
}

static bool note_wait(void *self, const isc_thread_interval *i)
{
	struct wait_search *s = self;
	isc_gpu_waiting *w;

	if (i->kind == ISC_INTERVAL_BRIEF || i->state == ISC_STATE_GC)
		return true;
	w = waiting_of(s, i->thread);
	if (w == NULL)
		return false;
	w->recent[w->recent_next].from_ns = i->from_ns;
	w->recent[w->recent_next].to_ns = i->to_ns;
	w->recent[w->recent_next].state = i->state;
	w->recent_next = (w->recent_next + 1) % ISC_GPU_WAITS_RECENT;
	w->recent_count += w->recent_count < ISC_GPU_WAITS_RECENT;
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

/* What was told of as another wait inside this one. */
static void take_inside(const isc_build *b, isc_gpu_waiting *w, const isc_gpu_wait *wait)
{
	for (unsigned i = 0; i < w->recent_count; i++) {
		uint64_t from = w->recent[i].from_ns, to = w->recent[i].to_ns;

		if (to >= wait->from_ns && to <= wait->to_ns)
			w->inside_us[w->recent[i].state] +=
				isc_build_inside_us(b, from > wait->from_ns ? from : wait->from_ns, to);
	}
}

static bool note_call(struct wait_search *s, const isc_event *ev, const isc_gpu_called *c)
{
	isc_gpu_waiting *w;
	isc_gpu_wait wait;
	bool waited;
	double us;

	if (!own_times(s->b, ev, c, &wait))
		return true;
	waited = waits(s->b, ev, c);
	if (waited && !keep(s->b, &wait))
		return false;
	/* Of a scope nobody knows which calls are inside it. */
	if (s->b->only.at != NULL)
		return true;
	w = waiting_of(s, ev->thread);
	if (w == NULL)
		return false;
	us = isc_build_inside_us(s->b, wait.from_ns, wait.to_ns);
	w->calls += us > 0 && c->correlation != 0;
	if (waited) {
		w->us += us;
		take_inside(s->b, w, &wait);
	}
	w->recent_count = w->recent_next = 0;
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

	if (!isc_trace_gpu_called(ev, &call))
		return true;
	s->b->gpu_calls = true;
	return note_call(s, ev, &call);
}

bool isc_gpu_waits_find(isc_build *b, isc_gpu_waits *out)
{
	struct wait_search s = {.b = b, .out = out};
	isc_walk walk = {0};
	isc_states states;
	bool good;

	b->gpu_calls = false;
	if (!isc_recorded_any(b->trace))
		return true;
	b->gpu_waits = isc_arena_alloc(b->arena, sizeof(*b->gpu_waits));
	if (b->gpu_waits == NULL || !find_held(b))
		return false;
	isc_states_init(&states, &b->waits, b->tick_us * 1e3);
	/* Of a scope nobody knows which waits are inside it. */
	if (b->only.at == NULL) {
		isc_states_listen(&states, note_wait, &s);
		isc_states_join(&states, &walk);
	}
	isc_walk_join(&walk, ISC_WALK_GPU, take_event, &s);
	good = isc_walk_run(&walk, b->trace);
	isc_states_fini(&states);
	isc_hashmap_fini(&s.place_of);
	return good;
}
