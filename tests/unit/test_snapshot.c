/* trace: running totals at a moment outlive the events, and their differences are exact. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "sample_trace.h"

/*
 * A minute of three threads, the same every time: a minute of an hour.  One call of each thread is open from its first
 * event to its last.  Thread 1 serves requests from 10 s to 50 s; thread 3 is read a quarter of a second late.
 */
enum { THREADS = 3, FUNCTIONS = 40, STACKS = 30, SHIFT = 3, SLOTS_MAX = 1 << 20 };
#define SECOND 1000000000ull
#define SERVES_FROM (10 * SECOND)
#define SERVES_TO (50 * SECOND)
#define ENDS (60 * SECOND)
#define SLICE (SECOND / 4)
#define LIMIT (1u << 20)

struct stream {
	isc_record *slot;
	uint32_t slots, at;
	uint64_t number;
};

struct recording {
	struct stream of[THREADS];
	uint64_t first_unit, last_unit;
};

static void put(struct stream *s, uint64_t ticks, uint32_t id, uint8_t kind, uint16_t arg, const void *extra)
{
	assert_true(s->slots + 2 <= SLOTS_MAX);
	s->slot[s->slots] = (isc_record){ticks, id, kind, extra != NULL ? 2 : 1, arg};
	if (extra != NULL)
		memcpy(&s->slot[s->slots + 1], extra, sizeof(isc_record));
	s->slots += extra != NULL ? 2 : 1;
}

static void put_sample(struct stream *s, uint64_t ticks, uint32_t stack)
{
	isc_sample body = {.period_ns = 5000000};

	put(s, ticks, stack, ISC_KIND_SAMPLE, 1, &body);
}

static void put_wait(struct stream *s, uint64_t ticks, uint32_t stack, uint64_t took)
{
	isc_wait wait = {.ticks = took};

	put(s, ticks, stack, ISC_KIND_WAIT_EXIT, ISC_WAIT_RECV, &wait);
}

static void play(struct recording *r, unsigned thread)
{
	uint64_t seed = 7 + thread, ticks = 1000 + thread * 17, request = 0;
	uint32_t stack[8], depth = 0;
	struct stream *s = &r->of[thread];

	put(s, ticks, FUNCTIONS, ISC_KIND_CALL_ENTER, 0, NULL);
	while (ticks < ENDS) {
		uint64_t q = sample_draw(&seed);

		ticks += 20000 + q % 200000;
		if (thread == 0 && ticks > SERVES_FROM && request == 0 && ticks < SERVES_TO - SECOND / 10) {
			request = ticks;
			r->first_unit = r->first_unit == 0 ? ticks : r->first_unit;
			put(s, ticks, 900, ISC_KIND_SCOPE_ENTER, 0, NULL);
		} else if (request != 0 && ticks > request + SECOND / 20) {
			request = 0;
			r->last_unit = ticks;
			put(s, ticks, 900, ISC_KIND_SCOPE_EXIT, 0, NULL);
		} else if (q % 11 == 0) {
			put_sample(s, ticks, 1000 + (uint32_t)(q >> 32) % STACKS);
		} else if (q % 13 == 0) {
			put_wait(s, ticks, 1000 + (uint32_t)(q >> 32) % 5, (q >> 20) % 15000);
		} else if (depth < 8 && (q >> 20) % 2) {
			stack[depth] = 1 + (uint32_t)(q >> 32) % (FUNCTIONS - 1);
			put(s, ticks, stack[depth++], ISC_KIND_CALL_ENTER, 0, NULL);
		} else if (depth > 0) {
			put(s, ticks, stack[--depth], ISC_KIND_CALL_EXIT, 0, NULL);
		}
	}
}

static struct recording *record_minute(void)
{
	struct recording *r = calloc(1, sizeof(*r));

	assert_non_null(r);
	for (unsigned i = 0; i < THREADS; i++) {
		r->of[i].slot = calloc(SLOTS_MAX, sizeof(isc_record));
		assert_non_null(r->of[i].slot);
		play(r, i);
	}
	return r;
}

static void forget_minute(struct recording *r)
{
	for (unsigned i = 0; i < THREADS; i++)
		free(r->of[i].slot);
	free(r);
}

