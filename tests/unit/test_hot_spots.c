/* hot_spots: what a trace says of its samples, over traces written as text. */
#include "analysis_text.h"

#include <unistd.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "trace/writer.h"

#define MAIN "\"main /a/m.py 1 5\" "
#define PROGRAM \
	"p1 pid=100 root traced end=10s status=0 argv serve\n" \
	"t1 p1 tid=100 main name=main end=10s\n" \
	"t2 p1 tid=101 name=worker end=10s\n"

static const isc_analysis_function *function_of(const isc_analysis *a, const char *name)
{
	for (size_t i = 0; i < a->function_count; i++) {
		if (text_is(&a->functions[i].name, name))
			return &a->functions[i];
	}
	fail_msg("no function %s", name);
	return NULL;
}

/* Twenty-five requests: two take ten times as long, and not where the others do. */
static void slow_scopes_are_told_from_median_ones(void **state)
{
	char text[16384];
	int len = snprintf(text, sizeof(text), "%s", META PROGRAM), at = 10;
	isc_analysis *a;

	(void)state;
	for (int i = 0; i < 25; i++) {
		bool slow = i % 10 == 5;
		/* From 8 to 12 ms, and 100. */
		int took = slow ? 100 : 8 + i % 5;

		len += sprintf(text + len, "t1 %dms scope_enter request\n", at);
		len += sprintf(text + len, "t1 %dms sample 1 5ms " MAIN "\"work /a/m.py 10 11\"\n", at + 2);
		if (slow)
			len += sprintf(text + len, "t1 %dms sample 1 50ms " MAIN "\"retry /a/m.py 20 21\"\n", at + 60);
		/* Another thread, and what is between requests. */
		len += sprintf(text + len, "t2 %dms sample 1 5ms " MAIN "\"other /a/m.py 30 31\"\n", at + 2);
		len += sprintf(text + len, "t1 %dms scope_exit request\n", at + took);
		len += sprintf(text + len, "t1 %dms sample 1 5ms " MAIN "\"other /a/m.py 30 31\"\n", at + took + 1);
		at += took + 5;
	}
	sprintf(text + len, "end 10s status=0\n");
	a = analysis_of(text);
	assert_true(text_is(&a->samples.scope, "request"));
	assert_true(a->samples.slow_scopes >= 2 && a->samples.median_scopes >= 4);
	for (size_t i = 0; i < a->stack_count; i++) {
		const isc_analysis_stack *s = &a->stacks[i];
		const isc_text *name = &s->frames[s->frame_count - 1].name;
		bool work = text_is(name, "work"), retry = text_is(name, "retry");

		assert_near(s->us_median, work ? 5000 : 0);
		assert_near(s->us_slow, work ? 5000 : retry ? 50e3 * 2 / (double)a->samples.slow_scopes : 0);
	}
	assert_null(warning_of(a, "no_slow_scopes"));
	isc_analysis_free(a);
	a = analysis_of(META PROGRAM "t1 6ms sample 3 5ms " MAIN "\nend 10s status=0\n");
	assert_true(a->stacks[0].us_median < 0 && a->stacks[0].us_slow < 0 && !a->stacks[0].counted);
	assert_non_null(warning_of(a, "no_slow_scopes"));
	assert_non_null(warning_of(a, "no_counters"));
	isc_analysis_free(a);
}

/* While a task waits, others have its thread. */
static void samples_of_other_tasks_are_not_of_a_scope(void **state)
{
	char text[16384];
	int len = snprintf(text, sizeof(text), "%s", META PROGRAM), at = 10;
	isc_analysis *a;

	(void)state;
	for (int i = 1; i <= 25; i++) {
		int took = i % 10 == 5 ? 100 : 8 + i % 5;

		len += sprintf(text + len, "t1 %dms task Task-2\nt1 %dms span_enter request %d\n", at, at, i);
		len += sprintf(text + len, "t1 %dms task none\nt1 %dms sample 1 5ms " MAIN "\n", at + 1, at + 2);
		len += sprintf(text + len, "t1 %dms task Task-2\nt1 %dms span_exit request %d %dms\n", at + 3,
			       at + took, i, took);
		at += took + 5;
	}
	sprintf(text + len, "end 10s status=0\n");
	a = analysis_of(text);
	assert_true(text_is(&a->samples.scope, "request") && a->stack_count == 1);
	assert_near(a->stacks[0].us, 125e3);
	assert_near(a->stacks[0].us_median, 0);
	assert_near(a->stacks[0].us_slow, 0);
	isc_analysis_free(a);
}

