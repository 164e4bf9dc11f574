/*
 * unit_store.c - units and gaps in the file, and back.
 *
 * A chunk has either rows or gaps, so that whoever opens a trace reads gaps
 * alone.  Rows stand by column:
 *
 *	kinds		how many, then process, thread, source, name and parent of each
 *	places		of every row: which of these it is
 *	begins		distance to the begin of the row before, with its sign
 *	lengths
 *
 * A gap is process, kind, distance to the one before, and 1 + its length, or 0:
 * it goes up to the end.
 */
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/varint.h"
#include "trace/opened.h"
#include "trace/units/unit_log.h"
#include "trace/writing.h"

#define ROWS_READ_MAX (1u << 16) /* of one chunk: no writer of ours writes more */
#define GAPS_READ_MAX (1u << 17) /* of a file */
#define PLACES (2u * ISC_UNITS_CHUNK_ROWS)

/* ---- rows as bytes ---- */

static bool is_same_kind(const isc_unit_row *a, const isc_unit_row *b)
{
	return a->process == b->process && a->thread == b->thread && a->source == b->source && a->name == b->name &&
	       a->parent == b->parent;
}

static uint32_t hash_of_kind(const isc_unit_row *r)
{
	uint32_t h = r->process * 0x9e3779b1u ^ r->thread;

	h = h * 0x9e3779b1u ^ r->name;
	h = h * 0x9e3779b1u ^ (r->parent + r->source);
	return (h * 0x9e3779b1u) >> 16;
}

/* Its place among the kinds; each slot has the number of the row that was the first of its kind, + 1. */
static uint32_t place_of_kind(const isc_unit_row *rows, size_t i, uint16_t *slots, uint16_t *place, isc_buffer *kinds,
			      uint32_t *known)
{
	const isc_unit_row *r = &rows[i];
	uint32_t at = hash_of_kind(r) % PLACES;

	while (slots[at] != 0 && !is_same_kind(&rows[slots[at] - 1], r))
		at = (at + 1) % PLACES;
	if (slots[at] == 0) {
		const uint32_t fields[] = {r->process, r->thread, r->source, r->name, r->parent};

		slots[at] = (uint16_t)(i + 1);
		place[i] = (uint16_t)(*known)++;
		for (size_t f = 0; f < sizeof(fields) / sizeof(fields[0]); f++)
			isc_varint_add(kinds, fields[f]);
	}
	return place[slots[at] - 1];
}

bool isc_unit_log_encode(isc_buffer *out, const isc_unit_row *rows, size_t n, uint64_t time, uint32_t tick_shift)
{
	uint16_t slots[PLACES] = {0}, place[ISC_UNITS_CHUNK_ROWS];
	isc_buffer kinds = {0}, places = {0};
	uint64_t before = time;
	uint32_t known = 0;

	isc_buffer_clear(out);
	for (size_t i = 0; i < n; i++)
		isc_varint_add(&places, place_of_kind(rows, i, slots, place, &kinds, &known));
	isc_varint_add(out, known);
	isc_buffer_add(out, kinds.data, kinds.len);
	isc_buffer_add(out, places.data, places.len);
	for (size_t i = 0; i < n; i++) {
		uint64_t begin = rows[i].begin >> tick_shift;

		isc_varint_add(out, isc_zigzag((int64_t)(begin - before)));
		before = begin;
	}
	for (size_t i = 0; i < n; i++)
		isc_varint_add(out, (rows[i].end >> tick_shift) - (rows[i].begin >> tick_shift));
	out->failed |= kinds.failed || places.failed;
	isc_buffer_fini(&kinds);
	isc_buffer_fini(&places);
	return !out->failed;
}

static bool read_kinds(isc_byte_range *b, isc_unit_row *kinds, uint64_t known)
{
	for (uint64_t i = 0; i < known; i++) {
		isc_unit_row *k = &kinds[i];

		*k = (isc_unit_row){0};
		if (!isc_varint_get32(&b->at, b->end, &k->process) || !isc_varint_get32(&b->at, b->end, &k->thread) ||
		    !isc_varint_get32(&b->at, b->end, &k->source) || !isc_varint_get32(&b->at, b->end, &k->name) ||
		    !isc_varint_get32(&b->at, b->end, &k->parent))
			return false;
	}
	return true;
}

