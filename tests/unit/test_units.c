/* units: what a recording takes for a unit of work, and for a time without calls; over traces written as text. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "sample_trace.h"
#include "trace_text.h"
#include "unit_text.h"

/* ---- scopes ---- */

static void a_scope_inside_another_is_no_unit(void **state)
{
	(void)state;
	check(PROCESS "t1 1ms span_enter request 7 0\n"
		      "t1 2ms span_enter decode 8 7\n"
		      "t1 3ms span_exit decode 8 1ms\n"
		      "t1 5ms span_exit request 7 4ms\n"
		      "t2 1ms scope_enter batch\n"
		      "t2 2ms scope_enter copy\n"
		      "t2 3ms scope_exit copy\n"
		      "t2 4ms scope_exit batch\n",
	      "scope request t1 1..5\n"
	      "scope batch t2 1..4\n");
}

static void a_scope_may_be_left_on_another_thread(void **state)
{
	(void)state;
	/* Threads are fed one after the other: the exit of the second comes before its enter. */
	check(PROCESS "t1 1ms span_enter first 7 0\n"
		      "t1 2ms span_exit second 8 1ms 1\n"
		      "t2 1ms span_enter second 8 0\n"
		      "t2 4ms span_exit first 7 3ms 1\n",
	      "scope second t2 1..2\n"
	      "scope first t1 1..4\n");
}

static void scopes_that_are_never_left_do_not_keep_later_ones_from_being_units(void **state)
{
	(void)state;
	check(PROCESS "t1 1ms span_enter left 1 0\n"
		      "repeat 65536 1us\n"
		      "t1 @2ms span_enter lost 1# 0\n"
		      "again\n"
		      "t1 80ms span_enter request 7 0\n"
		      "t1 81ms span_exit request 7 1ms\n"
		      /* It made room. */
		      "t1 82ms span_exit left 1 81ms\n",
	      "scope request t1 80..81\n");
}

/* ---- tasks ---- */

static void tasks_take_turns_and_end_when_their_coroutine_does(void **state)
{
	(void)state;
	check(PROCESS "t1 1ms task a 1\n"
		      "t1 1ms call_enter fetch s.py 3\n"
		      "t1 2ms call_exit fetch s.py 3 1\n"
		      "t1 2ms task 0\n"
		      "t1 3ms task b 2\n"
		      "t1 3ms call_enter store s.py 9\n"
		      "t1 4ms call_exit store s.py 9 1\n"
		      "t1 4ms task 0\n"
		      "t1 5ms task a 1\n"
		      "t1 5ms call_resume fetch s.py 3\n"
		      "t1 6ms call_exit fetch s.py 3 0\n"
		      "t1 6ms task 0\n"
		      "t1 7ms task b 2\n"
		      "t1 7ms call_resume store s.py 9\n"
		      "t1 8ms call_exit store s.py 9 2\n"
		      "t1 8ms task 0\n",
	      "task fetch t1 1..6\n"
	      "task store t1 3..8\n");
}

static void tasks_of_one_name_are_told_apart_and_one_that_goes_on_is_no_unit_yet(void **state)
{
	(void)state;
	check(PROCESS "t1 1ms task worker 1\n"
		      "t1 1ms call_enter run s.py 3\n"
		      "t1 2ms call_exit run s.py 3 1\n"
		      "t1 2ms task 0\n"
		      "t1 3ms task worker 2\n"
		      "t1 3ms call_enter run s.py 3\n"
		      "t1 4ms call_exit run s.py 3 0\n"
		      "t1 4ms task 0\n"
		      /* Another one at the address of the first, whose end was not seen. */
		      "t1 5ms task worker 1\n"
		      "t1 5ms call_enter run s.py 3\n"
		      "t1 6ms call_exit run s.py 3 0\n"
		      "t1 6ms task 0\n",
	      "task run t1 3..4\n"
	      "task run t1 5..6\n");
}

static void a_task_ends_with_its_own_coroutine_and_with_nothing_that_it_called(void **state)
{
	(void)state;
	check(PROCESS "t1 1ms task a 1\n"
		      "t1 1ms call_enter fetch s.py 3\n"
		      "t1 2ms call_enter parse s.py 9\n"
		      "t1 3ms call_exit parse s.py 9 0\n"
		      /* It was not recorded when it yielded. */
		      "t1 4ms task 0\n"
		      "t1 5ms task a 1\n"
		      "t1 5ms call_resume fetch s.py 3\n"
		      "t1 5ms call_enter fetch s.py 3\n"
		      "t1 6ms call_exit fetch s.py 3 0\n"
		      "t1 7ms task 0\n"
		      "t1 8ms task a 1\n"
		      "t1 8ms call_resume fetch s.py 3\n"
		      "t1 9ms call_exit fetch s.py 3 0\n"
		      "t1 9ms task 0\n",
	      "task fetch t1 1..9\n");
}

