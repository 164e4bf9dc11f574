#include "trace/aging.h"

#include <stdlib.h>

#include "base/grow.h"

void isc_aging_fini(isc_aging *a)
{
	isc_hashmap_fini(&a->by_key);
	free(a->link);
	*a = (isc_aging){0};
}

uint32_t isc_aging_find(const isc_aging *a, uint64_t key)
{
	const uint64_t *at = isc_hashmap_find(&a->by_key, key);

	return at != NULL ? (uint32_t)*at : 0;
}

static void take_out(isc_aging *a, uint32_t place)
{
	const struct isc_aging_link *l = &a->link[place - 1];

	if (l->older != 0)
		a->link[l->older - 1].younger = l->younger;
	else
		a->oldest = l->younger;
	if (l->younger != 0)
		a->link[l->younger - 1].older = l->older;
	else
		a->youngest = l->older;
}

static void put_last(isc_aging *a, uint32_t place)
{
	a->link[place - 1].older = a->youngest;
	a->link[place - 1].younger = 0;
	if (a->youngest != 0)
		a->link[a->youngest - 1].younger = place;
	else
		a->oldest = place;
	a->youngest = place;
}

void isc_aging_touch(isc_aging *a, uint32_t place)
{
	take_out(a, place);
	put_last(a, place);
}

void isc_aging_drop(isc_aging *a, uint32_t place)
{
	isc_hashmap_remove(&a->by_key, a->link[place - 1].key);
	take_out(a, place);
	a->link[place - 1].younger = a->free;
	a->free = place;
}

uint32_t isc_aging_put(isc_aging *a, uint64_t key, uint32_t max)
{
	struct isc_aging_link *bigger;
	uint32_t place;
	uint64_t *at;

	if (a->free == 0 && a->count >= max)
		isc_aging_drop(a, a->oldest);
	if (a->free == 0) {
		bigger = isc_grow(a->link, a->count, &a->room, sizeof(*bigger));
		if (bigger == NULL)
			return 0;
		a->link = bigger;
		a->link[a->count++] = (struct isc_aging_link){0};
		a->free = (uint32_t)a->count;
	}
	at = isc_hashmap_put(&a->by_key, key, NULL);
	if (at == NULL)
		return 0;
	place = a->free;
	a->free = a->link[place - 1].younger;
	a->link[place - 1].key = key;
	put_last(a, place);
	*at = place;
	return place;
}
