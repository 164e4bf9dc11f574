#include "analyze/time/holders.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/code/stack_facts.h"
#include "analyze/time/waits.h"
#include "trace/sample.h"

/* More are not looked at: 28 MB in all. */
#define WAITS_MAX (1u << 19)
#define DEEDS_MAX (1u << 19)
/* Of the time that was waited, that has to be known of the holder to say more than the wait itself. */
#define KNOWN_SHARE 0.1
/* Samples in front of a wait of the holder that still goes on. */
#define LOOK_BACK 64u

/* What a thread did: a sample stands for some time, at a moment; a wait lasts. */
struct deed {
	uint64_t at_ns;
	uint64_t ns : 63;
	uint64_t sampled : 1;
	uint32_t tid, stack;
};

/* Somebody waited for a thread. */
struct held_wait {
	uint64_t from_ns, to_ns;
	uint32_t group;
	uint32_t tid;
};

/* Waits at one place for one thread. */
struct group {
	uint32_t process, tid;
	uint32_t stack; /* of who held it; 0: not known */
	uint32_t code;
	double waited_ns, known_ns, code_ns, stack_ns;
};

struct isc_holders {
	isc_hashmap place_of; /* process and stack -> rank + 1 */
	isc_hashmap group_of; /* rank and tid -> group + 1 */
	struct group *group;
	size_t group_count, group_room;
	struct gather *gather; /* while events are read */
};

struct gather {
	isc_build *b;
	struct isc_holders *h;
	isc_hashmap state_of; /* call, process and stack -> state + 1 */
	isc_hashmap times;    /* group and stack -> ns */
	isc_stack_facts facts;
	struct deed *deed;
	struct held_wait *wait;
	size_t deeds, deed_room, waits, wait_room;
};

static void free_gather(struct isc_holders *h)
{
	struct gather *g = h->gather;

	if (g == NULL)
		return;
	isc_hashmap_fini(&g->state_of);
	isc_hashmap_fini(&g->times);
	isc_stack_facts_fini(&g->facts);
	free(g->deed);
	free(g->wait);
	free(g);
	h->gather = NULL;
}

void isc_holders_free(struct isc_holders *h)
{
	if (h == NULL)
		return;
	free_gather(h);
	isc_hashmap_fini(&h->place_of);
	isc_hashmap_fini(&h->group_of);
	free(h->group);
	free(h);
}

static bool grow(void *list, size_t *room, size_t size)
{
	size_t wanted = *room > 0 ? *room * 2 : 1024;
	void *at;

	memcpy(&at, list, sizeof(at));
	at = realloc(at, wanted * size);
	if (at == NULL)
		return false;
	memcpy(list, &at, sizeof(at));
	*room = wanted;
	return true;
}

/* Whoever waits for the interpreter may be anywhere. */
static uint32_t waiting_at(enum isc_state state, uint32_t stack)
{
	return state == ISC_STATE_GIL_WAIT ? 0 : stack;
}

static const struct group *find(const struct isc_holders *h, uint32_t process, uint32_t stack, uint32_t tid)
{
	const uint64_t *rank = isc_hashmap_find(&h->place_of, isc_hashmap_key(process, stack));
	const uint64_t *group = rank != NULL ? isc_hashmap_find(&h->group_of, *rank << 32 | tid) : NULL;

	return group != NULL ? &h->group[*group - 1] : NULL;
}

static struct group *group_of(struct isc_holders *h, uint32_t process, uint32_t stack, uint32_t tid)
{
	uint64_t *rank = isc_hashmap_put(&h->place_of, isc_hashmap_key(process, stack), NULL), *group;

	if (rank == NULL)
		return NULL;
	if (*rank == 0)
		*rank = h->place_of.count;
	group = isc_hashmap_put(&h->group_of, *rank << 32 | tid, NULL);
	if (group == NULL)
		return NULL;
	if (*group == 0) {
		if (h->group_count == h->group_room && !grow(&h->group, &h->group_room, sizeof(*h->group)))
			return NULL;
		h->group[h->group_count++] = (struct group){.process = process, .tid = tid};
		*group = h->group_count;
	}
	return &h->group[*group - 1];
}

/* ---- the events ---- */

