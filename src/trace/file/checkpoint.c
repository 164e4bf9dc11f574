#include "trace/records.h"
#include "trace/file/table.h"
#include "trace/writing.h"

/* Growth of the state between two looks at the reserve: a chunk of events in
 * which every name is new. */
#define RESERVE_SLACK 5u
#define INDEX_PART_BYTES (32u << 10)
/* At the end of each segment that is kept, for the last chunk of gaps: its header and a few varints. */
#define SPARED_BYTES 128u

uint32_t isc_writer_reserve(const isc_writer *w)
{
	uint64_t weight = w->totals->weight + w->state.weight;
	uint64_t need = (weight + weight / 4) / w->space.plan.segment_size + 1 + RESERVE_SLACK;

	if (need > w->space.plan.checkpoint_segments)
		need = w->space.plan.checkpoint_segments;
	return (uint32_t)need + 1 + isc_snapshots_reserve(w);
}

static void retire(isc_writer *w, uint32_t segment)
{
	const isc_segment *seg = &w->space.segment[segment];

	w->stats.retired_events += seg->events;
	w->snapshots.gone = seg->last > w->snapshots.gone ? seg->last : w->snapshots.gone;
	isc_space_release(&w->space, segment);
}

isc_status isc_writer_make_room(isc_writer *w, uint32_t segments, isc_error *err)
{
	isc_space *s = &w->space;

	while (isc_space_available(s) < segments) {
		uint32_t oldest = UINT32_MAX;
		isc_status st;

		for (uint32_t i = 0; i < s->count; i++) {
			if (s->segment[i].use == ISC_SEGMENT_EVENTS &&
			    (oldest == UINT32_MAX || s->segment[i].first < s->segment[oldest].first))
				oldest = i;
		}
		if (oldest == UINT32_MAX)
			return isc_fail(err, ISC_ERR_LIMIT, "the trace is full");
		if (s->segment[oldest].last > w->covered) {
			st = isc_writer_checkpoint(w, err);
			if (st != ISC_OK)
				return st;
			continue;
		}
		retire(w, oldest);
	}
	return ISC_OK;
}

isc_status isc_writer_forget(isc_writer *w, isc_error *err)
{
	isc_space *s = &w->space;
	isc_status st = isc_writer_flush(w, err);

	if (st == ISC_OK)
		st = isc_writer_make_room(w, isc_writer_reserve(w), err);
	if (st == ISC_OK)
		st = isc_writer_checkpoint(w, err);
	for (uint32_t i = 0; st == ISC_OK && i < s->count; i++) {
		if (s->segment[i].use == ISC_SEGMENT_EVENTS)
			retire(w, i);
		if (s->segment[i].use == 0)
			isc_space_empty(s, i);
	}
	return st;
}

static isc_status take_segment(isc_writer *w, int use, isc_error *err)
{
	isc_status st;

	if (use == ISC_SEGMENT_KEEP &&
	    w->space.in_use[use] >= w->space.plan.keep_segments - isc_snapshots_segments(&w->space.plan))
		return isc_fail(err, ISC_ERR_LIMIT, "the trace has no room for further definitions");
	st = isc_writer_make_room(w, isc_writer_reserve(w) + 1, err);
	return st == ISC_OK ? isc_space_take(&w->space, use, 0, err) : st;
}

isc_status isc_writer_append_packed(isc_writer *w, int use, isc_chunk_header *h, const void *stored, const void *raw,
				    size_t len, isc_error *err)
{
	isc_status st = isc_space_status(&w->space, err);
	uint32_t spared = use == ISC_SEGMENT_KEEP ? SPARED_BYTES : 0;

	if (st != ISC_OK)
		return st;
	if (!isc_space_fits_empty(&w->space, h->stored_size + spared))
		return isc_fail(err, ISC_ERR_LIMIT, "too large for a segment of the trace");
	if (!isc_space_fits(&w->space, use, h->stored_size + spared)) {
		/* This may write a checkpoint, which packs and so takes our bytes. */
		st = take_segment(w, use, err);
		if (st != ISC_OK)
			return st;
		stored = isc_codec_pack(&w->codec, h, raw, len);
	}
	return isc_space_write(&w->space, use, h, stored, err);
}

isc_status isc_writer_append(isc_writer *w, int use, isc_chunk_header *h, const void *raw, size_t len, isc_error *err)
{
	const void *stored = isc_codec_pack(&w->codec, h, raw, len);

	return isc_writer_append_packed(w, use, h, stored, raw, len, err);
}