/* All that a thread made before a moment and was not given yet. */
static void give(isc_writer *w, struct recording *r, unsigned thread, uint64_t until)
{
	struct stream *s = &r->of[thread];
	isc_trace_run run = {.process = 1, .thread = thread + 1, .first = s->number};
	uint32_t from = s->at;

	while (s->at < s->slots && s->slot[s->at].ticks < until) {
		s->at += s->slot[s->at].slots;
		run.events++;
	}
	run.slots = s->at - from;
	s->number += run.events;
	if (run.events > 0)
		assert_int_equal(isc_writer_events(w, &run, s->slot + from, NULL), ISC_OK);
}

static isc_writer *open_writer(int fd, uint64_t limit)
{
	isc_writer_options options = {.limit_bytes = limit, .clock_source = 1, .start_ns = 1000};
	isc_writer *w;

	assert_int_equal(isc_writer_open(fd, &options, &w, NULL), ISC_OK);
	return w;
}

static void rewind_minute(struct recording *r)
{
	for (unsigned i = 0; i < THREADS; i++)
		r->of[i].at = 0, r->of[i].number = 0;
}

/* Writes the minute, up to a moment; marked: the first and the last second of the middle are boundaries too. */
static isc_writer *write_minute(struct recording *r, int fd, uint64_t limit, bool marked, uint64_t until)
{
	isc_writer *w = open_writer(fd, limit);

	rewind_minute(r);
	for (uint64_t now = SLICE; now <= until; now += SLICE) {
		for (unsigned i = 0; i < THREADS; i++)
			give(w, r, i, i == 2 && now < ENDS ? now - SLICE : now);
		if (marked && (now == 20 * SECOND || now == 30 * SECOND))
			assert_int_equal(isc_writer_mark(w,
							 now == 20 * SECOND ? ISC_BOUNDARY_WINDOW_BEGIN
									    : ISC_BOUNDARY_WINDOW_END,
							 now, NULL),
					 ISC_OK);
		assert_int_equal(isc_writer_flush(w, NULL), ISC_OK);
	}
	return w;
}

static isc_trace *recorded(struct recording *r, uint64_t limit, bool marked)
{
	isc_trace_end end = {.end_ns = ENDS};
	char path[64];
	int fd = sample_file(path);
	isc_writer *w = write_minute(r, dup(fd), limit, marked, ENDS + SLICE);
	isc_trace *tr;

	assert_int_equal(isc_writer_close(w, &end, NULL), ISC_OK);
	assert_int_equal(isc_trace_open(path, &tr, NULL), ISC_OK);
	close(fd);
	return tr;
}

static uint64_t end_at(void *self, uint32_t process, uint32_t thread, uint8_t stream, uint64_t last)
{
	(void)process, (void)thread, (void)stream, (void)last;
	return *(uint64_t *)self;
}

/* What the events before a moment add up to, counted one by one. */
static isc_totals *counted(const struct recording *r, uint64_t until)
{
	isc_totals *t;

	assert_int_equal(isc_totals_new(&t, NULL), ISC_OK);
	for (unsigned i = 0; i < THREADS; i++) {
		const struct stream *s = &r->of[i];

		for (uint32_t at = 0; at < s->slots; at += s->slot[at].slots) {
			isc_record first = s->slot[at];

			first.ticks = first.ticks >> SHIFT << SHIFT;
			if (first.ticks < until)
				assert_int_equal(isc_totals_feed(t, 1, i + 1, 0, &first, &s->slot[at + 1],
								 (first.slots - 1u) * sizeof(first), NULL),
						 ISC_OK);
		}
	}
	isc_totals_settle(t, end_at, &until);
	return t;
}

static isc_totals *told(isc_trace *tr, uint64_t until)
{
	isc_totals *t;

	assert_int_equal(isc_trace_totals_until(tr, until, &t, NULL), ISC_OK);
	isc_totals_settle(t, end_at, &until);
	return t;
}

static const isc_total_function *function_in(const isc_totals *t, uint32_t code)
{
	const isc_total_function *f;

	for (size_t i = 0; (f = isc_totals_function_at(t, i)) != NULL; i++) {
		if (f->code == code)
			return f;
	}
	return NULL;
}

static const isc_total_stack *stack_in(const isc_totals *t, const isc_total_stack *like)
{
	const isc_total_stack *s;

	for (size_t i = 0; (s = isc_totals_stack_at(t, i)) != NULL; i++) {
		if (s->thread == like->thread && s->stack == like->stack)
			return s;
	}
	return NULL;
}