static void a_rate_that_the_budget_lowered_is_told(void **state)
{
	static const char meta[] = "meta {\"argv\": [\"serve\"], \"perf\": \"ok\", \"rate_hz\": 1000}\n";
	char text[1024];
	isc_analysis *a;

	(void)state;
	/* One step of ten is as asked for, and the rest eight times as long. */
	snprintf(text, sizeof(text), "%s%s", meta,
		 PROGRAM "t1 1ms sample 1 1ms " MAIN "\n"
			 "t1 2ms sample_rate 1 16000000\n"
			 "t1 3ms sample_rate 1 8000000\n"
			 "t1 90ms sample 9 8ms " MAIN "\n"
			 "t1 91ms sample_rate 0 1000000\n"
			 "end 10s status=0\n");
	a = analysis_of(text);
	assert_near(a->samples.rate_hz, 1000);
	assert_near(a->samples.least_hz, 62.5);
	assert_non_null(warning_of(a, "rate_lowered"));
	assert_non_null(strstr(warning_of(a, "rate_lowered")->text, "137 samples a second"));
	assert_non_null(strstr(warning_of(a, "few_samples")->remedy, "--budget"));
	assert_null(warning_of(a, "threads_not_sampled"));
	isc_analysis_free(a);
	snprintf(text, sizeof(text), "%s%s", meta,
		 PROGRAM "t1 1ms sample 99 1ms " MAIN "\n"
			 "t1 2ms sample_rate 1 2000000\n"
			 "t1 3ms sample 1 2ms " MAIN "\n"
			 "t2 4ms sample_rate 3 1000000\n"
			 "end 10s status=0\n");
	a = analysis_of(text);
	assert_null(warning_of(a, "rate_lowered"));
	assert_non_null(strstr(warning_of(a, "few_samples")->remedy, "--rate"));
	assert_non_null(warning_of(a, "threads_not_sampled"));
	isc_analysis_free(a);
}

static void time_is_steps_by_their_length_over_all_threads(void **state)
{
	isc_analysis *a = analysis_of(META PROGRAM "t1 1ms sample 1 5ms " MAIN "\"f /a/m.py 10 11\"\n"
						   "t1 6ms sample 3 5ms " MAIN "\"f /a/m.py 10 12\"\n"
						   "t2 6ms sample 1 20ms " MAIN "\"f /a/m.py 10 11\"\n"
						   "t1 9ms sample 2 1ms " MAIN "\n"
						   "end 10s status=0\n");
	const isc_analysis_function *f = function_of(a, "f"), *m = function_of(a, "main");

	(void)state;
	assert_int_equal(a->samples.count, 4);
	assert_int_equal(a->samples.steps, 7);
	assert_near(a->samples.us, 42000);
	assert_int_equal(f->samples, 3);
	assert_near(f->cpu_self_us, 40000);
	assert_near(f->self_us, 40000);
	assert_near(m->self_us, 2000);
	assert_near(m->total_us, 42000);
	assert_true(f->by_samples && f->estimated && !f->traced);
	assert_int_equal(a->line_count, 3);
	assert_int_equal(a->lines[0].at.line, 11);
	assert_near(a->lines[0].self_us, 25000);
	assert_int_equal(a->lines[1].at.line, 12);
	assert_int_equal(a->lines[2].at.line, 5);
	assert_true(text_is(&a->lines[2].at.name, "main"));
	assert_int_equal(a->stack_count, 3);
	assert_int_equal(a->stacks[0].frame_count, 2);
	assert_true(text_is(&a->stacks[0].frames[0].name, "main"));
	assert_true(text_is(&a->stacks[0].frames[1].name, "f"));
	assert_non_null(warning_of(a, "few_samples"));
	assert_null(warning_of(a, "no_samples"));
	for (size_t i = 0; i < a->thread_count; i++)
		assert_near(a->threads[i].sampled_python_us, a->threads[i].tid == 100 ? 22000 : 20000);
	isc_analysis_free(a);
}

