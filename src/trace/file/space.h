/*
 * space.h - the writer's view of the file: segments, what each is used for,
 * and where the next chunk goes.  Internal to trace/.
 *
 * Never writes beyond the plan.  The first failed write is kept: every later
 * call returns it again and touches nothing.
 */
#ifndef ISC_TRACE_FILE_SPACE_H
#define ISC_TRACE_FILE_SPACE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"
#include "trace/format.h"
#include "trace/file/plan.h"

#define ISC_SPACE_USES 5 /* 0 free, then enum isc_segment_use */

typedef struct isc_segment {
	uint64_t events;      /* in chunks of events */
	uint64_t checkpoint;  /* that a TOTALS segment belongs to */
	uint32_t first, last; /* sequence numbers */
	uint32_t used;	      /* bytes; 0: nothing written in this use */
	uint8_t use;
} isc_segment;

typedef struct isc_space {
	int fd;
	isc_plan plan;
	uint32_t sequence; /* of the last chunk */
	isc_segment *segment;
	uint32_t count, room;
	uint32_t in_use[ISC_SPACE_USES];  /* segments by use; [0] free ones */
	uint32_t current[ISC_SPACE_USES]; /* index + 1 of the one being filled */
	uint64_t file_bytes;
	uint64_t chunks;
	isc_error error; /* error.status is not ISC_OK: nothing is written any more */
} isc_space;

void isc_space_fini(isc_space *s); /* does not close fd */

/* Segments that can be taken: free ones and those the file may still grow by. */
uint32_t isc_space_available(const isc_space *s);

/* Would a payload of this size go into the current segment of its use?  Into an empty one? */
bool isc_space_fits(const isc_space *s, int use, uint32_t stored_size);
bool isc_space_fits_empty(const isc_space *s, uint32_t stored_size);

/* Takes a segment and makes it the current one of its use. */
isc_status isc_space_take(isc_space *s, int use, uint64_t checkpoint, isc_error *err);
void isc_space_release(isc_space *s, uint32_t segment);

/* Takes the bytes of a free segment out of the file, where the file system can: they are not read past any more. */
void isc_space_empty(isc_space *s, uint32_t segment);

/* Writes one chunk into the current segment, where it must fit. */
isc_status isc_space_write(isc_space *s, int use, isc_chunk_header *h, const void *payload, isc_error *err);

isc_status isc_space_status(const isc_space *s, isc_error *err);

#endif
