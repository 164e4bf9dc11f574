#include "trace/writer.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "trace/meta.h"
#include "trace/records.h"
#include "trace/writing.h"

#define TSC_SHIFT 3	       /* 3 ns: less than reading the clock takes */
#define DEFS_BYTES (32u << 10) /* of one chunk; smaller segments take them too */
#define STREAM_SLOTS 256u      /* that a stream begins with */
#define INDEX_MAX (1u << 30)   /* of processes and threads: keys of maps have room for no more */

static uint32_t kin_of(void *self, uint32_t process, uint32_t id)
{
	const isc_writer *w = self;

	return isc_kin_of(&w->kin, &w->state, process, id);
}

void isc_writer_relate(isc_writer *w)
{
	isc_totals_relate(w->totals, kin_of, w);
	w->totals->units = w->units;
	isc_unit_log_clock(w->units, w->totals, w->header.clock_source,
			   (isc_clock_pair){w->header.start_ticks, w->header.start_ns}, w->last_pair);
}

isc_writer *isc_writer_new(int fd, const isc_file_header *header, isc_error *err)
{
	isc_writer *w = calloc(1, sizeof(*w));

	if (w == NULL || !isc_columns_encoder_init(&w->encoder) || isc_totals_new(&w->totals, NULL) != ISC_OK ||
	    (w->units = isc_unit_log_new(header->limit_bytes)) == NULL) {
		isc_writer_free(w);
		isc_fail(err, ISC_ERR_NOMEM, "no memory to write a trace");
		return NULL;
	}
	w->header = *header;
	w->space.fd = fd;
	w->space.plan = isc_plan_of(header->limit_bytes);
	w->state.weight_max = w->space.plan.state_weight;
	w->state.pairs_max = w->space.plan.clock_pairs;
	w->state.over_time.max = isc_over_time_rows(w->space.plan.state_weight);
	isc_totals_bound(w->totals, w->space.plan.totals_weight);
	isc_writer_relate(w);
	return w;
}

void isc_writer_free(isc_writer *w)
{
	if (w == NULL)
		return;
	for (size_t i = 0; i < w->stream_count; i++)
		free(w->streams[i].record);
	free(w->streams);
	free(w->switches);
	free(w->losses);
	isc_hashmap_fini(&w->by_stream);
	isc_hashmap_fini(&w->defs_known);
	isc_kin_fini(&w->kin);
	isc_buffer_fini(&w->defs);
	isc_buffer_fini(&w->payload);
	isc_buffer_fini(&w->contents.entries);
	isc_totals_free(w->totals);
	isc_unit_log_free(w->units);
	isc_snapshots_fini(&w->snapshots);
	isc_period_sums_fini(&w->periods);
	isc_session_state_fini(&w->state);
	isc_columns_encoder_fini(&w->encoder);
	isc_codec_fini(&w->codec);
	isc_space_fini(&w->space);
	free(w);
}

