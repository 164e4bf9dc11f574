/*
 * chunk.h - one chunk: made ready for the file, and checked when it comes back.
 * Internal to trace/.
 */
#ifndef ISC_TRACE_FILE_CHUNK_H
#define ISC_TRACE_FILE_CHUNK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "trace/file/contents.h"
#include "trace/format.h"

/* What a table of contents says of a chunk.  The chunk itself is checked again
 * when it is read: the table may come from an index that lies, or be outdated. */
typedef struct isc_chunk_ref {
	uint64_t offset; /* of its header */
	uint64_t number;
	uint32_t sequence;
	uint32_t process;
	uint32_t thread;
	uint32_t events;
	uint32_t slots;
	uint32_t stored_size;
	uint8_t type;
	uint8_t stream;
	bool opened;	       /* contents are what somebody found in it */
	isc_contents contents; /* of events */
} isc_chunk_ref;

/* From header to the header of the next chunk. */
static inline uint64_t isc_chunk_extent(uint32_t stored_size)
{
	return sizeof(isc_chunk_header) + (((uint64_t)stored_size + 7) & ~7ull);
}

void isc_file_header_seal(isc_file_header *h);
/* name is for the message.  ISC_ERR_CORRUPT, ISC_ERR_VERSION or ISC_ERR_INVALID (not ours at all). */
isc_status isc_file_header_check(const void *bytes, size_t len, const char *name, isc_file_header *out, isc_error *err);

void isc_chunk_seal(isc_chunk_header *h);		/* sets magic and check */
bool isc_chunk_header_holds(const isc_chunk_header *h); /* magic, check and limits */
isc_chunk_ref isc_chunk_ref_of(const isc_chunk_header *h, uint64_t offset);

/* Compression with kept contexts.  A zeroed struct is ready. */
typedef struct isc_codec_state {
	void *compressor;
	void *decompressor;
	uint8_t *packed; /* last result of isc_codec_pack */
	size_t packed_room;
} isc_codec_state;

void isc_codec_fini(isc_codec_state *c);
uint64_t isc_codec_hash(const void *stored, size_t len);

/* Packs len bytes and sets codec, raw_size, stored_size and hash of *h.  Returns
 * the bytes to store: those given when packing does not pay or there is no
 * memory, else borrowed until the next call. */
const void *isc_codec_pack(isc_codec_state *c, isc_chunk_header *h, const void *raw, size_t len);

/* The other way into out, which has h->raw_size bytes.  The payload is checked
 * against its hash first. */
isc_status isc_codec_unpack(isc_codec_state *c, const isc_chunk_header *h, const void *stored, void *out);

/* Reads exactly len bytes; false at the end of the file or on an error. */
bool isc_file_read(int fd, void *out, size_t len, uint64_t offset);

#endif
