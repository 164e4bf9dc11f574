/*
 * until.c - the running totals of all events before a moment, as far as a file can tell: from the snapshot of that
 * moment, or from one before it, a checkpoint or nothing and all events since.
 */
#include <stdlib.h>

#include "trace/opened.h"
#include "trace/file/plan.h"
#include "trace/totals/snapshot.h"

/* Numbers go on where they stopped: a chunk that a moment cuts is fed in two parts. */
static bool feed_chunk(isc_totals *t, const isc_chunk_header *h, const isc_columns *c, uint64_t from_ticks,
		       uint64_t to_ticks)
{
	isc_totals_lane *lane = isc_totals_lane_of(t, h->process, h->thread, h->stream);
	const uint8_t *extra = c->extra;
	bool any = false;

	if (lane == NULL)
		return false;
	for (uint32_t i = 0; i < c->events; i++) {
		isc_record r = {.ticks = c->ticks[i],
				.id = c->id[i],
				.kind = c->kind[i],
				.slots = c->slots[i],
				.arg = c->arg[i]};
		uint32_t len = (r.slots - 1u) * (uint32_t)sizeof(r);

		if (r.ticks >= from_ticks && r.ticks < to_ticks) {
			if ((!any && !isc_totals_lane_reach(t, lane, h->number + i)) ||
			    !isc_totals_lane_feed(t, lane, &r, extra, len))
				return false;
			any = true;
			lane->next = h->number + i + 1;
		}
		extra += len;
	}
	return true;
}

/* Does the file say that nothing in a chunk lies between these? */
static bool lies_apart(const isc_chunk_ref *ref, uint64_t from_ticks, uint64_t to_ticks, uint32_t tick_shift)
{
	const isc_contents *c = &ref->contents;

	return c->kinds != 0 && (c->last << tick_shift < from_ticks || c->first << tick_shift >= to_ticks);
}

int isc_totals_feed_between(isc_totals *t, const isc_table *table, uint32_t covered, uint64_t from_ticks,
			    uint64_t to_ticks, uint32_t tick_shift, isc_chunk_source *source)
{
	const isc_chunk_header *h = &source->header;
	isc_columns columns = {0};
	int result = ISC_SOURCE_OK;

	for (size_t i = 0; i < table->count && result == ISC_SOURCE_OK; i++) {
		int decoded;

		if (table->ref[i].type != ISC_CHUNK_EVENTS || table->ref[i].sequence <= covered ||
		    lies_apart(&table->ref[i], from_ticks, to_ticks, tick_shift))
			continue;
		result = isc_chunk_source_read(source, &table->ref[i]);
		if (result == ISC_SOURCE_BAD) {
			result = ISC_SOURCE_OK; /* damage is for whoever reads events to report */
			continue;
		}
		/* The header has the time of the first event of the chunk. */
		if (result != ISC_SOURCE_OK || h->time << tick_shift >= to_ticks)
			continue;
		decoded = isc_columns_decode(&columns, source->raw, h->raw_size, h->events, h->slots, h->time,
					     tick_shift);
		if (decoded == ISC_COLUMNS_NOMEM ||
		    (decoded == ISC_COLUMNS_OK && !feed_chunk(t, h, &columns, from_ticks, to_ticks)))
			result = ISC_SOURCE_NOMEM;
	}
	isc_columns_fini(&columns);
	return result;
}

/* ---- snapshots of a file ---- */

/* Parts follow each other, with other chunks between them; 0: one is missing. */
static bool is_whole(const isc_table *table, size_t first)
{
	const isc_chunk_ref *head = &table->ref[first];
	uint32_t next = 1;

	for (size_t i = first + 1; i < table->count && next < head->slots; i++) {
		const isc_chunk_ref *ref = &table->ref[i];

		if (ref->type == ISC_CHUNK_SNAPSHOT && ref->number == head->number && ref->thread == head->thread &&
		    ref->slots == head->slots && ref->events == next)
			next++;
	}
	return head->slots > 0 && next == head->slots;
}

static void keep_newest(isc_trace *tr, isc_trace_snapshot found)
{
	for (size_t i = 0; i < tr->snapshot_count; i++) {
		if (tr->snapshots[i].boundary == found.boundary) {
			tr->snapshots[i] = found;
			return;
		}
	}
	if (tr->snapshot_count < ISC_SNAPSHOTS_MAX)
		tr->snapshots[tr->snapshot_count++] = found;
}

isc_status isc_trace_find_snapshots(isc_trace *tr, isc_chunk_source *source)
{
	tr->snapshot_count = 0;
	for (size_t i = 0; i < tr->table.count; i++) {
		const isc_chunk_ref *ref = &tr->table.ref[i];
		int result;

		if (ref->type != ISC_CHUNK_SNAPSHOT || ref->events != 0 || ref->number == 0 ||
		    ref->number > UINT32_MAX || !is_whole(&tr->table, i))
			continue;
		if (tr->snapshots == NULL) {
			tr->snapshots = calloc(ISC_SNAPSHOTS_MAX, sizeof(*tr->snapshots));
			if (tr->snapshots == NULL)
				return ISC_ERR_NOMEM;
		}
		result = isc_chunk_source_read(source, ref);
		if (result == ISC_SOURCE_NOMEM)
			return ISC_ERR_NOMEM;
		if (result == ISC_SOURCE_OK)
			keep_newest(tr, (isc_trace_snapshot){(uint32_t)ref->number,
							     source->header.time << tr->header.tick_shift, i});
		else
			isc_trace_note_bad(tr, i, result);
	}
	return ISC_OK;
}