isc_status isc_writer_open(int fd, const isc_writer_options *options, isc_writer **out, isc_error *err)
{
	isc_file_header header = {.version = ISC_FILE_VERSION,
				  .header_size = sizeof(header),
				  .clock_source = options->clock_source,
				  .start_ticks = options->start_ticks,
				  .start_ns = options->start_ns,
				  .start_unix_ns = options->start_unix_ns,
				  .limit_bytes = options->limit_bytes,
				  .tick_shift = options->clock_source == 1 ? TSC_SHIFT : 0,
				  .segment_start = ISC_PLAN_SEGMENT_START,
				  .segment_size = isc_plan_of(options->limit_bytes).segment_size};
	uint8_t block[ISC_PLAN_SEGMENT_START] = {0};
	isc_writer *w;
	struct stat sb;
	ssize_t n;

	*out = NULL;
	if (options->limit_bytes != 0 && options->limit_bytes < ISC_PLAN_LIMIT_MIN)
		return isc_fail(err, ISC_ERR_INVALID, "a trace needs at least %u bytes", ISC_PLAN_LIMIT_MIN);
	if (fstat(fd, &sb) < 0)
		return isc_fail_errno(err, "cannot write the trace");
	if (!S_ISREG(sb.st_mode) || sb.st_size != 0)
		return isc_fail(err, ISC_ERR_INVALID, "a trace begins in an empty regular file");
	memcpy(header.session_id, options->session_id, sizeof(header.session_id));
	isc_file_header_seal(&header);
	w = isc_writer_new(fd, &header, err);
	if (w == NULL)
		return ISC_ERR_NOMEM;
	memcpy(block, &header, sizeof(header));
	n = pwrite(fd, block, sizeof(block), 0);
	if (n != (ssize_t)sizeof(block) ||
	    isc_session_state_put_pair(&w->state, (isc_clock_pair){options->start_ticks, options->start_ns}) !=
		    ISC_OK) {
		isc_writer_free(w);
		return n < 0 ? isc_fail_errno(err, "cannot write the trace")
			     : isc_fail(err, ISC_ERR_SYSTEM, "cannot write the trace: no room for its header");
	}
	w->space.file_bytes = sizeof(block);
	*out = w;
	return ISC_OK;
}

/* Sticky errors of the disk come first; a state that has no room is only counted. */
static isc_status put_result(isc_writer *w, isc_status st, const char *what, isc_error *err)
{
	isc_status disk = isc_space_status(&w->space, err);

	if (disk != ISC_OK || st == ISC_OK)
		return disk;
	w->stats.refused_records++;
	return isc_fail(err, st, st == ISC_ERR_LIMIT ? "the trace has no room for a further %s" : "no memory for a %s",
			what);
}

isc_status isc_writer_meta(isc_writer *w, const char *json, size_t len, isc_error *err)
{
	isc_buffer merged = {0};
	isc_status st;

	if (!isc_meta_holds(json, len))
		return isc_fail(err, ISC_ERR_INVALID, "the facts of a session are one JSON object");
	isc_meta_merge(w->state.meta.data != NULL ? w->state.meta.data : "{}",
		       w->state.meta.len > 0 ? w->state.meta.len : 2, json, len, &merged);
	if (merged.failed)
		st = ISC_ERR_NOMEM;
	else if (merged.len > w->space.plan.meta_bytes)
		st = ISC_ERR_LIMIT;
	else
		st = isc_session_state_put_meta(&w->state, merged.data, merged.len);
	isc_buffer_fini(&merged);
	return put_result(w, st, "fact", err);
}

isc_status isc_writer_process(isc_writer *w, const isc_trace_process *process, isc_error *err)
{
	isc_trace_process p = *process;

	if (p.process == 0 || p.process >= INDEX_MAX)
		return isc_fail(err, ISC_ERR_INVALID, "process %u has no place in a trace", p.process);
	if (p.argv_len > w->space.plan.argv_bytes) {
		p.argv_len = w->space.plan.argv_bytes;
		p.argv_cut = 1;
	}
	return put_result(w, isc_session_state_put_process(&w->state, &p), "process", err);
}

isc_status isc_writer_thread(isc_writer *w, const isc_trace_thread *thread, isc_error *err)
{
	if (thread->thread == 0 || thread->thread >= INDEX_MAX)
		return isc_fail(err, ISC_ERR_INVALID, "thread %u has no place in a trace", thread->thread);
	return put_result(w, isc_session_state_put_thread(&w->state, thread), "thread", err);
}

isc_status isc_writer_clock(isc_writer *w, uint64_t ticks, uint64_t mono_ns, isc_error *err)
{
	w->last_pair = (isc_clock_pair){ticks, mono_ns};
	isc_writer_relate(w);
	return put_result(w, isc_session_state_put_pair(&w->state, w->last_pair), "clock pair", err);
}

