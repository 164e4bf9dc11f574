#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/opened.h"
#include "trace/writing.h"

/* What the chunks in the file say about each segment. */
static isc_status rebuild_space(isc_writer *w, const isc_trace *tr, isc_error *err)
{
	isc_space *s = &w->space;
	uint64_t bytes =
		tr->table.file_bytes > tr->header.segment_start ? tr->table.file_bytes - tr->header.segment_start : 0;
	uint64_t count = (bytes + tr->header.segment_size - 1) / tr->header.segment_size;

	if (count > s->plan.segments || tr->header.segment_size != s->plan.segment_size ||
	    tr->header.segment_start != ISC_PLAN_SEGMENT_START)
		return isc_fail(err, ISC_ERR_CORRUPT, "the trace is not divided as its limit demands");
	s->segment = calloc(count + 1, sizeof(*s->segment));
	if (s->segment == NULL)
		return isc_fail(err, ISC_ERR_NOMEM, "no memory to resume the trace");
	s->count = (uint32_t)count;
	s->room = (uint32_t)count + 1;
	for (size_t i = 0; i < tr->table.count; i++) {
		const isc_chunk_ref *ref = &tr->table.ref[i];
		isc_segment *seg = &s->segment[(ref->offset - tr->header.segment_start) / tr->header.segment_size];
		uint64_t start = ref->offset - (ref->offset - tr->header.segment_start) % tr->header.segment_size;

		if (seg->used == 0)
			seg->first = ref->sequence;
		seg->last = ref->sequence;
		seg->used = (uint32_t)(ref->offset + isc_chunk_extent(ref->stored_size) - start);
		seg->events += ref->type == ISC_CHUNK_EVENTS ? ref->events : 0;
		if (ref->type == ISC_CHUNK_SEGMENT && ref->slots < ISC_SPACE_USES) {
			seg->use = (uint8_t)ref->slots;
			seg->checkpoint = ref->number;
		} else if (seg->use == 0) {
			/* Its head is broken, so what is in it has to tell. */
			seg->use = ref->type == ISC_CHUNK_DEFS || ref->type == ISC_CHUNK_UNITS ? ISC_SEGMENT_KEEP
				   : ref->type == ISC_CHUNK_EVENTS || ref->type == ISC_CHUNK_SWITCHES ||
						   ref->type == ISC_CHUNK_CONTENTS
					   ? ISC_SEGMENT_EVENTS
					   : 0;
		}
		w->units->used += ref->type == ISC_CHUNK_UNITS ? isc_chunk_extent(ref->stored_size) : 0;
		if (seg->checkpoint > w->checkpoint)
			w->checkpoint = seg->checkpoint;
		s->sequence = ref->sequence;
	}
	s->chunks = tr->table.count;
	s->file_bytes = tr->table.file_bytes;
	return ISC_OK;
}

/* Segments are counted, ends of earlier recordings and half-written checkpoints
 * are given up, and filling goes on behind the last chunk of each use. */
static isc_status adopt_segments(isc_writer *w, const isc_checkpoint *cp, isc_error *err)
{
	static const uint8_t zeros[sizeof(isc_chunk_header)];
	isc_space *s = &w->space;

	for (uint32_t i = 0; i < s->count; i++) {
		isc_segment *seg = &s->segment[i];

		s->in_use[seg->use]++;
		if (seg->use == ISC_SEGMENT_INDEX) {
			off_t at = (off_t)(ISC_PLAN_SEGMENT_START + (uint64_t)i * s->plan.segment_size);

			if (pwrite(s->fd, zeros, sizeof(zeros), at) != (ssize_t)sizeof(zeros))
				return isc_fail_errno(err, "cannot write the trace");
			isc_space_release(s, i);
		} else if (seg->use == ISC_SEGMENT_TOTALS && !(cp->found && seg->checkpoint == cp->id)) {
			isc_space_release(s, i);
		} else if (seg->use == ISC_SEGMENT_EVENTS || seg->use == ISC_SEGMENT_KEEP) {
			uint32_t current = s->current[seg->use];

			if (current == 0 || s->segment[current - 1].last < seg->last)
				s->current[seg->use] = i + 1;
		}
	}
	w->covered = cp->found ? cp->cover.sequence : 0;
	return ISC_OK;
}

static bool remember_definitions(isc_writer *w, const isc_definitions *d)
{
	for (size_t i = 0; i < d->count; i++) {
		const isc_definition *e = &d->entry[i];

		if (isc_hashmap_put(&w->defs_known, isc_hashmap_key(e->process, e->id), NULL) == NULL ||
		    !isc_kin_note(&w->kin, e->process, e->id, e->type, e->data, e->len))
			return false;
	}
	return true;
}

bool isc_writer_is_session(const isc_writer *w, const uint8_t session_id[16])
{
	return memcmp(w->header.session_id, session_id, sizeof(w->header.session_id)) == 0;
}