static bool state_of(struct gather *g, const isc_event *ev, const isc_wait *wait, enum isc_state *state)
{
	isc_total_wait row = {
		.process = ev->process, .thread = ev->thread, .call = ev->arg, .stack = ev->id, .holder = wait->holder};
	uint64_t *known = isc_hashmap_put(
		&g->state_of, (uint64_t)ev->arg << 58 | (uint64_t)(ev->process & 0x3ffffffu) << 32 | ev->id, NULL);

	if (known == NULL)
		return false;
	/* One that waited for itself is not the rule for others of the same stack. */
	if (*known == 0 || ev->arg == ISC_WAIT_SEM)
		*known = (uint64_t)isc_waits_of(g->b->trace, &row) + 1;
	*state = (enum isc_state)(*known - 1);
	return true;
}

static bool put_deed(struct gather *g, uint32_t tid, uint32_t stack, uint64_t at_ns, uint64_t ns, bool sampled)
{
	if (g->deeds >= DEEDS_MAX || stack == 0 || isc_stack_is_none(stack) || ns == 0)
		return true;
	if (g->deeds == g->deed_room && !grow(&g->deed, &g->deed_room, sizeof(*g->deed)))
		return false;
	g->deed[g->deeds++] = (struct deed){at_ns, ns & INT64_MAX, sampled, tid, stack};
	return true;
}

static bool put_wait(struct gather *g, const isc_event *ev, enum isc_state state, uint32_t tid, uint64_t ns)
{
	struct group *group;

	if (g->waits >= WAITS_MAX || ns == 0)
		return true;
	if (g->waits == g->wait_room && !grow(&g->wait, &g->wait_room, sizeof(*g->wait)))
		return false;
	group = group_of(g->h, ev->process, waiting_at(state, ev->id), tid);
	if (group == NULL)
		return false;
	group->waited_ns += (double)ns;
	g->wait[g->waits++] = (struct held_wait){ev->time_ns - ns, ev->time_ns, (uint32_t)(group - g->h->group), tid};
	return true;
}

static bool take_event(void *self, const isc_event *ev)
{
	struct gather *g = self;
	const isc_trace_thread *thread;
	isc_sample sample;
	enum isc_state state;
	isc_wait wait;
	uint64_t ns;

	_Static_assert(sizeof(sample) == sizeof(wait), "either is read");
	if ((ev->kind != ISC_KIND_SAMPLE && ev->kind != ISC_KIND_WAIT_EXIT) || ev->extra_len < sizeof(wait) ||
	    (thread = isc_trace_thread_find(g->b->trace, ev->thread)) == NULL)
		return true;
	if (ev->kind == ISC_KIND_SAMPLE) {
		memcpy(&sample, ev->extra, sizeof(sample));
		return put_deed(g, thread->tid, ev->id, ev->time_ns, (uint64_t)ev->arg * sample.period_ns, true);
	}
	if (ev->arg == 0 || ev->arg >= ISC_WAIT_CALLS)
		return true;
	memcpy(&wait, ev->extra, sizeof(wait));
	ns = (uint64_t)((double)wait.ticks * g->b->tick_us * 1e3);
	ns = ns < ev->time_ns ? ns : ev->time_ns;
	if (!state_of(g, ev, &wait, &state))
		return false;
	if (state == ISC_STATE_GIL_WAIT || state == ISC_STATE_LOCK_WAIT)
		return wait.holder == 0 || wait.holder == thread->tid || put_wait(g, ev, state, wait.holder, ns);
	/* Who waits for work holds nothing that matters. */
	return state == ISC_STATE_IDLE || put_deed(g, thread->tid, ev->id, ev->time_ns - ns, ns, false);
}

static int by_time(const void *x, const void *y)
{
	const struct deed *d = x, *e = y;

	if (d->tid != e->tid)
		return d->tid < e->tid ? -1 : 1;
	return d->at_ns < e->at_ns ? -1 : d->at_ns > e->at_ns;
}

/* ---- who did what meanwhile ---- */

static bool count(struct gather *g, const struct held_wait *w, const struct deed *d)
{
	uint64_t end = d->at_ns + d->ns, from = d->at_ns > w->from_ns ? d->at_ns : w->from_ns;
	uint64_t to = end < w->to_ns ? end : w->to_ns, ns = d->sampled ? d->ns : to > from ? to - from : 0, *sum;

	if (ns == 0)
		return true;
	sum = isc_hashmap_put(&g->times, isc_hashmap_key(w->group, d->stack), NULL);
	if (sum == NULL)
		return false;
	*sum += ns;
	g->h->group[w->group].known_ns += (double)ns;
	return true;
}

