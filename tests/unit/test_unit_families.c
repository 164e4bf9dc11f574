/* units: how much of each was recorded, which are alike, and which of them are the program's work. */
#include "analysis_text.h"

#include "analyze/coverage.h"
#include "analyze/scopes/median.h"
#include "base/buffer.h"

#define LONG_RUN \
	META "p1 pid=100 root traced python end=1000ms status=0 argv serve\n" \
	     "t1 p1 tid=100 main name=main end=1000ms\n"
#define END "end 1000ms status=0\n"

/* So many scopes or loops of a scene, from a moment on, each so long. */
struct row {
	const char *thread;
	int count;
	double from, every, dur; /* ms */
};

static unsigned instances;

static void add_scopes(isc_buffer *out, struct row r, const char *name)
{
	for (int i = 0; i < r.count; i++) {
		double at = r.from + i * r.every;

		isc_buffer_format(out, "%s %.6fms span_enter %s %u\n", r.thread, at, name, ++instances);
		isc_buffer_format(out, "%s %.6fms span_exit %s %u %.6fms\n", r.thread, at + r.dur, name, instances,
				  r.dur);
	}
}

static void add_calls(isc_buffer *out, struct row r, const char *code)
{
	for (int i = 0; i < r.count; i++) {
		double at = r.from + i * r.every;

		isc_buffer_format(out, "%s %.6fms call_enter %s\n", r.thread, at, code);
		isc_buffer_format(out, "%s %.6fms call_exit %s 0\n", r.thread, at + r.dur, code);
	}
}

/* Tasks of one step each. */
static void add_tasks(isc_buffer *out, struct row r, const char *code, const char *task)
{
	for (int i = 0; i < r.count; i++) {
		double at = r.from + i * r.every;

		isc_buffer_format(out, "%s %.6fms task %s-%d\n", r.thread, at, task, i);
		isc_buffer_format(out, "%s %.6fms call_enter %s\n", r.thread, at, code);
		isc_buffer_format(out, "%s %.6fms call_exit %s 0\n", r.thread, at + r.dur, code);
		isc_buffer_format(out, "%s %.6fms task 0\n", r.thread, at + r.dur);
	}
}

/* "scope request 100: 3 = 2 whole, 1 partial (0 thinned), 0 none", a line for each family. */
static void check_units(const isc_analysis *a, const char *wanted)
{
	isc_buffer got = {0};

	isc_buffer_text(&got, a->units.known ? "" : "none\n");
	for (size_t i = 0; i < a->units.family_count; i++) {
		const isc_analysis_unit_family *f = &a->units.families[i];

		isc_buffer_format(&got, "%s %.*s %u: %llu = %llu whole, %llu partial (%llu thinned), %llu none\n",
				  f->kind, (int)f->at.name.len, f->at.name.at, f->pid, (unsigned long long)f->count,
				  (unsigned long long)f->whole, (unsigned long long)f->partial,
				  (unsigned long long)f->thinned, (unsigned long long)f->none);
		assert_int_equal(f->whole + f->partial + f->none, f->count);
	}
	if (strcmp(got.data, wanted) != 0)
		fail_msg("units are\n%snot\n%s", got.data, wanted);
	assert_true(a->units.known == (a->units.unknown == NULL));
	/* Of a program that marks nothing and has no units, other warnings say enough. */
	assert_true((a->units.known || !a->units.any) == (warning_of(a, "units_unknown") == NULL));
	isc_buffer_fini(&got);
}

static void scene_gives(isc_buffer *scene, const char *wanted)
{
	isc_analysis *a;

	isc_buffer_text(scene, END);
	a = analysis_of(scene->data);
	check_units(a, wanted);
	isc_analysis_free(a);
	isc_buffer_fini(scene);
}

static isc_buffer scene(void)
{
	isc_buffer out = {0};

	isc_buffer_text(&out, LONG_RUN);
	/* Its calls are traced. */
	add_calls(&out, (struct row){"t1", 1, 1, 0, 0.1}, "begin /a/m.py 3");
	return out;
}

