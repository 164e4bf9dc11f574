/*
 * chrome_async.c - events of Chrome JSON that are no slices of a thread: spans
 * with an id, which may end on another thread than they began on, and arrows from
 * one event to another.
 */
#include <string.h>

#include "import/reader.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

#define US_TO_NS 3u
/* Arrows that have begun, at a time; more than that are counted as loose. */
#define ARROWS_MOST (1u << 18)
#define FRAMES_MOST 512u

/* What an id is unique in: the category, and a process unless the id is everybody's. */
static bool key_of(const isc_chrome_parts *e, bool everywhere, uint64_t *key)
{
	struct {
		uint64_t category, pid, id;
	} parts = {.category = XXH3_64bits(e->category, e->category_len)};

	if (!isc_reader_id(e->id, &parts.id))
		return false;
	if (!everywhere)
		isc_reader_id(e->pid, &parts.pid);
	*key = XXH3_64bits(&parts, sizeof(parts)) | ISC_READER_APART;
	return true;
}

isc_status isc_chrome_async(isc_reader *r, const isc_chrome_parts *e, isc_error *err)
{
	isc_open_span span = {.kind = ISC_HOST_SCOPE};
	uint64_t key, pid = 0, tid = 0;
	bool begins = e->phase == 'b' || e->phase == 'S';

	if (!isc_reader_time(e->ts, US_TO_NS, &span.start_ns) || !key_of(e, false, &key) ||
	    (e->phase != 'e' && e->phase != 'F' && !yyjson_is_str(e->name))) {
		r->file->malformed++;
		return ISC_OK;
	}
	span.name = isc_reader_name(r, e->name);
	if (!begins && e->phase != 'n')
		return isc_reader_leave(r, key, span.name, span.start_ns, err);
	isc_reader_id(e->pid, &pid);
	isc_reader_id(e->tid, &tid);
	span.thread = isc_reader_thread(r, pid, tid);
	if (e->phase == 'n') {
		isc_host_moment m = {.at_ns = span.start_ns, .thread = span.thread, .name = span.name};

		return isc_timeline_moment(r->timeline, &m, err);
	}
	return isc_reader_enter(r, key, &span, err);
}

/* Which call asked for which work is told by their correlations; here it is seen that no arrow leads nowhere. */
isc_status isc_chrome_arrow(isc_reader *r, const isc_chrome_parts *e, isc_error *err)
{
	uint64_t key, *begun;
	int64_t at;

	if (!isc_reader_time(e->ts, US_TO_NS, &at) || !key_of(e, true, &key)) {
		r->file->malformed++;
		return ISC_OK;
	}
	if (e->phase == 't')
		return ISC_OK; /* on its way */
	begun = isc_hashmap_find(&r->arrows, key);
	if (begun == NULL && r->arrows.count >= ARROWS_MOST) {
		r->file->loose++;
		return ISC_OK;
	}
	begun = begun != NULL ? begun : isc_hashmap_put(&r->arrows, key, NULL);
	if (begun == NULL)
		return isc_fail(err, ISC_ERR_NOMEM, "no memory to read the trace");
	/* Either end may come first: a file need not be in the order of time.  One more begun than ended counts up. */
	if (e->phase == 's') {
		r->file->arrows += (int64_t)*begun < 0;
		(*begun)++;
	} else {
		r->file->arrows += (int64_t)*begun > 0;
		(*begun)--;
	}
	if (*begun == 0)
		isc_hashmap_remove(&r->arrows, key);
	return ISC_OK;
}

/* From our own arguments, or as VizTracer writes it. */
uint32_t isc_chrome_function(isc_reader *r, const isc_chrome_parts *e)
{
	yyjson_val *file = e->args != NULL ? yyjson_obj_get(e->args, "file") : NULL;
	uint64_t line;

	if (yyjson_is_str(file) && isc_reader_count(yyjson_obj_get(e->args, "line"), &line))
		return isc_reader_placed(r, yyjson_get_str(file), yyjson_get_len(file), line, yyjson_get_str(e->name),
					 yyjson_get_len(e->name));
	return isc_reader_function(r, yyjson_get_str(e->name), yyjson_get_len(e->name));
}

/* Our own samples are instants, with all functions from the outermost on. */
isc_status isc_chrome_sample(isc_reader *r, const isc_chrome_parts *e, isc_error *err)
{
	yyjson_val *stack = e->args != NULL ? yyjson_obj_get(e->args, "stack") : NULL, *frame;
	uint32_t names[FRAMES_MOST];
	int64_t ns = 0;
	size_t at, n, count = 0;

	if (!yyjson_is_arr(stack)) {
		r->file->unused++;
		return ISC_OK;
	}
	if (!isc_reader_time(yyjson_obj_get(e->args, "cpu_ns"), 0, &ns))
		r->file->no_unit = true;
	yyjson_arr_foreach(stack, at, n, frame)
	{
		if (count < FRAMES_MOST && yyjson_is_str(frame))
			names[count++] = isc_reader_function(r, yyjson_get_str(frame), yyjson_get_len(frame));
	}
	return isc_reader_stack(r, names, count, 1, ns, err);
}
