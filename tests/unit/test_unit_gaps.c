/* unit_gaps: a time in which calls may be missing is never taken for one in which all were recorded. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "sample_trace.h"
#include "unit_text.h"

#define MS 1000000ull

/* ---- events that were lost ---- */

static void what_is_lost_before_the_first_event_was_lost_since_the_thread_began(void **state)
{
	(void)state;
	check(PROCESS "t1 0ms instant a\n"
		      "t4 p1 tid=103 start=2ms\n"
		      "t4 lose 5\n"
		      "t4 3ms instant b\n",
	      "gap lost 0..3\n");
}

static void what_is_lost_behind_the_last_event_was_lost_after_it(void **state)
{
	(void)state;
	check(PROCESS "t1 1ms instant a\n"
		      "t1 lose 5\n",
	      "gap lost 1..end\n");
}

static void a_thread_that_lost_all_of_its_events_has_a_gap(void **state)
{
	(void)state;
	check(PROCESS "t2 0ms instant a\n"
		      "t1 lose 5\n",
	      "gap lost 0..end\n");
}

static void of_losses_that_begin_together_the_longest_counts(void **state)
{
	(void)state;
	check(PROCESS "t2 lose 1\n"
		      "t2 5ms instant a\n"
		      "t1 lose 1\n"
		      "t1 3ms instant a\n",
	      "gap lost 0..5\n");
	check(PROCESS "t1 lose 1\n"
		      "t1 3ms instant a\n"
		      "t2 lose 5\n",
	      "gap lost 0..end\n");
	check(PROCESS "t1 1ms missed 1\n"
		      "t2 1ms missed 1\n"
		      "t1 2ms missed 0\n",
	      "gap lost 1..end\n");
}

static isc_writer *begin_timed(int *fd, char path[64])
{
	isc_writer *w;

	*fd = sample_file(path);
	w = begin(dup(*fd), 0);
	assert_int_equal(isc_writer_clock(w, 1, 1, NULL), ISC_OK);
	return w;
}

static void put(isc_writer *w, uint32_t thread, uint64_t number, uint64_t ticks, unsigned kind, uint32_t id,
		unsigned arg)
{
	isc_trace_run run = {.process = 1, .thread = thread, .first = number, .events = 1, .slots = 1};
	isc_record r = {.ticks = ticks, .id = id, .kind = (uint8_t)kind, .slots = 1, .arg = (uint16_t)arg};

	assert_int_equal(isc_writer_events(w, &run, &r, NULL), ISC_OK);
}

static void turn(isc_writer *w, uint64_t ticks)
{
	assert_int_equal(isc_writer_clock(w, ticks, ticks, NULL), ISC_OK);
	assert_int_equal(isc_writer_flush(w, NULL), ISC_OK);
}

static void account(isc_writer *w, uint32_t thread, uint8_t stream, uint64_t produced, uint64_t lost)
{
	isc_trace_account a = {.process = 1,
			       .thread = thread,
			       .stream = stream,
			       .produced = produced,
			       .stored = produced - lost,
			       .lost = lost};

	assert_int_equal(isc_writer_account(w, &a, NULL), ISC_OK);
}

/* Ends the recording; times are in ms of the session. */
static void check_gaps(isc_writer *w, int fd, const char *path, const char *want)
{
	struct listing l = {0};

	assert_int_equal(isc_writer_close(w, &(isc_trace_end){.end_ns = 100 * MS}, NULL), ISC_OK);
	assert_int_equal(isc_trace_open(path, &l.trace, NULL), ISC_OK);
	list_gaps(&l);
	assert_string_equal(l.text.data != NULL ? l.text.data : "", want);
	isc_buffer_fini(&l.text);
	isc_trace_close(l.trace);
	close(fd);
}

static void a_loss_that_is_counted_when_a_thread_has_died_ends_when_the_clock_is_read_next(void **state)
{
	char path[64];
	int fd;
	isc_writer *w = begin_timed(&fd, path);

	(void)state;
	put(w, 1, 0, 1 + 2 * MS, ISC_KIND_INSTANT, 4, 0);
	turn(w, 1 + 3 * MS);
	account(w, 1, 0, 6, 5);
	/* What is counted again is no further loss, and what is counted beside it is one of a later time. */
	account(w, 1, 0, 6, 5);
	turn(w, 1 + 4 * MS);
	turn(w, 1 + 5 * MS);
	account(w, 1, 0, 7, 6);
	turn(w, 1 + 6 * MS);
	turn(w, 1 + 7 * MS);
	check_gaps(w, fd, path, "gap lost 2..4\ngap lost 3..6\n");
}

