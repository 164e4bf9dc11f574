/*
 * names.h - give every different text a number, from 0.  Definition ids differ
 * from process to process; a report speaks of names.
 */
#ifndef ISC_ANALYZE_NAMES_H
#define ISC_ANALYZE_NAMES_H

#include <stddef.h>
#include <stdint.h>

#include "analyze/analysis.h"
#include "base/arena.h"
#include "base/buffer.h"
#include "base/hashmap.h"

typedef struct isc_names {
	isc_text *text; /* by number; copies in the arena */
	size_t count, room;
	size_t *next; /* of the same hash: number + 1 */
	size_t next_count, next_room;
	isc_hashmap first; /* hash -> number + 1 */
} isc_names;

/* A zeroed struct is empty. */
void isc_names_fini(isc_names *n);

/* The number of a text, the next one when it is new; SIZE_MAX: no memory. */
size_t isc_names_put(isc_names *n, isc_arena *arena, const char *at, size_t len);

/* A kernel for people: without its return type, template arguments and parameters. */
void isc_names_kernel(isc_buffer *out, const char *at, size_t len);

/* By bytes, then by length: an order that does not depend on the trace's. */
int isc_names_compare(const isc_text *x, const isc_text *y);

#endif