static bool read_rows(isc_byte_range *b, isc_unit_row *rows, uint32_t n, const isc_unit_row *kinds, uint64_t known,
		      uint64_t now, uint32_t shift)
{
	const uint64_t latest = UINT64_MAX >> shift;
	uint64_t value;

	for (uint32_t i = 0; i < n; i++) {
		if (!isc_varint_get(&b->at, b->end, &value) || value >= known)
			return false;
		rows[i] = kinds[value];
	}
	for (uint32_t i = 0; i < n; i++) {
		if (!isc_varint_get(&b->at, b->end, &value))
			return false;
		now += (uint64_t)isc_unzigzag(value);
		if (now > latest)
			return false;
		rows[i].begin = now << shift;
	}
	for (uint32_t i = 0; i < n; i++) {
		if (!isc_varint_get(&b->at, b->end, &value) || value > latest - (rows[i].begin >> shift))
			return false;
		rows[i].end = rows[i].begin + (value << shift);
	}
	return b->at == b->end;
}

isc_status isc_unit_log_decode(isc_unit_row **rows, size_t *room, const uint8_t *raw, size_t len, uint32_t n,
			       uint64_t time, uint32_t tick_shift)
{
	isc_byte_range b = {raw, raw + len};
	isc_unit_row *kinds, *bigger;
	uint64_t known;
	bool good;

	/* A row takes three bytes at least. */
	if (n == 0 || n > ROWS_READ_MAX || n > len / 3 || !isc_varint_get_max(&b.at, b.end, n, &known))
		return ISC_ERR_CORRUPT;
	if (n > *room) {
		bigger = realloc(*rows, n * sizeof(**rows));
		if (bigger == NULL)
			return ISC_ERR_NOMEM;
		*rows = bigger;
		*room = n;
	}
	kinds = malloc((known + 1) * sizeof(*kinds));
	if (kinds == NULL)
		return ISC_ERR_NOMEM;
	good = read_kinds(&b, kinds, known) && read_rows(&b, *rows, n, kinds, known, time, tick_shift);
	free(kinds);
	return good ? ISC_OK : ISC_ERR_CORRUPT;
}

bool isc_gaps_encode(isc_buffer *out, const isc_gap_row *gaps, size_t n, uint64_t time, uint32_t tick_shift)
{
	uint64_t before = time;

	isc_buffer_clear(out);
	for (size_t i = 0; i < n; i++) {
		uint64_t from = gaps[i].from >> tick_shift;

		isc_varint_add(out, gaps[i].process);
		isc_varint_add(out, gaps[i].kind);
		isc_varint_add(out, isc_zigzag((int64_t)(from - before)));
		isc_varint_add(out, gaps[i].to == UINT64_MAX ? 0 : 1 + (gaps[i].to >> tick_shift) - from);
		before = from;
	}
	return !out->failed;
}

static bool read_gap(isc_byte_range *b, isc_gap_row *g, uint64_t *now, uint32_t shift)
{
	const uint64_t latest = UINT64_MAX >> shift;
	uint64_t from, length;

	if (!isc_varint_get32(&b->at, b->end, &g->process) || !isc_varint_get32(&b->at, b->end, &g->kind) ||
	    !isc_varint_get(&b->at, b->end, &from) || !isc_varint_get(&b->at, b->end, &length))
		return false;
	*now += (uint64_t)isc_unzigzag(from);
	if (*now > latest || (length > 0 && length - 1 > latest - *now))
		return false;
	g->from = *now << shift;
	g->to = length == 0 ? UINT64_MAX : g->from + ((length - 1) << shift);
	return true;
}

isc_status isc_gaps_decode(isc_gap_row **gaps, size_t *count, size_t *room, const uint8_t *raw, size_t len, uint32_t n,
			   uint64_t time, uint32_t tick_shift)
{
	isc_byte_range b = {raw, raw + len};
	size_t had = *count;

	if (n > len / 4)
		return ISC_ERR_CORRUPT;
	for (uint32_t i = 0; i < n; i++) {
		isc_gap_row g, *bigger;

		if (!read_gap(&b, &g, &time, tick_shift)) {
			*count = had;
			return ISC_ERR_CORRUPT;
		}
		/* Of a later version. */
		if (g.kind < ISC_GAP_THINNED || g.kind > ISC_GAP_LOST)
			continue;
		/* More than a writer of ours writes: the last one stands for all of these. */
		if (*count >= GAPS_READ_MAX) {
			isc_gap_row *last = &(*gaps)[*count - 1];

			*last = (isc_gap_row){.kind = ISC_GAP_LOST,
					      .from = g.from < last->from ? g.from : last->from,
					      .to = UINT64_MAX};
			continue;
		}
		bigger = isc_grow(*gaps, *count, room, sizeof(g));
		if (bigger == NULL)
			return ISC_ERR_NOMEM;
		*gaps = bigger;
		(*gaps)[(*count)++] = g;
	}
	if (b.at != b.end)
		*count = had;
	return b.at == b.end ? ISC_OK : ISC_ERR_CORRUPT;
}

