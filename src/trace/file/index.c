#include <stdlib.h>

#include "base/varint.h"
#include "trace/file/table.h"

void isc_index_put(isc_buffer *out, const isc_chunk_ref *ref, const isc_chunk_ref *before)
{
	isc_varint_add(out, isc_zigzag((int64_t)(ref->offset - before->offset) / 8));
	isc_varint_add(out, isc_zigzag((int64_t)ref->sequence - (int64_t)before->sequence));
	isc_varint_add(out, ref->type);
	isc_varint_add(out, ref->stream);
	isc_varint_add(out, ref->process);
	isc_varint_add(out, ref->thread);
	isc_varint_add(out, ref->number);
	isc_varint_add(out, ref->events);
	isc_varint_add(out, ref->slots);
	isc_varint_add(out, ref->stored_size);
}

bool isc_index_get(const uint8_t **at, const uint8_t *end, isc_chunk_ref *ref, const isc_chunk_ref *before)
{
	uint64_t offset, sequence, type, stream;

	if (!isc_varint_get(at, end, &offset) || !isc_varint_get(at, end, &sequence) ||
	    !isc_varint_get_max(at, end, UINT8_MAX, &type) || !isc_varint_get_max(at, end, UINT8_MAX, &stream) ||
	    !isc_varint_get32(at, end, &ref->process) || !isc_varint_get32(at, end, &ref->thread) ||
	    !isc_varint_get(at, end, &ref->number) || !isc_varint_get32(at, end, &ref->events) ||
	    !isc_varint_get32(at, end, &ref->slots) || !isc_varint_get32(at, end, &ref->stored_size))
		return false;
	ref->offset = before->offset + (uint64_t)isc_unzigzag(offset) * 8;
	ref->sequence = before->sequence + (uint32_t)isc_unzigzag(sequence);
	ref->type = (uint8_t)type;
	ref->stream = (uint8_t)stream;
	return true;
}

/* One index chunk; false when anything in it does not hold. */
static bool read_part(isc_table *t, int fd, const isc_file_header *h, const isc_chunk_ref *part, isc_codec_state *codec,
		      bool *memory)
{
	size_t bytes = sizeof(isc_chunk_header) + part->stored_size;
	uint8_t *stored = malloc(bytes), *raw = NULL;
	isc_chunk_ref ref = {0}, before = {0};
	const uint8_t *at, *end;
	isc_chunk_header head;
	bool good = false;

	*memory = stored != NULL;
	if (stored == NULL || !isc_file_read(fd, stored, bytes, part->offset))
		goto out;
	head = *(const isc_chunk_header *)(const void *)stored;
	if (!isc_chunk_header_holds(&head) || head.stored_size != part->stored_size)
		goto out;
	raw = malloc(head.raw_size + 1u);
	*memory = raw != NULL;
	if (raw == NULL || isc_codec_unpack(codec, &head, stored + sizeof(head), raw) != ISC_OK)
		goto out;
	at = raw;
	end = raw + head.raw_size;
	while (at < end) {
		if (!isc_index_get(&at, end, &ref, &before) || ref.offset < h->segment_start ||
		    ref.offset >= t->file_bytes || ref.stored_size > t->file_bytes - ref.offset)
			goto out;
		*memory = isc_table_add(t, ref) == ISC_OK;
		if (!*memory)
			goto out;
		before = ref;
	}
	good = true;
out:
	free(stored);
	free(raw);
	return good;
}

/* Fills the table from the index in these chunks, which were found in segments
 * of that use; false when there is none that holds. */
static bool from_index(isc_table *t, const isc_table *found, int fd, const isc_file_header *h, isc_codec_state *codec,
		       bool *memory)
{
	uint32_t parts = 0, seen = 0;

	if (!found->complete || found->damaged > 0 || found->truncated)
		return false;
	for (size_t i = 0; i < found->count; i++) {
		const isc_chunk_ref *ref = &found->ref[i];

		if (ref->type == ISC_CHUNK_INDEX) {
			if (ref->number != seen || (seen > 0 && ref->slots != parts) ||
			    !read_part(t, fd, h, ref, codec, memory))
				return false;
			parts = ref->slots;
			seen++;
		}
		*memory = isc_table_add(t, *ref) == ISC_OK;
		if (!*memory)
			return false;
	}
	t->complete = true;
	return seen > 0 && seen == parts;
}

isc_status isc_table_read(isc_table *t, int fd, const isc_file_header *h, uint64_t file_bytes, isc_codec_state *codec)
{
	isc_table found = {.file_bytes = file_bytes};
	bool memory = true, good = false;

	isc_table_fini(t);
	for (uint64_t start = h->segment_start; start < file_bytes && memory; start += h->segment_size) {
		isc_chunk_header head;

		if (isc_file_read(fd, &head, sizeof(head), start) && head.type == ISC_CHUNK_SEGMENT &&
		    head.slots == ISC_SEGMENT_INDEX && isc_chunk_header_holds(&head))
			memory = isc_table_walk(&found, fd, h, start) == ISC_OK;
	}
	if (memory && found.count > 0) {
		isc_table_sort(&found);
		t->file_bytes = file_bytes;
		good = from_index(t, &found, fd, h, codec, &memory);
	}
	isc_table_fini(&found);
	if (!memory) {
		isc_table_fini(t);
		return ISC_ERR_NOMEM;
	}
	return good ? ISC_OK : isc_table_scan(t, fd, h, file_bytes);
}