#define MAIN "t1 0ms call_enter main m.py 1\n"

/* ---- gaps ---- */

static void what_the_governor_leaves_out_is_a_gap(void **state)
{
	(void)state;
	check(PROCESS "t1 1ms governed run m.py 12 1\n"
		      "t1 2ms governed walk m.py 22 4\n"
		      "t1 3ms governed run m.py 12 0\n"
		      "t2 4ms governed walk m.py 22 0\n"
		      "t2 5ms governed all 1\n"
		      "t1 6ms governed all 0\n"
		      "t1 7ms governed all 6\n"
		      "t1 8ms governed all 0\n"
		      "t1 9ms governed all 6\n",
	      "gap thinned 1..4\n"
	      "gap paused 5..6\n"
	      "gap gated 7..8\n"
	      "gap gated 9..end\n");
}

static void what_was_lost_is_a_gap(void **state)
{
	(void)state;
	check(PROCESS "t1 1ms instant a\n"
		      "t1 lose 5\n"
		      "t1 3ms instant b\n"
		      "t1 5ms missed 1\n"
		      "t1 9ms missed 0\n",
	      "gap lost 1..3\n"
	      "gap lost 5..9\n");
}

static void units_go_on_while_only_their_calls_are_recorded(void **state)
{
	(void)state;
	/* main() is below the gate, and nobody sees whether it is open. */
	check(PROCESS MAIN "repeat 3 2ms\n"
			   "t1 @10ms call_enter handle m.py 20\n"
			   "t1 @10.5ms call_enter parse m.py 30\n"
			   "t1 @10.6ms call_exit parse m.py 30\n"
			   "t1 @11ms call_exit handle m.py 20\n"
			   "again\n"
			   "t1 15.5ms governed all 6\n"
			   "repeat 2 2ms\n"
			   "t1 @16ms call_enter handle m.py 20\n"
			   "t1 @17ms call_exit handle m.py 20\n"
			   "again\n"
			   "t1 19.5ms governed all 0\n"
			   "t1 20ms call_enter handle m.py 20\n"
			   "t1 21ms call_exit handle m.py 20\n",
	      "gap gated 15.5..19.5\n"
	      "loop handle of main t1 10..11\n"
	      "loop handle of main t1 12..13\n"
	      "loop handle of main t1 14..15\n"
	      "loop handle of main t1 16..17\n"
	      "loop handle of main t1 18..19\n"
	      "loop handle of main t1 20..21\n");
}

static void a_gate_stops_the_clock_and_kept_calls_do_not_start_it(void **state)
{
	const isc_total_function *f;
	isc_totals *totals;
	isc_trace *tr;

	(void)state;
	assert_int_equal(trace_text_open(PROCESS "t1 0ms call_enter main m.py 1\n"
						 "t1 1ms call_enter open m.py 5\n"
						 "t1 2ms governed all 6\n"
						 "t1 3ms call_enter handle m.py 20\n"
						 "t1 5ms call_exit handle m.py 20\n"
						 "t1 12ms governed all 0\n"
						 "t1 13ms call_enter handle m.py 20\n"
						 "t1 14ms call_exit handle m.py 20\n"
						 "t1 16ms call_exit main m.py 1\n",
					 &tr, NULL),
			 ISC_OK);
	assert_int_equal(isc_trace_totals(tr, &totals, NULL), ISC_OK);
	f = isc_totals_function_at(totals, 0);
	assert_int_equal(f->total_ticks, 6000000); /* main: 16 ms less 10 of the gate */
	f = isc_totals_function_at(totals, 1);
	assert_int_equal(f->total_ticks, 1000000); /* open: its exit never came */
	assert_true(f->estimated);
	f = isc_totals_function_at(totals, 2);
	assert_int_equal(f->calls, 2);
	assert_int_equal(f->total_ticks, 1000000);
	assert_int_equal(isc_totals_calls_at(totals, 0)->unmatched, 0);
	isc_totals_free(totals);
	isc_trace_close(tr);
}

/* ---- what outlives what ---- */

