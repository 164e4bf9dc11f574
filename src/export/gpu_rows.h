/*
 * gpu_rows.h - which row a piece of a GPU's work is drawn in.
 *
 * Viewers want slices of one track to lie inside or behind each other.  What a stream did
 * does not: kernels of a graph run side by side, and who waits for a stream does so while
 * it works.  So a stream has as many rows as it takes, the first of them for almost everything.
 */
#ifndef ISC_EXPORT_GPU_ROWS_H
#define ISC_EXPORT_GPU_ROWS_H

#include <stdbool.h>

#include "base/hashmap.h"

typedef struct isc_gpu_rows {
	isc_hashmap streams; /* device and stream -> its newest row + 1; those that meet here are in one chain */
	struct isc_gpu_row *row;
	size_t count, room;
} isc_gpu_rows;

/* A zeroed struct has no rows. */
void isc_gpu_rows_fini(isc_gpu_rows *rows);

/*
 * The row of work from start_ns to end_ns, counted from 0 over all streams; SIZE_MAX: no memory.
 * Work may come in any order.  *nth is the row's number among those of its stream, from 0; *fresh:
 * nothing was in it before.
 */
size_t isc_gpu_rows_place(isc_gpu_rows *rows, uint32_t device, uint64_t stream, uint64_t start_ns, uint64_t end_ns,
			  uint32_t *nth, bool *fresh);

#endif
