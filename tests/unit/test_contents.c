/* contents: chunks that nobody wants stay shut, whatever the file says of them. */
#include "check.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "sample_trace.h"
#include "timeline/walk.h"
#include "trace/opened.h"
#include "trace/writing.h"

#define THREADS 3u
#define FAR_TICKS (1ull << 40)

/* What becomes of the notes before the file is closed. */
enum notes { AS_WRITTEN, NONE, HIDE_MARKS, LATE, NONSENSE };

/* A file that is open here until it is opened for reading. */
struct file {
	int fd;
	char path[64];
};

static isc_writer *begin(struct file *f, uint64_t limit_bytes)
{
	isc_writer_options options = {.limit_bytes = limit_bytes, .clock_source = 1, .start_ns = 1000};
	isc_writer *w = NULL;
	isc_error err = {0};

	f->fd = sample_file(f->path);
	CHECK_OK(isc_writer_open(dup(f->fd), &options, &w, &err), &err);
	return w;
}

/* One run of a thread, which becomes a chunk. */
static void give(isc_writer *w, uint32_t thread, uint64_t *number, const isc_record *slots, uint32_t n)
{
	isc_trace_run run = {.process = 1, .thread = thread, .first = *number, .events = n, .slots = n};

	CHECK_OK(isc_writer_events(w, &run, slots, NULL));
	CHECK_OK(isc_writer_flush(w, NULL));
	*number += n;
}

static void spoil(isc_writer *w, enum notes notes)
{
	const isc_contents late = {.kinds = ISC_KINDS_ALL, .first = FAR_TICKS, .last = FAR_TICKS + 1};
	isc_contents_notes *n = &w->contents;
	isc_contents_entry entry = {0};
	isc_buffer said = n->entries;
	const uint8_t *at = (const uint8_t *)said.data, *end = at + said.len;

	if (notes == AS_WRITTEN)
		return;
	n->entries = (isc_buffer){0};
	isc_contents_notes_clear(n);
	while (notes > NONE && isc_contents_get(&at, end, &entry)) {
		entry.contents.kinds &= notes == HIDE_MARKS ? ~ISC_WALK_MARKS : ISC_KINDS_ALL;
		entry.contents.kinds |= ISC_WALK_MEMORY;
		isc_contents_note(n, entry.sequence, notes == LATE ? &late : &entry.contents);
	}
	if (notes == NONSENSE)
		isc_buffer_add(&n->entries, "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff", 11);
	isc_buffer_fini(&said);
}

static isc_trace *close_and_open(isc_writer *w, const struct file *f, enum notes notes)
{
	const isc_trace_end end = {.end_ns = 1000000};
	isc_trace *trace = NULL;
	isc_error err = {0};

	spoil(w, notes);
	CHECK_OK(isc_writer_close(w, &end, &err), &err);
	CHECK_OK(isc_trace_open(f->path, &trace, &err), &err);
	close(f->fd);
	return trace;
}

/* A thread with scopes, one with calls and one with both, ten chunks each in turn. */
static isc_trace *three_threads(enum notes notes)
{
	uint64_t number[THREADS] = {0}, ticks = 0;
	struct file f;
	isc_writer *w = begin(&f, 0);

	for (uint32_t i = 0; i < 30; i++) {
		uint32_t thread = i % THREADS;
		isc_record r[4];

		for (uint32_t k = 0; k < 4; k++) {
			bool call = thread == 1 || (thread == 2 && k >= 2);
			uint8_t enter = call ? ISC_KIND_CALL_ENTER : ISC_KIND_SCOPE_ENTER;
			uint8_t leave = call ? ISC_KIND_CALL_EXIT : ISC_KIND_SCOPE_EXIT;

			ticks += 8000;
			r[k] = (isc_record){ticks, 10, k % 2 == 0 ? enter : leave, 1, 0};
		}
		give(w, thread + 1, &number[thread], r, 4);
	}
	return close_and_open(w, &f, notes);
}

struct heard {
	uint64_t count, sum;
};

