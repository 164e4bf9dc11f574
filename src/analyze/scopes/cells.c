#include "analyze/scopes/cells.h"

#include <stdlib.h>
#include <string.h>

#define ROOM_MIN 8u /* few enough to look through, two lines of a cache: most scopes have no more */

void isc_cells_fini(isc_cells *c)
{
	free(c->cell);
	free(c->index);
	*c = (isc_cells){0};
}

void isc_cells_clear(isc_cells *c)
{
	if (c->used > ROOM_MIN)
		memset(c->index, 0, c->room * 2 * sizeof(*c->index));
	c->used = 0;
}

/* The place in the index of a key, or where it would be: there are twice as many places as cells. */
static uint32_t *place_of(const isc_cells *c, uint32_t key)
{
	size_t mask = c->room * 2 - 1, at = (size_t)((key * 0x9e3779b1u) >> 8) & mask;

	while (c->index[at] != 0 && c->cell[c->index[at] - 1].key != key)
		at = (at + 1) & mask;
	return &c->index[at];
}

static isc_cell *find(const isc_cells *c, uint32_t key)
{
	uint32_t at;

	if (c->used > ROOM_MIN) {
		at = *place_of(c, key);
		return at != 0 ? &c->cell[at - 1] : NULL;
	}
	for (size_t i = 0; i < c->used; i++) {
		if (c->cell[i].key == key)
			return &c->cell[i];
	}
	return NULL;
}

static bool grow(isc_cells *c)
{
	size_t room = c->room > 0 ? c->room * 2 : ROOM_MIN;
	isc_cell *cell = realloc(c->cell, room * sizeof(*cell));
	uint32_t *index;

	if (cell == NULL)
		return false;
	c->cell = cell;
	if (room > ROOM_MIN) {
		index = calloc(room * 2, sizeof(*index));
		if (index == NULL)
			return false;
		free(c->index);
		c->index = index;
	}
	c->room = room;
	/* Those that there are have their places anew. */
	for (size_t i = 0; c->used > ROOM_MIN && i < c->used; i++)
		*place_of(c, c->cell[i].key) = (uint32_t)(i + 1);
	return true;
}

static isc_cell *append(isc_cells *c, uint32_t key)
{
	if (c->used == c->room && !grow(c))
		return NULL;
	c->cell[c->used] = (isc_cell){.key = key};
	c->used++;
	/* From here on the index tells where they are. */
	for (size_t i = 0; c->used == ROOM_MIN + 1 && i < ROOM_MIN; i++)
		*place_of(c, c->cell[i].key) = (uint32_t)(i + 1);
	if (c->used > ROOM_MIN)
		*place_of(c, key) = (uint32_t)c->used;
	return &c->cell[c->used - 1];
}

bool isc_cells_add(isc_cells *c, uint32_t key, uint32_t count, double us)
{
	isc_cell *cell = find(c, key);

	if (cell == NULL)
		cell = append(c, key);
	if (cell == NULL)
		return false;
	cell->count += count;
	cell->us += us;
	return true;
}

bool isc_cells_merge(isc_cells *into, const isc_cells *from, double factor)
{
	for (size_t i = 0; i < from->used; i++) {
		const isc_cell *cell = &from->cell[i];

		if (!isc_cells_add(into, cell->key, cell->count, cell->us * factor))
			return false;
	}
	return true;
}

const isc_cell *isc_cells_find(const isc_cells *c, uint32_t key)
{
	return find(c, key);
}

const isc_cell *isc_cells_next(const isc_cells *c, size_t *at)
{
	return *at < c->used ? &c->cell[(*at)++] : NULL;
}