static const isc_total_wait *wait_in(const isc_totals *t, const isc_total_wait *like)
{
	const isc_total_wait *w;

	for (size_t i = 0; (w = isc_totals_wait_at(t, i)) != NULL; i++) {
		if (w->thread == like->thread && w->stack == like->stack && w->call == like->call)
			return w;
	}
	return NULL;
}

/* Every sum of the one is that of the other. */
static void check_same(isc_totals *x, isc_totals *y)
{
	const isc_total_function *f;
	const isc_total_stack *s;
	const isc_total_wait *w;
	const isc_total_scope *scope, *other;
	size_t functions = 0, stacks = 0, waits = 0;

	assert_int_equal(isc_totals_events(x), isc_totals_events(y));
	for (; (f = isc_totals_function_at(x, functions)) != NULL; functions++) {
		const isc_total_function *g = function_in(y, f->code);

		assert_int_equal(f->calls, g != NULL ? g->calls : 0);
		assert_int_equal(f->self_ticks, g != NULL ? g->self_ticks : 0);
		assert_int_equal(f->total_ticks, g != NULL ? g->total_ticks : 0);
		assert_false(f->estimated);
	}
	for (; (s = isc_totals_stack_at(x, stacks)) != NULL; stacks++) {
		assert_non_null(stack_in(y, s));
		assert_int_equal(s->samples, stack_in(y, s)->samples);
		assert_int_equal(s->cpu_ns, stack_in(y, s)->cpu_ns);
	}
	for (; (w = isc_totals_wait_at(x, waits)) != NULL; waits++) {
		assert_non_null(wait_in(y, w));
		assert_int_equal(w->count, wait_in(y, w)->count);
		assert_int_equal(w->ticks, wait_in(y, w)->ticks);
	}
	assert_true(functions >= FUNCTIONS && stacks >= THREADS * STACKS && waits > 0);
	scope = isc_totals_scope_at(x, 0);
	other = isc_totals_scope_at(y, 0);
	assert_int_equal(scope == NULL, other == NULL);
	if (scope != NULL) {
		assert_int_equal(scope->count, other->count);
		assert_int_equal(scope->total_ticks, other->total_ticks);
		assert_int_equal(scope->histogram.count, other->histogram.count);
	}
}

static uint64_t moment(const isc_trace *tr, uint32_t boundary)
{
	const isc_trace_snapshot *s = isc_trace_snapshot_of(tr, boundary);

	assert_non_null(s);
	return s->ticks;
}

static void check_between(isc_trace *tr, isc_trace *all, const struct recording *r, uint64_t from, uint64_t to)
{
	isc_totals *ours = told(tr, to), *earlier = told(tr, from), *theirs = counted(r, to),
		   *before = counted(r, from);
	isc_totals *unbounded = told(all, to), *unbounded_before = told(all, from);

	check_same(ours, theirs);
	check_same(earlier, before);
	isc_totals_less(ours, earlier);
	isc_totals_less(theirs, before);
	isc_totals_less(unbounded, unbounded_before);
	check_same(ours, theirs);
	check_same(ours, unbounded);
	assert_true(isc_totals_events(ours) > 1000);
	isc_totals_free(ours);
	isc_totals_free(earlier);
	isc_totals_free(theirs);
	isc_totals_free(before);
	isc_totals_free(unbounded);
	isc_totals_free(unbounded_before);
}

static void sums_of_serving_and_of_the_last_part_are_those_of_an_unbounded_file(void **state)
{
	struct recording *r = record_minute();
	isc_trace *tr = recorded(r, LIMIT, false), *all = recorded(r, 0, false);
	uint64_t events = r->of[0].number + r->of[1].number + r->of[2].number;
	uint64_t first = moment(tr, ISC_BOUNDARY_FIRST_UNIT), last = moment(tr, ISC_BOUNDARY_LAST_UNIT);
	uint64_t retained = moment(tr, ISC_BOUNDARY_RETAINED);

	(void)state;
	/* The first five parts of six are gone, and with them the beginning of serving. */
	assert_true(isc_trace_stats_get(tr)->retired_events * 6 > events * 5);
	assert_int_equal(isc_trace_stats_get(all)->retired_events, 0);
	assert_null(isc_trace_snapshot_of(all, ISC_BOUNDARY_RETAINED));
	assert_int_equal(first, r->first_unit >> SHIFT << SHIFT);
	assert_int_equal(last, (r->last_unit >> SHIFT << SHIFT) + (1 << SHIFT));
	check_between(tr, all, r, first, last);
	check_between(tr, all, r, retained, ENDS);
	/* And of any moment of the last part. */
	check_between(tr, all, r, retained + (ENDS - retained) / 3, ENDS);
	assert_false(isc_trace_is_damaged(tr));
	isc_trace_close(tr);
	isc_trace_close(all);
	forget_minute(r);
}