static void recursion_counts_once_in_the_whole_time(void **state)
{
	isc_analysis *a = analysis_of(
		META PROGRAM "t1 1ms sample 1 5ms " MAIN
			     "\"f /a/m.py 10 11\" \"g /a/m.py 20 21\" \"f /a/m.py 10 11\" \"f /a/m.py 10 12\"\n"
			     "t1 6ms sample 1 5ms " MAIN "\"g /a/m.py 20 21\" \"f /a/m.py 10 11\"\n"
			     "end 10s status=0\n");

	(void)state;
	assert_near(function_of(a, "f")->total_us, 10000);
	assert_near(function_of(a, "f")->self_us, 10000);
	assert_near(function_of(a, "g")->total_us, 10000);
	assert_near(function_of(a, "g")->self_us, 0);
	assert_near(function_of(a, "main")->total_us, 10000);
	isc_analysis_free(a);
}

static void frames_of_an_unknown_kind_do_not_break_a_stack(void **state)
{
	isc_analysis *a = analysis_of(META PROGRAM "t1 1ms sample 1 5ms " MAIN "\"f /a/m.py 10 11\" ? ?\n"
						   "t1 6ms sample 1 5ms " MAIN "? \"g /a/m.py 20 21\"\n"
						   "t1 9ms sample 1 5ms ? ?\n"
						   "end 10s status=0\n");

	(void)state;
	/* What f called that is not Python is f's, and that line's. */
	assert_near(function_of(a, "f")->cpu_self_us, 5000);
	assert_near(function_of(a, "f")->native_us, 5000);
	assert_near(function_of(a, "g")->cpu_self_us, 5000);
	assert_near(function_of(a, "?")->cpu_self_us, 10000);
	assert_near(function_of(a, "?")->cpu_total_us, 15000);
	assert_near(function_of(a, "main")->cpu_total_us, 10000);
	assert_int_equal(a->stack_count, 3);
	assert_int_equal(a->stacks[0].frame_count, 4);
	assert_false(a->stacks[0].frames[3].python || a->stacks[0].frames[3].native);
	assert_int_equal(a->line_count, 2);
	assert_near(a->lines[0].native_us + a->lines[1].native_us, 5000);
	isc_analysis_free(a);
}

static void stacks_that_are_not_known_are_told_apart(void **state)
{
	isc_analysis *a = analysis_of(META PROGRAM "t1 1ms sample 1 5ms " MAIN "\n"
						   "t2 1ms sample 1 5ms flags=8\n"
						   "t1 6ms sample 2 5ms flags=16\n"
						   "end 10s status=0\n");

	(void)state;
	assert_near(function_of(a, "(no Python)")->self_us, 5000);
	assert_near(function_of(a, "(unattributed)")->self_us, 10000);
	assert_near(a->samples.unknown_us, 15000);
	assert_near(a->samples.unattributed_us[ISC_UNATTRIBUTED_TABLE], 10000);
	assert_near(a->samples.unattributed_us[ISC_UNATTRIBUTED_UNREADABLE], 5000);
	assert_non_null(strstr(warning_of(a, "unknown_stacks")->text, "more different stacks than its table holds"));
	assert_int_equal(a->line_count, 1);
	isc_analysis_free(a);
}

static void a_window_and_a_scope_have_their_own_samples(void **state)
{
	static const char text[] = META PROGRAM "t1 1s sample 1 5ms \"f /a/m.py 10 11\"\n"
						"t1 2s scope_enter part\n"
						"t1 3s sample 1 5ms \"g /a/m.py 20 21\"\n"
						"t2 3s sample 1 5ms \"h /a/m.py 30 31\"\n"
						"t1 4s scope_exit part\n"
						"t1 5s sample 1 5ms \"f /a/m.py 10 11\"\n"
						"end 10s status=0\n";
	isc_analysis *a = analysis_with(text, &(isc_analysis_options){.from_us = 2.5e6, .to_us = 6e6});

	(void)state;
	assert_int_equal(a->samples.count, 3);
	assert_near(function_of(a, "f")->self_us, 5000);
	isc_analysis_free(a);
	a = analysis_with(text, &(isc_analysis_options){.scope = "part"});
	assert_int_equal(a->samples.count, 1);
	assert_near(function_of(a, "g")->self_us, 5000);
	isc_analysis_free(a);
}

