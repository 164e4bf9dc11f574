#include "trace/totals/snapshot.h"

#include <string.h>

#include "trace/opened.h"
#include "trace/writing.h"

/* Flushes, four a second, after which no thread has anything older to tell. */
#define SETTLED_FLUSHES 2u
/* Between two images: two seconds, and four for every MiB, since writing one takes about 5 ms a MiB. */
#define IMAGE_FLUSHES 8u
#define IMAGE_BYTES (64u << 10) /* that cost one flush more */
/* Whoever asks for flushes all the time gets no more images than their events are worth. */
#define BYTES_AN_EVENT 8u
/* Three times what totals take in a file of the default size: beyond, memory matters more than boundaries. */
#define IMAGE_MAX (16u << 20)
/* Of the segments of a file, for what is written behind a checkpoint; a quarter of what is kept for fixed ones. */
#define SEGMENTS_PART 16u
#define KEPT_PART 4u

static void drop_image(isc_totals_image *image)
{
	isc_buffer_fini(&image->parts);
	isc_buffer_fini(&image->ends);
	*image = (isc_totals_image){0};
}

void isc_snapshots_fini(isc_snapshots *s)
{
	for (size_t i = 0; i < s->pending_count; i++)
		drop_image(&s->pending[i].image);
	drop_image(&s->older);
	drop_image(&s->newer);
	drop_image(&s->kept);
	drop_image(&s->last.image);
	drop_image(&s->retained.image);
}

uint32_t isc_snapshots_segments(const isc_plan *plan)
{
	return plan->segments == UINT32_MAX	    ? 0
	       : plan->segments / SEGMENTS_PART > 1 ? plan->segments / SEGMENTS_PART
						    : 1;
}

static bool is_there(const isc_totals_image *image)
{
	return image->ends.len > 0;
}

static bool write_image(const isc_totals *t, uint32_t sequence, isc_totals_image *out)
{
	isc_totals_cover cover = {sequence, t->events};

	*out = (isc_totals_image){.sequence = sequence};
	isc_totals_write(t, &cover, &out->parts, &out->ends);
	for (size_t i = 0; i < t->lane_count; i++)
		out->ticks = t->lanes[i]->last > out->ticks ? t->lanes[i]->last : out->ticks;
	if (!out->parts.failed && !out->ends.failed && out->parts.len <= IMAGE_MAX)
		return true;
	drop_image(out);
	return false;
}

static bool read_image(isc_totals *t, const isc_totals_image *image)
{
	const size_t *ends = (const size_t *)(const void *)image->ends.data;
	size_t start = 0;

	for (size_t i = 0; i < image->ends.len / sizeof(*ends); i++) {
		if (isc_totals_read(t, (const uint8_t *)image->parts.data + start, ends[i] - start) != ISC_OK)
			return false;
		start = ends[i];
	}
	return true;
}

/* The chunks of events behind an image; segments without any are not looked at. */
static bool find_chunks(const isc_writer *w, uint32_t sequence, isc_table *out)
{
	isc_status st = ISC_OK;

	out->file_bytes = w->space.file_bytes;
	for (uint32_t i = 0; i < w->space.count && st == ISC_OK; i++) {
		const isc_segment *seg = &w->space.segment[i];

		if (seg->use == ISC_SEGMENT_EVENTS && seg->last > sequence)
			st = isc_table_walk(out, w->space.fd, &w->header,
					    ISC_PLAN_SEGMENT_START + (uint64_t)i * w->space.plan.segment_size);
	}
	isc_table_sort(out);
	return st == ISC_OK;
}

/* All events before a moment, from an image of before it. */
static bool make_totals(isc_writer *w, const isc_totals_image *base, uint64_t ticks, isc_totals **out)
{
	isc_chunk_source source = {.fd = w->space.fd};
	isc_table table = {0};
	bool good = isc_totals_new(out, NULL) == ISC_OK;

	if (good) {
		isc_totals_bound(*out, w->space.plan.totals_weight);
		good = read_image(*out, base) && find_chunks(w, base->sequence, &table) &&
		       isc_totals_feed_between(*out, &table, base->sequence, 0, ticks, w->header.tick_shift, &source) ==
			       ISC_SOURCE_OK;
	}
	isc_table_fini(&table);
	isc_chunk_source_fini(&source);
	return good;
}

/* Its image, and false when its events are gone or there is no memory. */
static bool make_snapshot(isc_writer *w, isc_snapshot *s)
{
	static const isc_totals_image nothing;
	const isc_snapshots *all = &w->snapshots;
	const isc_totals_image *base = is_there(&all->newer) && all->newer.ticks < s->ticks   ? &all->newer
				       : is_there(&all->older) && all->older.ticks < s->ticks ? &all->older
											      : &nothing;
	isc_totals *totals = NULL;
	bool good;

	if (base->sequence < all->gone)
		return false;
	good = make_totals(w, base, s->ticks, &totals) && write_image(totals, 0, &s->image);
	isc_totals_free(totals);
	return good;
}

