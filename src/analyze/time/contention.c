/*
 * contention.c - where threads waited for locks and for the interpreter, and who had them.
 *
 * From the running totals, so all of a run counts, whatever of its events is left.
 */
#include <stdlib.h>

#include "analyze/time/holders.h"
#include "analyze/code/places.h"

#define WAITS_MAX 50u /* in a report */

struct contention_sum {
	isc_analysis_wait out;
	uint32_t place, holder;
};

struct sums {
	struct contention_sum *at;
	size_t count, room;
	isc_hashmap of; /* state and two places -> number + 1 */
	isc_places places;
};

static int by_time(const void *x, const void *y)
{
	const struct contention_sum *s = x, *t = y;

	if (s->out.us != t->out.us)
		return s->out.us > t->out.us ? -1 : 1;
	if (s->place != t->place)
		return s->place < t->place ? -1 : 1;
	return s->holder < t->holder ? -1 : s->holder > t->holder;
}

static struct contention_sum *sum_of(struct sums *s, isc_build *b, enum isc_state state, uint32_t place,
				     uint32_t holder)
{
	uint64_t key = (uint64_t)(state == ISC_STATE_GIL_WAIT) << 63 | (uint64_t)place << 32 | holder;
	uint64_t *number = isc_hashmap_put(&s->of, key, NULL);
	struct contention_sum *sum;

	if (number == NULL)
		return NULL;
	if (*number == 0) {
		sum = isc_arena_push(b->arena, &s->at, &s->count, &s->room, sizeof(*sum));
		if (sum == NULL)
			return NULL;
		*sum = (struct contention_sum){.out.state = state, .place = place, .holder = holder};
		*number = s->count;
	}
	return &s->at[*number - 1];
}

static bool add(struct sums *s, isc_build *b, const isc_total_wait *w)
{
	enum isc_state state = isc_waits_of(&b->waits, w);
	isc_thread_interval as_one = {.process = w->process,
				      .stack = w->stack,
				      .holder = w->holder,
				      .holder_stack = w->holder_stack,
				      .state = (uint8_t)state};
	uint32_t place, holder, held;
	struct contention_sum *sum;

	if (w->call == ISC_WAIT_GC || (state != ISC_STATE_GIL_WAIT && state != ISC_STATE_LOCK_WAIT))
		return true;
	held = isc_holders_stack(b, &as_one);
	place = w->stack != 0 ? isc_places_stack(&s->places, b, w->process, w->stack) : 0;
	holder = held != 0 ? isc_places_stack(&s->places, b, w->process, held) : 0;
	if (place == ISC_PLACE_NO_MEMORY || holder == ISC_PLACE_NO_MEMORY)
		return false;
	sum = sum_of(s, b, state, place, holder);
	if (sum == NULL)
		return false;
	sum->out.us += (double)w->ticks * b->us_per_tick;
	sum->out.count += w->count;
	return true;
}

isc_status isc_build_contention(isc_build *b, isc_error *err)
{
	const isc_total_wait *w;
	struct sums s = {0};
	isc_analysis *a = b->a;
	bool good = true;

	for (size_t i = 0; good && b->us_per_tick > 0 && (w = isc_totals_wait_at(b->totals, i)) != NULL; i++)
		good = add(&s, b, w);
	if (good && s.count > 1)
		qsort(s.at, s.count, sizeof(*s.at), by_time);
	s.count = s.count < WAITS_MAX || b->part ? s.count : WAITS_MAX;
	a->waits = good ? isc_arena_array(b->arena, s.count + 1, sizeof(*a->waits)) : NULL;
	good = a->waits != NULL;
	for (; good && a->wait_count < s.count; a->wait_count++) {
		const struct contention_sum *sum = &s.at[a->wait_count];
		isc_analysis_wait *out = &a->waits[a->wait_count];

		*out = sum->out;
		if (sum->place != 0)
			out->where = s.places.at[sum->place];
		if (sum->holder != 0)
			out->held_by = s.places.at[sum->holder];
	}
	isc_hashmap_fini(&s.of);
	isc_places_fini(&s.places);
	return good ? ISC_OK : isc_build_no_memory(err);
}
