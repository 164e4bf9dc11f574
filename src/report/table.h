/*
 * table.h - a Markdown table that also reads well as plain text: columns are
 * padded to one width and numbers stand to the right.
 */
#ifndef ISC_REPORT_TABLE_H
#define ISC_REPORT_TABLE_H

#include <stddef.h>

#include "base/buffer.h"

#define ISC_TABLE_COLUMNS 12u

typedef struct isc_table {
	const char *title[ISC_TABLE_COLUMNS];	/* one that begins with '>' is of numbers */
	size_t columns;
	isc_buffer text;	/* all cells, one after the other; write the next one here ... */
	isc_buffer ends;	/* size_t: where each ends */
} isc_table;

/* titles ends with NULL. */
void isc_table_init(isc_table *t, const char *const *titles);
void isc_table_fini(isc_table *t);

/* ... and end it here.  What is written must be escaped already. */
void isc_table_end(isc_table *t);
/* Both at once, for text of ours. */
void isc_table_cell(isc_table *t, const char *text);

/* Adds the table; out->failed tells when there was no memory. */
void isc_table_write(const isc_table *t, isc_buffer *out);

#endif