isc_status isc_writer_account(isc_writer *w, const isc_trace_account *account, isc_error *err)
{
	isc_writer_lose_counted(w, account);
	return put_result(w, isc_session_state_put_account(&w->state, account), "account", err);
}

static isc_status write_defs(isc_writer *w, isc_error *err)
{
	isc_chunk_header h = {.type = ISC_CHUNK_DEFS, .process = w->defs_process, .events = w->defs_count};
	isc_status st;

	if (w->defs_count == 0)
		return ISC_OK;
	st = isc_writer_append(w, ISC_SEGMENT_KEEP, &h, w->defs.data, w->defs.len, err);
	w->stats.refused_definitions += st == ISC_OK ? 0 : w->defs_count;
	w->defs_count = 0;
	isc_buffer_clear(&w->defs);
	return st;
}

isc_status isc_writer_define(isc_writer *w, uint32_t process, uint32_t id, uint16_t type, const void *data,
			     uint32_t len, isc_error *err)
{
	isc_status st = isc_space_status(&w->space, err), earlier = ISC_OK;

	if (st == ISC_OK && isc_hashmap_find(&w->defs_known, isc_hashmap_key(process, id)) != NULL)
		return ISC_OK;
	if (len > ISC_DEF_MAX)
		len = ISC_DEF_MAX;
	if (st == ISC_OK && !isc_kin_note(&w->kin, process, id, type, data, len))
		st = isc_fail(err, ISC_ERR_NOMEM, "no memory for a definition");
	if (w->defs_count > 0 && (w->defs_process != process || w->defs.len + len > DEFS_BYTES))
		earlier = write_defs(w, err);
	if (st == ISC_OK) {
		size_t before = w->defs.len;

		w->defs_process = process;
		isc_record_put_define(&w->defs, id, type, data, len);
		if (!w->defs.failed) {
			w->defs_count++;
			return earlier;
		}
		w->defs.len = before;
		w->defs.failed = false;
		st = isc_fail(err, ISC_ERR_NOMEM, "no memory for a definition");
	}
	w->stats.refused_definitions++;
	return st;
}

static isc_status write_switches(isc_writer *w, isc_error *err)
{
	isc_chunk_header h = {.type = ISC_CHUNK_SWITCHES, .events = w->switch_count};
	isc_status st;

	if (w->switch_count == 0)
		return ISC_OK;
	h.time = w->switches[0].time_ns;
	w->switch_count = 0;
	if (!isc_switches_encode(&w->payload, w->switches, h.events))
		return isc_fail(err, ISC_ERR_NOMEM, "no memory for switches");
	st = isc_writer_append(w, ISC_SEGMENT_EVENTS, &h, w->payload.data, w->payload.len, err);
	return st;
}

isc_status isc_writer_switches(isc_writer *w, const isc_trace_switch *switches, size_t n, isc_error *err)
{
	/* In a small file a chunk of them has to fit into a small segment. */
	uint32_t max = w->space.plan.chunk_slots / 4 < ISC_COLUMNS_SWITCHES_MAX ? w->space.plan.chunk_slots / 4
										: ISC_COLUMNS_SWITCHES_MAX;
	isc_status st = isc_space_status(&w->space, err);

	if (st == ISC_OK && w->switches == NULL) {
		w->switches = calloc(max, sizeof(*w->switches));
		if (w->switches == NULL)
			return isc_fail(err, ISC_ERR_NOMEM, "no memory for switches");
	}
	for (size_t i = 0; i < n && st == ISC_OK; i++) {
		w->switches[w->switch_count++] = switches[i];
		if (w->switch_count == max)
			st = write_switches(w, err);
	}
	return st;
}

