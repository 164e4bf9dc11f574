/* functions: what a trace says of calls, over traces written as text. */
#include "analysis_text.h"

static const isc_analysis_function *function_of(const isc_analysis *a, const char *name, uint32_t pid)
{
	for (size_t i = 0; i < a->function_count; i++) {
		if (text_is(&a->functions[i].name, name) && a->functions[i].pid == pid)
			return &a->functions[i];
	}
	fail_msg("no function %s of %u", name, pid);
	return NULL;
}

static void a_function_is_one_over_threads_and_code_objects_of_its_process(void **state)
{
	isc_analysis *a = analysis_of(META "p1 pid=100 root traced end=10ms status=0 argv serve\n"
					   "p2 pid=200 parent=p1 traced end=10ms argv serve\n"
					   "t1 p1 tid=100 main end=10ms\n"
					   "t2 p1 tid=101 end=10ms\n"
					   "t3 p2 tid=200 main end=10ms\n"
					   "t1 1ms call_enter f /a/m.py 3\n"
					   "t1 2ms call_exit f /a/m.py 3\n"
					   "t2 1ms call_enter f /a/m.py 3\n"
					   "t2 4ms call_exit f /a/m.py 3\n"
					   "t2 5ms call_enter f /a/m.py 9\n"
					   "t2 6ms call_exit f /a/m.py 9\n"
					   "t3 1ms call_enter f /a/m.py 3\n"
					   "t3 6ms call_exit f /a/m.py 3\n"
					   "end 10ms status=0\n");
	const isc_analysis_function *f;

	(void)state;
	assert_int_equal(a->function_count, 3);
	f = &a->functions[0];
	assert_int_equal(f->pid, 200);
	assert_near(f->self_us, 5000);
	f = &a->functions[1];
	assert_int_equal(f->pid, 100);
	assert_int_equal(f->line, 3);
	assert_true(text_is(&f->file, "/a/m.py"));
	assert_int_equal(f->calls, 2);
	assert_near(f->self_us, 4000);
	assert_near(f->total_us, 4000);
	assert_false(f->estimated);
	assert_int_equal(a->functions[2].line, 9);
	assert_null(warning_of(a, "no_calls"));
	assert_non_null(warning_of(a, "no_samples"));
	isc_analysis_free(a);
}

#define CALLS \
	META ONE_THREAD "t2 p1 tid=101 end=10ms\n" \
			"t1 1ms call_enter main m.py 1\n" \
			"t1 2ms call_enter f m.py 3\n" \
			"t1 4ms scope_enter part\n" \
			"t1 5ms call_enter g m.py 5\n" \
			"t1 6ms call_exit g m.py 5\n" \
			"t1 7ms scope_exit part\n" \
			"t1 8ms call_exit f m.py 3\n" \
			"t1 9ms call_exit main m.py 1\n" \
			"t2 1ms call_enter wait m.py 9\n" \
			"end 10ms status=0\n"

static void calls_are_cut_at_the_edges_of_the_window(void **state)
{
	isc_analysis_options options = {.from_us = 3000, .to_us = 5500};
	isc_analysis *a = analysis_with(CALLS, &options);
	const isc_analysis_function *f = function_of(a, "f", 100);

	(void)state;
	assert_int_equal(f->calls, 0); /* entered before */
	assert_near(f->self_us, 2000);
	assert_near(f->total_us, 2500);
	f = function_of(a, "g", 100);
	assert_int_equal(f->calls, 1);
	assert_near(f->self_us, 500);
	assert_near(function_of(a, "main", 100)->self_us, 0);
	assert_near(function_of(a, "main", 100)->total_us, 2500);
	/* Nothing was heard of it in all that time. */
	assert_near(function_of(a, "wait", 100)->self_us, 2500);
	isc_analysis_free(a);
}

static void calls_inside_a_scope_are_those_of_its_thread(void **state)
{
	isc_analysis_options options = {.scope = "part"};
	isc_analysis *a = analysis_with(CALLS, &options);

	(void)state;
	assert_int_equal(a->function_count, 3);
	assert_near(function_of(a, "f", 100)->self_us, 2000);
	assert_near(function_of(a, "f", 100)->total_us, 3000);
	assert_near(function_of(a, "g", 100)->total_us, 1000);
	assert_int_equal(function_of(a, "g", 100)->calls, 1);
	isc_analysis_free(a);
}

static void what_is_open_at_the_end_lasts_as_long_as_its_thread(void **state)
{
	isc_analysis *a = analysis_of(CALLS);

	(void)state;
	assert_near(function_of(a, "wait", 100)->total_us, 9000);
	assert_near(function_of(a, "main", 100)->self_us, 2000);
	isc_analysis_free(a);
}

