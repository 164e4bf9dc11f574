#include "trace/file/chunk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>
#include <zstd.h>

#define PACK_MIN 64 /* smaller payloads do not shrink */
#define PACK_LEVEL 1

void isc_file_header_seal(isc_file_header *h)
{
	memcpy(h->magic, ISC_FILE_MAGIC, sizeof(h->magic));
	h->hash = XXH3_64bits(h, offsetof(isc_file_header, hash));
}

isc_status isc_file_header_check(const void *bytes, size_t len, const char *name, isc_file_header *out, isc_error *err)
{
	const size_t magic = sizeof(out->magic);

	if (len < magic || memcmp(bytes, ISC_FILE_MAGIC, magic) != 0) {
		isc_fail(err, ISC_ERR_INVALID, "%s is not an InferScope trace", name);
		isc_hint(err, "traces are made by inferscope run");
		return ISC_ERR_INVALID;
	}
	/* The version comes before the hash: a later one may have moved it. */
	if (len >= offsetof(isc_file_header, header_size)) {
		memcpy(out, bytes, offsetof(isc_file_header, header_size));
		if (out->version < ISC_FILE_VERSION_OLDEST || out->version > ISC_FILE_VERSION) {
			isc_fail(err, ISC_ERR_VERSION, "%s needs format version %u; this build reads %u to %u", name,
				 out->version, ISC_FILE_VERSION_OLDEST, ISC_FILE_VERSION);
			isc_hint(err, "use an InferScope that reads version %u", out->version);
			return ISC_ERR_VERSION;
		}
	}
	if (len < sizeof(*out))
		return isc_fail(err, ISC_ERR_CORRUPT, "%s is damaged: it ends inside its header", name);
	memcpy(out, bytes, sizeof(*out));
	if (out->hash != XXH3_64bits(out, offsetof(isc_file_header, hash)))
		return isc_fail(err, ISC_ERR_CORRUPT, "%s is damaged: its header does not hold", name);
	if (out->header_size != sizeof(*out) || out->segment_start < sizeof(*out) || out->segment_start > (1u << 20) ||
	    out->segment_start % 8 != 0 || out->segment_size < ISC_SEGMENT_MIN || out->segment_size > ISC_SEGMENT_MAX ||
	    (out->segment_size & (out->segment_size - 1)) != 0 || out->tick_shift > 16 || out->clock_source > 1)
		return isc_fail(err, ISC_ERR_CORRUPT, "%s is damaged: its header makes no sense", name);
	return ISC_OK;
}

static uint32_t check_of(const isc_chunk_header *h)
{
	isc_chunk_header copy = *h;

	copy.check = 0;
	return (uint32_t)XXH3_64bits(&copy, sizeof(copy));
}

void isc_chunk_seal(isc_chunk_header *h)
{
	h->magic = ISC_CHUNK_MAGIC;
	h->check = check_of(h);
}

bool isc_chunk_header_holds(const isc_chunk_header *h)
{
	if (h->magic != ISC_CHUNK_MAGIC || h->check != check_of(h))
		return false;
	return h->raw_size <= ISC_CHUNK_RAW_MAX && h->stored_size <= ISC_CHUNK_RAW_MAX && h->codec <= ISC_CODEC_ZSTD &&
	       h->raw_size / ISC_CHUNK_RATIO_MAX <= sizeof(*h) + h->stored_size &&
	       (h->codec != ISC_CODEC_RAW || h->raw_size == h->stored_size);
}

isc_chunk_ref isc_chunk_ref_of(const isc_chunk_header *h, uint64_t offset)
{
	return (isc_chunk_ref){.offset = offset,
			       .number = h->number,
			       .sequence = h->sequence,
			       .process = h->process,
			       .thread = h->thread,
			       .events = h->events,
			       .slots = h->slots,
			       .stored_size = h->stored_size,
			       .type = (uint8_t)h->type,
			       .stream = h->stream};
}

void isc_codec_fini(isc_codec_state *c)
{
	ZSTD_freeCCtx(c->compressor);
	ZSTD_freeDCtx(c->decompressor);
	free(c->packed);
	*c = (isc_codec_state){0};
}

uint64_t isc_codec_hash(const void *stored, size_t len)
{
	return XXH3_64bits(stored, len);
}

static size_t pack(isc_codec_state *c, const void *raw, size_t len)
{
	size_t room = ZSTD_compressBound(len), n;

	if (c->compressor == NULL)
		c->compressor = ZSTD_createCCtx();
	if (c->compressor == NULL)
		return 0;
	if (room > c->packed_room) {
		uint8_t *bigger = realloc(c->packed, room);

		if (bigger == NULL)
			return 0;
		c->packed = bigger;
		c->packed_room = room;
	}
	n = ZSTD_compressCCtx(c->compressor, c->packed, c->packed_room, raw, len, PACK_LEVEL);
	return ZSTD_isError(n) ? 0 : n;
}

const void *isc_codec_pack(isc_codec_state *c, isc_chunk_header *h, const void *raw, size_t len)
{
	size_t n = len >= PACK_MIN ? pack(c, raw, len) : 0;
	const void *stored = raw;

	h->codec = ISC_CODEC_RAW;
	h->raw_size = h->stored_size = (uint32_t)len;
	/* What packs too well is stored as it is: readers refuse it as a bomb. */
	if (n > 0 && n < len && len / ISC_CHUNK_RATIO_MAX <= sizeof(*h) + n) {
		h->codec = ISC_CODEC_ZSTD;
		h->stored_size = (uint32_t)n;
		stored = c->packed;
	}
	h->hash = isc_codec_hash(stored, h->stored_size);
	return stored;
}

isc_status isc_codec_unpack(isc_codec_state *c, const isc_chunk_header *h, const void *stored, void *out)
{
	if (h->hash != isc_codec_hash(stored, h->stored_size))
		return ISC_ERR_CORRUPT;
	if (h->codec == ISC_CODEC_RAW) {
		if (h->raw_size > 0)
			memcpy(out, stored, h->raw_size);
		return ISC_OK;
	}
	if (c->decompressor == NULL)
		c->decompressor = ZSTD_createDCtx();
	if (c->decompressor == NULL)
		return ISC_ERR_NOMEM;
	return ZSTD_decompressDCtx(c->decompressor, out, h->raw_size, stored, h->stored_size) == h->raw_size
		       ? ISC_OK
		       : ISC_ERR_CORRUPT;
}

bool isc_file_read(int fd, void *out, size_t len, uint64_t offset)
{
	while (len > 0) {
		ssize_t n = pread(fd, out, len, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		out = (char *)out + n;
		offset += (uint64_t)n;
		len -= (size_t)n;
	}
	return true;
}