/* ---- into the file ---- */

/* Half of what was left is used up: from now on half as many are kept. */
static void thin_out(isc_unit_log *u)
{
	while (u->shift < 31 && u->used > u->budget - (u->budget >> (u->shift + 1)))
		u->shift++;
}

static isc_status append_chunk(isc_writer *w, isc_chunk_header *h, isc_error *err)
{
	isc_unit_log *u = w->units;
	isc_status st;

	if (u->payload.failed) {
		isc_buffer_fini(&u->payload);
		return isc_fail(err, ISC_ERR_NOMEM, "no memory for units");
	}
	if (u->used + sizeof(*h) >= u->budget)
		return ISC_ERR_LIMIT; /* which nobody hears of: units are thinned out, and all are counted */
	st = isc_writer_append(w, ISC_SEGMENT_KEEP, h, u->payload.data, u->payload.len, err);
	u->used += st == ISC_OK ? isc_chunk_extent(h->stored_size) : 0;
	thin_out(u);
	return st;
}

static isc_status write_rows(isc_writer *w, const isc_unit_row *rows, size_t n, isc_error *err)
{
	uint32_t shift = w->header.tick_shift;
	isc_chunk_header h = {.type = ISC_CHUNK_UNITS,
			      .time = rows[0].begin >> shift,
			      .number = w->units->settled,
			      .events = (uint32_t)n};

	isc_unit_log_encode(&w->units->payload, rows, n, h.time, shift);
	return append_chunk(w, &h, err);
}

static isc_status write_gaps(isc_writer *w, const isc_gap_row *gaps, size_t n, isc_error *err)
{
	uint32_t shift = w->header.tick_shift;
	isc_chunk_header h = {.type = ISC_CHUNK_UNITS,
			      .time = gaps[0].from >> shift,
			      .number = w->units->settled,
			      .slots = (uint32_t)n};

	isc_gaps_encode(&w->units->payload, gaps, n, h.time, shift);
	return append_chunk(w, &h, err);
}

/* Gaps are lost, so from there on any process may have one. */
static void write_last_gap(isc_writer *w)
{
	isc_unit_log *u = w->units;
	const isc_gap_row last = {.kind = ISC_GAP_LOST, .from = u->lost_from, .to = UINT64_MAX};
	isc_chunk_header h = {
		.type = ISC_CHUNK_UNITS, .time = last.from >> w->header.tick_shift, .number = u->settled, .slots = 1};

	if (u->lost_from == UINT64_MAX || u->lost_told)
		return;
	if (isc_gaps_encode(&u->payload, &last, 1, h.time, w->header.tick_shift))
		u->lost_told = isc_writer_append_spared(w, &h, u->payload.data, u->payload.len, NULL) == ISC_OK;
	else
		isc_buffer_fini(&u->payload);
}

/* All that wait. */
static isc_status put_gaps(isc_writer *w, isc_error *err)
{
	isc_unit_log *u = w->units;
	isc_status result = ISC_OK, st;
	uint64_t settled = isc_unit_log_settled(u), since = isc_writer_losses_since(w);

	for (size_t done = 0; done < u->gap_count;) {
		size_t n = u->gap_count - done < ISC_UNITS_CHUNK_ROWS ? u->gap_count - done : ISC_UNITS_CHUNK_ROWS;

		st = write_gaps(w, u->gaps + done, n, err);
		for (size_t i = 0; st != ISC_OK && i < n; i++)
			isc_unit_log_lose_gap(u, u->gaps[done + i].from);
		result = result != ISC_OK ? result : st;
		done += n;
	}
	u->gap_count = 0;
	write_last_gap(w);
	if (result == ISC_OK && (u->lost_from == UINT64_MAX || u->lost_told))
		u->settled = settled < since ? settled : since;
	return result;
}