/* Of a moment on the clock of the file. */
static uint64_t cut_ticks(const isc_writer *w, uint64_t ticks)
{
	return ticks >> w->header.tick_shift << w->header.tick_shift;
}

isc_status isc_writer_mark(isc_writer *w, uint32_t boundary, uint64_t ticks, isc_error *err)
{
	isc_snapshots *s = &w->snapshots;

	if (s->pending_count == ISC_SNAPSHOT_PENDING)
		return isc_fail(err, ISC_ERR_LIMIT, "too many moments of the trace wait for their totals");
	s->pending[s->pending_count++] =
		(isc_snapshot){.boundary = boundary, .ticks = cut_ticks(w, ticks), .asked = s->flushes};
	return ISC_OK;
}

/* ---- into the file ---- */

typedef isc_status append_part(isc_writer *w, isc_chunk_header *h, const void *raw, size_t len);

static isc_status append_kept(isc_writer *w, isc_chunk_header *h, const void *raw, size_t len)
{
	isc_status st = isc_writer_append(w, ISC_SEGMENT_KEEP, h, raw, len, NULL);

	w->snapshots.kept_bytes += st == ISC_OK ? isc_chunk_extent(h->stored_size) : 0;
	return st;
}

static isc_status append_moving(isc_writer *w, isc_chunk_header *h, const void *raw, size_t len)
{
	return isc_writer_append_reserved(w, h, raw, len, NULL);
}

/* Parts of one that has no room in the end are unfinished, and no reader takes them. */
static bool write_snapshot(isc_writer *w, const isc_snapshot *s, append_part *append)
{
	const size_t *ends = (const size_t *)(const void *)s->image.ends.data;
	uint32_t parts = (uint32_t)(s->image.ends.len / sizeof(*ends));
	isc_status st = ISC_OK;
	size_t start = 0;

	w->snapshots.serial++;
	for (uint32_t i = 0; i < parts && st == ISC_OK; i++) {
		isc_chunk_header h = {.type = ISC_CHUNK_SNAPSHOT,
				      .thread = w->snapshots.serial,
				      .time = s->ticks >> w->header.tick_shift,
				      .number = s->boundary,
				      .events = i,
				      .slots = parts};

		st = append(w, &h, s->image.parts.data + start, ends[i] - start);
		start = ends[i];
	}
	return st == ISC_OK;
}

/* Fixed ones leave most of the room to definitions.  Packed they take less than half. */
static bool has_room(const isc_writer *w, const isc_snapshot *s)
{
	const isc_plan *plan = &w->space.plan;

	return plan->segments == UINT32_MAX || w->snapshots.kept_bytes + s->image.parts.len / 2 <=
						       (uint64_t)plan->keep_segments * plan->segment_size / KEPT_PART;
}

static uint32_t segments_of(const isc_writer *w, const isc_snapshot *s)
{
	return is_there(&s->image) ? (uint32_t)(s->image.parts.len / 2 / w->space.plan.segment_size) + 1 : 0;
}

uint32_t isc_snapshots_reserve(const isc_writer *w)
{
	uint32_t most = isc_snapshots_segments(&w->space.plan), need = segments_of(w, &w->snapshots.last);

	return need < most ? need : most;
}

static void rewrite_moving(isc_writer *w)
{
	isc_snapshots *s = &w->snapshots;
	const isc_snapshot *moving[] = {&s->last, &s->retained};
	uint32_t spare;

	for (size_t i = 0; i < sizeof(moving) / sizeof(moving[0]); i++) {
		spare = is_there(&s->retained.image) ? 2 : isc_writer_reserve(w) - isc_snapshots_reserve(w);
		if (is_there(&moving[i]->image) && isc_space_available(&w->space) >= segments_of(w, moving[i]) + spare)
			write_snapshot(w, moving[i], append_moving);
	}
}

/* ---- as the recording goes on ---- */

/* Makes those whose time has come, or all. */
static void make_pending(isc_writer *w, bool all)
{
	isc_snapshots *s = &w->snapshots;

	for (size_t i = 0; i < s->pending_count; i++) {
		isc_snapshot *p = &s->pending[i];

		if (p->made || (!all && s->flushes < p->asked + SETTLED_FLUSHES))
			continue;
		p->made = true;
		make_snapshot(w, p);
	}
}

/* Takes each out first: a checkpoint on the way may make others. */
static void write_pending(isc_writer *w)
{
	isc_snapshots *s = &w->snapshots;
	size_t i = 0;

	while (i < s->pending_count) {
		isc_snapshot p = s->pending[i];

		if (!p.made) {
			i++;
			continue;
		}
		s->pending_count--;
		memmove(&s->pending[i], &s->pending[i + 1], (s->pending_count - i) * sizeof(p));
		if (is_there(&p.image) && has_room(w, &p))
			write_snapshot(w, &p, append_kept);
		drop_image(&p.image);
	}
}