static void rows_outlive_the_events_and_are_thinned_out_and_counted(void **state)
{
	enum { SCOPES = 200000, PERIOD = 10000 };
	struct listing l = {0};
	const isc_trace_period *row;
	uint64_t units = 0;
	char path[64];
	int fd = sample_file(path);
	isc_writer *w = begin(dup(fd), 1 << 20);

	(void)state;
	for (uint32_t i = 0; i < SCOPES; i += 100) {
		sample_scopes(w, 1, 1, 2ull * i, 100, 1000 + 1000ull * i, 7);
		assert_int_equal(isc_writer_flush(w, NULL), ISC_OK);
		if (i % PERIOD == PERIOD - 100)
			assert_int_equal(isc_writer_over_time(w, 1000ull * (i - PERIOD), 1000ull * i, NULL), ISC_OK);
	}
	assert_int_equal(isc_writer_close(w, &(isc_trace_end){.end_ns = 7}, NULL), ISC_OK);
	assert_int_equal(isc_trace_open(path, &l.trace, NULL), ISC_OK);
	assert_true(isc_trace_stats_get(l.trace)->retired_events > 0);
	list_trace(&l);
	/* The first row is there, so is one of the last, and there are as many as a sixteenth of the file holds. */
	assert_memory_equal(l.text.data, "scope", 5);
	assert_true(l.count > 3000 && l.count < SCOPES / 4);
	for (size_t i = 0; (row = isc_trace_period_at(l.trace, i)) != NULL; i++)
		units += row->units;
	assert_int_equal(units, SCOPES);
	isc_buffer_fini(&l.text);
	isc_trace_close(l.trace);
	close(fd);
}

static void a_recorder_that_goes_on_with_a_file_keeps_its_rows(void **state)
{
	struct listing l = {0};
	char path[64];
	int fd = sample_file(path);
	isc_writer *w = begin(dup(fd), 0);

	(void)state;
	sample_scopes(w, 1, 1, 0, 3, 1000000, 7);
	assert_int_equal(isc_writer_flush(w, NULL), ISC_OK);
	assert_int_equal(isc_writer_close(w, NULL, NULL), ISC_OK);
	assert_int_equal(isc_writer_resume(dup(fd), &w, NULL), ISC_OK);
	sample_scopes(w, 1, 1, 6, 2, 9000000, 7);
	assert_int_equal(isc_writer_close(w, &(isc_trace_end){.end_ns = 7}, NULL), ISC_OK);
	assert_int_equal(isc_trace_open(path, &l.trace, NULL), ISC_OK);
	list_trace(&l);
	assert_int_equal(l.count, 5);
	isc_buffer_fini(&l.text);
	isc_trace_close(l.trace);
	close(fd);
}

static void the_recorder_learns_what_units_begin_with_and_how_long_they_take(void **state)
{
	isc_trace_run run = {.process = 1, .thread = 1, .events = 1, .slots = 1};
	uint32_t codes[8];
	char path[64];
	int fd = sample_file(path);
	isc_writer *w = begin(dup(fd), 0);
	isc_record r = {1000000, 5, ISC_KIND_CALL_ENTER, 1, 0};

	(void)state;
	assert_int_equal(isc_writer_events(w, &run, &r, NULL), ISC_OK);
	for (unsigned i = 0; i < 20; i++) {
		r = (isc_record){2000000ull * (i + 1), 6, ISC_KIND_CALL_ENTER, 1, 0};
		run.first++;
		assert_int_equal(isc_writer_events(w, &run, &r, NULL), ISC_OK);
		r = (isc_record){2000000ull * (i + 1) + (i == 7 ? 1900000 : 1000000), 6, ISC_KIND_CALL_EXIT, 1, 0};
		run.first++;
		assert_int_equal(isc_writer_events(w, &run, &r, NULL), ISC_OK);
	}
	assert_int_equal(isc_writer_unit_codes(w, 1, codes), 0);
	assert_int_equal(isc_writer_flush(w, NULL), ISC_OK);
	assert_int_equal(isc_writer_unit_codes(w, 1, codes), 1);
	assert_int_equal(codes[0], 6);
	assert_int_equal(isc_writer_unit_ns(w, 1), 1000000);
	assert_int_equal(isc_writer_unit_codes(w, 2, codes), 0);
	assert_int_equal(isc_writer_unit_ns(w, 2), 0);
	assert_int_equal(isc_writer_close(w, &(isc_trace_end){.end_ns = 7}, NULL), ISC_OK);
	close(fd);
}