static bool match(struct gather *g, const struct held_wait *w)
{
	size_t low = 0, high = g->deeds;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		const struct deed *d = &g->deed[middle];

		if (d->tid < w->tid || (d->tid == w->tid && d->at_ns < w->from_ns))
			low = middle + 1;
		else
			high = middle;
	}
	/* A wait of the holder may have begun before. */
	for (size_t i = low, n = 0; i > 0 && n < LOOK_BACK && g->deed[i - 1].tid == w->tid; i--, n++) {
		if (g->deed[i - 1].sampled)
			continue;
		if (!count(g, w, &g->deed[i - 1]))
			return false;
		break;
	}
	for (size_t i = low; i < g->deeds && g->deed[i].tid == w->tid && g->deed[i].at_ns <= w->to_ns; i++) {
		if (!count(g, w, &g->deed[i]))
			return false;
	}
	return true;
}

/* Of each group the function with the most time, and in it the stack. */
static bool choose(struct gather *g)
{
	struct isc_holders *h = g->h;
	isc_hashmap codes = {0};
	uint64_t key, ns, *sum;
	const isc_stack_fact *fact;
	size_t at = 0;
	bool good = true;

	while (good && isc_hashmap_next(&g->times, &at, &key, &ns)) {
		fact = isc_stack_facts_of(&g->facts, g->b, h->group[key >> 32].process, (uint32_t)key);
		sum = fact != NULL ? isc_hashmap_put(&codes, (key & ~(uint64_t)UINT32_MAX) | fact->user.code, NULL)
				   : NULL;
		good = sum != NULL;
		if (good)
			*sum += ns;
	}
	for (at = 0; good && isc_hashmap_next(&codes, &at, &key, &ns);) {
		struct group *of = &h->group[key >> 32];

		/* Of two alike the one that was defined first: the same trace gives the same report. */
		if ((uint32_t)key != 0 &&
		    ((double)ns > of->code_ns || ((double)ns == of->code_ns && (uint32_t)key < of->code))) {
			of->code = (uint32_t)key;
			of->code_ns = (double)ns;
		}
	}
	for (at = 0; good && isc_hashmap_next(&g->times, &at, &key, &ns);) {
		struct group *of = &h->group[key >> 32];

		fact = isc_stack_facts_of(&g->facts, g->b, of->process, (uint32_t)key);
		good = fact != NULL;
		if (!good || of->code == 0 || fact->user.code != of->code || of->known_ns < of->waited_ns * KNOWN_SHARE)
			continue;
		if ((double)ns > of->stack_ns || ((double)ns == of->stack_ns && (uint32_t)key < of->stack)) {
			of->stack = (uint32_t)key;
			of->stack_ns = (double)ns;
		}
	}
	isc_hashmap_fini(&codes);
	return good;
}

/* Waits that know who was waited for. */
static bool is_asked(const isc_build *b)
{
	const isc_total_wait *w;

	for (size_t i = 0; (w = isc_totals_wait_at(b->totals, i)) != NULL; i++) {
		if (w->holder != 0)
			return b->tick_us > 0;
	}
	return false;
}

bool isc_holders_join(isc_build *b, isc_walk *walk)
{
	if (!is_asked(b))
		return true;
	b->holders = calloc(1, sizeof(*b->holders));
	if (b->holders == NULL || (b->holders->gather = calloc(1, sizeof(*b->holders->gather))) == NULL)
		return false;
	b->holders->gather->b = b;
	b->holders->gather->h = b->holders;
	isc_walk_join(walk, ISC_WALK_SAMPLES | ISC_WALK_WAITS, take_event, b->holders->gather);
	return true;
}

bool isc_holders_end(isc_build *b)
{
	struct gather *g = b->holders != NULL ? b->holders->gather : NULL;
	bool good = true;

	if (g == NULL)
		return true;
	if (g->deeds > 1)
		qsort(g->deed, g->deeds, sizeof(*g->deed), by_time);
	for (size_t i = 0; good && i < g->waits; i++)
		good = match(g, &g->wait[i]);
	good = good && choose(g);
	free_gather(b->holders);
	return good;
}

uint32_t isc_holders_stack(const isc_build *b, enum isc_state state, const isc_event *ev, const isc_wait *wait)
{
	const struct group *group = NULL;

	if (b->holders != NULL && wait->holder != 0 && (state == ISC_STATE_GIL_WAIT || state == ISC_STATE_LOCK_WAIT))
		group = find(b->holders, ev->process, waiting_at(state, ev->id), wait->holder);
	return group != NULL && group->stack != 0 ? group->stack : wait->holder_stack;
}