/* ---- gaps ---- */

static struct isc_coverage_gap thinned[] = {{1, 0, 50}}, blind[] = {{1, 10, 20}, {1, 30, 40}, {2, 0, UINT64_MAX}},
			       lost[] = {{1, 60, 65}};

static void a_gap_makes_of_a_time_what_it_leaves_of_it(void **state)
{
	isc_coverage_map m = {
		.thinned = {thinned, 1, 1}, .blind = {blind, 3, 3}, .lost = {lost, 1, 1}, .paused = {&blind[1], 1, 1}};

	(void)state;
	for (uint32_t process = 1; process <= 3; process++)
		assert_non_null(isc_hashmap_put(&m.called, process, NULL));
	assert_int_equal(isc_coverage_of(&m, 1, 50, 60), ISC_COVERAGE_WHOLE);
	assert_int_equal(isc_coverage_of(&m, 1, 70, 99), ISC_COVERAGE_WHOLE);
	assert_int_equal(isc_coverage_of(&m, 3, 0, 99), ISC_COVERAGE_WHOLE);
	assert_int_equal(isc_coverage_of(&m, 1, 20, 30), ISC_COVERAGE_THINNED);
	assert_int_equal(isc_coverage_of(&m, 1, 45, 58), ISC_COVERAGE_THINNED);
	assert_int_equal(isc_coverage_of(&m, 1, 5, 11), ISC_COVERAGE_PARTIAL);
	assert_int_equal(isc_coverage_of(&m, 1, 19, 25), ISC_COVERAGE_PARTIAL);
	assert_int_equal(isc_coverage_of(&m, 1, 15, 35), ISC_COVERAGE_PARTIAL);
	assert_int_equal(isc_coverage_of(&m, 1, 55, 61), ISC_COVERAGE_PARTIAL);
	assert_int_equal(isc_coverage_of(&m, 1, 10, 20), ISC_COVERAGE_NONE);
	assert_int_equal(isc_coverage_of(&m, 1, 31, 32), ISC_COVERAGE_NONE);
	assert_int_equal(isc_coverage_of(&m, 2, 5, 99), ISC_COVERAGE_NONE);
	/* Nobody traced its calls. */
	assert_int_equal(isc_coverage_of(&m, 4, 5, 99), ISC_COVERAGE_NONE);
	assert_false(isc_coverage_is_cut(&m, 1, 20, 30));
	assert_true(isc_coverage_is_cut(&m, 1, 18, 30) && isc_coverage_is_cut(&m, 1, 60, 61));
	/* A tenth at most is missing. */
	assert_false(isc_coverage_is_cut(&m, 1, 19, 30) || isc_coverage_is_cut(&m, 1, 64, 74));
	/* Several gaps together. */
	assert_true(isc_coverage_is_cut(&m, 1, 19, 31));
	assert_true(isc_coverage_is_paused(&m, 1, 25, 31) && !isc_coverage_is_paused(&m, 1, 10, 30));
	isc_coverage_fini(&m);
}

static void scopes_without_gaps_are_whole(void **state)
{
	isc_buffer s = scene();

	(void)state;
	add_scopes(&s, (struct row){"t1", 5, 100, 20, 10}, "request");
	scene_gives(&s, "scope request 100: 5 = 5 whole, 0 partial (0 thinned), 0 none\n");
}

