#include "collect/profile/table.h"

#include <string.h>

#define PROBES 64u
#define SHARE(size) ((size) / 4 * 3) /* fuller tables are slow to search */

uint64_t isc_profile_key(uint64_t a, uint64_t b)
{
	uint64_t h = (a ^ b * 0x9e3779b97f4a7c15ull) * 0xff51afd7ed558ccdull;

	h ^= h >> 32;
	h *= 0xc4ceb9fe1a85ec53ull;
	return (h ^ h >> 29) | 1;
}

/* A place for one more, counted before it is taken; false: there is none. */
static bool reserve(_Atomic uint32_t *count, uint32_t most)
{
	if (atomic_load_explicit(count, memory_order_relaxed) >= most)
		return false;
	if (atomic_fetch_add_explicit(count, 1, memory_order_relaxed) < most)
		return true;
	atomic_fetch_sub_explicit(count, 1, memory_order_relaxed);
	return false;
}

static void give_back(_Atomic uint32_t *count)
{
	atomic_fetch_sub_explicit(count, 1, memory_order_relaxed);
}

/* Is the key in this place, now or since before?  *full: it is not, and it may not be added. */
static bool claim(_Atomic uint64_t *place, uint64_t key, _Atomic uint32_t *count, uint32_t most, bool *full)
{
	uint64_t was = atomic_load_explicit(place, memory_order_acquire);

	*full = false;
	if (was == 0) {
		if (!reserve(count, most)) {
			*full = true;
			return false;
		}
		if (atomic_compare_exchange_strong(place, &was, key))
			return true;
		give_back(count);
	}
	return was == key;
}

uint32_t isc_profile_node(isc_profile *p, uint32_t parent, uint32_t frame)
{
	uint64_t key = (uint64_t)parent << 32 | frame;
	uint32_t home = (uint32_t)isc_profile_key(key, 1) >> 8;
	bool full = false;

	for (uint32_t k = 0; k < PROBES && !full; k++) {
		uint32_t at = (home + k) & (ISC_PROFILE_NODES - 1);

		if (claim(&p->node[at], key, &p->nodes, SHARE(ISC_PROFILE_NODES), &full))
			return at + 1;
	}
	return 0;
}

uint32_t isc_profile_frame_of(isc_profile *p, uint64_t key, bool *fill)
{
	uint32_t home = (uint32_t)key >> 8;
	bool full = false;

	*fill = false;
	for (uint32_t k = 0; k < PROBES && !full; k++) {
		isc_profile_frame *f = &p->frame[(home + k) & (ISC_PROFILE_FRAMES - 1)];
		uint16_t no = 0;

		if (!claim(&f->key, key, &p->frames, SHARE(ISC_PROFILE_FRAMES), &full))
			continue;
		*fill = atomic_load_explicit(&f->ready, memory_order_acquire) == 0 &&
			atomic_compare_exchange_strong(&f->ready, &no, 1);
		return (uint32_t)(f - p->frame) + 1;
	}
	return 0;
}

void isc_profile_frame_filled(isc_profile *p, uint32_t id, bool done)
{
	atomic_store_explicit(&p->frame[id - 1].ready, done ? 2 : 0, memory_order_release);
}

uint64_t isc_profile_find(const isc_profile_entry *table, uint32_t size, uint64_t key)
{
	uint32_t home = (uint32_t)key >> 8;

	for (uint32_t k = 0; k < PROBES; k++) {
		const isc_profile_entry *e = &table[(home + k) & (size - 1)];
		uint64_t was = atomic_load_explicit(&e->key, memory_order_acquire);

		if (was == key)
			return atomic_load_explicit(&e->value, memory_order_acquire);
		if (was == 0)
			break;
	}
	return 0;
}

void isc_profile_enter(isc_profile_entry *table, uint32_t size, _Atomic uint32_t *count, uint64_t key, uint64_t value)
{
	uint32_t home = (uint32_t)key >> 8;
	bool full = false;

	for (uint32_t k = 0; k < PROBES && !full; k++) {
		isc_profile_entry *e = &table[(home + k) & (size - 1)];

		if (claim(&e->key, key, count, SHARE(size), &full)) {
			atomic_store_explicit(&e->value, value, memory_order_release);
			return;
		}
	}
}

uint32_t isc_profile_keep(isc_profile *p, const void *data, size_t len)
{
	uint32_t used = atomic_load_explicit(&p->text_used, memory_order_relaxed), from;

	/* Nothing lies at 0, which means none. */
	do {
		from = used == 0 ? 16 : used;
		if (len > ISC_PROFILE_TEXT_BYTES - from)
			return 0;
	} while (!atomic_compare_exchange_weak(&p->text_used, &used, from + (((uint32_t)len + 15) & ~15u)));
	memcpy(p->text + from, data, len);
	return from;
}

static isc_profile_stack *stack_of(isc_profile *p, uint32_t node, uint32_t tid)
{
	uint64_t key = (uint64_t)node << 32 | tid;
	uint32_t home = (uint32_t)isc_profile_key(key, 2) >> 8;
	/* Those that are no stacks do not count as such. */
	bool real = node < ISC_PROFILE_OTHER, full = false;
	_Atomic uint32_t uncounted = 0;

	for (uint32_t k = 0; k < ISC_PROFILE_STACKS && !full; k++) {
		isc_profile_stack *s = &p->stack[(home + k) & (ISC_PROFILE_STACKS - 1)];

		if (claim(&s->key, key, real ? &p->stacks : &uncounted, ISC_PROFILE_STACKS_MAX, &full))
			return s;
	}
	return NULL;
}

void isc_profile_count(isc_profile *p, const isc_profile_sample *s)
{
	uint32_t node = s->node != 0 ? s->node : ISC_PROFILE_OTHER;
	isc_profile_stack *stack = stack_of(p, node, s->tid);

	if (stack == NULL && node < ISC_PROFILE_OTHER) {
		node = ISC_PROFILE_OTHER;
		stack = stack_of(p, node, s->tid);
	}
	atomic_fetch_add_explicit(&p->samples, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&p->total_ns, s->ns, memory_order_relaxed);
	if (node == ISC_PROFILE_OTHER)
		atomic_fetch_add_explicit(&p->other_ns, s->ns, memory_order_relaxed);
	else if (node == ISC_PROFILE_UNKNOWN)
		atomic_fetch_add_explicit(&p->unknown_ns, s->ns, memory_order_relaxed);
	if (stack == NULL) {
		atomic_fetch_add_explicit(&p->unplaced_ns, s->ns, memory_order_relaxed);
		return;
	}
	atomic_fetch_add_explicit(&stack->ns, s->ns, memory_order_relaxed);
	atomic_fetch_add_explicit(&stack->counted, s->counted, memory_order_relaxed);
	atomic_fetch_add_explicit(&stack->memory, s->memory, memory_order_relaxed);
}
