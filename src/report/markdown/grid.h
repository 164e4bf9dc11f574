/*
 * grid.h - a Markdown table that also reads well as plain text: columns are
 * padded to one width and numbers stand to the right.
 */
#ifndef ISC_REPORT_MARKDOWN_GRID_H
#define ISC_REPORT_MARKDOWN_GRID_H

#include <stddef.h>

#include "base/buffer.h"

#define ISC_GRID_COLUMNS 16u

typedef struct isc_grid {
	const char *title[ISC_GRID_COLUMNS]; /* one that begins with '>' is of numbers */
	size_t columns;
	isc_buffer text; /* all cells, one after the other; write the next one here ... */
	isc_buffer ends; /* size_t: where each ends */
} isc_grid;

/* titles ends with NULL. */
void isc_grid_init(isc_grid *t, const char *const *titles);
void isc_grid_fini(isc_grid *t);

/* ... and end it here.  What is written must be escaped already. */
void isc_grid_end(isc_grid *t);
/* Both at once, for text of ours. */
void isc_grid_cell(isc_grid *t, const char *text);

/* Adds the table; out->failed tells when there was no memory. */
void isc_grid_write(const isc_grid *t, isc_buffer *out);

#endif
