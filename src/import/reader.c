#include "import/reader.h"

#include <stdlib.h>
#include <string.h>

#include "import/number.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

/* Spans that are open at a time, on all threads. */
#define OPEN_MOST (1u << 18)

void isc_reader_fini(isc_reader *r)
{
	isc_hashmap_fini(&r->top);
	isc_hashmap_fini(&r->arrows);
	isc_buffer_fini(&r->piece);
	free(r->open);
	r->open = NULL;
}

uint32_t isc_reader_name(isc_reader *r, yyjson_val *text)
{
	return yyjson_is_str(text) ? isc_timeline_name(r->timeline, yyjson_get_str(text), yyjson_get_len(text)) : 0;
}

static bool text_of(yyjson_val *value, const char **at, size_t *len)
{
	bool raw = yyjson_is_raw(value);

	if (!raw && !yyjson_is_str(value))
		return false;
	*at = raw ? yyjson_get_raw(value) : yyjson_get_str(value);
	*len = yyjson_get_len(value);
	return true;
}

bool isc_reader_id(yyjson_val *value, uint64_t *out)
{
	const char *at;
	size_t len;
	int64_t number;

	if (!text_of(value, &at, &len))
		return false;
	if (isc_number_whole(at, len, out))
		return true;
	/* "1.12" is a name; 1.12 is a number that somebody wrote with a fraction. */
	if (yyjson_is_raw(value) && isc_number_scaled(at, len, 0, &number)) {
		*out = (uint64_t)number;
		return true;
	}
	/* A name: far from any number of a process or thread. */
	*out = XXH3_64bits(at, len) | 1ull << 63;
	return true;
}

bool isc_reader_time(yyjson_val *value, unsigned shift, int64_t *out)
{
	const char *at;
	size_t len;

	return text_of(value, &at, &len) && isc_number_scaled(at, len, shift, out);
}

bool isc_reader_count(yyjson_val *value, uint64_t *out)
{
	const char *at;
	size_t len;
	int64_t number;

	if (!text_of(value, &at, &len))
		return false;
	if (isc_number_whole(at, len, out))
		return true;
	if (!isc_number_scaled(at, len, 0, &number) || number < 0)
		return false;
	*out = (uint64_t)number;
	return true;
}

uint32_t isc_reader_thread(isc_reader *r, uint64_t pid, uint64_t tid)
{
	if (!r->last_known || pid != r->last_pid || tid != r->last_tid) {
		r->last_thread = isc_timeline_thread(r->timeline, r->source, pid, tid);
		r->last_pid = pid;
		r->last_tid = tid;
		r->last_known = true;
	}
	return r->last_thread;
}

/* ---- spans that are entered and left ---- */

/* A place for one more; 0 when there are too many, or there is no memory. */
static uint32_t take_place(isc_reader *r, bool *enough)
{
	if (r->free != 0) {
		uint32_t place = r->free;

		r->free = r->open[place - 1].below;
		return place;
	}
	if (r->open_count == r->open_room) {
		size_t room = r->open_room > 0 ? r->open_room * 2 : 64;
		isc_open_span *open = room <= OPEN_MOST ? realloc(r->open, room * sizeof(*open)) : NULL;

		if (open == NULL) {
			*enough = room > OPEN_MOST;
			return 0;
		}
		r->open = open;
		r->open_room = room;
	}
	return (uint32_t)++r->open_count;
}

isc_status isc_reader_enter(isc_reader *r, uint64_t key, const isc_open_span *span, isc_error *err)
{
	uint64_t *top = isc_hashmap_put(&r->top, key, NULL);
	bool enough = top != NULL;
	uint32_t place = enough ? take_place(r, &enough) : 0;

	if (!enough)
		return isc_fail(err, ISC_ERR_NOMEM, "no memory to read the trace");
	if (place == 0) {
		r->file->unmatched++;
		return ISC_OK;
	}
	r->open[place - 1] = *span;
	r->open[place - 1].below = (uint32_t)*top;
	*top = place;
	return ISC_OK;
}

isc_status isc_reader_leave(isc_reader *r, uint64_t key, uint32_t name, int64_t end_ns, isc_error *err)
{
	uint64_t *top = isc_hashmap_find(&r->top, key);
	isc_host_span span;
	isc_open_span *o;
	uint32_t place;

	place = top != NULL ? (uint32_t)*top : 0;
	/* Without a name it ends the newest; with one, what was entered inside it has lost its end. */
	while (name != 0 && place != 0 && r->open[place - 1].name != name)
		place = r->open[place - 1].below;
	if (place == 0) {
		r->file->unmatched++;
		return ISC_OK;
	}
	while (*top != place) {
		uint32_t lost = (uint32_t)*top;

		*top = r->open[lost - 1].below;
		r->open[lost - 1].below = r->free;
		r->free = lost;
		r->file->unmatched++;
	}
	o = &r->open[place - 1];
	span = (isc_host_span){.start_ns = o->start_ns,
			       .end_ns = end_ns,
			       .thread = o->thread,
			       .name = o->function != 0 ? o->function : o->name,
			       .kind = (uint8_t)o->kind};
	*top = o->below;
	o->below = r->free;
	r->free = place;
	return isc_timeline_span(r->timeline, &span, err);
}