/* Whatever is different in one event, or in their order, makes another sum. */
static bool hear(void *self, const isc_event *ev)
{
	struct heard *h = self;

	h->count++;
	h->sum = (h->sum ^ ev->time_ns ^ ev->number << 40 ^ (uint64_t)ev->thread << 32 ^ ev->id ^
		  (uint64_t)ev->kind << 56) *
		 0x9e3779b97f4a7c15ull;
	return true;
}

/* What a part hears, and in *opened how many chunks that took. */
static struct heard walk(isc_trace *trace, uint32_t thread, isc_kinds kinds, uint64_t *opened)
{
	uint64_t before = isc_trace_stats_get(trace)->opened_chunks;
	struct heard heard = {0};
	isc_walk walk = {0};

	isc_walk_join_thread(&walk, thread, kinds, hear, &heard);
	CHECK(isc_walk_run(&walk, trace));
	*opened = isc_trace_stats_get(trace)->opened_chunks - before;
	return heard;
}

TEST(chunks_without_anything_that_a_part_wants_stay_shut)
{
	isc_trace *trace = three_threads(AS_WRITTEN);
	uint64_t opened;

	CHECK_EQ(walk(trace, 0, ISC_WALK_CALLS, &opened).count, 60);
	CHECK_EQ(opened, 20);
	CHECK_EQ(walk(trace, 0, ISC_WALK_MARKS, &opened).count, 60);
	CHECK_EQ(opened, 20);
	CHECK_EQ(walk(trace, 2, ISC_WALK_CALLS, &opened).count, 40);
	CHECK_EQ(opened, 10);
	CHECK_EQ(walk(trace, 2, ISC_WALK_MARKS, &opened).count, 0);
	CHECK_EQ(opened, 0);
	CHECK_EQ(walk(trace, 0, ISC_WALK_SAMPLES, &opened).count, 0);
	CHECK_EQ(opened, 0);
	CHECK_EQ(walk(trace, 0, ISC_WALK_ALL, &opened).count, 120);
	CHECK_EQ(opened, 30);
	CHECK(!isc_trace_is_damaged(trace));
	isc_trace_close(trace);
}

TEST(all_parts_together_say_what_is_opened)
{
	isc_trace *trace = three_threads(AS_WRITTEN);
	struct heard calls = {0}, marks = {0};
	isc_walk walk = {0};

	isc_walk_join_thread(&walk, 2, ISC_WALK_CALLS, hear, &calls);
	isc_walk_join_thread(&walk, 3, ISC_WALK_MARKS, hear, &marks);
	CHECK(isc_walk_run(&walk, trace));
	CHECK_EQ(calls.count, 40);
	CHECK_EQ(marks.count, 20);
	CHECK_EQ(isc_trace_stats_get(trace)->opened_chunks, 20);
	CHECK_EQ(isc_trace_passed(trace), 120);
	isc_trace_close(trace);
}

/* As files of older versions are: what is in a chunk is known once somebody has looked. */
TEST(a_file_without_notes_is_read_whole_once)
{
	isc_trace *trace = three_threads(NONE);
	uint64_t opened;

	CHECK_EQ(walk(trace, 0, ISC_WALK_CALLS, &opened).count, 60);
	CHECK_EQ(opened, 30);
	CHECK_EQ(walk(trace, 0, ISC_WALK_CALLS, &opened).count, 60);
	CHECK_EQ(opened, 20);
	CHECK(!isc_trace_is_damaged(trace));
	isc_trace_close(trace);
}

TEST(a_stored_file_of_an_older_version_is_read_whole)
{
	isc_trace_chunk chunk;
	isc_trace *trace = NULL;
	uint64_t opened, chunks = 0;
	isc_error err = {0};
	char path[4096];

	snprintf(path, sizeof(path), "%s/format-1.isc", getenv("ISC_GOLDEN"));
	CHECK_OK(isc_trace_open(path, &trace, &err), &err);
	for (size_t i = 0; isc_trace_chunk_at(trace, i, &chunk); i++) {
		chunks += chunk.events > 0;
		CHECK(chunk.kinds == 0);
	}
	CHECK(walk(trace, 0, ISC_WALK_MARKS, &opened).count > 0);
	CHECK_EQ(opened, chunks);
	isc_trace_close(trace);
}