/* A traced main that calls f, which is not watched from 1 s on; n samples in each. */
static isc_analysis *governed(unsigned in_main, unsigned in_f)
{
	isc_buffer text = {0};
	isc_analysis *a;

	isc_buffer_text(&text, META PROGRAM "t1 0s call_enter main /a/m.py 1\n"
					    "t1 0.5s call_enter f /a/m.py 10\n"
					    "t1 0.6s call_exit f /a/m.py 10\n"
					    "t1 1s governed f /a/m.py 10 1\n");
	for (unsigned i = 0; i < in_main + in_f; i++)
		isc_buffer_format(&text, "t1 %us sample 1 10ms " MAIN "%s\n", 2 + i / 100,
				  i < in_main ? "" : "\"f /a/m.py 10 11\"");
	isc_buffer_text(&text, "t1 10s call_exit main /a/m.py 1\n"
			       "end 10s status=0\n");
	assert_false(text.failed);
	a = analysis_of(text.data);
	isc_buffer_fini(&text);
	return a;
}

static void a_governed_function_has_its_times_from_enough_samples(void **state)
{
	isc_analysis *a = governed(100, 300);
	const isc_analysis_function *f = function_of(a, "f"), *m = function_of(a, "main");

	(void)state;
	assert_true(f->traced && f->governed && f->by_samples && f->estimated);
	assert_near(f->self_us, 3e6);
	/* 75% of 400 samples: 1.96 x sqrt(0.75 x 0.25 / 400) is 4.2 points of 4 s. */
	assert_true(f->cpu_error_us > 0.04 * 4e6 && f->cpu_error_us < 0.045 * 4e6);
	/* Of main's 9.9 s, f took 2.9 s unseen; its waiting stays. */
	assert_near(m->self_us, 9.9e6 - 2.9e6);
	assert_near(m->total_us, 10e6);
	assert_true(m->traced && m->estimated && !m->by_samples);
	assert_non_null(strstr(warning_of(a, "governed_functions")->text, "by samples"));
	isc_analysis_free(a);
}

static void a_few_samples_change_no_estimate(void **state)
{
	isc_analysis *a = governed(50, 149);
	const isc_analysis_function *f = function_of(a, "f"), *m = function_of(a, "main");

	(void)state;
	assert_false(f->by_samples);
	assert_near(f->self_us, 100e3);
	assert_near(f->cpu_self_us, 1.49e6);
	assert_near(m->self_us, 9.9e6);
	isc_analysis_free(a);
}

static void a_traced_function_keeps_its_exact_times(void **state)
{
	isc_analysis *a = analysis_of(META PROGRAM "t1 1ms call_enter main /a/m.py 1\n"
						   "t1 2ms sample 4 5ms " MAIN "\n"
						   "t1 9ms call_exit main /a/m.py 1\n"
						   "end 10s status=0\n");
	const isc_analysis_function *m = function_of(a, "main");

	(void)state;
	assert_true(m->traced && m->samples == 1 && !m->by_samples && !m->estimated);
	assert_int_equal(m->calls, 1);
	assert_near(m->self_us, 8000);
	assert_near(m->cpu_self_us, 20000);
	isc_analysis_free(a);
}