/* So many at a time at least. */
static isc_status put_rows(isc_writer *w, size_t least, isc_error *err)
{
	isc_unit_log *u = w->units;
	isc_status result = ISC_OK, st;
	size_t done = 0;

	while (u->row_count - done >= least) {
		size_t n = u->row_count - done < ISC_UNITS_CHUNK_ROWS ? u->row_count - done : ISC_UNITS_CHUNK_ROWS;

		st = write_rows(w, u->rows + done, n, err);
		u->refused += st == ISC_OK ? 0 : n;
		result = result != ISC_OK ? result : st;
		done += n;
	}
	if (done > 0)
		memmove(u->rows, u->rows + done, (u->row_count - done) * sizeof(*u->rows));
	u->row_count -= done;
	return result;
}

isc_status isc_unit_log_write(isc_writer *w, bool all, isc_error *err)
{
	isc_unit_log *u = w->units;
	/* A chunk has a head, so where rows are few they wait for others. */
	bool due = all || (u->flushes & ((1u << u->shift) - 1)) == 0;
	/* First, as rows say up to when all of them are there. */
	isc_status result = due ? put_gaps(w, err) : ISC_OK;
	isc_status st = put_rows(w, due ? 1 : ISC_UNITS_CHUNK_ROWS, err);

	result = result != ISC_OK ? result : st;
	/* A file without room for units is as good as any other. */
	return result == ISC_ERR_LIMIT ? ISC_OK : result;
}

/* ---- out of it ---- */

/* Who reads rows, and of which sources. */
struct row_reader {
	uint32_t first, last;
	bool (*row)(void *self, const isc_trace_unit *u);
	void *self;
};

static bool is_wanted(const isc_trace *tr, const struct row_reader *to, const isc_unit_row *r)
{
	return r->process != 0 && r->source >= to->first && r->source <= to->last &&
	       isc_trace_process_find(tr, r->process) != NULL;
}

static bool give_rows(const isc_trace *tr, const isc_unit_row *rows, uint32_t n, size_t *hint,
		      const struct row_reader *to)
{
	for (uint32_t i = 0; i < n; i++) {
		const isc_unit_row *r = &rows[i];
		isc_trace_unit u = {.process = r->process,
				    .thread = r->thread,
				    .source = r->source,
				    .name = r->name,
				    .parent = r->parent};

		if (!is_wanted(tr, to, r))
			continue;
		u.begin_ns = isc_timebase_ns(&tr->timebase, r->begin, hint);
		u.end_ns = isc_timebase_ns(&tr->timebase, r->end, hint);
		if (!to->row(to->self, &u))
			return false;
	}
	return true;
}

static isc_status read_each(isc_trace *tr, const struct row_reader *to, isc_error *err)
{
	isc_chunk_source source = {.fd = tr->fd, .live = !tr->table.complete};
	isc_unit_row *rows = NULL;
	size_t room = 0, hint = 0;
	isc_status st = ISC_OK;
	bool on = true;

	for (size_t i = 0; on && i < tr->table.count; i++) {
		const isc_chunk_header *h = &source.header;
		int result;

		if (tr->table.ref[i].type != ISC_CHUNK_UNITS || tr->table.ref[i].events == 0)
			continue;
		result = isc_chunk_source_read(&source, &tr->table.ref[i]);
		st = result == ISC_SOURCE_NOMEM ? ISC_ERR_NOMEM : ISC_OK;
		if (result == ISC_SOURCE_OK)
			st = isc_unit_log_decode(&rows, &room, source.raw, h->raw_size, h->events, h->time,
						 tr->header.tick_shift);
		if (st == ISC_ERR_NOMEM)
			break;
		if (result == ISC_SOURCE_OK && st == ISC_OK)
			on = give_rows(tr, rows, h->events, &hint, to);
		else
			isc_trace_note_bad(tr, i, st != ISC_OK ? ISC_SOURCE_BAD : result);
	}
	free(rows);
	isc_chunk_source_fini(&source);
	return st == ISC_ERR_NOMEM ? isc_fail(err, ISC_ERR_NOMEM, "no memory to read units") : ISC_OK;
}