/* The first lies before the gap, the second is cut where it begins, the next two are in it, the fifth is cut at its end. */
static void a_gate_leaves_out_the_scopes_in_it_and_cuts_those_at_its_edges(void **state)
{
	static const int off[] = {ISC_GOVERNED_GATED, ISC_GOVERNED_OFF};

	(void)state;
	for (size_t i = 0; i < sizeof(off) / sizeof(off[0]); i++) {
		isc_buffer s = scene();

		add_scopes(&s, (struct row){"t1", 1, 100, 20, 10}, "request");
		isc_buffer_format(&s, "t1 125ms governed all %d\n", off[i]);
		add_scopes(&s, (struct row){"t1", 3, 140, 20, 10}, "request");
		isc_buffer_text(&s, "t1 195ms governed all 0\n");
		isc_buffer_text(&s, "t1 200ms span_enter request 7001\nt1 205ms governed all 1\n"
				    "t1 210ms span_exit request 7001 10ms\nt1 212ms governed all 0\n");
		add_scopes(&s, (struct row){"t1", 2, 220, 20, 10}, "request");
		scene_gives(&s, "scope request 100: 7 = 3 whole, 1 partial (0 thinned), 3 none\n");
	}
}

static void a_function_that_is_left_out_thins_the_scopes_of_that_time(void **state)
{
	isc_buffer s = scene();

	(void)state;
	add_scopes(&s, (struct row){"t1", 2, 100, 20, 10}, "request");
	isc_buffer_text(&s, "t1 135ms governed begin /a/m.py 3 1\n");
	add_scopes(&s, (struct row){"t1", 3, 140, 20, 10}, "request");
	isc_buffer_text(&s, "t1 195ms governed begin /a/m.py 3 0\n");
	add_scopes(&s, (struct row){"t1", 2, 200, 20, 10}, "request");
	scene_gives(&s, "scope request 100: 7 = 4 whole, 3 partial (3 thinned), 0 none\n");
}

static void a_scope_with_lost_events_is_partial(void **state)
{
	isc_buffer s = scene();

	(void)state;
	add_scopes(&s, (struct row){"t1", 2, 100, 20, 10}, "request");
	isc_buffer_text(&s, "t1 140ms span_enter request 9001\nt1 lose 5\nt1 150ms span_exit request 9001 10ms\n");
	add_scopes(&s, (struct row){"t1", 2, 160, 20, 10}, "request");
	scene_gives(&s, "scope request 100: 5 = 4 whole, 1 partial (0 thinned), 0 none\n");
}

static void scopes_of_a_program_without_calls_have_none(void **state)
{
	isc_buffer s = {0};

	(void)state;
	isc_buffer_text(&s, LONG_RUN);
	add_scopes(&s, (struct row){"t1", 3, 100, 20, 10}, "request");
	scene_gives(&s, "scope request 100: 3 = 0 whole, 0 partial (0 thinned), 3 none\n");
}

static void an_edge_of_the_time_asked_for_cuts_a_unit(void **state)
{
	isc_analysis_options options = {.from_us = 125e3, .to_us = 190e3};
	isc_buffer s = scene();
	isc_analysis *a;

	(void)state;
	add_scopes(&s, (struct row){"t1", 10, 100, 20, 10}, "request");
	isc_buffer_text(&s, END);
	a = analysis_with(s.data, &options);
	check_units(a, "scope request 100: 4 = 3 whole, 1 partial (0 thinned), 0 none\n");
	isc_analysis_free(a);
	isc_buffer_fini(&s);
}

/* A hundredth of it would be 9 ms. */
static void an_edge_that_cuts_more_than_five_ms_cuts_a_unit(void **state)
{
	isc_analysis_options options = {.from_us = 47e3};
	isc_buffer s = scene();
	isc_analysis *a;

	(void)state;
	add_scopes(&s, (struct row){"t1", 1, 40, 0, 900}, "train");
	isc_buffer_text(&s, END);
	a = analysis_with(s.data, &options);
	check_units(a, "none\nscope train 100: 1 = 0 whole, 1 partial (0 thinned), 0 none\n");
	isc_analysis_free(a);
	options.from_us = 44e3;
	a = analysis_with(s.data, &options);
	check_units(a, "none\nscope train 100: 1 = 1 whole, 0 partial (0 thinned), 0 none\n");
	isc_analysis_free(a);
	isc_buffer_fini(&s);
}

/* ---- families ---- */