const isc_trace_snapshot *isc_trace_snapshot_at(const isc_trace *tr, size_t i)
{
	return i < tr->snapshot_count ? &tr->snapshots[i] : NULL;
}

const isc_trace_snapshot *isc_trace_snapshot_of(const isc_trace *tr, uint32_t boundary)
{
	for (size_t i = 0; i < tr->snapshot_count; i++) {
		if (tr->snapshots[i].boundary == boundary)
			return &tr->snapshots[i];
	}
	return NULL;
}

int isc_trace_snapshot_parts(isc_trace *tr, const isc_trace_snapshot *s, isc_chunk_source *source,
			     isc_snapshot_part *part, void *self)
{
	const isc_chunk_ref *head = &tr->table.ref[s->chunk];
	uint32_t next = 0;

	for (size_t i = s->chunk; i < tr->table.count && next < head->slots; i++) {
		const isc_chunk_ref *ref = &tr->table.ref[i];
		int result;

		if (ref->type != ISC_CHUNK_SNAPSHOT || ref->number != head->number || ref->thread != head->thread ||
		    ref->slots != head->slots || ref->events != next)
			continue;
		result = isc_chunk_source_read(source, ref);
		if (result == ISC_SOURCE_OK)
			result = part(self, source->raw, source->header.raw_size);
		if (result != ISC_SOURCE_OK)
			return result;
		next++;
	}
	return next == head->slots ? ISC_SOURCE_OK : ISC_SOURCE_BAD;
}

static int read_part(void *self, const uint8_t *raw, size_t len)
{
	isc_status st = isc_totals_read(self, raw, len);

	return st == ISC_OK ? ISC_SOURCE_OK : st == ISC_ERR_NOMEM ? ISC_SOURCE_NOMEM : ISC_SOURCE_BAD;
}

/* ---- totals up to a moment ---- */

static int renew(const isc_trace *tr, isc_totals **t)
{
	isc_totals_free(*t);
	*t = NULL;
	if (isc_totals_new(t, NULL) != ISC_OK)
		return ISC_SOURCE_NOMEM;
	isc_totals_bound(*t, isc_plan_of(tr->header.limit_bytes).totals_weight);
	return ISC_SOURCE_OK;
}

/* From a snapshot at or before it.  ISC_SOURCE_BAD: there is none that helps. */
static int from_snapshot(isc_trace *tr, uint64_t ticks, isc_chunk_source *source, isc_totals **t)
{
	const isc_trace_snapshot *retained = isc_trace_snapshot_of(tr, ISC_BOUNDARY_RETAINED), *best = NULL;
	int result;

	for (size_t i = 0; i < tr->snapshot_count; i++) {
		const isc_trace_snapshot *s = &tr->snapshots[i];
		bool followed = tr->stats.retired_events == 0 || (retained != NULL && s->ticks >= retained->ticks);

		if ((s->ticks == ticks || (s->ticks < ticks && followed)) && (best == NULL || s->ticks > best->ticks))
			best = s;
	}
	if (best == NULL)
		return ISC_SOURCE_BAD;
	result = renew(tr, t);
	if (result == ISC_SOURCE_OK)
		result = isc_trace_snapshot_parts(tr, best, source, read_part, *t);
	if (result == ISC_SOURCE_OK && best->ticks < ticks)
		result = isc_totals_feed_between(*t, &tr->table, 0, best->ticks, ticks, tr->header.tick_shift, source);
	return result;
}

/* From the checkpoint, when all in it is older: events since are all there. */
static int from_checkpoint(isc_trace *tr, uint64_t ticks, isc_chunk_source *source, isc_totals **t)
{
	int result = tr->checkpoint.found ? renew(tr, t) : ISC_SOURCE_BAD;

	if (result == ISC_SOURCE_OK)
		result = isc_checkpoint_load(*t, &tr->table, &tr->checkpoint, source);
	for (size_t i = 0; result == ISC_SOURCE_OK && i < (*t)->lane_count; i++) {
		if ((*t)->lanes[i]->last >= ticks)
			result = ISC_SOURCE_BAD;
	}
	if (result == ISC_SOURCE_OK)
		result = isc_totals_feed_between(*t, &tr->table, tr->checkpoint.cover.sequence, 0, ticks,
						 tr->header.tick_shift, source);
	return result;
}

isc_status isc_trace_totals_until(isc_trace *tr, uint64_t ticks, isc_totals **out, isc_error *err)
{
	isc_chunk_source source = {.fd = tr->fd, .live = !tr->table.complete};
	int result;

	*out = NULL;
	ticks = ticks >> tr->header.tick_shift << tr->header.tick_shift;
	result = from_snapshot(tr, ticks, &source, out);
	if (result == ISC_SOURCE_BAD && tr->stats.retired_events == 0) {
		result = renew(tr, out);
		if (result == ISC_SOURCE_OK)
			result = isc_totals_feed_between(*out, &tr->table, 0, 0, ticks, tr->header.tick_shift, &source);
	}
	if (result == ISC_SOURCE_BAD)
		result = from_checkpoint(tr, ticks, &source, out);
	isc_chunk_source_fini(&source);
	if (result == ISC_SOURCE_OK)
		return ISC_OK;
	isc_totals_free(*out);
	*out = NULL;
	return result == ISC_SOURCE_NOMEM
		       ? isc_fail(err, ISC_ERR_NOMEM, "no memory for running totals")
		       : isc_fail(err, ISC_ERR_ABSENT,
				  "the events before this moment are gone, and nothing stands for them");
}
