#include "collect/hooks/post.h"

#include <stdatomic.h>

#include "collect/hooks/blocked.h"

/* In one word, so that it is of one thread: a part of the hash of the object, the tid, and the ticks, as many of their
 * bits as fit.  Those tell moments of the last second or two apart, and who was woken looks much earlier. */
#define PLACE_BITS 10u
#define OBJECT_BITS 16u
#define TID_BITS 22u /* PID_MAX_LIMIT */
#define TIME_BITS 26u
#define TIME_SHIFT 6u /* ticks that are one here: some 20 ns */
_Static_assert(OBJECT_BITS + TID_BITS + TIME_BITS == 64, "one word");

static _Atomic uint64_t posts[1u << PLACE_BITS];

static uint64_t hash_of(const void *object)
{
	return ((uintptr_t)object >> 3) * 0x9e3779b97f4a7c15ull;
}

static _Atomic uint64_t *place_of(uint64_t hash)
{
	return &posts[hash >> (64 - PLACE_BITS)];
}

static uint64_t object_of(uint64_t hash)
{
	return hash >> (64 - PLACE_BITS - OBJECT_BITS) & ((1u << OBJECT_BITS) - 1);
}

static uint64_t time_of(uint64_t ticks)
{
	return ticks >> TIME_SHIFT & ((1u << TIME_BITS) - 1);
}

void isc_post_note(const void *object)
{
	uint64_t hash = hash_of(object);

	if (!isc_blocked_wanted())
		return;
	atomic_store_explicit(place_of(hash),
			      object_of(hash) << (TID_BITS + TIME_BITS) | (uint64_t)isc_blocked_self() << TIME_BITS |
				      time_of(isc_ticks()),
			      memory_order_relaxed);
}

void isc_post_find(const void *object, uint64_t since, uint64_t now, isc_waker *waker)
{
	uint64_t hash = hash_of(object), post = atomic_load_explicit(place_of(hash), memory_order_relaxed);
	uint64_t ago = time_of((now >> TIME_SHIFT << TIME_SHIFT) - (post << TIME_SHIFT)) << TIME_SHIFT;

	if (post >> (TID_BITS + TIME_BITS) != object_of(hash) || ago > now - since)
		return;
	waker->poster = (uint32_t)(post >> TIME_BITS) & ((1u << TID_BITS) - 1);
	waker->posted_ticks = waker->poster != 0 ? ago : 0;
}