static void units_of_another_process_or_name_are_another_family(void **state)
{
	isc_buffer s = scene();
	isc_analysis *a;

	(void)state;
	isc_buffer_text(&s, "p2 pid=200 parent=p1 traced python argv worker\nt2 p2 tid=200 main name=main\n");
	add_calls(&s, (struct row){"t2", 1, 1, 0, 0.1}, "begin /a/m.py 3");
	add_scopes(&s, (struct row){"t1", 6, 100, 40, 20}, "request");
	add_scopes(&s, (struct row){"t2", 3, 130, 50, 5}, "request");
	add_scopes(&s, (struct row){"t1", 4, 125, 40, 2}, "flush");
	isc_buffer_text(&s, END);
	a = analysis_of(s.data);
	check_units(a, "scope request 100: 6 = 6 whole, 0 partial (0 thinned), 0 none\n"
		       "scope request 200: 3 = 3 whole, 0 partial (0 thinned), 0 none\n"
		       "scope flush 100: 4 = 4 whole, 0 partial (0 thinned), 0 none\n");
	assert_near(a->units.families[0].p50_us, 20e3);
	assert_near(a->units.families[0].total_us, 120e3);
	assert_near(a->units.families[1].max_us, 5e3);
	isc_analysis_free(a);
	isc_buffer_fini(&s);
}

static void two_of_a_kind_are_no_work(void **state)
{
	isc_buffer s = scene();

	(void)state;
	add_scopes(&s, (struct row){"t1", 2, 100, 20, 10}, "load");
	scene_gives(&s, "none\nscope load 100: 2 = 2 whole, 0 partial (0 thinned), 0 none\n");
}

static void what_the_program_marks_comes_before_what_is_found(void **state)
{
	isc_buffer s = scene();

	(void)state;
	add_tasks(&s, (struct row){"t1", 4, 100, 20, 15}, "answer /a/m.py 9", "a");
	add_scopes(&s, (struct row){"t1", 3, 200, 20, 1}, "request");
	add_tasks(&s, (struct row){"t1", 1, 300, 20, 1}, "answer /a/m.py 9", "b");
	isc_buffer_text(&s, "t1 310ms instant end\n");
	isc_buffer_text(&s, END);
	{
		/* Only of the time of the scopes; all of it when that is asked for. */
		isc_analysis_options all = {.to_us = 900e3};
		isc_analysis *a = analysis_with(s.data, &all);

		check_units(a, "scope request 100: 3 = 3 whole, 0 partial (0 thinned), 0 none\n"
			       "task answer 100: 5 = 5 whole, 0 partial (0 thinned), 0 none\n");
		isc_analysis_free(a);
	}
	isc_buffer_fini(&s);
}

static void tasks_come_before_loops_unless_one_serves_all_the_others(void **state)
{
	isc_buffer s = scene();

	(void)state;
	add_tasks(&s, (struct row){"t1", 4, 100, 20, 5}, "answer /a/m.py 9", "a");
	scene_gives(&s, "task answer 100: 4 = 4 whole, 0 partial (0 thinned), 0 none\n");
	s = scene();
	add_tasks(&s, (struct row){"t1", 2, 100, 20, 5}, "serve /a/m.py 9", "a");
	add_tasks(&s, (struct row){"t1", 1, 200, 20, 600}, "serve /a/m.py 9", "b");
	scene_gives(&s, "none\ntask serve 100: 3 = 3 whole, 0 partial (0 thinned), 0 none\n");
}

static void add_loop(isc_buffer *out, struct row r, const char *looper, const char *step)
{
	isc_buffer_format(out, "%s %.6fms call_enter %s\n", r.thread, r.from - 1, looper);
	add_calls(out, r, step);
	isc_buffer_format(out, "%s %.6fms call_exit %s 0\n", r.thread, r.from + r.count * r.every, looper);
}

