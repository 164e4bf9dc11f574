/* attribution: time on a CPU that no stack explains, over traces written as text. */
#include "analysis_text.h"

#include "trace/sample.h"
#include "verdict_scene.h"

#undef META
#define META "meta {\"argv\": [\"serve\"], \"perf\": \"ok\", \"waits\": true, \"host\": \"h\"}\n"
#define NATIVE_OFF \
	"meta {\"argv\": [\"serve\"], \"perf\": \"ok\", \"waits\": true, \"native\": \"off\", \"host\": \"h\"}\n"
#define PROGRAM \
	"p1 pid=100 root traced python end=10s status=0 argv serve\n" \
	"t1 p1 tid=100 main name=main end=10s\n" \
	"t2 p1 tid=101 name=worker end=10s\n"
#define STEP "\"main /a/m.py 1 9\" \"step /a/m.py 12 14\"\n"

/* Ten seconds on a CPU in samples of 10 ms; of a hundred of them the last have these words. */
static isc_analysis *sampled(const char *meta, unsigned of_100, const char *words)
{
	isc_buffer text = {0};
	isc_analysis *a;

	isc_buffer_format(&text, "%s" PROGRAM "t1 0s in\n", meta);
	for (unsigned i = 0; i < 1000; i++)
		isc_buffer_format(&text, "t1 %ums sample 1 10ms %s", i * 10 + 5, i % 100 < 100 - of_100 ? STEP : words);
	isc_buffer_text(&text, "end 10s status=0\n");
	a = analysis_of(text.data);
	isc_buffer_fini(&text);
	return a;
}

static const isc_analysis_thread *main_of(const isc_analysis *a)
{
	for (size_t i = 0; i < a->thread_count; i++) {
		if (a->threads[i].tid == 100)
			return &a->threads[i];
	}
	fail_msg("no main thread");
	return NULL;
}

static const isc_analysis_function *function_of(const isc_analysis *a, const char *name)
{
	for (size_t i = 0; i < a->function_count; i++) {
		if (text_is(&a->functions[i].name, name))
			return &a->functions[i];
	}
	fail_msg("no function %s", name);
	return NULL;
}

static void time_without_a_stack_is_neither_python_nor_native(void **state)
{
	static const struct {
		const char *words;
		enum isc_unattributed why;
	} cases[] = {{"flags=16\n", ISC_UNATTRIBUTED_TABLE},	 {"flags=4\n", ISC_UNATTRIBUTED_UNREADABLE},
		     {"flags=8\n", ISC_UNATTRIBUTED_UNREADABLE}, {"flags=64\n", ISC_UNATTRIBUTED_PYTHON},
		     {"flags=128\n", ISC_UNATTRIBUTED_ENDED},	 {"flags=8192\n", ISC_UNATTRIBUTED_TABLE},
		     {"\n", ISC_UNATTRIBUTED_UNKNOWN},		 {"?\n", ISC_UNATTRIBUTED_UNKNOWN}};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		isc_analysis *a = sampled(META, 20, cases[i].words);
		const isc_analysis_thread *t = main_of(a);

		assert_near(t->state_us[ISC_STATE_PYTHON], 8e6);
		assert_near(t->state_us[ISC_STATE_NATIVE], 0);
		assert_near(t->state_us[ISC_STATE_UNATTRIBUTED], 2e6);
		assert_int_equal(t->unattributed, cases[i].why);
		assert_near(a->breakdown.pct[ISC_STATE_UNATTRIBUTED], 20);
		assert_int_equal(a->breakdown.unattributed, cases[i].why);
		assert_near(a->samples.unattributed_us[cases[i].why], 2e6);
		assert_non_null(strstr(warning_of(a, "unknown_stacks")->text, isc_unattributed_words(cases[i].why)));
		assert_string_equal(warning_of(a, "unknown_stacks")->remedy, isc_unattributed_remedy(cases[i].why));
		isc_analysis_free(a);
	}
}

static void a_native_stack_without_python_is_native(void **state)
{
	isc_analysis *a = sampled(META, 40, "flags=8 \"native gemm /usr/lib/libmkl.so\"\n");

	(void)state;
	assert_near(main_of(a)->state_us[ISC_STATE_NATIVE], 4e6);
	assert_near(main_of(a)->state_us[ISC_STATE_UNATTRIBUTED], 0);
	assert_null(warning_of(a, "unknown_stacks"));
	isc_analysis_free(a);
}

/* As --native leaf records it: the newest frame alone, where no Python function was open. */
static void the_interpreter_without_a_python_frame_is_python(void **state)
{
	static const struct {
		const char *words;
		enum isc_state state;
	} cases[] = {
		{"flags=8 \"native gc_collect_main /usr/lib/libpython3.11.so.1.0\"\n", ISC_STATE_PYTHON},
		{"flags=8 \"native dict_dealloc /usr/bin/python3.11\"\n", ISC_STATE_PYTHON},
		{"flags=8 \"native memcpy /usr/lib/libc.so.6\"\n", ISC_STATE_NATIVE},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		isc_analysis *a = sampled(META, 40, cases[i].words);

		assert_near(main_of(a)->state_us[ISC_STATE_NATIVE], cases[i].state == ISC_STATE_NATIVE ? 4e6 : 0);
		assert_near(main_of(a)->state_us[ISC_STATE_PYTHON], cases[i].state == ISC_STATE_NATIVE ? 6e6 : 10e6);
		isc_analysis_free(a);
	}
}