static void threads_without_a_slot_have_gaps_of_their_process(void **state)
{
	char path[64];
	int fd;
	isc_writer *w = begin_timed(&fd, path);

	(void)state;
	turn(w, 1 + 1 * MS);
	account(w, 0, 0, 5, 5);
	turn(w, 1 + 2 * MS);
	turn(w, 1 + 3 * MS);
	/* Since the clock was read before it was counted last. */
	account(w, 0, 0, 9, 9);
	turn(w, 1 + 4 * MS);
	check_gaps(w, fd, path, "gap lost 0..2\ngap lost 1..4\n");
}

static void events_that_were_nested_too_deeply_are_a_loss(void **state)
{
	char path[64];
	int fd;
	isc_writer *w = begin_timed(&fd, path);

	(void)state;
	put(w, 1, 0, 1 + 2 * MS, ISC_KIND_INSTANT, 4, 0);
	account(w, 1, 0, 1, 0);
	account(w, 1, 2, 3, 3);
	turn(w, 1 + 4 * MS);
	check_gaps(w, fd, path, "gap lost 0..4\n");
}

static void a_stack_without_room_for_hooks_is_a_gap_until_it_has_room_again(void **state)
{
	(void)state;
	check(PROCESS "t1 1ms missed 1\n"
		      "t1 9ms missed 0\n"
		      "t2 3ms missed 1\n"
		      "t1 11ms missed 1\n",
	      "gap lost 1..9\n"
	      "gap lost 3..11\n"
	      "gap lost 11..end\n");
}

static void a_stack_whose_end_of_room_was_lost_had_none_since_the_thread_began(void **state)
{
	(void)state;
	check(PROCESS "t1 1ms instant a\n"
		      "t1 2ms instant a\n"
		      "t1 lose 1\n"
		      "t1 9ms missed 0\n",
	      "gap lost 1..9\n"
	      "gap lost 2..9\n");
}

/* ---- threads that say things out of order ---- */

/* Flushes, until what was fed is settled. */
static void settle(isc_writer *w, uint64_t ticks)
{
	for (uint64_t i = 0; i < 6; i++)
		turn(w, ticks + i);
}

static void a_gate_that_seems_to_open_before_it_closed_stays_closed(void **state)
{
	char path[64];
	int fd;
	isc_writer *w = begin_timed(&fd, path);

	(void)state;
	put(w, 1, 0, 1 + 6 * MS, ISC_KIND_GOVERNED, 0, ISC_GOVERNED_GATED);
	settle(w, 1 + 7 * MS);
	put(w, 2, 0, 1 + 5 * MS, ISC_KIND_GOVERNED, 0, ISC_GOVERNED_TRACED);
	settle(w, 1 + 8 * MS);
	put(w, 2, 1, 1 + 9 * MS, ISC_KIND_GOVERNED, 0, ISC_GOVERNED_TRACED);
	check_gaps(w, fd, path, "gap gated 5..6\ngap gated 6..9\n");
}

static void a_function_that_seems_to_be_traced_before_it_was_left_out_stays_left_out(void **state)
{
	char path[64];
	int fd;
	isc_writer *w = begin_timed(&fd, path);

	(void)state;
	put(w, 1, 0, 1 + 6 * MS, ISC_KIND_GOVERNED, 5, ISC_GOVERNED_OFF);
	settle(w, 1 + 7 * MS);
	put(w, 2, 0, 1 + 5 * MS, ISC_KIND_GOVERNED, 5, ISC_GOVERNED_TRACED);
	settle(w, 1 + 8 * MS);
	put(w, 2, 1, 1 + 9 * MS, ISC_KIND_GOVERNED, 5, ISC_GOVERNED_TRACED);
	check_gaps(w, fd, path, "gap thinned 5..6\ngap thinned 6..9\n");
}

/* ---- recorders that go on with a file ---- */

/* The file as it is now: its recorder is killed. */
static isc_writer *resume(isc_writer *dead, int *fd, char path[64])
{
	static char bytes[1 << 20];
	ssize_t n = pread(*fd, bytes, sizeof(bytes), 0);
	isc_writer *w;

	assert_true(n > 0 && n < (ssize_t)sizeof(bytes));
	isc_writer_close(dead, NULL, NULL);
	close(*fd);
	*fd = sample_file(path);
	assert_int_equal(pwrite(*fd, bytes, (size_t)n, 0), n);
	assert_int_equal(isc_writer_resume(dup(*fd), &w, NULL), ISC_OK);
	return w;
}

