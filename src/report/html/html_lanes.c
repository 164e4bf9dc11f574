/*
 * html_lanes.c - the timeline of a page: what its lanes are called as JSON, and their
 * pieces as numbers.
 *
 * Each row of each lane, in the order of the JSON, is a run of columns: for every
 * piece the time since the end of the last, its length, its name, and how many it
 * stands for, less one; then, where it stands for several, how much of it they
 * cover; of GPU work, how long before it its call began, plus one, or 0, and where
 * there is one the lane of that.  Times are in units of unit_ns.  Numbers have seven
 * bits in a byte, the low ones first, and the eighth says that more come.
 */
#include "report/html/html_lanes.h"

#include "analyze/picture/lanes.h"
#include "base/varint.h"
#include "timeline/gpu/record.h"

#define NAME_BYTES 300u /* of a name that the timeline shows */

static const char *const row_kinds[] = {"scope", "run", "wait", "call", "work", "counter"};
static const char *const lane_kinds[] = {"thread", "stream", "counter"};

/* A timeline of a second shows single calls; of an hour, nobody looks at nanoseconds. */
static uint64_t unit_of(const isc_lanes *l)
{
	uint64_t span = l->to_ns > l->from_ns ? l->to_ns - l->from_ns : 0;

	return span < 2000000000ull ? 10 : span < 200000000000ull ? 100 : 1000;
}

static val *short_text(struct json *j, isc_text text)
{
	return text_of(j, &(isc_text){text.at, text.len < NAME_BYTES ? text.len : NAME_BYTES});
}

static void put_names(struct json *j, val *o, const isc_lanes *l)
{
	val *name = list_in(j, o, "names"), *file = list_in(j, o, "files"), *line = list_in(j, o, "lines");
	val *class = list_in(j, o, "classes");

	for (size_t i = 0; i < l->name_count; i++) {
		const isc_piece_name *n = &l->names[i];

		add(j, name, short_text(j, n->name));
		add(j, file, n->file.len > 0 ? short_text(j, n->file) : yyjson_mut_null(j->doc));
		add(j, line, yyjson_mut_uint(j->doc, n->line));
		add(j, class,
		    n->class > 0 ? yyjson_mut_str(j->doc, isc_gpu_class_name((enum isc_gpu_class)(n->class - 1)))
				 : yyjson_mut_null(j->doc));
	}
}

static void put_lane(struct json *j, val *list, const isc_lane *lane)
{
	val *o = add(j, list, yyjson_mut_obj(j->doc)), *rows, *row;

	put_words(j, o, "kind", lane_kinds[lane->kind]);
	put(j, o, "name", lane->name.len > 0 ? short_text(j, lane->name) : yyjson_mut_null(j->doc));
	put_count(j, o, "pid", lane->pid);
	put_count(j, o, "number", lane->number);
	put_count(j, o, "device", lane->device);
	rows = list_in(j, o, "rows");
	for (size_t i = 0; i < lane->row_count; i++) {
		row = add(j, rows, yyjson_mut_arr(j->doc));
		add(j, row, yyjson_mut_str(j->doc, row_kinds[lane->rows[i].kind]));
		add(j, row, yyjson_mut_uint(j->doc, lane->rows[i].depth));
		add(j, row, yyjson_mut_uint(j->doc, lane->rows[i].count));
	}
}

void isc_html_lanes(struct json *j, val *root, const isc_lanes *l)
{
	val *o, *list, *pair;

	if (l == NULL || l->pieces == 0) {
		put_null(j, root, "lanes");
		return;
	}
	o = object_in(j, root, "lanes");
	put_count(j, o, "unit_ns", unit_of(l));
	put_us(j, o, "from_us", (double)l->from_ns / 1e3);
	put_us(j, o, "to_us", (double)l->to_ns / 1e3);
	put_us(j, o, "grain_us", l->grain_ns > 64 ? (double)l->grain_ns / 1e3 : 0);
	put_count(j, o, "events", l->events);
	put_count(j, o, "pieces", l->pieces);
	put_count(j, o, "left_out", l->left_out);
	list = list_in(j, o, "kept");
	for (size_t i = 0; i < l->kept_count; i++) {
		pair = add(j, list, yyjson_mut_arr(j->doc));
		add(j, pair, real_of(j, (double)l->kept[i].from_ns / 1e3));
		add(j, pair, real_of(j, (double)l->kept[i].to_ns / 1e3));
	}
	list = list_in(j, o, "states");
	for (int s = 0; s < ISC_STATES; s++)
		add(j, list, yyjson_mut_str(j->doc, isc_state_name((enum isc_state)s)));
	put_names(j, o, l);
	list = list_in(j, o, "values");
	for (size_t i = 0; i < l->value_count; i++)
		add(j, list, isfinite(l->values[i]) ? yyjson_mut_real(j->doc, l->values[i]) : yyjson_mut_null(j->doc));
	list = list_in(j, o, "lanes");
	for (size_t i = 0; i < l->lane_count; i++)
		put_lane(j, list, &l->lanes[i]);
}

/* ---- the pieces ---- */

static void put_number(isc_buffer *out, uint64_t n)
{
	uint8_t bytes[ISC_VARINT_MAX];

	isc_buffer_add(out, bytes, (size_t)(isc_varint_put(bytes, n) - bytes));
}

static void put_row(isc_buffer *out, const isc_lane_row *row, uint64_t from, uint64_t unit)
{
	uint64_t at = from / unit;

	/* From rounded moments, so that errors do not add up. */
	for (size_t i = 0; i < row->count; i++) {
		put_number(out, row->piece[i].start_ns / unit - at);
		at = row->piece[i].end_ns / unit;
	}
	for (size_t i = 0; i < row->count; i++)
		put_number(out, row->piece[i].end_ns / unit - row->piece[i].start_ns / unit);
	for (size_t i = 0; i < row->count; i++)
		put_number(out, row->piece[i].name);
	for (size_t i = 0; i < row->count; i++)
		put_number(out, row->piece[i].count - 1);
	for (size_t i = 0; i < row->count; i++) {
		if (row->piece[i].count > 1)
			put_number(out, row->piece[i].busy_ns / unit);
	}
	for (size_t i = 0; row->kind == ISC_ROW_WORK && i < row->count; i++)
		put_number(out, row->piece[i].launch_ns != UINT64_MAX ? row->piece[i].launch_ns / unit + 1 : 0);
	for (size_t i = 0; row->kind == ISC_ROW_WORK && i < row->count; i++) {
		if (row->piece[i].launch_ns != UINT64_MAX)
			put_number(out, row->piece[i].launch_lane);
	}
}

void isc_html_pieces(const isc_lanes *l, isc_buffer *out)
{
	uint64_t unit;

	if (l == NULL || l->pieces == 0)
		return;
	unit = unit_of(l);
	for (size_t i = 0; i < l->lane_count; i++) {
		for (size_t r = 0; r < l->lanes[i].row_count; r++)
			put_row(out, &l->lanes[i].rows[r], l->from_ns, unit);
	}
}
