/* analysis: what a trace says, over traces written as text. */
#include "analysis_text.h"
#include "analyze/names.h"

static const isc_analysis_thread *thread_of(const isc_analysis *a, uint32_t tid)
{
	for (size_t i = 0; i < a->thread_count; i++) {
		if (a->threads[i].tid == tid)
			return &a->threads[i];
	}
	fail_msg("no thread %u", tid);
	return NULL;
}

#define assert_exactly(value, wanted) \
	do { \
		if ((value) != (wanted)) \
			fail_msg("%s is %f, not %f", #value, (double)(value), (double)(wanted)); \
	} while (0)

/* ---- processes ---- */

static void an_exec_goes_on_with_the_process(void **state)
{
	isc_analysis *a = analysis_of(
		META "p1 pid=100 ppid=9 root traced end=2ms argv sh -c serve\n"
		     "p2 pid=100 parent=p1 exec traced python start=2ms end=10ms status=3 argv python serve.py\n"
		     "p3 pid=101 parent=p2 start=4ms argv ls\n"
		     "end 10ms status=3\n");

	(void)state;
	assert_int_equal(a->process_count, 2);
	assert_int_equal(a->processes[0].pid, 100);
	assert_int_equal(a->processes[0].ppid, 9);
	assert_int_equal(a->processes[0].images, 2);
	assert_int_equal(a->processes[0].argc, 2);
	assert_true(text_is(&a->processes[0].argv[1], "serve.py"));
	assert_exactly(a->processes[0].wall_us, 10000);
	assert_true(a->processes[0].wall_known && a->processes[0].exit_known);
	assert_int_equal(a->processes[0].exit_code, 3);
	assert_int_equal(a->processes[1].ppid, 100);
	assert_false(a->processes[1].wall_known);
	assert_exactly(a->processes[1].wall_us, 6000);
	assert_non_null(warning_of(a, "untraced"));
	assert_non_null(strstr(warning_of(a, "untraced")->text, "1 of 2 processes"));
	assert_non_null(strstr(warning_of(a, "untraced")->text, "ls 101"));
	isc_analysis_free(a);
}

/* The roster may tell of an exec before perf tells of the fork it followed. */
static void an_exec_goes_on_with_a_process_that_was_told_of_later(void **state)
{
	isc_analysis *a = analysis_of(META "p1 pid=100 root traced end=9ms argv sh\n"
					   "p2 pid=101 parent=p3 exec traced start=3ms end=8ms argv tr a b\n"
					   "p3 pid=101 parent=p1 traced start=2ms end=3ms argv sh\n"
					   "end 9ms status=0\n");

	(void)state;
	assert_int_equal(a->process_count, 2);
	assert_int_equal(a->processes[1].images, 2);
	assert_int_equal(a->processes[1].ppid, 100);
	assert_true(text_is(&a->processes[1].argv[0], "tr"));
	assert_exactly(a->processes[1].wall_us, 6000);
	isc_analysis_free(a);
}

static void an_exec_of_a_stranger_is_a_process_of_its_own(void **state)
{
	/* Parents that come later, are missing, or have another pid: such traces are made, not recorded. */
	isc_analysis *a = analysis_of(META "p1 pid=100 root traced\n"
					   "p2 pid=101 parent=p1 exec\n"
					   "p3 pid=100 parent=p3 exec\n"
					   "p4 pid=100 parent=p9 exec\n"
					   "p5 pid=100 parent=p6 exec\n"
					   "p6 pid=100 parent=p5 exec\n"
					   "end 1ms\n");

	(void)state;
	assert_int_equal(a->process_count, 5);
	assert_int_equal(a->processes[4].images, 2);
	isc_analysis_free(a);
}

static void a_death_by_signal_is_told(void **state)
{
	isc_analysis *a = analysis_of(META "p1 pid=100 root traced end=5ms signal=9 argv serve\nend 5ms signal=9\n");

	(void)state;
	assert_true(a->exit_known);
	assert_int_equal(a->exit_code, -1);
	assert_int_equal(a->signal, 9);
	assert_non_null(warning_of(a, "killed"));
	assert_non_null(strstr(warning_of(a, "killed")->remedy, "dmesg"));
	isc_analysis_free(a);
}

static void a_process_without_shared_memory_is_named(void **state)
{
	isc_analysis *a =
		analysis_of(META "p1 pid=100 root traced\np2 pid=101 parent=p1 failed argv /usr/bin/worker\nend 1ms\n");
	const isc_analysis_warning *w = warning_of(a, "attach_failed");

	(void)state;
	assert_non_null(w);
	assert_true(w->grave);
	assert_non_null(strstr(w->text, "worker 101"));
	assert_null(warning_of(a, "untraced"));
	isc_analysis_free(a);
}

/* ---- threads ---- */

static void a_thread_is_on_cpu_queued_or_waiting(void **state)
{
	isc_analysis *a = analysis_of(META ONE_THREAD "t1 1ms out\n"
						      "t1 4ms in\n"
						      "t1 6ms preempt\n"
						      "t1 6.5ms in\n"
						      "end 10ms status=0\n");
	const isc_analysis_thread *t = thread_of(a, 100);

	(void)state;
	assert_true(a->switches_seen);
	assert_exactly(t->on_cpu_us, 1000 + 2000 + 3500);
	assert_exactly(t->waiting_us, 3000);
	assert_exactly(t->run_queue_us, 500);
	assert_exactly(t->unwatched_us, 0);
	assert_exactly(t->wall_us, 10000);
	assert_int_equal(t->switches, 4);
	assert_null(warning_of(a, "no_switches"));
	isc_analysis_free(a);
}

static void a_new_thread_waits_for_its_first_turn_in_the_queue(void **state)
{
	isc_analysis *a = analysis_of(META ONE_THREAD "t2 p1 tid=101 start=2ms end=8ms\n"
						      "t2 2.5ms in\n"
						      "t2 3ms out\n"
						      "end 10ms status=0\n");

	(void)state;
	assert_exactly(thread_of(a, 101)->run_queue_us, 500);
	assert_exactly(thread_of(a, 101)->on_cpu_us, 500);
	assert_exactly(thread_of(a, 101)->waiting_us, 5000);
	isc_analysis_free(a);
}

static void what_happened_in_a_gap_is_not_guessed(void **state)
{
	isc_analysis *a = analysis_of(META ONE_THREAD "t1 1ms out\n"
						      "gap_begin 2ms\n"
						      "gap_end 5ms\n"
						      "t1 6ms in\n"
						      "t1 7ms out\n"
						      "gap_begin 8ms\n"
						      "gap_end 8.5ms\n"
						      "t1 9ms out\n"
						      "end 10ms status=0\n");
	const isc_analysis_thread *t = thread_of(a, 100);

	(void)state;
	/* 0..1 on, 1..2 waiting, 2..6 unknown, 6..7 on, 7..8 waiting, 8..8.5 unknown, 8.5..9 on, 9..10 waiting */
	assert_exactly(t->on_cpu_us, 2500);
	assert_exactly(t->waiting_us, 3000);
	assert_exactly(t->unwatched_us, 4500);
	assert_non_null(warning_of(a, "switch_gaps"));
	assert_non_null(strstr(warning_of(a, "switch_gaps")->text, "3.50 ms (35.0% of the time)"));
	isc_analysis_free(a);
}

static void a_gap_that_never_ends_lasts_to_the_end(void **state)
{
	isc_analysis *a = analysis_of(META ONE_THREAD "t1 1ms out\ngap_begin 2ms\nt1 3ms in\nend 10ms status=0\n");

	(void)state;
	assert_exactly(thread_of(a, 100)->waiting_us, 1000);
	assert_exactly(thread_of(a, 100)->unwatched_us, 8000);
	isc_analysis_free(a);
}

static void a_lost_switch_leaves_unwatched_time(void **state)
{
	isc_analysis *a =
		analysis_of(META ONE_THREAD "t1 1ms out\nt1 3ms out\nt1 5ms in\nt1 8ms in\nend 10ms status=0\n");

	(void)state;
	assert_exactly(thread_of(a, 100)->on_cpu_us, 1000 + 2000);
	assert_exactly(thread_of(a, 100)->waiting_us, 2000);
	assert_exactly(thread_of(a, 100)->unwatched_us, 2000 + 3000);
	isc_analysis_free(a);
}

static void a_tid_that_comes_again_is_another_thread(void **state)
{
	isc_analysis *a = analysis_of(META "p1 pid=100 root traced end=10ms status=0\n"
					   "t1 p1 tid=100 main end=10ms\n"
					   "t2 p1 tid=101 start=1ms end=2ms name=first\n"
					   "t3 p1 tid=101 start=5ms end=9ms name=second\n"
					   "t2 1ms in\nt2 1.5ms out\nt2 1.75ms in\nt3 5ms in\nt3 8ms out\n"
					   "end 10ms status=0\n");

	(void)state;
	assert_int_equal(a->thread_count, 3);
	for (size_t i = 0; i < a->thread_count; i++) {
		if (text_is(&a->threads[i].name, "first")) {
			assert_exactly(a->threads[i].on_cpu_us, 750);
			assert_exactly(a->threads[i].waiting_us, 250);
		} else if (text_is(&a->threads[i].name, "second")) {
			assert_exactly(a->threads[i].on_cpu_us, 3000);
			assert_exactly(a->threads[i].waiting_us, 1000);
		}
	}
	isc_analysis_free(a);
}

static void the_main_thread_lives_through_an_exec(void **state)
{
	isc_analysis *a = analysis_of(META "p1 pid=100 root traced end=2ms\n"
					   "p2 pid=100 parent=p1 exec traced start=2ms end=10ms status=0\n"
					   "t1 p1 tid=100 main end=2ms name=sh\n"
					   "t2 p2 tid=100 main start=2ms end=10ms name=python\n"
					   "t1 1ms out\nt1 3ms in\n"
					   "t1 1.5ms instant before\nt2 5ms instant after\n"
					   "end 10ms status=0\n");

	(void)state;
	assert_int_equal(a->thread_count, 1);
	assert_true(text_is(&a->threads[0].name, "python"));
	assert_exactly(a->threads[0].wall_us, 10000);
	assert_exactly(a->threads[0].on_cpu_us, 8000);
	assert_int_equal(a->threads[0].events, 2);
	assert_int_equal(a->processes[0].events, 2);
	isc_analysis_free(a);
}

static void without_perf_times_are_unknown_and_the_reason_is_there(void **state)
{
	isc_analysis *a = analysis_of(
		"meta {\"perf\": \"perf events are not permitted\", \"perf_remedy\": \"sysctl x\"}\n" ONE_THREAD
		"end 10ms status=0\n");
	const isc_analysis_warning *w = warning_of(a, "no_switches");

	(void)state;
	assert_true(thread_of(a, 100)->on_cpu_us < 0 && thread_of(a, 100)->run_queue_us < 0);
	assert_non_null(w);
	assert_non_null(strstr(w->text, "perf events are not permitted"));
	assert_string_equal(w->remedy, "sysctl x");
	isc_analysis_free(a);
}

/* ---- scopes, marks, counters ---- */

static void a_scope_is_one_name_over_processes_and_threads(void **state)
{
	isc_analysis *a = analysis_of(META "p1 pid=100 root traced end=9ms status=0\np2 pid=101 parent=p1 traced\n"
					   "t1 p1 tid=100 main\nt2 p2 tid=101 main\n"
					   "t2 1ms instant other\n" /* ids differ between the two */
					   "t1 1ms scope_enter request\nt1 2ms scope_exit request\n"
					   "t2 1ms scope_enter request\nt2 4ms scope_exit request\n"
					   "t1 5ms scope_enter request\n"
					   "t2 6ms scope_enter fast\nt2 6.001ms scope_exit fast\n"
					   "end 9ms status=0\n");

	(void)state;
	assert_int_equal(a->scope_count, 2);
	assert_true(text_is(&a->scopes[0].name, "request"));
	assert_int_equal(a->scopes[0].count, 2);
	assert_int_equal(a->scopes[0].open, 1);
	assert_exactly(a->scopes[0].total_us, 4000);
	assert_exactly(a->scopes[0].mean_us, 2000);
	assert_exactly(a->scopes[0].max_us, 3000);
	assert_near(a->scopes[0].p50_us, 1000);
	assert_near(a->scopes[0].p99_us, 3000);
	assert_int_equal(a->scopes[0].bin_count, 2);
	assert_true(text_is(&a->scopes[1].name, "fast"));
	assert_exactly(a->scopes[1].max_us, 1);
	assert_non_null(warning_of(a, "open_scopes"));
	isc_analysis_free(a);
}

static void marks_and_counters_are_summed_up_by_name(void **state)
{
	isc_analysis *a = analysis_of(META ONE_THREAD
				      "t1 1ms instant tokens {\"n\": 1}\n"
				      "t1 2ms instant tokens\n"
				      "t1 2ms instant start\n"
				      "t1 3ms counter queue 4\nt1 4ms counter queue -1.5\nt1 5ms counter queue 2\n"
				      "end 9ms status=0\n");

	(void)state;
	assert_int_equal(a->mark_count, 2);
	assert_true(text_is(&a->marks[0].name, "tokens"));
	assert_int_equal(a->marks[0].count, 2);
	assert_int_equal(a->counter_count, 1);
	assert_int_equal(a->counters[0].count, 3);
	assert_exactly(a->counters[0].min, -1.5);
	assert_exactly(a->counters[0].max, 4);
	assert_exactly(a->counters[0].mean, 1.5);
	assert_exactly(a->counters[0].last, 2);
	assert_int_equal(a->events, 6);
	isc_analysis_free(a);
}

static void lost_events_are_counted_and_said(void **state)
{
	isc_analysis *a =
		analysis_of(META ONE_THREAD "t1 1ms instant a\nt1 lose 3\nt1 2ms instant a\nend 9ms status=0\n");

	(void)state;
	assert_int_equal(a->events, 2);
	assert_int_equal(a->lost, 3);
	assert_non_null(warning_of(a, "lost_events"));
	assert_true(warning_of(a, "lost_events")->grave);
	assert_non_null(strstr(warning_of(a, "lost_events")->text, "3 of 5 events (60.0%)"));
	assert_null(warning_of(a, "accounts_differ"));
	isc_analysis_free(a);
}

/* ---- a part of the run ---- */

#define TWO_REQUESTS \
	META ONE_THREAD "t1 1ms scope_enter request\nt1 1.5ms instant inside\nt1 2ms scope_exit request\n" \
			"t1 3ms instant outside\n" \
			"t1 4ms scope_enter request\nt1 5ms scope_enter step\nt1 6ms scope_exit step\n" \
			"t1 7ms scope_exit request\nt1 8ms instant outside\nt1 1ms out\nt1 6ms in\n" \
			"end 10ms status=0\n"

static void a_time_window_sees_only_what_lies_inside(void **state)
{
	isc_analysis *a = analysis_with(TWO_REQUESTS, &(isc_analysis_options){.from_us = 2500, .to_us = 6500});

	(void)state;
	assert_exactly(a->from_us, 2500);
	assert_exactly(a->to_us, 6500);
	assert_int_equal(a->scope_count, 2);
	assert_int_equal(a->scopes[0].count, 1);
	assert_true(text_is(&a->scopes[0].name, "step"));
	assert_exactly(a->scopes[0].total_us, 1000);
	assert_int_equal(a->scopes[1].open, 1);
	assert_int_equal(a->mark_count, 1);
	assert_exactly(thread_of(a, 100)->wall_us, 4000);
	assert_exactly(thread_of(a, 100)->waiting_us, 3500);
	assert_exactly(thread_of(a, 100)->on_cpu_us, 500);
	assert_int_equal(a->events, 9); /* what tracing cost is of the whole run */
	isc_analysis_free(a);
}

static void a_scope_sees_only_what_happened_inside_it(void **state)
{
	isc_analysis *a = analysis_with(TWO_REQUESTS, &(isc_analysis_options){.scope = "request"});

	(void)state;
	assert_int_equal(a->scope_count, 2);
	assert_true(text_is(&a->scopes[0].name, "request"));
	assert_int_equal(a->scopes[0].count, 2);
	assert_exactly(a->scopes[0].total_us, 4000);
	assert_int_equal(a->mark_count, 1);
	assert_true(text_is(&a->marks[0].name, "inside"));
	assert_exactly(a->from_us, 1000);
	assert_exactly(a->to_us, 7000);
	isc_analysis_free(a);
	a = analysis_with(TWO_REQUESTS, &(isc_analysis_options){.scope = "step"});
	assert_int_equal(a->scope_count, 1);
	assert_int_equal(a->mark_count, 0);
	isc_analysis_free(a);
}

static void a_part_that_is_not_there_is_an_error(void **state)
{
	static const isc_analysis_options wrong[] = {
		{.scope = "nothing"}, {.from_us = 20000}, {.from_us = 5000, .to_us = 4000},
		{.from_us = -1},      {.to_us = NAN},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		isc_trace *trace = NULL;
		isc_analysis *a = NULL;
		isc_error err = {0};

		assert_int_equal(trace_text_open(TWO_REQUESTS, &trace, &err), ISC_OK);
		assert_int_equal(isc_analysis_new(trace, &wrong[i], &a, &err), ISC_ERR_INVALID);
		assert_null(a);
		assert_true(err.what[0] != 0);
		isc_trace_close(trace);
	}
}

/* ---- what is wrong with a trace ---- */

static void a_trace_without_an_end_says_so(void **state)
{
	isc_analysis *a = analysis_of(META ONE_THREAD "t1 1ms instant a\n");

	(void)state;
	assert_false(a->complete);
	assert_false(a->exit_known && a->signal);
	assert_non_null(warning_of(a, "unfinished"));
	assert_true(warning_of(a, "unfinished")->grave);
	isc_analysis_free(a);
	a = analysis_with(META ONE_THREAD "t1 1ms instant a\n", &(isc_analysis_options){.live = true});
	assert_false(warning_of(a, "unfinished")->grave);
	isc_analysis_free(a);
}

static void an_empty_trace_gives_an_empty_report(void **state)
{
	isc_analysis *a = analysis_of("");

	(void)state;
	assert_int_equal(a->process_count + a->thread_count + a->scope_count + a->events, 0);
	assert_non_null(warning_of(a, "no_facts"));
	isc_analysis_free(a);
}

static void facts_of_the_wrong_kind_are_as_good_as_none(void **state)
{
	static const char *const metas[] = {
		"{\"argv\": 3, \"perf\": [], \"labels\": [], \"warnings\": {}, \"budget_pct\": \"x\", \"wall_us\": -4}",
		"{\"argv\": [1, null, {}], \"labels\": {\"a\": 1}, \"warnings\": [1, {}, {\"text\": 5}], \"wall_us\": "
		"1e999}",
		"{\"roster_lost\": -1, \"switches_lost\": 1.5, \"host\": {}, \"python\": null, \"session_on_disk\": 1}",
		"{}",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(metas) / sizeof(metas[0]); i++) {
		char text[512];
		isc_analysis *a;

		snprintf(text, sizeof(text), "meta %s\n" ONE_THREAD "end 10ms status=0\n", metas[i]);
		a = analysis_of(text);
		assert_int_equal(a->argc, 1); /* the root's own */
		assert_exactly(a->wall_us, 10000);
		assert_int_equal(a->labels, 0);
		assert_null(warning_of(a, "recorder"));
		assert_null(warning_of(a, "roster_lost"));
		isc_analysis_free(a);
	}
}

static void what_the_recorder_warned_of_is_passed_on(void **state)
{
	isc_analysis *a = analysis_of(
		"meta {\"warnings\": [{\"text\": \"the disk is full\", \"remedy\": \"make room\"}], "
		"\"roster_lost\": 2, \"session_on_disk\": true, \"switches_lost\": 7, \"perf\": \"ok\"}\n" ONE_THREAD
		"t1 1ms out\nend 10ms status=0\n");

	(void)state;
	assert_string_equal(warning_of(a, "recorder")->text, "the disk is full");
	assert_string_equal(warning_of(a, "recorder")->remedy, "make room");
	assert_non_null(warning_of(a, "roster_lost"));
	assert_non_null(warning_of(a, "session_on_disk"));
	assert_non_null(warning_of(a, "switches_lost"));
	isc_analysis_free(a);
}

/* They are turned into whole numbers, which has no meaning for what is none. */
static void counts_beyond_all_measure_are_cut(void **state)
{
	isc_analysis *a =
		analysis_of("meta {\"perf\": \"ok\", \"waits\": true, \"kernel_calls\": 1e300, \"minor_faults\": "
			    "1e300}\n" ONE_THREAD "t1 1ms syscalls read 1ms 18446744073709551615 1\nt1 1ms "
			    "syscall_sample read 1us 1 1024 \"f m.py 1 2\"\n"
			    "t1 2ms out\nend 10ms status=0\n");

	(void)state;
	assert_true(a->kernel_calls == 9e15 && a->minor_faults == 9e15);
	assert_int_equal(a->syscall_count, 1);
	assert_true(a->syscalls[0].sites[0].fast_count == 9e15);
	isc_analysis_free(a);
}

static void parts_that_were_not_recorded_are_each_warned_of(void **state)
{
	isc_analysis *a = analysis_of(META ONE_THREAD "t1 1ms out\nend 10ms status=0\n");

	(void)state;
	assert_non_null(warning_of(a, "no_calls"));
	assert_non_null(warning_of(a, "no_memory"));
	assert_non_null(warning_of(a, "no_gpu"));
	assert_non_null(warning_of(a, "no_waits"));
	assert_non_null(warning_of(a, "no_throttling"));
	assert_int_equal(a->warning_count, 5);
	for (size_t i = 0; i < a->warning_count; i++)
		assert_false(a->warnings[i].grave);
	isc_analysis_free(a);
}

static void names_of_one_hash_stay_apart(void **state)
{
	isc_arena *arena = isc_arena_new();
	isc_names names = {0};

	(void)state;
	for (unsigned round = 0; round < 2; round++) {
		for (unsigned i = 0; i < 3000; i++) {
			char name[16];
			int len = snprintf(name, sizeof(name), "n%u", i);

			assert_int_equal(isc_names_put(&names, arena, name, (size_t)len), i);
		}
	}
	/* Two different texts in one chain. */
	names.next[1] = 1;
	*isc_hashmap_put(&names.first, 0xcbf29ce484222325ull, NULL) = 2;
	assert_int_equal(isc_names_put(&names, arena, "", 0), 3000);
	assert_int_equal(isc_names_put(&names, arena, "", 0), 3000);
	isc_names_fini(&names);
	isc_arena_free(arena);
}

static void our_own_thread_is_none_of_the_program(void **state)
{
	isc_analysis *a = analysis_of(META "p1 pid=100 root traced end=1s status=0 argv serve\n"
					   "t1 p1 tid=100 main name=main end=1s\n"
					   "t2 p1 tid=101 name=inferscope end=1s\n"
					   "t3 p1 tid=102 name=inferscope end=1s\n"
					   "t2 500ms sample 1 5ms \"wait /w.py 1 2\"\n"
					   "t3 500ms instant mark\n");

	(void)state;
	assert_int_equal(a->thread_count, 2);
	assert_non_null(thread_of(a, 102));
	isc_analysis_free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(our_own_thread_is_none_of_the_program),
		cmocka_unit_test(an_exec_goes_on_with_the_process),
		cmocka_unit_test(an_exec_goes_on_with_a_process_that_was_told_of_later),
		cmocka_unit_test(an_exec_of_a_stranger_is_a_process_of_its_own),
		cmocka_unit_test(a_death_by_signal_is_told),
		cmocka_unit_test(a_process_without_shared_memory_is_named),
		cmocka_unit_test(a_thread_is_on_cpu_queued_or_waiting),
		cmocka_unit_test(a_new_thread_waits_for_its_first_turn_in_the_queue),
		cmocka_unit_test(what_happened_in_a_gap_is_not_guessed),
		cmocka_unit_test(a_gap_that_never_ends_lasts_to_the_end),
		cmocka_unit_test(a_lost_switch_leaves_unwatched_time),
		cmocka_unit_test(a_tid_that_comes_again_is_another_thread),
		cmocka_unit_test(the_main_thread_lives_through_an_exec),
		cmocka_unit_test(without_perf_times_are_unknown_and_the_reason_is_there),
		cmocka_unit_test(a_scope_is_one_name_over_processes_and_threads),
		cmocka_unit_test(marks_and_counters_are_summed_up_by_name),
		cmocka_unit_test(lost_events_are_counted_and_said),
		cmocka_unit_test(a_time_window_sees_only_what_lies_inside),
		cmocka_unit_test(a_scope_sees_only_what_happened_inside_it),
		cmocka_unit_test(a_part_that_is_not_there_is_an_error),
		cmocka_unit_test(a_trace_without_an_end_says_so),
		cmocka_unit_test(an_empty_trace_gives_an_empty_report),
		cmocka_unit_test(facts_of_the_wrong_kind_are_as_good_as_none),
		cmocka_unit_test(what_the_recorder_warned_of_is_passed_on),
		cmocka_unit_test(counts_beyond_all_measure_are_cut),
		cmocka_unit_test(parts_that_were_not_recorded_are_each_warned_of),
		cmocka_unit_test(names_of_one_hash_stay_apart),
	};

	return cmocka_run_group_tests_name("analysis", tests, NULL, NULL);
}