static void functions_that_were_off_are_off_for_the_recorder_that_goes_on(void **state)
{
	char path[64];
	int fd;
	isc_writer *w = begin_timed(&fd, path);

	(void)state;
	put(w, 1, 0, 1 + 1 * MS, ISC_KIND_GOVERNED, 5, ISC_GOVERNED_OFF);
	turn(w, 1 + 2 * MS);
	w = resume(w, &fd, path);
	turn(w, 1 + 20 * MS);
	put(w, 1, 1, 1 + 30 * MS, ISC_KIND_GOVERNED, 5, ISC_GOVERNED_TRACED);
	turn(w, 1 + 40 * MS);
	check_gaps(w, fd, path, "gap thinned 0..30\ngap lost 0..20\n");
}

static void a_gate_that_was_closed_is_closed_for_the_recorder_that_goes_on(void **state)
{
	char path[64];
	int fd;
	isc_writer *w = begin_timed(&fd, path);

	(void)state;
	put(w, 1, 0, 1 + 1 * MS, ISC_KIND_GOVERNED, 0, ISC_GOVERNED_GATED);
	turn(w, 1 + 2 * MS);
	w = resume(w, &fd, path);
	turn(w, 1 + 20 * MS);
	put(w, 1, 1, 1 + 30 * MS, ISC_KIND_GOVERNED, 0, ISC_GOVERNED_TRACED);
	turn(w, 1 + 40 * MS);
	check_gaps(w, fd, path, "gap gated 0..30\ngap lost 0..20\n");
}

static void a_recorder_that_goes_on_knows_the_gaps_that_were_in_the_file(void **state)
{
	char path[64];
	int fd;
	isc_writer *w = begin_timed(&fd, path);

	(void)state;
	put(w, 1, 0, 1 + 1 * MS, ISC_KIND_GOVERNED, 5, ISC_GOVERNED_OFF);
	for (uint64_t ms = 2; ms < 12; ms++) {
		sample_scopes(w, 1, 2, 2 * (ms - 2), 1, 1 + ms * MS, 7);
		turn(w, 1 + ms * MS);
	}
	w = resume(w, &fd, path);
	turn(w, 1 + 20 * MS);
	put(w, 1, 1, 1 + 30 * MS, ISC_KIND_GOVERNED, 5, ISC_GOVERNED_TRACED);
	turn(w, 1 + 40 * MS);
	/* What waited for flushes that never came is not known. */
	check_gaps(w, fd, path, "gap thinned 1..30\ngap lost 9..20\n");
}

static void what_a_dead_recorder_read_and_did_not_write_may_have_been_the_governors(void **state)
{
	char path[64];
	int fd;
	isc_writer *w = begin_timed(&fd, path);

	(void)state;
	put(w, 1, 0, 1 + 1 * MS, ISC_KIND_INSTANT, 5, 0);
	turn(w, 1 + 2 * MS);
	w = resume(w, &fd, path);
	turn(w, 1 + 20 * MS);
	put(w, 1, 3, 1 + 30 * MS, ISC_KIND_INSTANT, 5, 0);
	turn(w, 1 + 40 * MS);
	check_gaps(w, fd, path, "gap lost 0..20\ngap thinned 1..end\ngap lost 1..30\n");
}

/* ---- gaps that are lost themselves ---- */

static bool is_covered(const isc_trace *tr, uint64_t at_ns)
{
	const isc_trace_gap *g;

	for (size_t i = 0; (g = isc_trace_gap_at(tr, i)) != NULL; i++) {
		if (g->from_ns <= at_ns && g->to_ns >= at_ns)
			return true;
	}
	return false;
}

/* Losses at moments that do not pack well: when the last one ended. */
static uint64_t put_losses(isc_writer *w, uint64_t n)
{
	uint64_t seed = 3, ticks = 1;

	for (uint64_t i = 1; i <= n; i++) {
		ticks += 1 + sample_draw(&seed) % 100000;
		put(w, 1, 3 * i, ticks, ISC_KIND_INSTANT, 4, 0);
		ticks += 1 + sample_draw(&seed) % 100000;
		put(w, 1, 3 * i + 1, ticks, ISC_KIND_INSTANT, 4, 0);
	}
	return ticks;
}

