/*
 * cells.h - time by key: what a scope, or a group of scopes, spent on each thing.
 * Small when few keys occur, as they do in one scope.
 */
#ifndef ISC_ANALYZE_SCOPES_CELLS_H
#define ISC_ANALYZE_SCOPES_CELLS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct isc_cell {
	uint32_t key;
	uint32_t count;
	double us;
} isc_cell;

typedef struct isc_cells {
	isc_cell *cell;
	size_t used, room; /* room: a power of two, or 0 */
	uint32_t *index;   /* of more than a few: where a key is, + 1, by its hash */
} isc_cells;

/* A zeroed struct is empty. */
void isc_cells_fini(isc_cells *c);
void isc_cells_clear(isc_cells *c); /* keeps the room */

/* A key that is there stays where it is.  False: no memory. */
bool isc_cells_add(isc_cells *c, uint32_t key, uint32_t count, double us);
bool isc_cells_merge(isc_cells *into, const isc_cells *from, double factor);

/* NULL: no such key. */
const isc_cell *isc_cells_find(const isc_cells *c, uint32_t key);

/* Walks them in the order in which they came: start with *at = 0; NULL at the end. */
const isc_cell *isc_cells_next(const isc_cells *c, size_t *at);

#endif