static void sums_between_two_marks_are_exact(void **state)
{
	struct recording *r = record_minute();
	isc_trace *tr = recorded(r, LIMIT, true), *all = recorded(r, 0, true);

	(void)state;
	assert_int_equal(moment(tr, ISC_BOUNDARY_WINDOW_BEGIN), 20 * SECOND);
	check_between(tr, all, r, 20 * SECOND, 30 * SECOND);
	check_between(tr, all, r, moment(tr, ISC_BOUNDARY_FIRST_UNIT), 20 * SECOND);
	isc_trace_close(tr);
	isc_trace_close(all);
	forget_minute(r);
}

static void a_moment_whose_events_are_gone_and_that_nobody_marked_is_not_told(void **state)
{
	struct recording *r = record_minute();
	isc_trace *tr = recorded(r, LIMIT, false);
	isc_totals *t;

	(void)state;
	assert_int_equal(isc_trace_totals_until(tr, 20 * SECOND, &t, NULL), ISC_ERR_ABSENT);
	assert_null(t);
	isc_trace_close(tr);
	forget_minute(r);
}

/* Too late to be told of them: what is kept all the same is exact, and what cannot be is not kept. */
static void moments_of_long_ago_are_exact_or_left_out(void **state)
{
	struct recording *r = record_minute();
	char path[64];
	int fd = sample_file(path);
	isc_writer *w = open_writer(dup(fd), LIMIT);
	const isc_trace_snapshot *s;
	unsigned told_of = 0, kept = 0;
	isc_trace *tr;

	(void)state;
	for (uint64_t now = SLICE; now <= ENDS; now += SLICE) {
		for (unsigned i = 0; i < THREADS; i++)
			give(w, r, i, now);
		if (now > 20 * SECOND && now % (2 * SECOND) == 0) {
			assert_int_equal(isc_writer_mark(w, ISC_BOUNDARY_PHASE + told_of,
							 now - (1 + told_of % 7) * SECOND, NULL),
					 ISC_OK);
			told_of++;
		}
		/* Rarely, so that much is written over between two images. */
		if (now % (4 * SECOND) == 0)
			assert_int_equal(isc_writer_flush(w, NULL), ISC_OK);
	}
	assert_int_equal(isc_writer_mark(w, 500, 5 * SECOND, NULL), ISC_OK);
	assert_int_equal(isc_writer_close(w, &(isc_trace_end){.end_ns = ENDS}, NULL), ISC_OK);
	assert_int_equal(isc_trace_open(path, &tr, NULL), ISC_OK);
	assert_null(isc_trace_snapshot_of(tr, 500));
	for (size_t i = 0; (s = isc_trace_snapshot_at(tr, i)) != NULL; i++) {
		isc_totals *ours = told(tr, s->ticks), *theirs = counted(r, s->ticks);

		kept += s->boundary >= ISC_BOUNDARY_PHASE;
		check_same(ours, theirs);
		isc_totals_free(ours);
		isc_totals_free(theirs);
	}
	assert_true(kept > 1 && kept < told_of);
	isc_trace_close(tr);
	close(fd);
	forget_minute(r);
}