/* One chunk, or several when what is in it does not pack well enough. */
static isc_status write_events(isc_writer *w, isc_writer_stream *s, const isc_record *slots, uint64_t first,
			       uint32_t events, uint32_t n, isc_error *err)
{
	isc_chunk_header h = {.type = ISC_CHUNK_EVENTS,
			      .stream = s->stream,
			      .process = s->process,
			      .thread = s->thread,
			      .time = slots[0].ticks >> w->header.tick_shift,
			      .number = first,
			      .events = events,
			      .slots = n};
	isc_totals_lane *lane;
	const void *stored;
	isc_status st;

	if (!isc_columns_encode(&w->encoder, slots, events, n, w->header.tick_shift)) {
		w->stats.refused_events += events;
		isc_writer_lose(w, s, slots[0].ticks, 0);
		return isc_fail(err, ISC_ERR_NOMEM, "no memory for events");
	}
	stored = isc_codec_pack(&w->codec, &h, w->encoder.out.data, w->encoder.out.len);
	if (!isc_space_fits_empty(&w->space, h.stored_size) && events > 1) {
		uint32_t half = 0, slot = 0;
		isc_status other;

		for (; half < events / 2; half++)
			slot += slots[slot].slots;
		st = write_events(w, s, slots, first, half, slot, err);
		other = write_events(w, s, slots + slot, first + half, events - half, n - slot, err);
		return st != ISC_OK ? st : other;
	}
	st = isc_writer_append_packed(w, ISC_SEGMENT_EVENTS, &h, stored, w->encoder.out.data, w->encoder.out.len, err);
	if (st != ISC_OK) {
		w->stats.refused_events += events;
		isc_writer_lose(w, s, slots[0].ticks, 0);
		return st;
	}
	w->stats.stored_events += events;
	lane = isc_totals_lane_of(w->totals, s->process, s->thread, s->stream);
	if (lane != NULL && !isc_totals_lane_reach(w->totals, lane, first))
		lane = NULL;
	for (uint32_t i = 0; lane != NULL && i < n; i += slots[i].slots) {
		isc_record r = slots[i];

		/* As a reader will see it: totals do not depend on who counted. */
		r.ticks = r.ticks >> w->header.tick_shift << w->header.tick_shift;
		if (!isc_totals_lane_feed(w->totals, lane, &r, &slots[i] + 1, (r.slots - 1u) * (uint32_t)sizeof(r)))
			lane = NULL;
	}
	if (lane == NULL) {
		/* Totals that miss an event would be wrong for ever. */
		isc_fail(&w->space.error, ISC_ERR_NOMEM, "no memory for running totals");
		return isc_space_status(&w->space, err);
	}
	lane->next = first + events;
	isc_contents_note(&w->contents, h.sequence, &w->encoder.contents);
	st = isc_writer_contents(w, false, err);
	return st == ISC_OK ? isc_writer_make_room(w, isc_writer_reserve(w), err) : st;
}

static isc_status write_stream(isc_writer *w, isc_writer_stream *s, isc_error *err)
{
	uint32_t events = s->events, slots = s->slots;
	isc_status st;

	if (events == 0)
		return ISC_OK;
	s->events = s->slots = 0;
	/* Definitions go first, and who the thread is: a recorder that goes on after this one died knows it again by
	 * that.  Without room for them events are still worth keeping. */
	st = write_defs(w, err);
	if (!s->introduced && (st == ISC_OK || st == ISC_ERR_LIMIT)) {
		isc_status known = isc_writer_journal(w, err);

		s->introduced = known == ISC_OK;
		st = known == ISC_OK || known == ISC_ERR_LIMIT ? st : known;
	}
	if (st != ISC_OK && st != ISC_ERR_LIMIT) {
		w->stats.refused_events += events;
		isc_writer_lose(w, s, s->record[0].ticks, 0);
		return st;
	}
	return write_events(w, s, s->record, s->first, events, slots, err);
}

static void drop_buffer(isc_writer *w, isc_writer_stream *s)
{
	w->buffered_bytes -= s->room * sizeof(*s->record);
	free(s->record);
	s->record = NULL;
	s->room = 0;
}

