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

#define CACHE_PROBES 8u

/*
 * Hash:32 | id:32, published when the definition is committed; 0: empty.  A table is
 * gone on from only where all probes found others, so that one with an empty place
 * ends the search, and the larger ones are touched only by who needs them: with 2.5 MiB
 * there is a place for all that fits into the file of a program with many names.
 */
static _Atomic uint64_t small[1u << 13], middle[1u << 16], large[1u << 18];
static struct {
	_Atomic uint64_t *entry;
	uint32_t mask;
} const cache[] = {{small, (1u << 13) - 1}, {middle, (1u << 16) - 1}, {large, (1u << 18) - 1}};
#define CACHES (sizeof(cache) / sizeof(cache[0]))

/* Of what has no room a few stand for all; the end of the file is kept for them. */
#define REST_BYTES 256u
#define REST_FUNCTIONS "(other functions)"
#define REST_KERNELS "(other kernels)"

static isc_def *def_at(isc_defs *d, uint64_t at)
{
	return (isc_def *)((char *)d + at);
}

static void move_tail(isc_defs *d, uint64_t from, uint64_t to)
{
	atomic_compare_exchange_strong_explicit(&d->tail, &from, to, memory_order_acq_rel, memory_order_relaxed);
}

/* Room for a definition of n bytes before the last so many, with its head set; 0: there is none. */
static uint64_t reserve(isc_defs *d, uint64_t base, uint16_t type, uint32_t n, uint64_t spared)
{
	uint64_t need = isc_def_bytes(n);

	for (;;) {
		uint64_t at = atomic_load_explicit(&d->tail, memory_order_acquire);
		uint64_t head = 0;

		if (at + need + spared > atomic_load_explicit(&d->backed, memory_order_acquire) ||
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

static uint32_t define(uint16_t type, const void *data, size_t len, uint64_t spared)
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
	at = reserve(d, base, type, n, spared);
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

uint32_t isc_rt_define(uint16_t type, const void *data, size_t len)
{
	return define(type, data, len, REST_BYTES);
}

static struct {
	_Atomic uint64_t gen;
	_Atomic uint32_t id;
} rest[3];

bool isc_rt_is_rest(uint32_t id)
{
	for (unsigned i = 0; i < sizeof(rest) / sizeof(rest[0]); i++) {
		if (id != 0 && atomic_load_explicit(&rest[i].id, memory_order_relaxed) == id)
			return true;
	}
	return false;
}

uint32_t isc_rt_rest(uint16_t type)
{
	struct {
		isc_def_code head;
		char name[sizeof(REST_FUNCTIONS) - 1];
	} code = {.head = {.name_len = sizeof(REST_FUNCTIONS) - 1}};
	unsigned i = type == ISC_DEF_CODE ? 0 : type == ISC_DEF_STRING ? 1 : 2;
	uint64_t gen;
	uint32_t id;

	if ((type != ISC_DEF_CODE && type != ISC_DEF_STRING && type != ISC_DEF_KERNEL) || !isc_image_open())
		return 0;
	gen = atomic_load_explicit(&isc_wiped_page->gen, memory_order_acquire);
	if (atomic_load_explicit(&rest[i].gen, memory_order_acquire) == gen)
		return atomic_load_explicit(&rest[i].id, memory_order_relaxed);
	memcpy(code.name, REST_FUNCTIONS, sizeof(code.name));
	/* Two threads may define it at once: the same text twice. */
	id = i == 0   ? define(type, &code, sizeof(code.head) + sizeof(code.name), 0)
	     : i == 1 ? define(type, ISC_REST_NAMES, sizeof(ISC_REST_NAMES) - 1, 0)
		      : define(type, REST_KERNELS, sizeof(REST_KERNELS) - 1, 0);
	if (id == 0)
		return 0;
	atomic_store_explicit(&rest[i].id, id, memory_order_relaxed);
	atomic_store_explicit(&rest[i].gen, gen, memory_order_release);
	return id;
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

uint64_t isc_defs_hash(uint16_t type, const void *data, size_t len)
{
	return hash_of(data, len) ^ (uint64_t)(type - ISC_DEF_STRING) << 48;
}

uint32_t isc_defs_find(uint16_t type, const void *data, size_t len, uint64_t *hash)
{
	*hash = isc_defs_hash(type, data, len);
	for (size_t c = 0; c < CACHES; c++) {
		for (uint32_t k = 0; k < CACHE_PROBES; k++) {
			uint64_t entry = atomic_load_explicit(&cache[c].entry[((uint32_t)*hash + k) & cache[c].mask],
							      memory_order_acquire);

			if (entry == 0)
				return 0;
			if (entry >> 32 == *hash >> 32 && says((uint32_t)entry, type, data, len))
				return (uint32_t)entry;
		}
	}
	return 0;
}

/* Puts a definition where it will be found; the id of another that was faster, or its own. */
static uint32_t publish(uint64_t hash, uint32_t id, uint16_t type, const char *text, size_t len)
{
	uint64_t fresh = hash >> 32 << 32 | id;

	for (size_t i = 0; i < CACHES * CACHE_PROBES; i++) {
		size_t c = i / CACHE_PROBES;
		_Atomic uint64_t *at = &cache[c].entry[((uint32_t)hash + i % CACHE_PROBES) & cache[c].mask];
		uint64_t entry = 0;

		if (atomic_compare_exchange_strong_explicit(at, &entry, fresh, memory_order_acq_rel,
							    memory_order_acquire))
			return id;
		if (entry >> 32 == hash >> 32 && says((uint32_t)entry, type, text, len))
			return (uint32_t)entry; /* another thread was faster with the same name */
		/* From before a fork: of no use here any more. */
		if ((uint64_t)(uint32_t)entry * 16 < isc_image_self.defs_base + sizeof(isc_defs) &&
		    atomic_compare_exchange_strong_explicit(at, &entry, fresh, memory_order_acq_rel,
							    memory_order_relaxed))
			return id;
	}
	/* Crowded: the newest takes the place that its hash names. */
	atomic_store_explicit(&large[((uint32_t)hash + (uint32_t)(hash >> 40) % CACHE_PROBES) & cache[CACHES - 1].mask],
			      fresh, memory_order_release);
	return id;
}

uint32_t isc_rt_intern(uint16_t type, const void *data, size_t len)
{
	uint64_t hash;
	uint32_t id;

	if (len > ISC_DEF_MAX)
		len = ISC_DEF_MAX;
	if (!isc_image_open())
		return 0;
	id = isc_defs_find(type, data, len, &hash);
	if (id != 0)
		return id;
	id = isc_rt_define(type, data, len);
	return id != 0 ? publish(hash, id, type, data, len) : 0;
}