/* Written now and then, never at the end: what is in the file when its writer is gone. */
static void what_a_killed_recorder_leaves_tells_the_moments_that_it_had(void **state)
{
	struct recording *r = record_minute();
	char path[64];
	int fd = sample_file(path);
	isc_writer *w = write_minute(r, dup(fd), LIMIT, true, 55 * SECOND);
	isc_trace *tr;

	(void)state;
	assert_int_equal(isc_trace_open(path, &tr, NULL), ISC_OK);
	for (unsigned i = 0; i < 2; i++) {
		uint64_t at = moment(tr, ISC_BOUNDARY_WINDOW_BEGIN + i);
		isc_totals *ours = told(tr, at), *theirs = counted(r, at);

		check_same(ours, theirs);
		isc_totals_free(ours);
		isc_totals_free(theirs);
	}
	assert_non_null(isc_trace_snapshot_of(tr, ISC_BOUNDARY_FIRST_UNIT));
	isc_trace_close(tr);
	/* The next recorder goes on with them, and with the last unit. */
	isc_writer_close(w, NULL, NULL);
	assert_int_equal(isc_writer_resume(dup(fd), &w, NULL), ISC_OK);
	for (unsigned i = 0; i < THREADS; i++)
		give(w, r, i, ENDS);
	assert_int_equal(isc_writer_close(w, &(isc_trace_end){.end_ns = ENDS}, NULL), ISC_OK);
	assert_int_equal(isc_trace_open(path, &tr, NULL), ISC_OK);
	assert_int_equal(moment(tr, ISC_BOUNDARY_FIRST_UNIT), r->first_unit >> SHIFT << SHIFT);
	assert_int_equal(moment(tr, ISC_BOUNDARY_LAST_UNIT), (r->last_unit >> SHIFT << SHIFT) + (1 << SHIFT));
	isc_trace_close(tr);
	close(fd);
	forget_minute(r);
}

static void snapshots_stay_inside_the_limit_of_the_file(void **state)
{
	struct recording *r = record_minute();
	char path[64];
	int fd = sample_file(path);
	struct stat sb;

	(void)state;
	assert_int_equal(isc_writer_close(write_minute(r, dup(fd), LIMIT, true, ENDS), &(isc_trace_end){0}, NULL),
			 ISC_OK);
	assert_int_equal(fstat(fd, &sb), 0);
	assert_true((uint64_t)sb.st_size <= LIMIT);
	close(fd);
	forget_minute(r);
}

/* A part that does not hold: the snapshot is left out, and everything else is as it was. */
static void a_damaged_snapshot_is_none(void **state)
{
	struct recording *r = record_minute();
	isc_trace_end end = {.end_ns = ENDS};
	char path[64];
	int fd = sample_file(path);
	isc_writer *w = write_minute(r, dup(fd), LIMIT, true, ENDS);
	isc_totals *whole, *again;
	isc_trace *tr;
	struct stat sb;
	bool hit = false;

	(void)state;
	assert_int_equal(isc_writer_close(w, &end, NULL), ISC_OK);
	assert_int_equal(isc_trace_open(path, &tr, NULL), ISC_OK);
	assert_int_equal(isc_trace_totals(tr, &whole, NULL), ISC_OK);
	isc_trace_close(tr);
	assert_int_equal(fstat(fd, &sb), 0);
	for (off_t at = 4096; at + (off_t)sizeof(isc_chunk_header) <= sb.st_size && !hit; at += 8) {
		isc_chunk_header h;

		assert_int_equal(pread(fd, &h, sizeof(h), at), sizeof(h));
		if (h.magic != ISC_CHUNK_MAGIC || h.type != ISC_CHUNK_SNAPSHOT || h.number != ISC_BOUNDARY_WINDOW_BEGIN)
			continue;
		hit = true;
		h.hash ^= 1;
		assert_int_equal(pwrite(fd, &h.hash, sizeof(h.hash), at + (off_t)offsetof(isc_chunk_header, hash)),
				 sizeof(h.hash));
	}
	assert_true(hit);
	assert_int_equal(isc_trace_open(path, &tr, NULL), ISC_OK);
	assert_int_equal(isc_trace_totals(tr, &again, NULL), ISC_OK);
	assert_int_equal(isc_totals_events(whole), isc_totals_events(again));
	assert_null(isc_trace_snapshot_of(tr, ISC_BOUNDARY_WINDOW_BEGIN));
	isc_totals_free(whole);
	isc_totals_free(again);
	isc_trace_close(tr);
	close(fd);
	forget_minute(r);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sums_of_serving_and_of_the_last_part_are_those_of_an_unbounded_file),
		cmocka_unit_test(sums_between_two_marks_are_exact),
		cmocka_unit_test(a_moment_whose_events_are_gone_and_that_nobody_marked_is_not_told),
		cmocka_unit_test(moments_of_long_ago_are_exact_or_left_out),
		cmocka_unit_test(what_a_killed_recorder_leaves_tells_the_moments_that_it_had),
		cmocka_unit_test(snapshots_stay_inside_the_limit_of_the_file),
		cmocka_unit_test(a_damaged_snapshot_is_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