isc_status isc_writer_append_spared(isc_writer *w, isc_chunk_header *h, const void *raw, size_t len, isc_error *err)
{
	const void *stored = isc_codec_pack(&w->codec, h, raw, len);

	if (isc_space_status(&w->space, err) == ISC_OK && isc_space_fits(&w->space, ISC_SEGMENT_KEEP, h->stored_size))
		return isc_space_write(&w->space, ISC_SEGMENT_KEEP, h, stored, err);
	return isc_writer_append_packed(w, ISC_SEGMENT_KEEP, h, stored, raw, len, err);
}

isc_status isc_writer_append_reserved(isc_writer *w, isc_chunk_header *h, const void *raw, size_t len, isc_error *err)
{
	const void *stored = isc_codec_pack(&w->codec, h, raw, len);
	isc_status st = ISC_OK;

	if (!isc_space_fits_empty(&w->space, h->stored_size))
		return isc_fail(err, ISC_ERR_LIMIT, "too large for a segment of the trace");
	if (!isc_space_fits(&w->space, ISC_SEGMENT_TOTALS, h->stored_size))
		st = isc_space_take(&w->space, ISC_SEGMENT_TOTALS, w->checkpoint, err);
	return st == ISC_OK ? isc_space_write(&w->space, ISC_SEGMENT_TOTALS, h, stored, err) : st;
}

static isc_status write_totals(isc_writer *w, const isc_totals_cover *cover, isc_error *err)
{
	isc_buffer parts = {0}, ends = {0};
	isc_status st = ISC_OK;
	size_t start = 0;

	isc_totals_write(w->totals, cover, &parts, &ends);
	if (parts.failed || ends.failed)
		st = isc_fail(err, ISC_ERR_NOMEM, "no memory for a checkpoint of the trace");
	for (size_t i = 0; st == ISC_OK && i < ends.len / sizeof(size_t); i++) {
		size_t end = ((const size_t *)(const void *)ends.data)[i];
		isc_chunk_header h = {.type = ISC_CHUNK_TOTALS,
				      .number = w->checkpoint,
				      .events = (uint32_t)i,
				      .slots = (uint32_t)(ends.len / sizeof(size_t))};

		st = isc_writer_append_reserved(w, &h, parts.data + start, end - start, err);
		start = end;
	}
	isc_buffer_fini(&parts);
	isc_buffer_fini(&ends);
	return st;
}

static isc_status write_state(isc_writer *w, isc_error *err)
{
	isc_buffer out = {0};
	isc_session_state_cursor c = {0};
	isc_status st = ISC_OK;
	uint32_t records;
	int type;

	while (st == ISC_OK && isc_session_state_next_chunk(&w->state, &c, true, &type, &records, &out)) {
		isc_chunk_header h = {.type = (uint16_t)type, .events = records};

		st = out.failed ? isc_fail(err, ISC_ERR_NOMEM, "no memory for a checkpoint of the trace")
				: isc_writer_append_reserved(w, &h, out.data, out.len, err);
	}
	isc_buffer_fini(&out);
	return st;
}

/* Frees the segments of all checkpoints but one, or of that one alone. */
static void release_totals(isc_writer *w, uint64_t checkpoint, bool others)
{
	for (uint32_t i = 0; i < w->space.count; i++) {
		const isc_segment *seg = &w->space.segment[i];

		if (seg->use == ISC_SEGMENT_TOTALS && (seg->checkpoint == checkpoint) != others)
			isc_space_release(&w->space, i);
	}
}

isc_status isc_writer_checkpoint(isc_writer *w, isc_error *err)
{
	isc_totals_cover cover = {w->space.sequence, w->totals->events};
	uint32_t before = w->space.current[ISC_SEGMENT_TOTALS];
	isc_status st = isc_space_status(&w->space, err);

	if (st != ISC_OK)
		return st;
	isc_snapshots_prepare(w);
	w->checkpoint++;
	st = isc_space_take(&w->space, ISC_SEGMENT_TOTALS, w->checkpoint, err);
	if (st == ISC_OK)
		st = write_state(w, err);
	if (st == ISC_OK)
		st = write_totals(w, &cover, err);
	if (st != ISC_OK) {
		/* The one before is still whole. */
		release_totals(w, w->checkpoint, false);
		w->space.current[ISC_SEGMENT_TOTALS] = before;
		return st;
	}
	release_totals(w, w->checkpoint, true);
	isc_session_state_clean(&w->state);
	w->checkpoint_segments = w->space.in_use[ISC_SEGMENT_TOTALS];
	w->covered = cover.sequence;
	isc_snapshots_covered(w);
	return ISC_OK;
}

