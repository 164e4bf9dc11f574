#include "analyze/verdict/limiter.h"

#include <string.h>

#include "analyze/time/attribution.h"
#include "trace/sample.h"

#define SLICES 256u
#define THREADS_MAX 4096u /* 4 MiB; those that come later are short, or wait */
/* Of what the most occupied thread was, that leaves the judgement with the one it was to be of. */
#define ENOUGH 0.5
/* States in which a thread is held up by the program itself. */
#define HELD (1u << ISC_STATE_GIL_WAIT | 1u << ISC_STATE_LOCK_WAIT)

struct limiter_thread {
	uint32_t thread, process;
	float occupied_ns[SLICES];
};

struct isc_limiter {
	isc_build *b;
	isc_hashmap by_thread; /* index in the trace -> rank + 1 */
	isc_hashmap spins;     /* process and stack -> 1 it does, 2 it does not */
	struct limiter_thread **thread;
	size_t count, room;
	uint64_t slice_ns;
};

/* NULL: there are too many, or no memory (*good is false). */
static struct limiter_thread *thread_of(struct isc_limiter *l, uint32_t process, uint32_t thread, bool *good)
{
	uint64_t *rank = isc_hashmap_put(&l->by_thread, thread, NULL);
	struct limiter_thread **fresh;

	*good = rank != NULL;
	if (rank == NULL || (*rank == 0 && l->count >= THREADS_MAX))
		return NULL;
	if (*rank != 0)
		return l->thread[*rank - 1];
	fresh = isc_arena_push(l->b->arena, &l->thread, &l->count, &l->room, sizeof(struct limiter_thread *));
	if (fresh != NULL)
		*fresh = isc_arena_alloc(l->b->arena, sizeof(**fresh));
	*good = fresh != NULL && *fresh != NULL;
	if (!*good)
		return NULL;
	*rank = l->count;
	(*fresh)->thread = thread;
	(*fresh)->process = process;
	return *fresh;
}

static size_t slice_of(const struct isc_limiter *l, uint64_t ns)
{
	uint64_t since = ns > l->b->start_ns ? ns - l->b->start_ns : 0, at = since / l->slice_ns;

	return at < SLICES ? (size_t)at : SLICES - 1;
}

/* Adds a time to the slices that it lies in. */
static void occupy(const struct isc_limiter *l, struct limiter_thread *t, uint64_t from_ns, uint64_t to_ns)
{
	from_ns = from_ns > l->b->start_ns ? from_ns : l->b->start_ns;
	while (from_ns < to_ns) {
		size_t slice = slice_of(l, from_ns);
		uint64_t end = l->b->start_ns + (slice + 1) * l->slice_ns;

		end = end < to_ns && slice < SLICES - 1 ? end : to_ns;
		t->occupied_ns[slice] += (float)(end - from_ns);
		from_ns = end;
	}
}

static bool take_state(void *self, const isc_thread_interval *i)
{
	struct isc_limiter *l = self;
	struct limiter_thread *t;
	bool good;

	if (i->kind != ISC_INTERVAL_STATE || (HELD >> i->state & 1) == 0)
		return true;
	t = thread_of(l, i->process, i->thread, &good);
	if (t != NULL)
		occupy(l, t, i->from_ns, i->to_ns);
	return good;
}

static bool spins(struct isc_limiter *l, const isc_event *ev, bool *yes)
{
	uint64_t *known = isc_hashmap_put(&l->spins, isc_hashmap_key(ev->process, ev->id), NULL);

	if (known == NULL)
		return false;
	if (*known == 0)
		*known = isc_attribution_of(l->b, ev->process, ev->id).state == ISC_STATE_SPIN ? 1 : 2;
	*yes = *known == 1;
	return true;
}

static bool take_sample(void *self, const isc_event *ev)
{
	struct isc_limiter *l = self;
	struct limiter_thread *t;
	isc_sample body;
	bool good, yes;

	if (ev->kind != ISC_KIND_SAMPLE || ev->extra_len < sizeof(body))
		return true;
	if (!spins(l, ev, &yes))
		return false;
	t = yes ? NULL : thread_of(l, ev->process, ev->thread, &good);
	if (t == NULL)
		return yes || good;
	memcpy(&body, ev->extra, sizeof(body));
	t->occupied_ns[slice_of(l, ev->time_ns)] += (float)ev->arg * (float)body.period_ns;
	return true;
}

bool isc_limiter_join(isc_build *b, isc_states *states, isc_walk *walk)
{
	struct isc_limiter *l;

	if (b->end_ns <= b->start_ns)
		return true;
	l = isc_arena_alloc(b->arena, sizeof(*l));
	if (l == NULL)
		return false;
	l->b = b;
	l->slice_ns = (b->end_ns - b->start_ns) / SLICES + 1;
	b->limiter = l;
	isc_states_listen(states, take_state, l);
	isc_walk_join(walk, ISC_KIND_BIT(ISC_KIND_SAMPLE), take_sample, l);
	return true;
}

/* Of slices at the edges the part that lies inside. */
static double occupied_ns(const struct isc_limiter *l, const struct limiter_thread *t, uint64_t from_ns, uint64_t to_ns)
{
	double ns = 0;

	for (size_t i = 0; i < SLICES; i++) {
		uint64_t begin = l->b->start_ns + i * l->slice_ns, end = begin + l->slice_ns;
		uint64_t from = begin > from_ns ? begin : from_ns, to = end < to_ns ? end : to_ns;

		if (to > from)
			ns += (double)t->occupied_ns[i] * (double)(to - from) / (double)l->slice_ns;
	}
	return ns;
}

uint32_t isc_limiter_choose(const isc_build *b, uint32_t given, isc_limiter_span span)
{
	const struct isc_limiter *l = b->limiter;
	double most = 0, own = 0;
	uint32_t found = 0;

	for (size_t i = 0; l != NULL && i < l->count; i++) {
		const struct limiter_thread *t = l->thread[i];
		uint64_t from, to;
		double ns = span(b, t->process, &from, &to) ? occupied_ns(l, t, from, to) : 0;

		if (t->thread == given)
			own = ns;
		if (ns > most) {
			most = ns;
			found = t->thread;
		}
	}
	return own >= most * ENOUGH && own > 0 ? given : found;
}

void isc_limiter_drop(isc_build *b)
{
	if (b->limiter == NULL)
		return;
	isc_hashmap_fini(&b->limiter->by_thread);
	isc_hashmap_fini(&b->limiter->spins);
	b->limiter = NULL;
}
