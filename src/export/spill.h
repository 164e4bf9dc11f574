/*
 * spill.h - many texts that grow at the same time and are wanted one after the
 * other.  Their tails are in memory; what is full goes to one temporary file
 * without a name.
 */
#ifndef ISC_EXPORT_SPILL_H
#define ISC_EXPORT_SPILL_H

#include "base/status.h"
#include "export/format.h"

typedef struct isc_spill isc_spill;

isc_spill *isc_spill_new(void);	   /* NULL: no memory */
void isc_spill_free(isc_spill *s); /* NULL is fine */

/* The tail of a text, to be added to until the next call of any of these; NULL: no memory, or no room on disk. */
isc_buffer *isc_spill_text(isc_spill *s, size_t number);

/* Adds the whole text to out; false: it cannot be read back. */
bool isc_spill_send(isc_spill *s, size_t number, isc_export_out *out);

#endif