isc_status isc_writer_journal(isc_writer *w, isc_error *err)
{
	isc_session_state_cursor c = {0};
	isc_status st = ISC_OK;
	uint32_t records;
	int type;

	if (!isc_session_state_is_dirty(&w->state))
		return ISC_OK;
	if (w->checkpoint == 0)
		return isc_writer_checkpoint(w, err);
	while (st == ISC_OK && isc_session_state_next_chunk(&w->state, &c, false, &type, &records, &w->payload)) {
		isc_chunk_header h = {.type = (uint16_t)type, .events = records};

		if (w->payload.failed)
			return isc_fail(err, ISC_ERR_NOMEM, "no memory for the trace");
		isc_codec_pack(&w->codec, &h, w->payload.data, w->payload.len);
		/* Once changes take as much room as the checkpoint they belong to, all of
		 * it is written afresh, which holds the changes too. */
		if (!isc_space_fits(&w->space, ISC_SEGMENT_TOTALS, h.stored_size) &&
		    (w->space.in_use[ISC_SEGMENT_TOTALS] > 2 * w->checkpoint_segments ||
		     w->space.in_use[ISC_SEGMENT_TOTALS] - w->checkpoint_segments >= w->space.plan.journal_segments ||
		     isc_space_available(&w->space) <= isc_writer_reserve(w)))
			return isc_writer_checkpoint(w, err);
		st = isc_writer_append_reserved(w, &h, w->payload.data, w->payload.len, err);
	}
	if (st == ISC_OK)
		isc_session_state_clean(&w->state);
	return st;
}

/* In parts, each of which begins anew. */
static isc_status write_index(isc_writer *w, const isc_table *table, isc_error *err)
{
	isc_buffer all = {0}, ends = {0};
	isc_chunk_ref before = {0};
	isc_status st = ISC_OK;
	size_t start = 0, parts;

	for (size_t i = 0; i < table->count; i++) {
		uint64_t segment = (table->ref[i].offset - ISC_PLAN_SEGMENT_START) / w->space.plan.segment_size;

		/* What lies in a free segment may be gone the next moment. */
		if (segment >= w->space.count || w->space.segment[segment].use == 0)
			continue;
		isc_index_put(&all, &table->ref[i], &before);
		before = table->ref[i];
		if (all.len - start > INDEX_PART_BYTES) {
			isc_buffer_add(&ends, &all.len, sizeof(all.len));
			start = all.len;
			before = (isc_chunk_ref){0};
		}
	}
	if (all.len > start)
		isc_buffer_add(&ends, &all.len, sizeof(all.len));
	parts = ends.len / sizeof(size_t);
	/* It saves a reader some time and is not worth an event: only into free room. */
	if (!all.failed && !ends.failed &&
	    (all.len + all.len / 8) / w->space.plan.segment_size + 2 <= isc_space_available(&w->space)) {
		start = 0;
		for (size_t i = 0; st == ISC_OK && i < parts; i++) {
			size_t end = ((const size_t *)(const void *)ends.data)[i];
			isc_chunk_header h = {.type = ISC_CHUNK_INDEX, .number = i, .slots = (uint32_t)parts};
			const void *stored = isc_codec_pack(&w->codec, &h, all.data + start, end - start);

			if (!isc_space_fits(&w->space, ISC_SEGMENT_INDEX, h.stored_size))
				st = isc_space_take(&w->space, ISC_SEGMENT_INDEX, 0, err);
			if (st == ISC_OK)
				st = isc_space_write(&w->space, ISC_SEGMENT_INDEX, &h, stored, err);
			start = end;
		}
	}
	isc_buffer_fini(&all);
	isc_buffer_fini(&ends);
	return st;
}

isc_status isc_writer_finish(isc_writer *w, const isc_trace_end *end, isc_error *err)
{
	isc_chunk_header h = {.type = ISC_CHUNK_END};
	isc_table table = {0};
	isc_status st = ISC_OK;
	const void *stored;

	/* The file itself says best where its chunks are. */
	if (isc_table_scan(&table, w->space.fd, &w->header, w->space.file_bytes) == ISC_OK)
		st = write_index(w, &table, err);
	isc_table_fini(&table);
	isc_buffer_clear(&w->payload);
	isc_record_put_end(&w->payload, end);
	if (st != ISC_OK)
		return st;
	if (w->payload.failed)
		return isc_fail(err, ISC_ERR_NOMEM, "no memory to end the trace");
	stored = isc_codec_pack(&w->codec, &h, w->payload.data, w->payload.len);
	if (!isc_space_fits(&w->space, ISC_SEGMENT_INDEX, h.stored_size))
		st = isc_space_take(&w->space, ISC_SEGMENT_INDEX, 0, err);
	return st == ISC_OK ? isc_space_write(&w->space, ISC_SEGMENT_INDEX, &h, stored, err) : st;
}