/* CPU time of so many tasks, each of which has one step and ends with it, or does not end. */
static double run_tasks(unsigned count, bool ends)
{
	isc_trace_run run = {.process = 1, .thread = 1, .events = 4, .slots = 4};
	clock_t begin_clock;
	char path[64];
	int fd = sample_file(path);
	isc_writer *w = begin(dup(fd), 0);
	double took;

	begin_clock = clock();
	for (unsigned i = 0; i < count; i++) {
		uint64_t ticks = 1000000ull + 10 * i;
		const isc_record step[] = {{ticks, i + 2, ISC_KIND_TASK, 1, 7},
					   {ticks, 5, ISC_KIND_CALL_ENTER, 1, 0},
					   {ticks + 5, 5, ISC_KIND_CALL_EXIT, 1, ends ? 0 : ISC_CALL_YIELDED},
					   {ticks + 5, 0, ISC_KIND_TASK, 1, 0}};

		assert_int_equal(isc_writer_events(w, &run, step, NULL), ISC_OK);
		run.first += 4;
	}
	assert_int_equal(isc_writer_flush(w, NULL), ISC_OK);
	took = (double)(clock() - begin_clock) / CLOCKS_PER_SEC;
	assert_int_equal(isc_writer_close(w, NULL, NULL), ISC_OK);
	close(fd);
	return took;
}

static void a_task_that_begins_costs_the_same_when_thousands_are_open(void **state)
{
	(void)state;
	/* A look at each of those that are open would take a hundred times as long. */
	assert_true(run_tasks(100000, false) < 0.1 + 4 * run_tasks(100000, true));
}

static void where_too_many_tasks_are_open_the_one_not_heard_of_for_longest_goes(void **state)
{
	(void)state;
	check(PROCESS "t1 1ms task first 1\n"
		      "t1 1ms call_enter run s.py 3\n"
		      "t1 2ms call_exit run s.py 3 1\n"
		      "t1 2ms task 0\n"
		      "t1 3ms task second 1\n"
		      "t1 3ms call_enter run s.py 3\n"
		      "t1 4ms call_exit run s.py 3 1\n"
		      "t1 4ms task 0\n"
		      "t1 5ms task first 1\n"
		      "t1 5ms call_resume run s.py 3\n"
		      "t1 6ms call_exit run s.py 3 1\n"
		      "t1 6ms task 0\n"
		      /* With these there is one more than there is room for. */
		      "repeat 4095 10us\n"
		      "t1 @7ms task other 1#\n"
		      "t1 @7ms call_enter run s.py 3\n"
		      "t1 @7ms call_exit run s.py 3 1\n"
		      "t1 @7ms task 0\n"
		      "again\n"
		      "t1 80ms task first 1\n"
		      "t1 80ms call_resume run s.py 3\n"
		      "t1 81ms call_exit run s.py 3 0\n"
		      "t1 81ms task 0\n"
		      "t1 82ms task second 1\n"
		      "t1 82ms call_resume run s.py 3\n"
		      "t1 83ms call_exit run s.py 3 0\n"
		      "t1 83ms task 0\n",
	      "task run t1 1..81\n"
	      "task run t1 82..83\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_scope_inside_another_is_no_unit),
		cmocka_unit_test(scopes_that_are_never_left_do_not_keep_later_ones_from_being_units),
		cmocka_unit_test(a_scope_may_be_left_on_another_thread),
		cmocka_unit_test(tasks_take_turns_and_end_when_their_coroutine_does),
		cmocka_unit_test(tasks_of_one_name_are_told_apart_and_one_that_goes_on_is_no_unit_yet),
		cmocka_unit_test(a_task_ends_with_its_own_coroutine_and_with_nothing_that_it_called),
		cmocka_unit_test(a_task_that_begins_costs_the_same_when_thousands_are_open),
		cmocka_unit_test(where_too_many_tasks_are_open_the_one_not_heard_of_for_longest_goes),
		cmocka_unit_test(what_the_governor_leaves_out_is_a_gap),
		cmocka_unit_test(what_was_lost_is_a_gap),
		cmocka_unit_test(units_go_on_while_only_their_calls_are_recorded),
		cmocka_unit_test(a_gate_stops_the_clock_and_kept_calls_do_not_start_it),
		cmocka_unit_test(rows_outlive_the_events_and_are_thinned_out_and_counted),
		cmocka_unit_test(a_recorder_that_goes_on_with_a_file_keeps_its_rows),
		cmocka_unit_test(the_recorder_learns_what_units_begin_with_and_how_long_they_take),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
