#include "analyze/cells.h"

#include <stdlib.h>
#include <string.h>

#define CAPACITY_MIN 16u

void isc_cells_fini(isc_cells *c)
{
	free(c->slot);
	*c = (isc_cells){0};
}

void isc_cells_clear(isc_cells *c)
{
	if (c->used > 0)
		memset(c->slot, 0, c->capacity * sizeof(*c->slot));
	c->used = 0;
}

static isc_cell *slot_of(const isc_cells *c, uint32_t key)
{
	size_t at = (size_t)((key * 0x9e3779b1u) >> 8) & (c->capacity - 1);

	while (c->slot[at].key != 0 && c->slot[at].key != key)
		at = (at + 1) & (c->capacity - 1);
	return &c->slot[at];
}

static bool grow(isc_cells *c)
{
	isc_cells larger = {.capacity = c->capacity > 0 ? c->capacity * 2 : CAPACITY_MIN, .used = c->used};

	larger.slot = calloc(larger.capacity, sizeof(*larger.slot));
	if (larger.slot == NULL)
		return false;
	for (size_t i = 0; i < c->capacity; i++) {
		if (c->slot[i].key != 0)
			*slot_of(&larger, c->slot[i].key) = c->slot[i];
	}
	free(c->slot);
	*c = larger;
	return true;
}

bool isc_cells_add(isc_cells *c, uint32_t key, uint32_t count, double us)
{
	isc_cell *cell = c->capacity > 0 ? slot_of(c, key) : NULL;

	if (cell == NULL || cell->key == 0) {
		if (c->used * 4 >= c->capacity * 3) {
			if (!grow(c))
				return false;
			cell = slot_of(c, key);
		}
		c->used++;
		cell->key = key;
	}
	cell->count += count;
	cell->us += us;
	return true;
}

bool isc_cells_merge(isc_cells *into, const isc_cells *from, double factor)
{
	for (size_t i = 0, left = from->used; left > 0 && i < from->capacity; i++) {
		const isc_cell *cell = &from->slot[i];

		left -= cell->key != 0;
		if (cell->key != 0 && !isc_cells_add(into, cell->key, cell->count, cell->us * factor))
			return false;
	}
	return true;
}

const isc_cell *isc_cells_find(const isc_cells *c, uint32_t key)
{
	const isc_cell *cell = c->capacity > 0 ? slot_of(c, key) : NULL;

	return cell != NULL && cell->key != 0 ? cell : NULL;
}

const isc_cell *isc_cells_next(const isc_cells *c, size_t *at)
{
	while (*at < c->capacity) {
		const isc_cell *cell = &c->slot[(*at)++];

		if (cell->key != 0)
			return cell;
	}
	return NULL;
}