/* Any kinds of any threads but those that units are made of, with times that go back now and then. */
static isc_trace *anything(uint64_t seed, enum notes notes)
{
	static const uint8_t kinds[] = {1, 4, 6, 17, 25, 32, 33, 49, 64, 74, 80, 255};
	uint64_t number[THREADS] = {0}, ticks = 0;
	struct file f;
	isc_writer *w = begin(&f, 0);

	for (uint32_t i = 0; i < 60; i++) {
		uint32_t thread = (uint32_t)sample_draw(&seed) % THREADS, n = 1 + (uint32_t)sample_draw(&seed) % 20;
		uint64_t some = sample_draw(&seed);
		isc_record r[20];

		for (uint32_t k = 0; k < n; k++) {
			uint64_t q = sample_draw(&seed);

			ticks += 8 * (q % 1000);
			/* Few kinds in a chunk, so that some can stay shut. */
			r[k] = (isc_record){q >> 40 & 1 ? ticks : ticks / 2, 10 + (q >> 20 & 3),
					    kinds[(some >> (q >> 30 & 1) * 8 & 0xff) % sizeof(kinds)], 1, 0};
		}
		give(w, thread + 1, &number[thread], r, n);
	}
	return close_and_open(w, &f, notes);
}

TEST(every_walk_hears_the_same_with_and_without_notes)
{
	for (uint64_t seed = 1; seed <= 40; seed++) {
		isc_trace *noted = anything(seed, AS_WRITTEN), *bare = anything(seed, NONE);
		uint64_t draw = seed, opened, all;

		for (int i = 0; i < 10; i++) {
			isc_kinds kinds = (isc_kinds)sample_draw(&draw) << 64 | sample_draw(&draw);
			uint32_t thread = (uint32_t)sample_draw(&draw) % (THREADS + 1);
			struct heard with = walk(noted, thread, kinds, &opened);
			struct heard without = walk(bare, thread, kinds, &all);

			CHECK_EQ(with.count, without.count);
			CHECK_EQ(with.sum, without.sum);
			CHECK(opened <= all);
		}
		/* Whoever opens a chunk compares: every note was true. */
		walk(noted, 0, ISC_WALK_ALL, &opened);
		CHECK_EQ(opened, 60);
		CHECK(!isc_trace_is_damaged(noted));
		isc_trace_close(noted);
		isc_trace_close(bare);
	}
}

TEST(totals_of_a_moment_are_the_same_with_and_without_notes)
{
	for (uint64_t seed = 1; seed <= 10; seed++) {
		isc_trace *noted = anything(seed, AS_WRITTEN), *bare = anything(seed, NONE);

		for (uint64_t ticks = 0; ticks < 4000000; ticks += 400000) {
			isc_totals *with = NULL, *without = NULL;

			CHECK_OK(isc_trace_totals_until(noted, ticks, &with, NULL));
			CHECK_OK(isc_trace_totals_until(bare, ticks, &without, NULL));
			CHECK_EQ(isc_totals_events(with), isc_totals_events(without));
			isc_totals_free(with);
			isc_totals_free(without);
		}
		isc_trace_close(noted);
		isc_trace_close(bare);
	}
}

/* What it hides from whoever does not open a chunk is hidden; the first who does says that the file is damaged. */
TEST(a_note_that_hides_kinds_is_damage_and_no_note_counts_from_then_on)
{
	isc_trace *trace = three_threads(HIDE_MARKS);
	uint64_t opened;

	CHECK_EQ(walk(trace, 0, ISC_WALK_MARKS, &opened).count, 0);
	CHECK_EQ(opened, 0);
	CHECK(!isc_trace_is_damaged(trace));
	CHECK_EQ(walk(trace, 0, ISC_WALK_CALLS, &opened).count, 60);
	CHECK(isc_trace_is_damaged(trace));
	CHECK_EQ(isc_trace_stats_get(trace)->damaged_chunks, 1);
	CHECK_EQ(isc_trace_stats_get(trace)->lost_bytes, 0);
	CHECK_EQ(walk(trace, 0, ISC_WALK_MARKS, &opened).count, 60);
	isc_trace_close(trace);
}

