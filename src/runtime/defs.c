/*
 * defs.c - definitions: an append-only file, and a cache of names before it.
 *
 * An id is a place in the file, so there is no counter and nothing to look up.
 * It is handed out only after the definition is committed.
 */
#include <stddef.h>
#include <string.h>

#include "runtime/image.h"
#include "runtime/runtime.h"
#include "runtime/write.h"

#define CACHE_ENTRIES 8192u /* 64 KiB; a power of two */
#define CACHE_PROBES 8u

/* Hash:32 | id:32, published when the definition is committed; 0: empty. */
static _Atomic uint64_t cache[CACHE_ENTRIES];

static isc_def *def_at(isc_defs *d, uint64_t at)
{
	return (isc_def *)((char *)d + at);
}

static void move_tail(isc_defs *d, uint64_t from, uint64_t to)
{
	atomic_compare_exchange_strong_explicit(&d->tail, &from, to, memory_order_acq_rel, memory_order_relaxed);
}

/* Room for a definition of n bytes, with its head set; 0: there is none. */
static uint64_t reserve(isc_defs *d, uint64_t base, uint16_t type, uint32_t n)
{
	uint64_t need = isc_def_bytes(n);

	for (;;) {
		uint64_t at = atomic_load_explicit(&d->tail, memory_order_acquire);
		uint64_t head = 0;

		if (at + need > atomic_load_explicit(&d->backed, memory_order_acquire) ||
		    (base + at) / 16 >= ISC_DEF_NAMED) {
			atomic_fetch_add_explicit(&d->lost, 1, memory_order_relaxed);
			return 0;
		}
		ISC_WINDOW(5);
		if (atomic_compare_exchange_strong_explicit(&def_at(d, at)->head, &head,
							    ISC_DEF_HEAD(n, type, ISC_DEF_RESERVED),
							    memory_order_acq_rel, memory_order_acquire)) {
			ISC_WINDOW(5);
			move_tail(d, at, at + need);
			return at;
		}
		/* Another's, who may be stopped or dead: move tail for it. */
		move_tail(d, at, at + isc_def_bytes(ISC_DEF_LEN(head)));
	}
}

uint32_t isc_rt_define(uint16_t type, const void *data, size_t len)
{
	uint32_t n = len < ISC_DEF_MAX ? (uint32_t)len : ISC_DEF_MAX;
	uint64_t at, gen, base;
	isc_defs *d;

	if (!isc_image_open())
		return 0;
	gen = atomic_load_explicit(&isc_wiped_page->gen, memory_order_acquire);
	base = isc_image_self.defs_base;
	d = isc_image_self.defs;
	if (d == NULL)
		return 0; /* a handler forked since we looked */
	at = reserve(d, base, type, n);
	if (at == 0)
		return 0;
	if (n != 0)
		memcpy(def_at(d, at)->data, data, n);
	atomic_store_explicit(&def_at(d, at)->head, ISC_DEF_HEAD(n, type, ISC_DEF_COMMITTED), memory_order_release);
	/* In a child, forked meanwhile by a handler, this was written to nowhere. */
	if (atomic_load_explicit(&isc_wiped_page->gen, memory_order_relaxed) != gen)
		return 0;
	return (uint32_t)((base + at) / 16);
}

bool isc_defs_roomy(void)
{
	const isc_defs *d;
	uint64_t backed;

	if (!isc_image_open())
		return false;
	d = isc_image_self.defs;
	if (d == NULL)
		return false;
	backed = atomic_load_explicit(&d->backed, memory_order_relaxed);
	return atomic_load_explicit(&d->tail, memory_order_relaxed) < backed - backed / 4;
}

static uint64_t hash_of(const char *text, size_t len)
{
	uint64_t h = 0x9e3779b97f4a7c15ull ^ len;
	uint64_t word;

	for (; len >= 8; text += 8, len -= 8) {
		memcpy(&word, text, 8);
		h = (h ^ word) * 0xff51afd7ed558ccdull;
		h ^= h >> 32;
	}
	for (word = 0; len > 0; len--)
		word = word << 8 | (unsigned char)*text++;
	h = (h ^ word) * 0xc4ceb9fe1a85ec53ull;
	return h ^ h >> 29;
}

/* Ids from before a fork lie in the parent's file, which is not read here:
 * such a name is defined once more. */
static bool says(uint32_t id, uint16_t type, const char *text, size_t len)
{
	isc_defs *d = isc_image_self.defs;
	uint64_t base = isc_image_self.defs_base;
	uint64_t place = (uint64_t)id * 16;
	const isc_def *def;
	uint64_t head;

	if (d == NULL || place < base + sizeof(isc_defs))
		return false;
	def = def_at(d, place - base);
	head = atomic_load_explicit(&def->head, memory_order_acquire);
	return ISC_DEF_LEN(head) == len && ISC_DEF_TYPE(head) == type && memcmp(def->data, text, len) == 0;
}

uint32_t isc_rt_name(const char *text, size_t len)
{
	return isc_rt_intern(ISC_DEF_STRING, text, len);
}

uint32_t isc_rt_intern(uint16_t type, const void *data, size_t len)
{
	const char *text = data;
	uint64_t hash, entry, fresh;
	uint32_t home, id;

	if (len > ISC_DEF_MAX)
		len = ISC_DEF_MAX;
	if (!isc_image_open())
		return 0;
	hash = hash_of(text, len) ^ (uint64_t)(type - ISC_DEF_STRING) << 48;
	home = (uint32_t)hash & (CACHE_ENTRIES - 1);
	for (uint32_t k = 0; k < CACHE_PROBES; k++) {
		entry = atomic_load_explicit(&cache[(home + k) & (CACHE_ENTRIES - 1)], memory_order_acquire);
		if (entry == 0)
			break;
		if (entry >> 32 == hash >> 32 && says((uint32_t)entry, type, text, len))
			return (uint32_t)entry;
	}
	id = isc_rt_define(type, text, len);
	if (id == 0)
		return 0;
	fresh = hash >> 32 << 32 | id;
	for (uint32_t k = 0; k < CACHE_PROBES; k++) {
		_Atomic uint64_t *at = &cache[(home + k) & (CACHE_ENTRIES - 1)];

		entry = 0;
		if (atomic_compare_exchange_strong_explicit(at, &entry, fresh, memory_order_acq_rel,
							    memory_order_acquire))
			return id;
		if (entry >> 32 != hash >> 32)
			continue;
		/* Another thread was faster with the same name, or it is one from before a fork. */
		if (says((uint32_t)entry, type, text, len))
			return (uint32_t)entry;
		if ((uint64_t)(uint32_t)entry * 16 < isc_image_self.defs_base + sizeof(isc_defs) &&
		    atomic_compare_exchange_strong_explicit(at, &entry, fresh, memory_order_acq_rel,
							    memory_order_relaxed))
			return id;
	}
	/* Crowded: the newest takes the place that its hash names. */
	atomic_store_explicit(&cache[(home + (uint32_t)(hash >> 40) % CACHE_PROBES) & (CACHE_ENTRIES - 1)], fresh,
			      memory_order_release);
	return id;
}