/* Memory past the bound: the largest buffers are written and go. */
static isc_status hold_to_bound(isc_writer *w, isc_error *err)
{
	isc_status st = ISC_OK;

	while (w->buffered_bytes > ISC_WRITER_BUFFER_MAX && st == ISC_OK) {
		isc_writer_stream *largest = &w->streams[0];

		for (size_t i = 1; i < w->stream_count; i++) {
			if (w->streams[i].room > largest->room)
				largest = &w->streams[i];
		}
		st = write_stream(w, largest, err);
		drop_buffer(w, largest);
	}
	return st;
}

static bool reserve(isc_writer *w, isc_writer_stream *s, uint32_t slots)
{
	uint32_t room = s->room ? s->room : STREAM_SLOTS;
	isc_record *bigger;

	if (slots <= s->room)
		return true;
	while (room < slots)
		room *= 2;
	bigger = realloc(s->record, room * sizeof(*bigger));
	if (bigger == NULL)
		return false;
	w->buffered_bytes += (room - s->room) * sizeof(*bigger);
	s->record = bigger;
	s->room = room;
	return true;
}

/* One slot each?  Without a chain of loads, as most blocks are. */
static bool all_single(const isc_record *slots, uint32_t n)
{
	uint8_t other = 0;

	for (uint32_t i = 0; i < n; i++)
		other |= slots[i].slots ^ 1;
	return other == 0;
}

/* Whole events from the front that fit into so many slots. */
static uint32_t whole_events(const isc_record *slots, uint32_t n, uint32_t max_slots, uint32_t max_events,
			     uint32_t *taken)
{
	uint32_t events = 0, at = 0;

	while (at < n && events < max_events && slots[at].slots != 0 && slots[at].slots <= n - at &&
	       at + slots[at].slots <= max_slots) {
		at += slots[at].slots;
		events++;
	}
	*taken = at;
	return events;
}

static uint64_t last_ticks(const isc_record *slots, uint32_t n, bool single)
{
	uint32_t at = single ? n - 1 : 0;

	while (at + slots[at].slots < n)
		at += slots[at].slots;
	return slots[at].ticks;
}

isc_status isc_writer_events(isc_writer *w, const isc_trace_run *run, const isc_record *slots, isc_error *err)
{
	isc_status st = isc_space_status(&w->space, err), result = ISC_OK;
	isc_writer_stream *s;
	uint64_t number = run->first;
	uint32_t left = run->events, at = 0, max = w->space.plan.chunk_slots, n;
	bool single;

	if (st != ISC_OK) {
		w->stats.refused_events += run->events;
		return st;
	}
	single = run->events == run->slots && all_single(slots, run->slots);
	if ((!single &&
	     (whole_events(slots, run->slots, UINT32_MAX, run->events, &n) != run->events || n != run->slots)) ||
	    run->stream > 1 || run->thread >= INDEX_MAX || run->process >= INDEX_MAX) {
		w->stats.refused_events += run->events;
		return isc_fail(err, ISC_ERR_INVALID, "a run of %u events does not fill its %u slots", run->events,
				run->slots);
	}
	if (run->events == 0)
		return ISC_OK;
	s = isc_writer_stream_of(w, run->process, run->thread, run->stream);
	if (s != NULL && number < s->next) {
		w->stats.refused_events += run->events;
		return isc_fail(err, ISC_ERR_INVALID, "event %llu of thread %u was given before",
				(unsigned long long)number, run->thread);
	}
	if (s != NULL && number > s->next && number > s->told)
		isc_writer_lose(w, s, s->last, slots[0].ticks);
	if (s != NULL && s->events > 0 && number != s->next)
		result = write_stream(w, s, err);
	while (s != NULL && left > 0) {
		uint32_t events = n = max - s->slots < left ? max - s->slots : left;

		if (!single)
			events = whole_events(slots + at, run->slots - at, max - s->slots, left, &n);
		if (events == 0) {
			st = write_stream(w, s, err);
			result = result != ISC_OK ? result : st;
			continue;
		}
		if (!reserve(w, s, s->slots + n))
			break;
		if (s->events == 0)
			s->first = number;
		memcpy(s->record + s->slots, slots + at, n * sizeof(*slots));
		s->slots += n;
		s->events += events;
		number += events;
		s->next = number;
		left -= events;
		at += n;
	}
	if (left > 0) {
		w->stats.refused_events += left;
		if (s != NULL)
			isc_writer_lose(w, s, slots[at].ticks, 0);
		return isc_fail(err, ISC_ERR_NOMEM, "no memory for events");
	}
	s->last = last_ticks(slots, run->slots, single);
	if (s->slots >= max) {
		st = write_stream(w, s, err);
		result = result != ISC_OK ? result : st;
	}
	st = hold_to_bound(w, err);
	return result != ISC_OK ? result : st;
}