static void a_thread_that_ran_without_samples_is_unattributed(void **state)
{
	isc_analysis *a = analysis_of(META PROGRAM "t1 0s in\nt2 0s in\nt2 4s out\n"
						   "t1 5s sample 1 10s " STEP "end 10s status=0\n");

	(void)state;
	for (size_t i = 0; i < a->thread_count; i++) {
		const isc_analysis_thread *t = &a->threads[i];

		assert_near(t->state_us[ISC_STATE_UNATTRIBUTED], t->tid == 101 ? 4e6 : 0);
		if (t->tid == 101)
			assert_int_equal(t->unattributed, ISC_UNATTRIBUTED_UNSAMPLED);
	}
	isc_analysis_free(a);
}

/* The root side is known and counts; what was called there is neither its own time nor anybody's. */
static void a_cut_leaf_counts_for_its_prefix(void **state)
{
	isc_analysis *a = sampled(META, 30, "flags=8192 " STEP), *b = sampled(META, 30, "flags=24576 " STEP);

	(void)state;
	assert_near(main_of(a)->state_us[ISC_STATE_PYTHON], 10e6);
	assert_near(main_of(b)->state_us[ISC_STATE_PYTHON], 7e6);
	assert_near(main_of(b)->state_us[ISC_STATE_NATIVE], 3e6);
	assert_near(a->samples.cut_us, 3e6);
	assert_near(a->samples.unknown_us, 0);
	for (int i = 0; i < 2; i++) {
		const isc_analysis *of = i == 0 ? a : b;

		assert_near(function_of(of, "(deeper frames not recorded)")->cpu_self_us, 3e6);
		assert_near(function_of(of, "step")->cpu_self_us, 7e6);
		assert_near(function_of(of, "step")->cpu_total_us, 10e6);
		assert_near(function_of(of, "main")->cpu_total_us, 10e6);
		assert_non_null(warning_of(of, "cut_stacks"));
		assert_int_equal(of->stack_count, 2);
		assert_int_equal(of->stacks[1].frame_count, 3);
		assert_true(text_is(&of->stacks[1].frames[2].name, "(deeper frames not recorded)"));
	}
	isc_analysis_free(a);
	isc_analysis_free(b);
}

static void the_tags_of_stacks_are_told_from_ids(void **state)
{
	uint32_t cut = isc_trace_sample_stack(7, ISC_SAMPLE_LEAF_CUT);
	uint32_t native = isc_trace_sample_stack(7, ISC_SAMPLE_LEAF_CUT | ISC_SAMPLE_LEAF_NATIVE);

	(void)state;
	assert_true(isc_stack_is_cut(cut) && isc_stack_is_cut(native) && cut != native);
	assert_false(isc_stack_is_none(cut) || isc_stack_is_none(native) || isc_stack_is_none(7));
	assert_int_equal(cut & ~ISC_STACK_TAGS, 7);
	/* What has a tag keeps it, whatever is asked again. */
	assert_int_equal(isc_trace_sample_stack(cut, ISC_SAMPLE_LEAF_CUT | ISC_SAMPLE_LEAF_NATIVE), cut);
	assert_int_equal(isc_trace_sample_stack(7, ISC_SAMPLE_CUT), 7);
	assert_true(isc_stack_is_none(isc_trace_sample_stack(0, ISC_SAMPLE_LEAF_CUT)));
	assert_int_equal(isc_trace_total_stack(0, 0), 0);
	assert_true(isc_stack_is_none(isc_trace_total_stack(0, ISC_SAMPLE_OTHER)));
}

static void without_native_frames_what_ran_is_not_split(void **state)
{
	isc_analysis *on = sampled(META, 0, ""), *off = sampled(NATIVE_OFF, 20, "flags=8\n");
	const isc_analysis_thread *t = main_of(off);

	(void)state;
	assert_string_equal(on->verdict.claim.cause, "hot_function");
	assert_true(main_of(on)->state_us[ISC_STATE_ON_CPU] < 0);
	assert_true(t->state_us[ISC_STATE_PYTHON] < 0 && t->state_us[ISC_STATE_NATIVE] < 0);
	assert_near(t->state_us[ISC_STATE_ON_CPU], 10e6);
	assert_near(t->state_us[ISC_STATE_UNATTRIBUTED], 0);
	assert_near(off->breakdown.pct[ISC_STATE_ON_CPU], 100);
	/* Which function is hot in the interpreter nobody knows; what needs no split is judged. */
	assert_null(off->verdict.claim.cause);
	assert_non_null(strstr(off->verdict.withheld, "on a CPU in step"));
	assert_non_null(strstr(off->verdict.withheld, "--native leaf"));
	assert_non_null(warning_of(off, "no_native_frames"));
	isc_analysis_free(on);
	isc_analysis_free(off);
}

