/*
 * grow.h - arrays that grow by doubling.
 */
#ifndef ISC_BASE_GROW_H
#define ISC_BASE_GROW_H

#include <stddef.h>

/* items, or the same in a larger place when count has reached *room; NULL: no memory, and items
 * are as they were. */
void *isc_grow(void *items, size_t count, size_t *room, size_t size);

#endif
