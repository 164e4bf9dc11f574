/*
 * spool.h - many records of one size, given back in order, in bounded memory.
 *
 * Records are kept in memory up to a limit; then a sorted run of them goes into
 * a temporary file that has no name, and at the end the runs are merged.  So a
 * trace of any size is sorted with the same few megabytes.
 */
#ifndef ISC_TIMELINE_SPOOL_H
#define ISC_TIMELINE_SPOOL_H

#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct isc_spool isc_spool;

/* size bytes each; at most about memory_bytes are held at a time. */
isc_status isc_spool_new(size_t size, int (*compare)(const void *, const void *), size_t memory_bytes, isc_spool **out,
			 isc_error *err);
void isc_spool_free(isc_spool *s); /* NULL is fine */

/* ISC_ERR_NOMEM, or what the temporary file met. */
isc_status isc_spool_add(isc_spool *s, const void *record, isc_error *err);

/* Sorts, and begins at the first again; nothing is added after that. */
isc_status isc_spool_rewind(isc_spool *s, isc_error *err);

/* The same, but begins at the first record that is not in front of this one. */
isc_status isc_spool_seek(isc_spool *s, const void *record, isc_error *err);

/* The next record, borrowed until the next call; NULL at the end, or when the
 * file could not be read: isc_spool_failed() tells. */
const void *isc_spool_next(isc_spool *s);
isc_status isc_spool_failed(const isc_spool *s, isc_error *err);

uint64_t isc_spool_count(const isc_spool *s);
uint64_t isc_spool_runs(const isc_spool *s); /* in the file */

#endif