static void what_happened_in_pauses_is_estimated(void **state)
{
	isc_analysis *a = analysis_of(META ONE_THREAD "t1 0ms call_enter main m.py 1\n"
						      "t1 1ms call_enter f m.py 3\n"
						      "t1 2ms call_exit f m.py 3\n"
						      "t1 2ms governed all 1\n"
						      "t1 2ms burst 1 2000000 2100000 0 10 10 f m.py 3\n"
						      "t1 5ms burst 0 4900000 5000000 0 10 10 f m.py 3\n"
						      "t1 5ms governed all 0\n"
						      "t1 5ms call_enter f m.py 3\n"
						      "t1 6ms call_exit f m.py 3\n"
						      "t1 6ms governed all 1\n"
						      "t1 6ms burst 1 6000000 6100000 0 10 10 f m.py 3\n"
						      "t1 9ms burst 0 8900000 9000000 0 10 10 f m.py 3\n"
						      "t1 9ms governed all 0\n"
						      "t1 10ms call_exit main m.py 1\n"
						      "t1 10ms burst 3 10000000 10000000 0 0\n"
						      "end 10ms status=0\n");
	const isc_analysis_function *f = function_of(a, "f", 100);

	(void)state;
	/* 10 in each of 4 windows of 0.1 ms, and so 280 in each of 2 pauses. */
	assert_int_equal(f->calls, 2 + 40 + 560);
	assert_int_equal(f->recorded, 42);
	/* All windows had the same: what is left is a phase that hid in one pause, few of few, and a fifth for
	 * what windows disturb. */
	assert_int_equal(f->least_calls, 42 + 560 - 280 - 7 * 14 - 112);
	assert_int_equal(f->most_calls, 42 + 560 + 280 + 7 * 14 + 112);
	/* Of times, two of the last eight milliseconds were seen. */
	assert_near(f->self_us, 5000);
	assert_true(f->estimated && f->governed);
	assert_near(function_of(a, "main", 100)->self_us, 5000);
	assert_near(function_of(a, "main", 100)->total_us, 10000);
	assert_non_null(strstr(warning_of(a, "governed_functions")->text, "may be missing"));
	isc_analysis_free(a);
}

/* Start-up was paused; what came after it was seen whole, and there is no more time than that. */
static void pauses_before_its_first_call_are_no_function_s_own(void **state)
{
	isc_analysis *a = analysis_of(META ONE_THREAD "t1 0ms call_enter main m.py 1\n"
						      "t1 1ms governed all 1\n"
						      "t1 5ms governed all 0\n"
						      "t1 5ms call_enter loop m.py 9\n"
						      "t1 5ms call_enter hot m.py 3\n"
						      "t1 9ms call_exit hot m.py 3\n"
						      "t1 9ms call_exit loop m.py 9\n"
						      "t1 10ms call_exit main m.py 1\n"
						      "end 10ms status=0\n");

	(void)state;
	assert_near(function_of(a, "hot", 100)->self_us, 4000);
	assert_near(function_of(a, "loop", 100)->total_us, 4000);
	assert_near(function_of(a, "main", 100)->total_us, 10000);
	isc_analysis_free(a);
}

static void calls_that_no_window_can_see_have_no_bound(void **state)
{
	isc_analysis *a = analysis_of(META ONE_THREAD "t1 0ms call_enter __init__ m.py 1\n"
						      "t1 1ms call_exit __init__ m.py 1\n"
						      "t1 2ms governed __init__ m.py 1 2\n"
						      "t1 2ms burst 1 2000000 2100000 0 10 10 f m.py 3\n"
						      "t1 5ms burst 0 4900000 5000000 0 10 10 f m.py 3\n"
						      "end 10ms status=0\n");
	const isc_analysis_function *f = function_of(a, "__init__", 100);

	(void)state;
	assert_true(f->governed && f->least_calls == 1 && f->most_calls == 0);
	assert_true(function_of(a, "f", 100)->most_calls > 0);
	isc_analysis_free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_that_no_window_can_see_have_no_bound),
		cmocka_unit_test(a_function_is_one_over_threads_and_code_objects_of_its_process),
		cmocka_unit_test(calls_are_cut_at_the_edges_of_the_window),
		cmocka_unit_test(calls_inside_a_scope_are_those_of_its_thread),
		cmocka_unit_test(what_is_open_at_the_end_lasts_as_long_as_its_thread),
		cmocka_unit_test(what_happened_in_pauses_is_estimated),
		cmocka_unit_test(pauses_before_its_first_call_are_no_function_s_own),
	};

	return cmocka_run_group_tests_name("functions", tests, NULL, NULL);
}
