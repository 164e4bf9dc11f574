/*
 * table.h - which chunks a file holds: from its index, or found by walking its
 * segments and stepping over what is broken.  Internal to trace/.
 */
#ifndef ISC_TRACE_FILE_TABLE_H
#define ISC_TRACE_FILE_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/status.h"
#include "trace/file/chunk.h"

typedef struct isc_table {
	isc_chunk_ref *ref; /* by sequence once sorted */
	size_t count, room;
	uint64_t file_bytes; /* as far as was looked */
	uint64_t damaged;    /* places where a chunk should have been */
	uint64_t lost_bytes;
	uint64_t first_damage;
	bool truncated; /* the file ends inside a chunk */
	bool complete;	/* it has an end chunk */
} isc_table;

void isc_table_fini(isc_table *t);
isc_status isc_table_add(isc_table *t, isc_chunk_ref ref);
void isc_table_damage(isc_table *t, uint64_t offset, uint64_t lost_bytes);

/* Walks every segment.  Only ISC_ERR_NOMEM. */
isc_status isc_table_scan(isc_table *t, int fd, const isc_file_header *h, uint64_t file_bytes);

/* From the index, when there is one that holds; else as isc_table_scan(). */
isc_status isc_table_read(isc_table *t, int fd, const isc_file_header *h, uint64_t file_bytes, isc_codec_state *codec);

void isc_table_sort(isc_table *t);

/* Notes of a CONTENTS chunk go to the chunks of events that they are about, as far as these are in the sorted table.
 * ISC_ERR_CORRUPT: some made no sense. */
isc_status isc_table_take_contents(isc_table *t, const uint8_t *raw, size_t len);

/* One segment alone, from the offset of its first chunk. */
isc_status isc_table_walk(isc_table *t, int fd, const isc_file_header *h, uint64_t start);

/* The index: payloads of at most about 32 KiB from the chunks of a table. */
void isc_index_put(isc_buffer *out, const isc_chunk_ref *ref, const isc_chunk_ref *before);
bool isc_index_get(const uint8_t **at, const uint8_t *end, isc_chunk_ref *ref, const isc_chunk_ref *before);

#endif
