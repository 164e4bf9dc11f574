#include "analyze/time/holders.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/code/stack_facts.h"
#include "base/grow.h"
#include "timeline/spool.h"
#include "trace/sample.h"

/* Of waits: 700,000.  What is more goes into a temporary file. */
#define MEMORY_BYTES (16u << 20)
/* Of the time that was waited, that has to be known of the holder to say more than the wait itself. */
#define KNOWN_SHARE 0.1

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
	isc_spool *waits;  /* by who was waited for, so that its intervals are read in their order */
	isc_hashmap times; /* group and stack -> ns */
	isc_stack_facts facts;
	isc_status failed; /* of the waits; nothing is added any more */
};

static void free_gather(struct isc_holders *h)
{
	struct gather *g = h->gather;

	if (g == NULL)
		return;
	isc_hashmap_fini(&g->times);
	isc_stack_facts_fini(&g->facts);
	isc_spool_free(g->waits);
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

/* Whoever waits for the interpreter may be anywhere. */
static uint32_t waiting_at(const isc_thread_interval *i)
{
	return i->state == ISC_STATE_GIL_WAIT ? 0 : i->stack;
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
		struct group *groups = isc_grow(h->group, h->group_count, &h->group_room, sizeof(*groups));

		if (groups == NULL)
			return NULL;
		h->group = groups;
		h->group[h->group_count++] = (struct group){.process = process, .tid = tid};
		*group = h->group_count;
	}
	return &h->group[*group - 1];
}

/* ---- who was waited for ---- */

static int by_holder(const void *x, const void *y)
{
	const struct held_wait *v = x, *w = y;

	if (v->tid != w->tid)
		return v->tid < w->tid ? -1 : 1;
	if (v->to_ns != w->to_ns)
		return v->to_ns < w->to_ns ? -1 : 1;
	return (v->group > w->group) - (v->group < w->group);
}

static bool waits_for_holder(const isc_thread_interval *i)
{
	return i->kind == ISC_INTERVAL_STATE && (i->state == ISC_STATE_GIL_WAIT || i->state == ISC_STATE_LOCK_WAIT) &&
	       i->holder != 0;
}

static bool take_wait(void *self, const isc_thread_interval *i)
{
	struct gather *g = self;
	struct held_wait wait = {.from_ns = i->from_ns, .to_ns = i->to_ns, .tid = i->holder};
	struct group *group;

	if (!waits_for_holder(i) || i->tid == 0 || i->holder == i->tid || i->from_ns == i->to_ns)
		return true;
	group = group_of(g->h, i->process, waiting_at(i), i->holder);
	if (group == NULL)
		return false;
	group->waited_ns += (double)(i->to_ns - i->from_ns);
	wait.group = (uint32_t)(group - g->h->group);
	if (g->failed == ISC_OK)
		g->failed = isc_spool_add(g->waits, &wait, NULL);
	return g->failed != ISC_ERR_NOMEM;
}

/* ---- who did what meanwhile ---- */

static bool count(struct gather *g, const struct held_wait *w, uint32_t stack, uint64_t ns)
{
	uint64_t *sum;

	if (ns == 0 || stack == 0 || isc_stack_is_none(stack))
		return true;
	sum = isc_hashmap_put(&g->times, isc_hashmap_key(w->group, stack), NULL);
	if (sum == NULL)
		return false;
	*sum += ns;
	g->h->group[w->group].known_ns += (double)ns;
	return true;
}

/* A sample stands for its time at a moment. */
static bool count_samples(struct gather *g, const struct held_wait *w)
{
	const isc_thread_interval *i = isc_intervals_find(g->b->intervals, w->tid, ISC_INTERVAL_SAMPLE, w->from_ns);

	for (; i != NULL && i->to_ns <= w->to_ns; i = isc_intervals_next(g->b->intervals)) {
		if (!count(g, w, i->stack, i->to_ns - i->from_ns))
			return false;
	}
	return true;
}

/* Who waits for work, or for somebody else, holds nothing that matters. */
static bool count_states(struct gather *g, const struct held_wait *w)
{
	const isc_thread_interval *i = isc_intervals_find(g->b->intervals, w->tid, ISC_INTERVAL_STATE, w->from_ns);

	for (; i != NULL && i->from_ns < w->to_ns; i = isc_intervals_next(g->b->intervals)) {
		uint64_t from = i->from_ns > w->from_ns ? i->from_ns : w->from_ns;
		uint64_t to = i->to_ns < w->to_ns ? i->to_ns : w->to_ns;

		if (i->state == ISC_STATE_IDLE || i->state == ISC_STATE_GIL_WAIT || i->state == ISC_STATE_LOCK_WAIT)
			continue;
		if (!count(g, w, i->stack, to - from))
			return false;
	}
	return true;
}

/* What could not be read, the waits themselves say as well as they can. */
static bool match_all(struct gather *g)
{
	const struct held_wait *w;
	bool good = true;

	if (g->failed == ISC_OK)
		g->failed = isc_spool_rewind(g->waits, NULL);
	while (g->failed == ISC_OK && good && (w = isc_spool_next(g->waits)) != NULL)
		good = count_samples(g, w) && count_states(g, w);
	return good && g->failed != ISC_ERR_NOMEM;
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

bool isc_holders_join(isc_build *b, isc_states *states)
{
	struct gather *g;

	if (!is_asked(b))
		return true;
	b->holders = calloc(1, sizeof(*b->holders));
	g = b->holders != NULL ? calloc(1, sizeof(*g)) : NULL;
	if (g == NULL)
		return false;
	b->holders->gather = g;
	g->b = b;
	g->h = b->holders;
	isc_states_listen(states, take_wait, g);
	return isc_spool_new(sizeof(struct held_wait), by_holder, MEMORY_BYTES, &g->waits, NULL) == ISC_OK;
}

bool isc_holders_end(isc_build *b)
{
	struct gather *g = b->holders != NULL ? b->holders->gather : NULL;
	bool good;

	if (g == NULL)
		return true;
	good = match_all(g) && (isc_intervals_failed(b->intervals, NULL) != ISC_OK || choose(g));
	free_gather(b->holders);
	return good;
}

uint32_t isc_holders_stack(const isc_build *b, const isc_thread_interval *i)
{
	const struct group *group = NULL;

	if (b->holders != NULL && waits_for_holder(i))
		group = find(b->holders, i->process, waiting_at(i), i->holder);
	return group != NULL && group->stack != 0 ? group->stack : i->holder_stack;
}
