#include "base/hashmap.h"

#include <stdlib.h>

enum { EMPTY = 0, LIVE = 1, DEAD = 2 };

struct isc_hashmap_slot {
	uint64_t key;
	uint64_t value;
	uint8_t state;
};

static size_t start_of(uint64_t key, size_t capacity)
{
	key ^= key >> 32;
	key *= 0x9e3779b97f4a7c15ull;
	return (size_t)(key >> 32 ^ key) & (capacity - 1);
}

void isc_hashmap_fini(isc_hashmap *map)
{
	free(map->slot);
	*map = (isc_hashmap){0};
}

/* The slot of the key, or where it would go.  The map has at least one EMPTY slot. */
static struct isc_hashmap_slot *probe(const isc_hashmap *map, uint64_t key)
{
	struct isc_hashmap_slot *dead = NULL;

	for (size_t i = start_of(key, map->capacity);; i = (i + 1) & (map->capacity - 1)) {
		struct isc_hashmap_slot *s = &map->slot[i];

		if (s->state == EMPTY)
			return dead != NULL ? dead : s;
		if (s->state == LIVE && s->key == key)
			return s;
		if (s->state == DEAD && dead == NULL)
			dead = s;
	}
}

uint64_t *isc_hashmap_find(const isc_hashmap *map, uint64_t key)
{
	struct isc_hashmap_slot *s;

	if (map->count == 0)
		return NULL;
	s = probe(map, key);
	return s->state == LIVE ? &s->value : NULL;
}

static bool grow(isc_hashmap *map)
{
	/* Doubles when most entries live; otherwise only sweeps out the dead. */
	size_t capacity = map->capacity == 0 ? 16 : map->count * 2 >= map->capacity ? map->capacity * 2 : map->capacity;
	isc_hashmap bigger = {.slot = calloc(capacity, sizeof(*bigger.slot)), .capacity = capacity};

	if (bigger.slot == NULL)
		return false;
	for (size_t i = 0; i < map->capacity; i++) {
		if (map->slot[i].state == LIVE) {
			*probe(&bigger, map->slot[i].key) = map->slot[i];
			bigger.count++;
		}
	}
	bigger.used = bigger.count;
	free(map->slot);
	*map = bigger;
	return true;
}

uint64_t *isc_hashmap_put(isc_hashmap *map, uint64_t key, bool *fresh)
{
	struct isc_hashmap_slot *s;

	if (fresh != NULL)
		*fresh = false;
	if ((map->used + 1) * 4 > map->capacity * 3 && !grow(map))
		return NULL;
	s = probe(map, key);
	if (s->state == LIVE)
		return &s->value;
	if (s->state == EMPTY)
		map->used++;
	map->count++;
	*s = (struct isc_hashmap_slot){.key = key, .state = LIVE};
	if (fresh != NULL)
		*fresh = true;
	return &s->value;
}

void isc_hashmap_remove(isc_hashmap *map, uint64_t key)
{
	struct isc_hashmap_slot *s;

	if (map->count == 0)
		return;
	s = probe(map, key);
	if (s->state == LIVE) {
		s->state = DEAD;
		map->count--;
	}
}

bool isc_hashmap_next(const isc_hashmap *map, size_t *at, uint64_t *key, uint64_t *value)
{
	for (; *at < map->capacity; (*at)++) {
		const struct isc_hashmap_slot *s = &map->slot[*at];

		if (s->state == LIVE) {
			*key = s->key;
			*value = s->value;
			(*at)++;
			return true;
		}
	}
	return false;
}