TEST(a_note_that_moves_a_chunk_in_time_is_damage)
{
	isc_trace *trace = anything(1, LATE);
	isc_totals *totals = NULL;
	uint64_t opened, events;

	CHECK_OK(isc_trace_totals_until(trace, FAR_TICKS, &totals, NULL));
	CHECK_EQ(isc_totals_events(totals), 0);
	isc_totals_free(totals);
	events = walk(trace, 0, ISC_WALK_ALL, &opened).count;
	CHECK(isc_trace_is_damaged(trace));
	CHECK_OK(isc_trace_totals_until(trace, FAR_TICKS, &totals, NULL));
	CHECK_EQ(isc_totals_events(totals), events);
	isc_totals_free(totals);
	isc_trace_close(trace);
}

TEST(notes_that_make_no_sense_are_damage_and_hide_nothing)
{
	isc_trace *trace = three_threads(NONSENSE);
	uint64_t opened;

	CHECK(isc_trace_is_damaged(trace));
	CHECK_EQ(walk(trace, 0, ISC_WALK_ALL, &opened).count, 120);
	isc_trace_close(trace);
}

TEST(notes_of_a_long_recording_are_there_while_it_is_written)
{
	uint64_t number = 0, known = 0, chunks = 0;
	isc_trace_chunk chunk;
	isc_trace *trace = NULL;
	isc_error err = {0};
	struct file f;
	isc_writer *w = begin(&f, 0);

	for (uint64_t i = 0; i < 200; i++)
		give(w, 1, &number, &(isc_record){8000 * (i + 1), 10, ISC_KIND_SCOPE_ENTER, 1, 0}, 1);
	CHECK_OK(isc_trace_open(f.path, &trace, &err), &err);
	for (size_t i = 0; isc_trace_chunk_at(trace, i, &chunk); i++) {
		chunks += chunk.events > 0;
		known += chunk.kinds != 0;
	}
	CHECK_EQ(chunks, 200);
	CHECK_EQ(known, 192);
	close(f.fd);
	isc_trace_close(trace);
	CHECK_OK(isc_writer_close(w, NULL, NULL));
}

/* Notes are written over with the events that they are about. */
TEST(a_file_that_is_full_keeps_true_notes)
{
	uint64_t number[THREADS] = {0}, ticks = 0, opened, events = 0;
	isc_trace_chunk chunk;
	isc_trace *trace;
	struct file f;
	isc_writer *w = begin(&f, 1 << 20);

	for (uint32_t i = 0; i < 3000; i++) {
		isc_record r[200];

		for (uint32_t k = 0; k < 200; k++) {
			ticks += 8 * (1 + sample_draw(&(uint64_t){ticks}) % 4096);
			r[k] = (isc_record){ticks, 10 + (uint32_t)(ticks >> 3) % 50, i % 3 == 0 ? 2 : 18, 1, 0};
		}
		give(w, 1 + i % THREADS, &number[i % THREADS], r, 200);
	}
	trace = close_and_open(w, &f, AS_WRITTEN);
	for (size_t i = 0; isc_trace_chunk_at(trace, i, &chunk); i++)
		events += chunk.events;
	CHECK(isc_trace_stats_get(trace)->retired_events > 0);
	CHECK_EQ(isc_trace_stats_get(trace)->retired_events + events, 600000);
	walk(trace, 0, ISC_WALK_MARKS, &opened);
	CHECK(opened < events / 200);
	CHECK_EQ(walk(trace, 0, ISC_WALK_ALL, &opened).count, events);
	CHECK(!isc_trace_is_damaged(trace));
	isc_trace_close(trace);
}
