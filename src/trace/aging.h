/*
 * aging.h - places for a bounded number of things that have a key.  When all
 * are taken, the thing that was touched longest ago makes room, at no more cost
 * than a lookup.  Internal to trace/.
 *
 * Places are numbered from 1; 0 is none.  What lies in them is the caller's, in
 * an array of its own.
 */
#ifndef ISC_TRACE_AGING_H
#define ISC_TRACE_AGING_H

#include <stddef.h>
#include <stdint.h>

#include "base/hashmap.h"

typedef struct isc_aging {
	isc_hashmap by_key; /* key -> place */
	struct isc_aging_link {
		uint64_t key;
		uint32_t older, younger; /* places; younger of a free one: the next free one */
	} *link;
	size_t count, room;
	uint32_t oldest, youngest, free;
} isc_aging; /* zeroed: empty */

void isc_aging_fini(isc_aging *a);

uint32_t isc_aging_find(const isc_aging *a, uint64_t key);

/* A place for a key that has none, as the youngest; of max places at most.  0: no memory. */
uint32_t isc_aging_put(isc_aging *a, uint64_t key, uint32_t max);

/* It is the youngest now. */
void isc_aging_touch(isc_aging *a, uint32_t place);
void isc_aging_drop(isc_aging *a, uint32_t place);

#endif
