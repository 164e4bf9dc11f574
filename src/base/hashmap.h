/*
 * hashmap.h - from a 64-bit key to a 64-bit value.  Open addressing, grows at
 * three quarters; keys and values are plain numbers, so nothing is owned.
 */
#ifndef ISC_BASE_HASHMAP_H
#define ISC_BASE_HASHMAP_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct isc_hashmap {
	struct isc_hashmap_slot *slot;
	size_t capacity; /* a power of two, or 0 */
	size_t used;	 /* live and dead */
	size_t count;	 /* live */
} isc_hashmap;

/* A zeroed struct is an empty map. */
void isc_hashmap_fini(isc_hashmap *map);

/* NULL when the key is not there; borrowed until the next put. */
uint64_t *isc_hashmap_find(const isc_hashmap *map, uint64_t key);

/* The value of the key, made 0 when it is new (*fresh says so, may be NULL);
 * NULL when there is no memory. */
uint64_t *isc_hashmap_put(isc_hashmap *map, uint64_t key, bool *fresh);

void isc_hashmap_remove(isc_hashmap *map, uint64_t key);

/* Walks the live entries: start with *at = 0; false at the end. */
bool isc_hashmap_next(const isc_hashmap *map, size_t *at, uint64_t *key, uint64_t *value);

/* Mixes two numbers into a key.  Not unique: for composed keys use small parts. */
static inline uint64_t isc_hashmap_key(uint32_t high, uint32_t low)
{
	return (uint64_t)high << 32 | low;
}

#endif