static void hot_paths_are_short(void **state)
{
	isc_buffer text = {0};
	isc_analysis *a;

	(void)state;
	isc_buffer_text(&text, META PROGRAM);
	/* 90 small branches that are each 1 of 1,000, two large ones, and a chain that leads there. */
	for (unsigned i = 0; i < 90; i++)
		isc_buffer_format(&text, "t1 1s sample 1 1ms " MAIN "\"a /a/m.py 3 4\" \"small%u /a/m.py 9 9\"\n", i);
	isc_buffer_text(&text, "t1 1s sample 600 1ms " MAIN
			       "\"a /a/m.py 3 4\" \"b /a/m.py 5 6\" \"b /a/m.py 5 6\" \"c /a/m.py 7 8\"\n"
			       "t1 1s sample 310 1ms " MAIN "\"a /a/m.py 3 4\" \"d /a/m.py 50 51\"\n"
			       "end 10s status=0\n");
	assert_false(text.failed);
	a = analysis_of(text.data);
	assert_int_equal(a->path_count, 3);
	assert_int_equal(a->paths[0].frame_count, 2);
	assert_near(a->paths[0].us, 1e6);
	assert_int_equal(a->paths[1].frame_count, 2);
	assert_int_equal(a->paths[1].depth, 1);
	assert_true(text_is(&a->paths[1].frames[0].name, "b"));
	assert_true(text_is(&a->paths[1].frames[1].name, "c"));
	assert_near(a->paths[1].us, 6e5);
	assert_true(text_is(&a->paths[2].frames[0].name, "d"));
	isc_analysis_free(a);
	isc_buffer_fini(&text);
}

static void what_is_not_listed_is_in_the_rest(void **state)
{
	isc_buffer text = {0};
	uint64_t samples = 0;
	double us = 0;
	isc_analysis *a;

	(void)state;
	isc_buffer_text(&text, META PROGRAM);
	for (unsigned i = 0; i < 150; i++)
		isc_buffer_format(&text, "t1 1s sample %u 1ms " MAIN "\"f%u /a/m.py 9 %u\"\n", i + 1, i, i + 1);
	isc_buffer_text(&text, "end 10s status=0\n");
	assert_false(text.failed);
	a = analysis_of(text.data);
	assert_int_equal(a->stack_count, 101);
	assert_int_equal(a->stacks[100].frame_count, 0);
	for (size_t i = 0; i < a->stack_count; i++) {
		samples += a->stacks[i].samples;
		us += a->stacks[i].us;
	}
	assert_int_equal(samples, 150);
	assert_near(us, a->samples.us);
	assert_int_equal(a->samples.stacks, 150);
	assert_int_equal(a->line_count, 100);
	assert_int_equal(a->samples.lines, 150);
	assert_int_equal(a->samples.other_line_samples, 50);
	assert_near(a->samples.other_lines_us, 50 * 51 / 2 * 1000.);
	isc_analysis_free(a);
	isc_buffer_fini(&text);
}

/* ---- files that are not ours ---- */

/* Stacks of any shape: `frames` by definition id, then a sample of each. */
static isc_analysis *hostile(const isc_def_stack *frames, uint32_t n, uint32_t step, uint16_t steps, uint32_t period)
{
	char path[] = "/tmp/isc-samples-XXXXXX";
	isc_writer_options options = {.start_ticks = 1, .start_ns = 1};
	isc_trace_end end = {.end_ns = 1000000000};
	isc_trace_process p = {.process = 1, .pid = 7, .flags = ISC_PROCESS_ROOT | ISC_PROCESS_TRACED, .argv = ""};
	isc_trace_thread t = {.thread = 1, .process = 1, .tid = 7, .flags = ISC_THREAD_MAIN};
	isc_error err = {0};
	isc_analysis *a = NULL;
	isc_trace *trace = NULL;
	isc_writer *w;

	assert_int_equal(isc_writer_open(mkstemp(path), &options, &w, &err), ISC_OK);
	assert_int_equal(isc_writer_process(w, &p, &err), ISC_OK);
	assert_int_equal(isc_writer_thread(w, &t, &err), ISC_OK);
	for (uint32_t i = 0; i < n; i++)
		assert_int_equal(isc_writer_define(w, 1, i + 1, ISC_DEF_STACK, &frames[i], sizeof(frames[i]), &err),
				 ISC_OK);
	for (uint32_t i = n, k = 0; i > 0; i = i > step ? i - step : 0, k++) {
		isc_trace_run run = {.process = 1, .thread = 1, .first = k, .events = 1, .slots = 2};
		isc_record slot[2] = {{.ticks = 5 + k, .id = i, .kind = ISC_KIND_SAMPLE, .slots = 2, .arg = steps}};
		isc_sample body = {.period_ns = period};

		memcpy(&slot[1], &body, sizeof(body));
		assert_int_equal(isc_writer_events(w, &run, slot, &err), ISC_OK);
	}
	assert_int_equal(isc_writer_close(w, &end, &err), ISC_OK);
	assert_int_equal(isc_trace_open(path, &trace, &err), ISC_OK);
	unlink(path);
	assert_int_equal(isc_analysis_new(trace, NULL, &a, &err), ISC_OK);
	isc_trace_close(trace);
	return a;
}

