#include "trace/file/table.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define WINDOW_BYTES 4096u
#define SEARCH_BYTES (64u << 10)

/* Where a walk stands, with the bytes around it. */
struct table_walk {
	int fd;
	uint64_t start, end; /* the segment */
	uint64_t file_bytes;
	uint64_t window_at;
	size_t window_len;
	uint8_t window[WINDOW_BYTES];
};

void isc_table_fini(isc_table *t)
{
	free(t->ref);
	*t = (isc_table){0};
}

isc_status isc_table_add(isc_table *t, isc_chunk_ref ref)
{
	if (t->count == t->room) {
		size_t room = t->room ? t->room * 2 : 256;
		isc_chunk_ref *bigger = realloc(t->ref, room * sizeof(*bigger));

		if (bigger == NULL)
			return ISC_ERR_NOMEM;
		t->ref = bigger;
		t->room = room;
	}
	t->ref[t->count++] = ref;
	return ISC_OK;
}

void isc_table_damage(isc_table *t, uint64_t offset, uint64_t lost_bytes)
{
	if (t->damaged == 0 || offset < t->first_damage)
		t->first_damage = offset;
	t->damaged++;
	t->lost_bytes += lost_bytes;
}

static size_t read_some(int fd, void *out, size_t len, uint64_t offset)
{
	ssize_t n = pread(fd, out, len, (off_t)offset);

	return n > 0 ? (size_t)n : 0;
}

/* The bytes at an offset, as a header; false when the file is too short. */
static bool header_at(struct table_walk *w, uint64_t offset, isc_chunk_header *out)
{
	if (offset < w->window_at || offset + sizeof(*out) > w->window_at + w->window_len) {
		w->window_at = offset;
		w->window_len = read_some(w->fd, w->window, sizeof(w->window), offset);
		if (w->window_len < sizeof(*out)) {
			memset(w->window + w->window_len, 0, sizeof(*out) - w->window_len);
			memcpy(out, w->window, sizeof(*out));
			w->window_len = 0;
			return false;
		}
	}
	memcpy(out, w->window + (offset - w->window_at), sizeof(*out));
	return true;
}

static bool is_zero(const void *bytes, size_t len)
{
	const uint8_t *p = bytes;

	while (len > 0 && *p == 0) {
		p++;
		len--;
	}
	return len == 0;
}

/* Does the chunk behind this header lie within segment and file? */
static bool lies_within(const struct table_walk *w, uint64_t at, const isc_chunk_header *h)
{
	return at + isc_chunk_extent(h->stored_size) <= w->end && at + sizeof(*h) + h->stored_size <= w->file_bytes;
}

/* The next whole chunk of the same use; 0: none. */
static uint64_t search(struct table_walk *w, uint64_t at, uint32_t last)
{
	uint8_t *bytes = malloc(SEARCH_BYTES);
	uint64_t found = 0;

	while (bytes != NULL && found == 0 && at + sizeof(isc_chunk_header) <= w->end) {
		size_t want = w->end - at < SEARCH_BYTES ? (size_t)(w->end - at) : SEARCH_BYTES;
		size_t have = read_some(w->fd, bytes, want, at);

		if (have < sizeof(isc_chunk_header))
			break;
		for (size_t i = 0; i + sizeof(isc_chunk_header) <= have && found == 0; i += 8) {
			isc_chunk_header h;
			uint32_t magic;

			memcpy(&magic, bytes + i, sizeof(magic));
			if (magic != ISC_CHUNK_MAGIC)
				continue;
			memcpy(&h, bytes + i, sizeof(h));
			if (isc_chunk_header_holds(&h) && h.sequence > last && lies_within(w, at + i, &h))
				found = at + i;
		}
		at += have < want ? have : want - sizeof(isc_chunk_header) + 8;
	}
	free(bytes);
	return found;
}

static isc_status walk_segment(isc_table *t, struct table_walk *w)
{
	uint64_t at = w->start, next;
	uint32_t last = 0;
	bool first = true;
	isc_chunk_header h;

	while (at + sizeof(h) <= w->end && at < w->file_bytes) {
		bool whole = header_at(w, at, &h);

		if (!whole) {
			/* What is there of it is either a chunk cut off or the zeros that end a segment. */
			t->truncated |= !is_zero(&h, sizeof(h));
			return ISC_OK;
		}
		if (isc_chunk_header_holds(&h)) {
			/* Left from an earlier use of the segment. */
			if (!first && h.sequence <= last)
				return ISC_OK;
			if (at + sizeof(h) + h.stored_size > w->file_bytes) {
				t->truncated = true;
				return ISC_OK;
			}
			if (lies_within(w, at, &h)) {
				if (isc_table_add(t, isc_chunk_ref_of(&h, at)) != ISC_OK)
					return ISC_ERR_NOMEM;
				t->complete |= h.type == ISC_CHUNK_END;
				last = h.sequence;
				first = false;
				at += isc_chunk_extent(h.stored_size);
				continue;
			}
		}
		next = search(w, at + 8, first ? 0 : last);
		if (next == 0) {
			if (!is_zero(&h, 8))
				isc_table_damage(t, at, (w->end < w->file_bytes ? w->end : w->file_bytes) - at);
			return ISC_OK;
		}
		isc_table_damage(t, at, next - at);
		at = next;
	}
	return ISC_OK;
}

isc_status isc_table_walk(isc_table *t, int fd, const isc_file_header *h, uint64_t start)
{
	struct table_walk w = {.fd = fd, .start = start, .end = start + h->segment_size, .file_bytes = t->file_bytes};

	return walk_segment(t, &w);
}

isc_status isc_table_scan(isc_table *t, int fd, const isc_file_header *h, uint64_t file_bytes)
{
	isc_status st = ISC_OK;

	isc_table_fini(t);
	t->file_bytes = file_bytes;
	for (uint64_t start = h->segment_start; start < file_bytes && st == ISC_OK; start += h->segment_size)
		st = isc_table_walk(t, fd, h, start);
	return st;
}

static int by_sequence(const void *a, const void *b)
{
	const isc_chunk_ref *x = a, *y = b;

	if (x->sequence != y->sequence)
		return x->sequence > y->sequence ? 1 : -1;
	return (x->offset > y->offset) - (x->offset < y->offset);
}

void isc_table_sort(isc_table *t)
{
	if (t->count > 1)
		qsort(t->ref, t->count, sizeof(*t->ref), by_sequence);
}

/* The chunk of events of this sequence number, or NULL. */
static isc_chunk_ref *find_events(const isc_table *t, uint32_t sequence)
{
	size_t low = 0, high = t->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (t->ref[middle].sequence < sequence)
			low = middle + 1;
		else
			high = middle;
	}
	if (low == t->count || t->ref[low].sequence != sequence || t->ref[low].type != ISC_CHUNK_EVENTS)
		return NULL;
	return &t->ref[low];
}

isc_status isc_table_take_contents(isc_table *t, const uint8_t *raw, size_t len)
{
	const uint8_t *at = raw, *end = raw + len;
	isc_contents_entry entry = {0};

	while (at < end) {
		isc_chunk_ref *ref;

		if (!isc_contents_get(&at, end, &entry))
			return ISC_ERR_CORRUPT;
		ref = find_events(t, entry.sequence);
		if (ref != NULL)
			ref->contents = entry.contents;
	}
	return ISC_OK;
}