static void iterations_of_a_loop_are_units_and_of_a_pool_its_items(void **state)
{
	static const struct {
		const char *looper, *kind;
	} loops[] = {{"main /a/m.py 20", "loop"},
		     {"_worker /usr/lib/python3.11/concurrent/futures/thread.py 69", "item"},
		     {"_process_worker /usr/lib/python3.13/concurrent/futures/process.py 226", "item"},
		     {"worker /usr/lib/python3.11/multiprocessing/pool.py 97", "item"},
		     {"worker /a/mypool.py 97", "loop"}};
	char wanted[160];

	(void)state;
	for (size_t i = 0; i < sizeof(loops) / sizeof(loops[0]); i++) {
		isc_buffer s = scene();
		isc_analysis *a;

		add_loop(&s, (struct row){"t1", 40, 100, 20, 19}, loops[i].looper, "step /a/m.py 30");
		isc_buffer_text(&s, END);
		a = analysis_of(s.data);
		snprintf(wanted, sizeof(wanted), "%s step 100: 40 = 40 whole, 0 partial (0 thinned), 0 none\n",
			 loops[i].kind);
		check_units(a, wanted);
		assert_near(a->units.families[0].p50_us, 19e3);
		assert_true(text_is(&a->units.families[0].at.file, "/a/m.py"));
		assert_int_equal(a->units.families[0].at.line, 30);
		assert_true(a->units.families[0].looper.name.len > 0);
		isc_analysis_free(a);
		isc_buffer_fini(&s);
	}
}

static void a_trace_without_units_has_none(void **state)
{
	isc_buffer s = {0};

	(void)state;
	isc_buffer_text(&s, LONG_RUN);
	scene_gives(&s, "none\n");
}

static void check_reason(isc_buffer *s, const char *scope, const char *wanted)
{
	isc_analysis_options options = {.scope = scope};
	isc_analysis *a;

	isc_buffer_text(s, END);
	a = analysis_with(s->data, &options);
	assert_non_null(a->units.unknown);
	if (strstr(a->units.unknown, wanted) == NULL)
		fail_msg("%s\nis not\n%s", a->units.unknown, wanted);
	assert_non_null(strstr(warning_of(a, "units_unknown")->text, wanted));
	isc_analysis_free(a);
	isc_buffer_fini(s);
}

static void the_reason_is_the_one_that_holds(void **state)
{
	isc_buffer s = scene();

	(void)state;
	add_scopes(&s, (struct row){"t1", 2, 100, 20, 10}, "load");
	check_reason(&s, "load", "fewer than 3");
	s = scene();
	isc_buffer_text(&s, "t1 99ms scope_enter all\n");
	for (int i = 0; i < 5; i++)
		isc_buffer_format(&s, "t1 %dms scope_enter step\nt1 %dms scope_exit step\n", 100 + i * 20,
				  110 + i * 20);
	isc_buffer_text(&s, "t1 210ms scope_exit all\n");
	check_reason(&s, "step", "is an outermost one");
	s = scene();
	add_tasks(&s, (struct row){"t1", 2, 100, 20, 5}, "serve /a/m.py 9", "a");
	add_tasks(&s, (struct row){"t1", 1, 200, 20, 600}, "serve /a/m.py 9", "b");
	check_reason(&s, NULL, "more than half");
}

/* ---- what recording calls costs ---- */

/* Whole scopes take 11 ms, those in gates 10. */
static isc_analysis *measured(int each)
{
	isc_buffer s = scene();
	isc_analysis *a;

	for (int i = 0; i < each; i++) {
		add_scopes(&s, (struct row){"t1", 1, 20 + i * 16.0, 0, 0.011 * 500 + i * 0.0001}, "request");
		isc_buffer_format(&s, "t1 %.6fms governed all 6\n", 28 + i * 16.0);
		add_scopes(&s, (struct row){"t1", 1, 29 + i * 16.0, 0, 0.010 * 500 + i * 0.0001}, "request");
		isc_buffer_format(&s, "t1 %.6fms governed all 0\n", 35 + i * 16.0);
	}
	isc_buffer_text(&s, END);
	a = analysis_of(s.data);
	isc_buffer_fini(&s);
	return a;
}