static void waits_are_judged_without_native_frames(void **state)
{
	isc_analysis *a = analysis_of(NATIVE_OFF PROGRAM "t1 0s in\n"
							 "repeat 300 30ms\n"
							 "t1 @10ms sample 1 10ms " STEP "t1 @11ms out\n"
							 "t1 @29ms in\n"
							 "t1 @29ms wait_exit mutex 18ms 101 \"step /a/m.py 12 14\"\n"
							 "again\n"
							 "end 10s status=0\n");

	(void)state;
	assert_string_equal(a->verdict.claim.cause, "lock_contention");
	assert_true(a->breakdown.pct[ISC_STATE_ON_CPU] > 30);
	isc_analysis_free(a);
}

/* 200 ms of imports before the scopes, in samples of 5 ms that took 100 us each, and 200 calls of 1 us. */
static void start_up_pays_of_its_own_time(void **state)
{
	isc_buffer text = {0};
	isc_analysis *a;

	(void)state;
	isc_buffer_text(&text,
			"meta {\"argv\": [\"serve\"], \"perf\": \"ok\", \"own_cpu_us\": 50000, "
			"\"program_cpu_us\": 1000000, \"user_us\": 300000, \"system_us\": 100000, \"measured_pct\": 1, "
			"\"host\": \"h\"}\n" PROGRAM "t1 0s in\nt1 0s governed cost 16000\n");
	for (unsigned i = 0; i < 40; i++) {
		for (unsigned k = 0; k < 5; k++)
			isc_buffer_format(
				&text, "t1 %u.%ums call_enter load /a/m.py 3\nt1 %u.%ums call_exit load /a/m.py 3 0\n",
				i * 5, k, i * 5, k);
		isc_buffer_format(&text, "t1 %ums sample 1 5ms cost_us=100 " STEP, i * 5 + 1);
	}
	for (unsigned i = 0; i < 300; i++)
		isc_buffer_format(&text,
				  "t1 %ums scope_enter request\nt1 %ums sample 1 10ms " STEP
				  "t1 %ums scope_exit request\n",
				  300 + i * 12, 305 + i * 12, 310 + i * 12);
	isc_buffer_text(&text, "end 10s status=0\n");
	a = analysis_of(text.data);
	/* 40 x 100 us and 200 x 1 us, of 200 ms. */
	assert_near(a->startup_pct, 2.1);
	assert_null(a->startup_unknown);
	assert_near(a->measured_cpu_pct, 5);
	assert_near(a->measured_pct, 1);
	isc_analysis_free(a);
	isc_buffer_fini(&text);
	a = sampled(META, 0, "");
	assert_true(a->startup_pct < 0 && a->startup_unknown != NULL);
	assert_true(a->measured_cpu_pct < 0);
	isc_analysis_free(a);
}

static double confidence_with(double unattributed)
{
	struct scene *s = scene();
	double found;

	set(s, ISC_STATE_LOCK_WAIT, 60);
	set(s, ISC_STATE_UNATTRIBUTED, unattributed);
	s->j.unattributed = ISC_UNATTRIBUTED_TABLE;
	found = reach(s)->withheld != NULL ? -1 : s->a.verdict.confidence;
	drop(s);
	return found;
}

static void unattributed_time_lowers_confidence_and_then_withholds_the_verdict(void **state)
{
	struct scene *s = scene();

	(void)state;
	assert_near(confidence_with(5), confidence_with(0));
	assert_true(confidence_with(10) < confidence_with(5) && confidence_with(30) < confidence_with(10));
	assert_true(confidence_with(30) > 0);
	assert_true(confidence_with(30.1) < 0);
	set(s, ISC_STATE_LOCK_WAIT, 60);
	set(s, ISC_STATE_UNATTRIBUTED, 40);
	s->j.unattributed = ISC_UNATTRIBUTED_TABLE;
	assert_non_null(strstr(reach(s)->withheld, "40.0% of the judged time"));
	assert_non_null(strstr(s->a.verdict.withheld, isc_unattributed_words(ISC_UNATTRIBUTED_TABLE)));
	assert_non_null(strstr(s->a.verdict.withheld, isc_unattributed_remedy(ISC_UNATTRIBUTED_TABLE)));
	assert_int_equal(s->a.suggestion_count, 0);
	drop(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(time_without_a_stack_is_neither_python_nor_native),
		cmocka_unit_test(a_native_stack_without_python_is_native),
		cmocka_unit_test(the_interpreter_without_a_python_frame_is_python),
		cmocka_unit_test(a_thread_that_ran_without_samples_is_unattributed),
		cmocka_unit_test(a_cut_leaf_counts_for_its_prefix),
		cmocka_unit_test(the_tags_of_stacks_are_told_from_ids),
		cmocka_unit_test(without_native_frames_what_ran_is_not_split),
		cmocka_unit_test(waits_are_judged_without_native_frames),
		cmocka_unit_test(start_up_pays_of_its_own_time),
		cmocka_unit_test(unattributed_time_lowers_confidence_and_then_withholds_the_verdict),
	};

	return cmocka_run_group_tests_name("attribution", tests, NULL, NULL);
}
