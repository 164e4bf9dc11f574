#include "trace/file/contents.h"

#include "base/varint.h"
#include "trace/writing.h"

#define NOTES_MOST 64u /* in one chunk: some hundred bytes, for about 2 MB of events */

isc_kinds isc_contents_kinds(const uint8_t *kind, uint32_t events)
{
	uint8_t seen[UINT8_MAX + 1] = {0};
	isc_kinds kinds = 0;

	for (uint32_t i = 0; i < events; i++)
		seen[kind[i]] = 1;
	for (unsigned i = 0; i < sizeof(seen); i++)
		kinds |= seen[i] ? ISC_KIND_BIT(i) : 0;
	return kinds;
}

void isc_contents_notes_clear(isc_contents_notes *n)
{
	isc_buffer_clear(&n->entries);
	n->entries.failed = false;
	n->count = n->sequence = 0;
	n->first = 0;
}

void isc_contents_note(isc_contents_notes *n, uint32_t sequence, const isc_contents *contents)
{
	isc_varint_add(&n->entries, sequence - n->sequence);
	isc_varint_add(&n->entries, (uint64_t)contents->kinds);
	isc_varint_add(&n->entries, (uint64_t)(contents->kinds >> 64));
	isc_varint_add(&n->entries, isc_zigzag((int64_t)(contents->first - n->first)));
	isc_varint_add(&n->entries, contents->last - contents->first);
	n->sequence = sequence;
	n->first = contents->first;
	n->count++;
}

bool isc_contents_get(const uint8_t **at, const uint8_t *end, isc_contents_entry *entry)
{
	isc_contents *c = &entry->contents;
	uint64_t low, high, first, length;
	uint32_t sequence;

	if (!isc_varint_get32(at, end, &sequence) || !isc_varint_get(at, end, &low) ||
	    !isc_varint_get(at, end, &high) || !isc_varint_get(at, end, &first) || !isc_varint_get(at, end, &length))
		return false;
	entry->sequence += sequence;
	c->kinds = (isc_kinds)high << 64 | low;
	c->first += (uint64_t)isc_unzigzag(first);
	c->last = c->first + length;
	return c->last >= c->first;
}

isc_status isc_writer_contents(isc_writer *w, bool all, isc_error *err)
{
	isc_contents_notes *n = &w->contents;
	isc_chunk_header h = {.type = ISC_CHUNK_CONTENTS, .events = n->count};
	isc_status st = ISC_OK;

	if (n->count < (all ? 1 : NOTES_MOST))
		return ISC_OK;
	/* They save a reader some time and are not worth an error of their own. */
	if (!n->entries.failed)
		st = isc_writer_append(w, ISC_SEGMENT_EVENTS, &h, n->entries.data, n->entries.len, err);
	isc_contents_notes_clear(n);
	return st == ISC_OK ? ISC_OK : isc_space_status(&w->space, err);
}
