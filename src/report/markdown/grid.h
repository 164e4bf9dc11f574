/*
 * grid.h - a Markdown table that also reads well as plain text: columns are
 * padded to one width and numbers stand to the right.
 */
#ifndef ISC_REPORT_MARKDOWN_GRID_H
#define ISC_REPORT_MARKDOWN_GRID_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/text.h"

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
/* Both at once, for text of ours, figures, and names of the program's, at most so many characters of them. */
void isc_grid_cell(isc_grid *t, const char *text);
void isc_grid_id(isc_grid *t, uint32_t id);
void isc_grid_count(isc_grid *t, uint64_t n);
void isc_grid_number(isc_grid *t, double value);
void isc_grid_percent(isc_grid *t, double percent);
void isc_grid_share(isc_grid *t, double part, double whole); /* in percent; "?" where one of them is not known */
void isc_grid_time(isc_grid *t, double us);
void isc_grid_name(isc_grid *t, isc_text name, size_t max);

/* Adds the table; out->failed tells when there was no memory. */
void isc_grid_write(const isc_grid *t, isc_buffer *out);
/* And releases it. */
void isc_grid_close(isc_grid *t, isc_buffer *out);
/* What a table that is cut says below it. */
void isc_grid_more(isc_buffer *out, size_t shown, size_t all);

#endif