static void make_last(isc_writer *w)
{
	isc_snapshots *s = &w->snapshots;
	/* What happens at the end of the unit belongs to it. */
	isc_snapshot fresh = {.boundary = ISC_BOUNDARY_LAST_UNIT,
			      .ticks = cut_ticks(w, w->totals->unit_last) + (1ull << w->header.tick_shift)};

	if (w->totals->unit_last == 0 || fresh.ticks == s->last.ticks || !make_snapshot(w, &fresh))
		return;
	drop_image(&s->last.image);
	s->last = fresh;
}

/* The image before the last unit's end stays until that unit turns out to be the last for a while. */
static void take_image(isc_writer *w)
{
	isc_snapshots *s = &w->snapshots;
	isc_totals_image now;

	if (w->totals->unit_last != 0 && w->totals->unit_last <= s->newer.ticks)
		make_last(w);
	s->imaged = s->flushes;
	s->imaged_events = w->stats.stored_events;
	if (!write_image(w->totals, w->space.sequence, &now))
		return;
	drop_image(&s->older);
	s->older = s->newer;
	s->newer = now;
}

void isc_snapshots_flushed(isc_writer *w)
{
	isc_snapshots *s = &w->snapshots;

	s->flushes++;
	if (!s->first_asked && w->totals->unit_first != 0)
		s->first_asked = isc_writer_mark(w, ISC_BOUNDARY_FIRST_UNIT, w->totals->unit_first, NULL) == ISC_OK;
	make_pending(w, false);
	write_pending(w);
	if (s->flushes - s->imaged >= IMAGE_FLUSHES + s->newer.parts.len / IMAGE_BYTES &&
	    (w->stats.stored_events - s->imaged_events) * BYTES_AN_EVENT >= s->newer.parts.len)
		take_image(w);
}

void isc_snapshots_prepare(isc_writer *w)
{
	make_pending(w, true);
	make_last(w);
}

/* Copies, because images go on changing places. */
static void copy_image(isc_totals_image *to, const isc_totals_image *from)
{
	drop_image(to);
	*to = (isc_totals_image){.sequence = from->sequence, .ticks = from->ticks};
	isc_buffer_add(&to->parts, from->parts.data, from->parts.len);
	isc_buffer_add(&to->ends, from->ends.data, from->ends.len);
	if (to->parts.failed || to->ends.failed)
		drop_image(to);
}

void isc_snapshots_covered(isc_writer *w)
{
	isc_snapshots *s = &w->snapshots;

	rewrite_moving(w);
	if (s->finished)
		return;
	take_image(w);
	copy_image(&s->kept, &s->newer);
}

/* ---- from an earlier recorder ---- */

static int adopt_part(void *self, const uint8_t *raw, size_t len)
{
	isc_totals_image *image = self;

	isc_buffer_add(&image->parts, raw, len);
	isc_buffer_add(&image->ends, &image->parts.len, sizeof(image->parts.len));
	return image->parts.failed || image->ends.failed ? ISC_SOURCE_NOMEM : ISC_SOURCE_OK;
}

void isc_snapshots_adopt(isc_writer *w, isc_trace *tr)
{
	const isc_trace_snapshot *last = isc_trace_snapshot_of(tr, ISC_BOUNDARY_LAST_UNIT);
	isc_chunk_source source = {.fd = tr->fd};
	isc_snapshots *s = &w->snapshots;

	for (size_t i = 0; i < tr->table.count; i++) {
		const isc_chunk_ref *ref = &tr->table.ref[i];

		if (ref->type != ISC_CHUNK_SNAPSHOT)
			continue;
		s->serial = ref->thread > s->serial ? ref->thread : s->serial;
		s->kept_bytes += isc_chunk_extent(ref->stored_size);
	}
	s->gone = tr->stats.retired_events > 0;
	/* When the first unit began was not kept apart from its snapshot. */
	s->first_asked = w->totals->scope_count > 0 || isc_trace_snapshot_of(tr, ISC_BOUNDARY_FIRST_UNIT) != NULL;
	if (last != NULL) {
		s->last = (isc_snapshot){.boundary = ISC_BOUNDARY_LAST_UNIT, .ticks = last->ticks};
		if (isc_trace_snapshot_parts(tr, last, &source, adopt_part, &s->last.image) != ISC_SOURCE_OK) {
			drop_image(&s->last.image);
			s->last.ticks = 0;
		}
	}
	isc_chunk_source_fini(&source);
}

void isc_snapshots_finish(isc_writer *w)
{
	isc_snapshots *s = &w->snapshots;

	if (!s->first_asked && w->totals->unit_first != 0)
		s->first_asked = isc_writer_mark(w, ISC_BOUNDARY_FIRST_UNIT, w->totals->unit_first, NULL) == ISC_OK;
	make_pending(w, true);
	write_pending(w);
	make_last(w);
	if (w->stats.retired_events > 0 && is_there(&s->kept)) {
		isc_totals *totals = NULL;

		s->retained = (isc_snapshot){.boundary = ISC_BOUNDARY_RETAINED,
					     .ticks = s->kept.ticks + (1ull << w->header.tick_shift)};
		if (make_totals(w, &s->kept, s->retained.ticks, &totals))
			write_image(totals, 0, &s->retained.image);
		isc_totals_free(totals);
	}
	s->finished = true;
}
