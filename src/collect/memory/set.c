/*
 * set.c - addresses that are looked at.
 *
 * Two buckets of eight for every address, of which one line of the cache each is
 * read: a place that is left needs no mark, as nobody stops at it.  An address is in
 * the set from before the program gets it until the program gives it back, so
 * only the memory of places is fought over, and a place is claimed first, filled,
 * and published last.
 */
#include "collect/memory/memory.h"

#include <stdatomic.h>

#define BUCKET 8u
#define BUCKETS (ISC_MEMORY_SET / BUCKET)
#define CLAIMED 1u /* no address that anybody frees */

_Alignas(64) _Atomic uint8_t isc_memory_place[ISC_MEMORY_PLACES];

static uint32_t bucket(const void *p, int which)
{
	uint64_t h = ((uintptr_t)p >> 4) * (which == 0 ? 0xff51afd7ed558ccdull : 0xc4ceb9fe1a85ec53ull);

	return (uint32_t)(h >> 32) % BUCKETS * BUCKET;
}

/* Full ones stay so: they only cost a look. */
static void mark(const void *p, int by)
{
	_Atomic uint8_t *place = &isc_memory_place[isc_memory_place_of(p)];
	uint8_t was = atomic_load_explicit(place, memory_order_relaxed);

	while (was != UINT8_MAX && !(was == 0 && by < 0) &&
	       !atomic_compare_exchange_weak_explicit(place, &was, (uint8_t)(was + by), memory_order_relaxed,
						      memory_order_relaxed))
		;
}

bool isc_memory_set_add(isc_memory_set *s, const void *p, const isc_memory_item *item)
{
	for (int which = 0; which < 2; which++) {
		uint32_t first = bucket(p, which);

		for (uint32_t i = first; i < first + BUCKET; i++) {
			uint64_t none = 0;

			if (atomic_load_explicit(&s->address[i], memory_order_relaxed) != 0 ||
			    !atomic_compare_exchange_strong_explicit(&s->address[i], &none, CLAIMED,
								     memory_order_acquire, memory_order_relaxed))
				continue;
			s->item[i] = *item;
			mark(p, 1);
			atomic_store_explicit(&s->address[i], (uintptr_t)p, memory_order_release);
			atomic_fetch_add_explicit(&s->count, 1, memory_order_relaxed);
			return true;
		}
	}
	return false;
}

/* Others may add and take meanwhile. */
void isc_memory_set_clear(isc_memory_set *s)
{
	isc_memory_item item;

	for (uint32_t i = 0; i < ISC_MEMORY_SET; i++) {
		uint64_t was = atomic_load_explicit(&s->address[i], memory_order_relaxed);

		if (was > CLAIMED)
			isc_memory_set_take(s, (const void *)(uintptr_t)was, &item);
	}
}

bool isc_memory_set_take(isc_memory_set *s, const void *p, isc_memory_item *item)
{
	for (int which = 0; which < 2; which++) {
		uint32_t first = bucket(p, which);

		for (uint32_t i = first; i < first + BUCKET; i++) {
			uint64_t was = (uintptr_t)p;

			if (atomic_load_explicit(&s->address[i], memory_order_acquire) != was)
				continue;
			*item = s->item[i];
			/* A program that frees twice at once gets one of them. */
			if (!atomic_compare_exchange_strong_explicit(&s->address[i], &was, 0, memory_order_acq_rel,
								     memory_order_relaxed))
				return false;
			mark(p, -1);
			atomic_fetch_sub_explicit(&s->count, 1, memory_order_relaxed);
			return true;
		}
	}
	return false;
}