static void gaps_without_room_among_units_are_one_up_to_the_end(void **state)
{
	enum { LOSSES = 30000 };
	char path[64];
	int fd = sample_file(path);
	isc_writer *w = begin(dup(fd), 1 << 20);
	uint64_t seed = 3, ticks = 1, last = put_losses(w, LOSSES);
	isc_trace *tr;

	(void)state;
	turn(w, last + MS);
	assert_int_equal(isc_writer_close(w, &(isc_trace_end){.end_ns = last + 2 * MS}, NULL), ISC_OK);
	assert_int_equal(isc_trace_open(path, &tr, NULL), ISC_OK);
	for (uint64_t i = 1; i <= LOSSES; i++) {
		ticks += 1 + sample_draw(&seed) % 100000;
		assert_true(is_covered(tr, ticks - 1));
		ticks += 1 + sample_draw(&seed) % 100000;
	}
	assert_true(is_covered(tr, last + MS));
	isc_trace_close(tr);
	close(fd);
}

static void gaps_without_room_among_definitions_are_one_up_to_the_end(void **state)
{
	char path[64], text[4096];
	int fd = sample_file(path);
	isc_writer *w = begin(dup(fd), 1 << 20);
	isc_trace_process other = {.process = 2, .pid = 200, .flags = ISC_PROCESS_TRACED};
	isc_writer_stats stats = {0};
	isc_trace *tr;
	uint64_t seed = 7;
	uint32_t id = 1;

	(void)state;
	while (stats.refused_definitions == 0 && id < 4096) {
		for (size_t i = 0; i < sizeof(text); i += sizeof(seed))
			sample_draw(&seed), memcpy(text + i, &seed, sizeof(seed));
		isc_writer_define(w, 1, id++, ISC_DEF_STRING, text, sizeof(text), NULL);
		isc_writer_flush(w, NULL);
		isc_writer_stats_get(w, &stats);
	}
	assert_true(stats.refused_definitions > 0);
	/* Smaller ones take what the large ones left. */
	for (size_t len = 2048; len > 0; len = len / 2) {
		for (unsigned i = 0; i < 64; i++) {
			isc_writer_define(w, 1, id++, ISC_DEF_STRING, text, (uint32_t)len, NULL);
			isc_writer_flush(w, NULL);
		}
	}
	assert_int_equal(isc_writer_process(w, &other, NULL), ISC_OK);
	put_losses(w, 2);
	assert_int_equal(isc_writer_close(w, &(isc_trace_end){.end_ns = 100 * MS}, NULL), ISC_OK);
	assert_int_equal(isc_trace_open(path, &tr, NULL), ISC_OK);
	assert_int_equal(isc_trace_stats_get(tr)->damaged_chunks, 0);
	assert_true(is_covered(tr, 99 * MS));
	/* Nobody knows whose they were. */
	assert_int_equal(isc_trace_gap_at(tr, 0)->process, 1);
	assert_int_equal(isc_trace_gap_at(tr, 1)->process, 2);
	isc_trace_close(tr);
	close(fd);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_lost_before_the_first_event_was_lost_since_the_thread_began),
		cmocka_unit_test(what_is_lost_behind_the_last_event_was_lost_after_it),
		cmocka_unit_test(a_thread_that_lost_all_of_its_events_has_a_gap),
		cmocka_unit_test(of_losses_that_begin_together_the_longest_counts),
		cmocka_unit_test(a_loss_that_is_counted_when_a_thread_has_died_ends_when_the_clock_is_read_next),
		cmocka_unit_test(threads_without_a_slot_have_gaps_of_their_process),
		cmocka_unit_test(events_that_were_nested_too_deeply_are_a_loss),
		cmocka_unit_test(a_stack_without_room_for_hooks_is_a_gap_until_it_has_room_again),
		cmocka_unit_test(a_stack_whose_end_of_room_was_lost_had_none_since_the_thread_began),
		cmocka_unit_test(a_gate_that_seems_to_open_before_it_closed_stays_closed),
		cmocka_unit_test(a_function_that_seems_to_be_traced_before_it_was_left_out_stays_left_out),
		cmocka_unit_test(functions_that_were_off_are_off_for_the_recorder_that_goes_on),
		cmocka_unit_test(a_gate_that_was_closed_is_closed_for_the_recorder_that_goes_on),
		cmocka_unit_test(a_recorder_that_goes_on_knows_the_gaps_that_were_in_the_file),
		cmocka_unit_test(what_a_dead_recorder_read_and_did_not_write_may_have_been_the_governors),
		cmocka_unit_test(gaps_without_room_among_units_are_one_up_to_the_end),
		cmocka_unit_test(gaps_without_room_among_definitions_are_one_up_to_the_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