isc_status isc_writer_flush(isc_writer *w, isc_error *err)
{
	isc_status result = write_defs(w, err), st;

	for (size_t i = 0; i < w->stream_count; i++) {
		isc_writer_stream *s = &w->streams[i];

		/* Nothing came since the last flush: its thread may be gone. */
		if (s->events == 0 && s->record != NULL)
			drop_buffer(w, s);
		st = write_stream(w, s, err);
		result = result != ISC_OK ? result : st;
	}
	st = write_switches(w, err);
	result = result != ISC_OK ? result : st;
	isc_writer_losses_flush(w, false);
	isc_unit_log_flush(w->totals, false);
	isc_unit_log_release(w);
	st = isc_unit_log_write(w, false, err);
	result = result != ISC_OK ? result : st;
	st = isc_writer_journal(w, err);
	result = result != ISC_OK ? result : st;
	st = isc_space_status(&w->space, err);
	if (st == ISC_OK)
		isc_snapshots_flushed(w);
	return st != ISC_OK ? st : result;
}

void isc_writer_stats_get(const isc_writer *w, isc_writer_stats *out)
{
	isc_totals_cost cost = isc_totals_calls_cost(w->totals);

	*out = w->stats;
	out->file_bytes = w->space.file_bytes;
	out->chunks = w->space.chunks;
	out->call_events = cost.events;
	out->call_ns = cost.ns;
	out->sample_ns = cost.sample_ns;
	out->collections = cost.collections;
	out->syscalls = cost.syscalls;
	out->allocations = cost.allocations;
	out->looked_at = cost.looked_at;
	out->cpu_ns = isc_totals_cpu_ns(w->totals);
}

uint64_t isc_writer_cpu_ns(const isc_writer *w)
{
	return isc_totals_cpu_ns(w->totals);
}

double isc_writer_at_once(const isc_writer *w, uint64_t wall_ns)
{
	return isc_totals_at_once(w->totals, wall_ns);
}

isc_status isc_writer_close(isc_writer *w, const isc_trace_end *end, isc_error *err)
{
	isc_status st, last;
	int fd;

	if (w == NULL)
		return ISC_OK;
	fd = w->space.fd;
	st = isc_writer_flush(w, err);
	isc_writer_losses_flush(w, true);
	isc_unit_log_flush(w->totals, true);
	last = isc_unit_log_write(w, true, err);
	st = st != ISC_OK ? st : last;
	/* No room for a definition does not keep the rest from being ended well. */
	if (end != NULL && isc_space_status(&w->space, NULL) == ISC_OK) {
		isc_snapshots_finish(w);
		isc_writer_contents(w, true, NULL);
		last = isc_writer_checkpoint(w, err);
		if (last == ISC_OK || last == ISC_ERR_LIMIT)
			last = isc_writer_finish(w, end, err);
		st = st != ISC_OK ? st : last;
	}
	isc_writer_free(w);
	if (close(fd) < 0 && st == ISC_OK)
		st = isc_fail_errno(err, "cannot write the trace");
	return st;
}