isc_status isc_trace_units_each(isc_trace *tr, bool (*row)(void *self, const isc_trace_unit *u), void *self,
				isc_error *err)
{
	return read_each(tr, &(struct row_reader){ISC_UNIT_SCOPE, ISC_UNIT_LOOP, row, self}, err);
}

isc_status isc_trace_milestones_each(isc_trace *tr, bool (*row)(void *self, const isc_trace_unit *u), void *self,
				     isc_error *err)
{
	return read_each(tr, &(struct row_reader){ISC_MILESTONE_IMPORT, ISC_MILESTONE_LEAVING, row, self}, err);
}

static int by_place(const void *a, const void *b)
{
	const isc_gap_row *x = *(const isc_gap_row *const *)a, *y = *(const isc_gap_row *const *)b;

	if (x->process != y->process)
		return x->process > y->process ? 1 : -1;
	if (x->from != y->from)
		return x->from > y->from ? 1 : -1;
	if (x->kind != y->kind)
		return x->kind > y->kind ? 1 : -1;
	return (x > y) - (x < y);
}

static bool is_same_gap(const isc_gap_row *x, const isc_gap_row *y)
{
	return x->process == y->process && x->from == y->from && x->kind == y->kind;
}

/* One that was written while it went on comes again when it ends.  Others that begin together are all true. */
static size_t last_gap(const isc_gap_row *const *rows, size_t n, uint64_t *to)
{
	size_t i = 0;

	for (*to = 0; i < n && is_same_gap(rows[0], rows[i]); i++)
		*to = *to == UINT64_MAX || rows[i]->to > *to ? rows[i]->to : *to;
	return i;
}

static isc_status order_gaps(isc_trace *tr, const isc_gap_row **rows, size_t n)
{
	size_t hint = 0;

	tr->gaps = calloc(n + 1, sizeof(*tr->gaps));
	if (tr->gaps == NULL)
		return ISC_ERR_NOMEM;
	if (n > 1)
		qsort(rows, n, sizeof(*rows), by_place);
	for (size_t i = 0; i < n;) {
		const isc_gap_row *g = rows[i];
		uint64_t to;

		i += last_gap(rows + i, n - i, &to);
		tr->gaps[tr->gap_count++] = (isc_trace_gap){
			.process = g->process,
			.kind = g->kind,
			.from_ns = isc_timebase_ns(&tr->timebase, g->from, &hint),
			.to_ns = to == UINT64_MAX ? UINT64_MAX : isc_timebase_ns(&tr->timebase, to, &hint)};
	}
	return ISC_OK;
}

/* Gaps of all processes become one of each. */
static isc_gap_row *spread_gaps(const isc_trace *tr, size_t *count)
{
	isc_gap_row *all = calloc(tr->raw_gap_count + tr->state.process_count + 1, sizeof(*all));
	isc_gap_row every = {.kind = ISC_GAP_LOST, .from = UINT64_MAX, .to = UINT64_MAX};

	*count = 0;
	for (size_t i = 0; all != NULL && i < tr->raw_gap_count; i++) {
		const isc_gap_row *g = &tr->raw_gaps[i];

		if (isc_trace_process_find(tr, g->process) != NULL)
			all[(*count)++] = *g;
		else if (g->process == 0 && g->from < every.from)
			every.from = g->from;
	}
	for (size_t i = 0; all != NULL && every.from != UINT64_MAX && i < tr->state.process_count; i++) {
		every.process = tr->state.processes[i].process;
		all[(*count)++] = every;
	}
	return all;
}

isc_status isc_trace_settle_gaps(isc_trace *tr)
{
	const isc_gap_row **rows;
	isc_status st = ISC_ERR_NOMEM;
	isc_gap_row *all;
	size_t n;

	free(tr->gaps);
	tr->gaps = NULL;
	tr->gap_count = 0;
	if (tr->raw_gap_count == 0)
		return ISC_OK;
	all = spread_gaps(tr, &n);
	rows = all != NULL ? calloc(n + 1, sizeof(*rows)) : NULL;
	for (size_t i = 0; rows != NULL && i < n; i++)
		rows[i] = &all[i];
	if (rows != NULL)
		st = order_gaps(tr, rows, n);
	free(rows);
	free(all);
	return st;
}

const isc_trace_gap *isc_trace_gap_at(const isc_trace *tr, size_t i)
{
	return i < tr->gap_count ? &tr->gaps[i] : NULL;
}