static void parents_that_go_round_come_to_an_end(void **state)
{
	const isc_def_stack frames[] = {
		{.parent = 1}, {.parent = 3}, {.parent = 2}, {.parent = UINT32_MAX}, {.parent = 9}};
	isc_analysis *a = hostile(frames, 5, 1, 1, 1000);

	(void)state;
	assert_int_equal(a->samples.count, 5);
	assert_near(a->samples.us, 5);
	for (size_t i = 0; i < a->stack_count; i++)
		assert_true(a->stacks[i].frame_count <= 2);
	isc_analysis_free(a);
}

static void a_chain_without_end_is_cut(void **state)
{
	enum { N = 20000 };
	isc_def_stack *frames = calloc(N, sizeof(*frames));
	isc_analysis *a;

	(void)state;
	assert_non_null(frames);
	for (uint32_t i = 0; i < N; i++) {
		frames[i].parent = i;
		frames[i].code = i; /* a definition, and not of code */
		frames[i].lines = i;
	}
	a = hostile(frames, N, 1, 65535, UINT32_MAX);
	assert_int_equal(a->samples.count, N);
	for (size_t i = 0; i < a->stack_count; i++)
		assert_true(a->stacks[i].frame_count <= ISC_STACK_FRAMES_MAX);
	assert_true(a->arena->total_bytes < 64u << 20);
	isc_analysis_free(a);
	/* From the newest one, in large steps. */
	a = hostile(frames, N, 1000, 1, 1);
	assert_int_equal(a->samples.count, N / 1000);
	isc_analysis_free(a);
	free(frames);
}

static void steps_without_a_length_have_no_shares(void **state)
{
	const isc_def_stack frames[] = {{.parent = 0}, {.parent = 1}};
	isc_analysis *a = hostile(frames, 2, 1, 0, 0);

	(void)state;
	assert_int_equal(a->samples.count, 2);
	assert_int_equal(a->path_count, 0);
	assert_near(a->samples.us, 0);
	isc_analysis_free(a);
}

/* ---- many ---- */

static isc_writer *begin_many(int fd, uint64_t limit_bytes, uint32_t stacks)
{
	isc_writer_options options = {.start_ticks = 1, .start_ns = 1, .limit_bytes = limit_bytes};
	isc_trace_process p = {.process = 1, .pid = 7, .flags = ISC_PROCESS_ROOT | ISC_PROCESS_TRACED, .argv = ""};
	isc_trace_thread t = {.thread = 1, .process = 1, .tid = 7, .flags = ISC_THREAD_MAIN};
	isc_writer *w;

	assert_int_equal(isc_writer_open(fd, &options, &w, NULL), ISC_OK);
	assert_int_equal(isc_writer_process(w, &p, NULL), ISC_OK);
	assert_int_equal(isc_writer_thread(w, &t, NULL), ISC_OK);
	for (uint32_t i = 1; i <= stacks; i++) {
		/* Different offsets make different stacks; there is no line to find for them. */
		isc_def_stack frame = {.parent = i / 2, .code = stacks + 1 + i % 50};

		assert_int_equal(isc_writer_define(w, 1, i, ISC_DEF_STACK, &frame, sizeof(frame), NULL), ISC_OK);
	}
	for (uint32_t i = 0; i < 50; i++) {
		struct {
			isc_def_code head;
			char text[4];
		} code = {{.line = i + 1, .name_len = 3, .file_len = 1},
			  {'f', (char)('0' + i / 10), (char)('0' + i % 10), 'm'}};

		assert_int_equal(isc_writer_define(w, 1, stacks + 1 + i, ISC_DEF_CODE, &code, sizeof(code), NULL),
				 ISC_OK);
	}
	return w;
}

