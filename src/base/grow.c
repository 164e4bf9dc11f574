#include "base/grow.h"

#include <stdint.h>
#include <stdlib.h>

#define FIRST 64u

void *isc_grow(void *items, size_t count, size_t *room, size_t size)
{
	size_t wider = *room != 0 ? *room * 2 : FIRST;
	void *grown;

	if (count < *room)
		return items;
	grown = wider < *room || wider > SIZE_MAX / size ? NULL : realloc(items, wider * size);
	if (grown != NULL)
		*room = wider;
	return grown;
}