uint64_t isc_writer_stored(const isc_writer *w, uint32_t process, uint32_t thread, uint8_t stream)
{
	const isc_totals_lane *lane = isc_totals_lane_find(w->totals, process, thread, stream);

	return lane != NULL ? lane->events : 0;
}

void isc_writer_indices(const isc_writer *w, uint32_t *processes, uint32_t *threads)
{
	*processes = *threads = 0;
	for (size_t i = 0; i < w->state.process_count; i++)
		*processes = w->state.processes[i].process > *processes ? w->state.processes[i].process : *processes;
	for (size_t i = 0; i < w->state.thread_count; i++)
		*threads = w->state.threads[i].thread > *threads ? w->state.threads[i].thread : *threads;
}

uint32_t isc_writer_find_process(const isc_writer *w, uint64_t gen)
{
	const isc_trace_process *p = isc_session_state_process_of_gen(&w->state, gen);

	return p != NULL ? p->process : 0;
}

uint32_t isc_writer_find_thread(const isc_writer *w, uint32_t process, uint64_t serial)
{
	const isc_trace_thread *t = isc_session_state_thread_of_serial(&w->state, process, serial);

	return t != NULL ? t->thread : 0;
}

/* Units are counted on from what periods say; those since the last one, and those that are open, are not known. */
static bool adopt_units(isc_writer *w)
{
	const isc_over_time *o = &w->state.over_time;

	for (size_t i = 0; i < o->count; i++) {
		isc_unit_process *p = isc_unit_log_of(w->units, o->row[i].process);

		if (p == NULL)
			return false;
		p->count += o->row[i].units;
	}
	if (w->state.pair_count > 0)
		w->last_pair = w->state.pairs[w->state.pair_count - 1];
	isc_writer_relate(w);
	return true;
}

/* Gaps that the recorder before had not written yet are not known: that time counts as lost, in what was there then. */
static void adopt_gaps(isc_writer *w, const isc_trace *tr)
{
	uint64_t settled = w->header.start_ticks, settled_ns;

	for (size_t i = 0; i < tr->table.count; i++) {
		const isc_chunk_ref *ref = &tr->table.ref[i];

		if (ref->type == ISC_CHUNK_UNITS && ref->number > settled)
			settled = ref->number;
	}
	w->resumed = true;
	w->units->settled = settled;
	isc_unit_log_gaps_adopt(w->units, tr->raw_gaps, tr->raw_gap_count);
	isc_unit_log_off_adopt(w->units, w->totals, settled);
	settled_ns = isc_clock_to_ns(w->state.pairs, w->state.pair_count, w->header.clock_source, settled);
	for (size_t i = 0; i < w->state.process_count; i++) {
		const isc_trace_process *p = &w->state.processes[i];

		if (!(p->flags & ISC_PROCESS_ENDED) || p->end_ns >= settled_ns)
			isc_writer_lose_process(w, p->process, settled);
	}
}

isc_status isc_writer_resume(int fd, isc_writer **out, isc_error *err)
{
	isc_trace *tr = NULL;
	isc_writer *w = NULL;
	isc_totals *totals = NULL;
	isc_status st;

	*out = NULL;
	st = isc_trace_open_fd(fd, "the trace", &tr, err);
	if (st != ISC_OK)
		return st;
	w = isc_writer_new(fd, &tr->header, err);
	st = w == NULL ? ISC_ERR_NOMEM : isc_trace_totals(tr, &totals, err);
	if (st != ISC_OK)
		goto out;
	isc_totals_free(w->totals);
	w->totals = totals;
	isc_writer_relate(w);
	st = rebuild_space(w, tr, err);
	if (st == ISC_OK)
		st = adopt_segments(w, &tr->checkpoint, err);
	if (st != ISC_OK)
		goto out;
	if (!remember_definitions(w, &tr->definitions)) {
		st = isc_fail(err, ISC_ERR_NOMEM, "no memory to resume the trace");
		goto out;
	}
	/* The state moves over as it is. */
	isc_session_state_fini(&w->state);
	w->state = tr->state;
	tr->state = (isc_session_state){0};
	w->state.weight_max = w->space.plan.state_weight;
	w->state.pairs_max = w->space.plan.clock_pairs;
	w->state.over_time.max = isc_over_time_rows(w->space.plan.state_weight);
	w->state.weight += w->state.over_time.count * ISC_PERIOD_WEIGHT;
	if (!isc_period_sums_add(&w->periods, &w->state.over_time)) {
		st = isc_fail(err, ISC_ERR_NOMEM, "no memory to resume the trace");
		goto out;
	}
	if (!adopt_units(w)) {
		st = isc_fail(err, ISC_ERR_NOMEM, "no memory to resume the trace");
		goto out;
	}
	adopt_gaps(w, tr);
	isc_snapshots_adopt(w, tr);
	w->stats.stored_events = totals->events;
	w->stats.retired_events = tr->stats.retired_events;
	st = isc_writer_checkpoint(w, err);
out:
	isc_trace_close(tr);
	if (st != ISC_OK) {
		isc_writer_free(w);
		w = NULL;
	}
	*out = w;
	return st;
}
