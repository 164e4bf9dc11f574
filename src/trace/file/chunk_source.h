/*
 * chunk_source.h - chunks out of a file that is not trusted and may be written to
 * while it is read.  Internal to trace/.
 */
#ifndef ISC_TRACE_FILE_CHUNK_SOURCE_H
#define ISC_TRACE_FILE_CHUNK_SOURCE_H

#include <stdbool.h>

#include "trace/file/chunk.h"

enum isc_chunk_source_result {
	ISC_SOURCE_OK,
	ISC_SOURCE_BAD,	 /* does not hold */
	ISC_SOURCE_GONE, /* written over since the table was made */
	ISC_SOURCE_NOMEM
};

typedef struct isc_chunk_source {
	int fd;		    /* not owned */
	bool live;	    /* somebody may be writing */
	unsigned waited_ms; /* for chunks to become whole, so far */
	isc_codec_state codec;
	uint8_t *stored, *raw;
	size_t stored_room, raw_room;
	isc_chunk_header header; /* of the chunk in raw */
} isc_chunk_source;

void isc_chunk_source_fini(isc_chunk_source *s);

/* Gives whoever is writing a moment; false: nobody is, or it was long enough. */
bool isc_chunk_source_wait(isc_chunk_source *s, unsigned ms);

/* On ISC_SOURCE_OK header and raw are those of the chunk. */
int isc_chunk_source_read(isc_chunk_source *s, const isc_chunk_ref *ref);

#endif