static void whole_units_against_unrecorded_ones_are_the_cost_of_calls(void **state)
{
	isc_analysis *a = measured(60);

	(void)state;
	check_units(a, "scope request 100: 120 = 60 whole, 0 partial (0 thinned), 60 none\n");
	assert_true(a->calls_measured);
	assert_near(a->calls_measured_pct, 10);
	isc_analysis_free(a);
	a = measured(49);
	assert_false(a->calls_measured);
	isc_analysis_free(a);
}

/* A pause comes to units that take long. */
static void units_in_pauses_do_not_measure_the_cost_of_calls(void **state)
{
	isc_buffer s = scene();
	isc_analysis *a;

	(void)state;
	for (int i = 0; i < 55; i++) {
		double at = 20 + i * 17.0;

		add_scopes(&s, (struct row){"t1", 1, at, 0, 3 + i * 0.0001}, "request");
		isc_buffer_format(&s, "t1 %.6fms governed all 6\n", at + 4);
		add_scopes(&s, (struct row){"t1", 1, at + 5, 0, 2.5 + i * 0.0001}, "request");
		isc_buffer_format(&s, "t1 %.6fms governed all 0\nt1 %.6fms governed all 1\n", at + 8, at + 9);
		add_scopes(&s, (struct row){"t1", 1, at + 10, 0, 5}, "request");
		isc_buffer_format(&s, "t1 %.6fms governed all 0\n", at + 16);
	}
	isc_buffer_text(&s, END);
	a = analysis_of(s.data);
	check_units(a, "scope request 100: 165 = 55 whole, 0 partial (0 thinned), 110 none\n");
	assert_true(a->calls_measured);
	assert_near(a->calls_measured_pct, 20);
	isc_analysis_free(a);
	isc_buffer_fini(&s);
}

/* Half of the numbers of the widest bucket round up to its end. */
static void a_median_of_the_longest_times_has_a_cell(void **state)
{
	struct {
		isc_median m;
		uint32_t behind[16];
	} in = {0};
	isc_histogram h = {0};

	(void)state;
	assert_true(isc_histogram_add(&h, UINT64_MAX));
	isc_median_find(&h, &in.m);
	isc_median_refine(&in.m, in.m.high);
	for (size_t i = 0; i < 16; i++)
		assert_int_equal(in.behind[i], 0);
	assert_int_equal(in.m.cell[ISC_MEDIAN_CELLS - 1], 1);
	isc_histogram_fini(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_gap_makes_of_a_time_what_it_leaves_of_it),
		cmocka_unit_test(scopes_without_gaps_are_whole),
		cmocka_unit_test(a_gate_leaves_out_the_scopes_in_it_and_cuts_those_at_its_edges),
		cmocka_unit_test(a_function_that_is_left_out_thins_the_scopes_of_that_time),
		cmocka_unit_test(a_scope_with_lost_events_is_partial),
		cmocka_unit_test(scopes_of_a_program_without_calls_have_none),
		cmocka_unit_test(an_edge_of_the_time_asked_for_cuts_a_unit),
		cmocka_unit_test(units_of_another_process_or_name_are_another_family),
		cmocka_unit_test(two_of_a_kind_are_no_work),
		cmocka_unit_test(what_the_program_marks_comes_before_what_is_found),
		cmocka_unit_test(tasks_come_before_loops_unless_one_serves_all_the_others),
		cmocka_unit_test(iterations_of_a_loop_are_units_and_of_a_pool_its_items),
		cmocka_unit_test(an_edge_that_cuts_more_than_five_ms_cuts_a_unit),
		cmocka_unit_test(a_trace_without_units_has_none),
		cmocka_unit_test(the_reason_is_the_one_that_holds),
		cmocka_unit_test(units_in_pauses_do_not_measure_the_cost_of_calls),
		cmocka_unit_test(a_median_of_the_longest_times_has_a_cell),
		cmocka_unit_test(whole_units_against_unrecorded_ones_are_the_cost_of_calls),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