static void what_retention_dropped_is_still_counted(void **state)
{
	enum { STACKS = 500, SAMPLES = 400000, BATCH = 100 };
	char path[] = "/tmp/isc-samples-XXXXXX";
	isc_writer *w = begin_many(mkstemp(path), 2u << 20, STACKS);
	uint64_t draw = 88172645463325252u, us = 0, in_f7 = 0;
	isc_record slot[2 * BATCH];
	isc_analysis *a = NULL;
	isc_trace *trace = NULL;

	(void)state;
	for (uint32_t done = 0; done < SAMPLES; done += BATCH) {
		isc_trace_run run = {.process = 1, .thread = 1, .first = done, .events = BATCH, .slots = 2 * BATCH};

		for (uint32_t i = 0; i < BATCH; i++) {
			isc_sample body = {.period_ns = 1000u * (1 + draw % 5)};
			uint32_t stack = 1 + (uint32_t)(draw >> 20) % STACKS;

			slot[2 * i] =
				(isc_record){5 + (done + i) * 1000ull + draw % 1000, stack, ISC_KIND_SAMPLE, 2, 1};
			memcpy(&slot[2 * i + 1], &body, sizeof(body));
			us += body.period_ns / 1000;
			in_f7 += stack % 50 == 7 ? body.period_ns / 1000 : 0;
			draw ^= draw << 13, draw ^= draw >> 7, draw ^= draw << 17;
		}
		assert_int_equal(isc_writer_events(w, &run, slot, NULL), ISC_OK);
	}
	assert_int_equal(isc_writer_close(w, &(isc_trace_end){.end_ns = 1000000000}, NULL), ISC_OK);
	assert_int_equal(isc_trace_open(path, &trace, NULL), ISC_OK);
	unlink(path);
	assert_true(isc_trace_stats_get(trace)->retired_events > SAMPLES / 4);
	assert_int_equal(isc_analysis_new(trace, NULL, &a, NULL), ISC_OK);
	isc_trace_close(trace);
	assert_int_equal(a->samples.count, SAMPLES);
	assert_true(fabs(a->samples.us - (double)us) < 1);
	assert_true(fabs(function_of(a, "f07")->cpu_self_us - (double)in_f7) < 1);
	assert_int_equal(a->function_count, 50);
	assert_true(a->path_count > 0 && a->path_count <= 40);
	isc_analysis_free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(slow_scopes_are_told_from_median_ones),
		cmocka_unit_test(samples_of_other_tasks_are_not_of_a_scope),
		cmocka_unit_test(a_rate_that_the_budget_lowered_is_told),
		cmocka_unit_test(time_is_steps_by_their_length_over_all_threads),
		cmocka_unit_test(recursion_counts_once_in_the_whole_time),
		cmocka_unit_test(frames_of_an_unknown_kind_do_not_break_a_stack),
		cmocka_unit_test(stacks_that_are_not_known_are_told_apart),
		cmocka_unit_test(a_window_and_a_scope_have_their_own_samples),
		cmocka_unit_test(a_governed_function_has_its_times_from_enough_samples),
		cmocka_unit_test(a_few_samples_change_no_estimate),
		cmocka_unit_test(a_traced_function_keeps_its_exact_times),
		cmocka_unit_test(hot_paths_are_short),
		cmocka_unit_test(what_is_not_listed_is_in_the_rest),
		cmocka_unit_test(parents_that_go_round_come_to_an_end),
		cmocka_unit_test(a_chain_without_end_is_cut),
		cmocka_unit_test(steps_without_a_length_have_no_shares),
		cmocka_unit_test(what_retention_dropped_is_still_counted),
	};

	return cmocka_run_group_tests_name("hot_spots", tests, NULL, NULL);
}
