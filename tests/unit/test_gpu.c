/* gpu: records of GPUs in a trace of ours, from the event to the figures of a report. */
#include "analysis_text.h"
#include "trace/dump/dump.h"

#define TWO_THREADS \
	META "p1 pid=100 root traced end=100ms status=0 argv serve\n" \
	     "t1 p1 tid=100 main name=main end=100ms\n" \
	     "t2 p1 tid=101 name=cl-worker end=100ms\n"
#define ENDING "end 100ms status=0\n"

static bool string_is(isc_text s, const char *wanted)
{
	return s.len == strlen(wanted) && memcmp(s.at, wanted, s.len) == 0;
}

/* Sixteen readings of a clock that is half a second ahead: 10 us there and back. */
static const char *readings(void)
{
	static char text[4096];
	size_t n = 0;

	for (int i = 0; i < 16; i++)
		n += (size_t)snprintf(text + n, sizeof(text) - n, "t2 %dms gpu_clock 0 %dms %d.005ms %d.010ms\n",
				      6 * i + 1, 6 * i, 500 + 6 * i, 6 * i);
	return text;
}

static isc_analysis *analysis_read(const char *lines)
{
	char text[16384];

	snprintf(text, sizeof(text), TWO_THREADS "%s%s" ENDING, readings(), lines);
	return analysis_of(text);
}

/* ---- scopes ---- */

static const isc_facts_kernel *kernel_named(const isc_analysis *a, const char *name)
{
	for (size_t i = 0; i < a->timeline->kernel_count; i++)
		if (string_is(a->timeline->kernels[i].name, name))
			return &a->timeline->kernels[i];
	fail_msg("no kernel %s", name);
	return NULL;
}

static void what_the_library_says_of_a_scope_counts_before_thread_and_time(void **state)
{
	isc_analysis *a = analysis_read("t1 9ms scope_enter thread\n"
					"t1 12ms gpu_call launch cudaLaunchKernel 10ms 10.1ms 7\n"
					"t1 14ms gpu_call launch cudaLaunchKernel 13ms 13.1ms 8\n"
					"t1 16ms scope_exit thread\n"
					"t1 18ms gpu_call launch cudaLaunchKernel 17ms 17.1ms 9\n"
					"t2 40ms gpu_work kernel said 0 20ms 21ms 7\n"
					"t2 40ms gpu_work kernel timed 0 22ms 23ms 8\n"
					"t2 40ms gpu_work kernel none 0 24ms 25ms 9\n"
					"t2 40ms gpu_work kernel uncalled 0 26ms 27ms 10\n"
					"t2 41ms gpu_scope decode 7\n"
					"t2 41ms gpu_scope prefill 10\n");

	(void)state;
	assert_true(string_is(kernel_named(a, "said")->scope, "decode"));
	assert_true(string_is(kernel_named(a, "timed")->scope, "thread"));
	assert_int_equal(kernel_named(a, "none")->scope.len, 0);
	assert_true(string_is(kernel_named(a, "uncalled")->scope, "prefill"));
	isc_analysis_free(a);
}

/* ---- clocks ---- */

static void times_of_a_device_become_those_of_the_host(void **state)
{
	isc_analysis *a = analysis_read("t1 12ms gpu_call launch clEnqueueNDRangeKernel 10ms 10.1ms 7\n"
					"t2 40ms gpu_work kernel gemm 0 520ms 530ms 7 time=device\n"
					"t2 60ms gpu_work h2d write 0 550ms 560ms 0 time=device bytes=5000 pinned\n");
	const isc_facts_gpu *g;

	(void)state;
	assert_non_null(a->timeline);
	assert_int_equal(a->timeline->gpu_count, 1);
	g = &a->timeline->gpus[0];
	assert_true(g->seen && g->bounded && g->direct);
	assert_true(string_is(g->name, "device 0"));
	assert_int_equal(g->first_ns, 20000000);
	assert_int_equal(g->last_ns, 60000000);
	assert_int_equal(g->busy_ns, 20000000);
	assert_int_equal(g->kernels, 1);
	assert_int_equal(g->h2d_bytes, 5000);
	assert_string_equal(a->clock_sync, "direct");
	/* Half of the way there and back. */
	assert_true(a->clock_error_us >= 5 && a->clock_error_us < 6);
	assert_int_equal(a->timeline->copy_count, 1);
	assert_int_equal(a->timeline->copies[0].pinned, 1);
	assert_int_equal(a->timeline->from_ns, 0);
	assert_int_equal(a->timeline->to_ns, 100000000);
	assert_null(warning_of(a, "no_gpu"));
	isc_analysis_free(a);
}

static void a_clock_that_cannot_be_read_is_bounded_by_calls(void **state)
{
	isc_analysis *a =
		analysis_of(TWO_THREADS "t1 12ms gpu_call launch clEnqueueNDRangeKernel 10ms 10.1ms 7\n"
					"t1 40ms gpu_call copy clEnqueueReadBuffer 20ms 40ms 8 holds\n"
					"t2 40ms gpu_work kernel gemm 0 511ms 521ms 7 time=device\n"
					"t2 60ms gpu_work d2h read 0 530ms 539ms 8 time=device bytes=5000\n" ENDING);
	const isc_facts_gpu *g = &a->timeline->gpus[0];

	(void)state;
	assert_string_equal(a->clock_sync, "causality");
	/* Off by half a second between 499 and 501 ms. */
	assert_true(a->clock_error_us <= 1100);
	assert_true(g->first_ns >= 10000000 && g->last_ns <= 40000000);
	isc_analysis_free(a);
}

static void without_any_word_of_the_clock_the_margin_is_assumed(void **state)
{
	isc_analysis_options options = {.margin_us = 250};
	isc_analysis *a =
		analysis_with(TWO_THREADS "t2 40ms gpu_work kernel gemm 0 30ms 35ms 0 time=device\n" ENDING, &options);

	(void)state;
	assert_string_equal(a->clock_sync, "assumed");
	assert_near(a->clock_error_us, 250);
	assert_non_null(warning_of(a, "clock_assumed"));
	isc_analysis_free(a);
}

static void work_never_begins_before_its_call(void **state)
{
	/* By 3 us, which is less than the clock may be off. */
	isc_analysis *a = analysis_read("t1 12ms gpu_call launch clEnqueueNDRangeKernel 20.003ms 20.1ms 7\n"
					"t2 40ms gpu_work kernel gemm 0 520ms 530ms 7 time=device\n");
	const isc_facts_gpu *g = &a->timeline->gpus[0];

	(void)state;
	assert_int_equal(a->causality_fixes, 1);
	assert_int_equal(g->first_ns, 20003000);
	assert_int_equal(g->busy_ns, 10000000);
	assert_null(warning_of(a, "early_work"));
	isc_analysis_free(a);
	/* By a millisecond: the record is wrong, and says so. */
	a = analysis_read("t1 12ms gpu_call launch clEnqueueNDRangeKernel 21ms 21.1ms 7\n"
			  "t2 40ms gpu_work kernel gemm 0 520ms 530ms 7 time=device\n");
	assert_int_equal(a->causality_fixes, 0);
	assert_int_equal(a->timeline->gpus[0].first_ns, 20000000);
	assert_non_null(warning_of(a, "early_work"));
	isc_analysis_free(a);
}

static void work_without_a_time_stamp_is_counted_and_left_out(void **state)
{
	isc_analysis *a = analysis_read("t2 40ms gpu_work kernel gemm 0 0 0 7\n"
					"t2 40ms gpu_work kernel gemm 0 30ms 31ms 8\n");

	(void)state;
	assert_int_equal(a->timeline->gpus[0].unstamped, 1);
	assert_int_equal(a->timeline->gpus[0].kernels, 1);
	assert_non_null(warning_of(a, "unstamped_work"));
	isc_analysis_free(a);
}

/* ---- where ---- */

static isc_text launched_from(isc_analysis **a, const char *before, const char *stack)
{
	char text[16384];

	snprintf(text, sizeof(text),
		 TWO_THREADS "%st1 12ms gpu_call launch clEnqueueNDRangeKernel 10ms 10.1ms 7 %s\n"
			     "t2 40ms gpu_work kernel gemm 0 20ms 30ms 7\n" ENDING,
		 before, stack);
	*a = analysis_of(text);
	assert_int_equal((*a)->timeline->kernel_count, 1);
	return (*a)->timeline->kernels[0].launched_from;
}

static void a_kernel_knows_the_line_that_launched_it(void **state)
{
	isc_analysis *a;

	(void)state;
	/* The program's own code before that of a library that it called. */
	assert_true(string_is(
		launched_from(&a, "",
			      "\"main m.py 1 9\" \"infer m.py 12 14\" \"f /lib/python3/site-packages/x.py 3 4\""),
		"infer (m.py:14)"));
	isc_analysis_free(a);
	/* The innermost traced call that is still open. */
	assert_true(string_is(launched_from(&a,
					    "t1 1ms call_enter main m.py 1\nt1 2ms call_enter gone m.py 5\n"
					    "t1 3ms call_exit gone m.py 5\nt1 4ms call_enter step m.py 30\n",
					    ""),
			      "step (m.py:30)"));
	isc_analysis_free(a);
	/* Where the thread was a moment ago. */
	assert_true(string_is(launched_from(&a, "t1 5ms sample 1 5ms \"main m.py 1 9\" \"decode m.py 40 44\"\n", ""),
			      "decode (m.py:44)"));
	isc_analysis_free(a);
	/* The scope that it is in. */
	assert_true(string_is(
		launched_from(&a, "t1 5ms scope_enter request\nt1 6ms scope_enter inner\nt1 7ms scope_exit inner\n",
			      ""),
		"request"));
	isc_analysis_free(a);
	assert_int_equal(launched_from(&a, "", "").len, 0);
	isc_analysis_free(a);
}

static void idle_time_has_a_cause_and_a_place(void **state)
{
	isc_analysis *a = analysis_read("t1 12ms gpu_call launch clEnqueueNDRangeKernel 10ms 10.1ms 7 \"a m.py 1 2\"\n"
					"t1 61ms gpu_call launch clEnqueueNDRangeKernel 60ms 60.1ms 8 \"b m.py 5 6\"\n"
					"t2 70ms gpu_work kernel gemm 0 520ms 530ms 7 time=device\n"
					"t2 70ms gpu_work kernel gemm 0 561ms 571ms 8 time=device\n");
	const isc_facts_gpu *g = &a->timeline->gpus[0];

	(void)state;
	assert_int_equal(g->idle[ISC_IDLE_HOST_WAIT].ns + g->idle[ISC_IDLE_KERNEL_WAIT].ns, 31000000);
	assert_true(g->idle[ISC_IDLE_HOST_WAIT].ns >= 29900000);
	assert_true(string_is(g->idle[ISC_IDLE_HOST_WAIT].where, "b (m.py:6)"));
	isc_analysis_free(a);
}

static void a_window_cuts_what_gpus_did(void **state)
{
	isc_analysis_options options = {.from_us = 25000, .to_us = 55000};
	char text[16384];
	isc_analysis *a;

	(void)state;
	snprintf(text, sizeof(text),
		 TWO_THREADS "%st2 70ms gpu_work kernel gemm 0 520ms 530ms 7 time=device\n"
			     "t2 70ms gpu_work kernel late 0 561ms 571ms 8 time=device\n" ENDING,
		 readings());
	a = analysis_with(text, &options);
	assert_int_equal(a->timeline->gpus[0].busy_ns, 5000000);
	assert_int_equal(a->timeline->kernel_count, 1);
	isc_analysis_free(a);
}

/* ---- threads ---- */

static const isc_analysis_thread *thread_of(const isc_analysis *a, uint32_t tid)
{
	for (size_t i = 0; i < a->thread_count; i++) {
		if (a->threads[i].tid == tid)
			return &a->threads[i];
	}
	fail_msg("no thread %u", tid);
	return NULL;
}

#define WAITING \
	"meta {\"argv\": [\"serve\"], \"perf\": \"ok\", \"waits\": true, \"host\": \"h\"}\n" \
	"p1 pid=100 root traced end=100ms status=0 argv serve\n" \
	"t1 p1 tid=100 main name=main end=100ms\n" \
	"t2 p1 tid=101 name=feeder end=100ms\n"

static double sum_of(const isc_analysis_breakdown *b)
{
	double sum = 0;

	for (int state = 0; state < ISC_STATES; state++)
		sum += b->pct[state] > 0 ? b->pct[state] : 0;
	return sum;
}

/* What a driver waits in is its business: the thread waited for the GPU. */
static void a_wait_inside_a_call_that_waits_for_a_gpu_is_gpu_wait(void **state)
{
	isc_analysis *a = analysis_of(WAITING "t1 9ms wait_exit mutex 5ms 101\n"
					      "t2 20ms gpu_call launch clEnqueueNDRangeKernel 19ms 20ms 7\n"
					      "t2 58ms wait_exit mutex 30ms 100\n"
					      "t2 60ms gpu_call sync clFinish 21ms 60ms 0 holds\n"
					      "t2 75ms wait_exit mutex 4ms 100\n"
					      "t2 80ms gpu_work kernel gemm 0 20ms 59ms 7\n" ENDING);

	(void)state;
	assert_near(thread_of(a, 101)->state_us[ISC_STATE_GPU_WAIT], 39000);
	assert_near(thread_of(a, 101)->state_us[ISC_STATE_LOCK_WAIT], 4000);
	assert_near(thread_of(a, 100)->state_us[ISC_STATE_GPU_WAIT], 0);
	assert_near(thread_of(a, 100)->state_us[ISC_STATE_LOCK_WAIT], 5000);
	assert_int_equal(thread_of(a, 101)->launches, 1);
	/* The thread that feeds the GPU is the one that counts. */
	assert_int_equal(a->breakdown.tid, 101);
	assert_near(a->breakdown.pct[ISC_STATE_GPU_WAIT], 39);
	assert_near(a->breakdown.pct[ISC_STATE_LOCK_WAIT], 4);
	assert_near(sum_of(&a->breakdown), 100);
	isc_analysis_free(a);
	a = analysis_of(WAITING "t1 9ms wait_exit mutex 5ms 101\n" ENDING);
	assert_true(thread_of(a, 100)->state_us[ISC_STATE_GPU_WAIT] < 0);
	isc_analysis_free(a);
}

/* A driver may wait by looking again and again: what was sampled meanwhile is not the program's own code. */
static void samples_of_a_driver_that_spins_are_gpu_wait(void **state)
{
	isc_analysis *a = analysis_of(WAITING "t1 1ms in\n"
					      "t1 20ms gpu_call launch cudaLaunchKernel 19ms 20ms 7\n"
					      "t1 25ms sample 1 20ms flags=8\n"
					      "t1 45ms sample 1 20ms flags=8\n"
					      "t1 60ms gpu_call sync cudaDeviceSynchronize 20ms 60ms 0\n"
					      "t2 61ms gpu_work kernel gemm 0 21ms 59ms 7\n"
					      "t1 80ms sample 1 40ms \"infer /a/m.py 1 2\"\n"
					      "t1 100ms out\n" ENDING);

	(void)state;
	assert_near(a->breakdown.pct[ISC_STATE_GPU_WAIT], 40);
	assert_near(sum_of(&a->breakdown), 100);
	assert_true(a->breakdown.pct[ISC_STATE_PYTHON] > 55);
	assert_true(a->breakdown.pct[ISC_STATE_NATIVE] < 1);
	isc_analysis_free(a);
}

/* Scopes are settled as threads are. */
static void a_scope_that_waits_for_a_gpu_says_so(void **state)
{
	isc_analysis *a = analysis_of(WAITING "t1 1ms in\n"
					      "t1 10ms scope_enter step\n"
					      "t1 20ms gpu_call launch cudaLaunchKernel 19ms 20ms 7\n"
					      "t1 50ms wait_exit mutex 25ms 101\n"
					      "t1 60ms gpu_call sync cudaDeviceSynchronize 20ms 60ms 0\n"
					      "t2 61ms gpu_work kernel gemm 0 21ms 59ms 7\n"
					      "t1 70ms wait_exit mutex 5ms 101\n"
					      "t1 90ms scope_exit step\n" ENDING);
	const isc_analysis_scope *s = &a->scopes[0];
	double sum = 0;

	(void)state;
	assert_int_equal(a->scope_count, 1);
	assert_near(s->all.state_us[ISC_STATE_GPU_WAIT], 40000);
	assert_near(s->all.state_us[ISC_STATE_LOCK_WAIT], 5000);
	for (int i = 0; i < ISC_STATES; i++)
		sum += s->all.state_us[i] > 0 ? s->all.state_us[i] : 0;
	assert_near(sum, 80000);
	assert_near(a->breakdown.pct[ISC_STATE_GPU_WAIT], 50);
	assert_near(sum_of(&a->breakdown), 100);
	isc_analysis_free(a);
}

/* ---- sources ---- */

static void what_a_source_says_of_itself_is_a_warning(void **state)
{
	isc_analysis *a = analysis_of(TWO_THREADS "t1 1ms gpu_source CUPTI absent code=999 detail=cuptiActivityEnable\n"
						  "t1 1ms gpu_source CUPTI dropped count=7\n"
						  "t1 1ms gpu_source CUPTI dropped count=5\n"
						  "t1 2ms gpu_source OpenCL started code=300\n"
						  "t1 2ms gpu_source OpenCL busy\n" ENDING);

	(void)state;
	assert_string_equal(warning_of(a, "gpu_absent")->text,
			    "CUPTI tells of no GPU: cuptiActivityEnable (999); the report is of the CPU alone");
	assert_non_null(strstr(warning_of(a, "gpu_dropped")->text, "CUPTI dropped 12 records"));
	assert_non_null(strstr(warning_of(a, "gpu_busy")->text, "OpenCL is held by another profiler"));
	assert_non_null(warning_of(a, "no_gpu"));
	assert_null(a->clock_sync);
	isc_analysis_free(a);
}

static uint64_t readings_of(const char *clock, const char *work)
{
	isc_analysis_options options = {.lanes = true};
	isc_trace *trace = NULL;
	isc_analysis *a = NULL;
	isc_error err = {0};
	char text[16384];
	uint64_t n;

	snprintf(text, sizeof(text),
		 TWO_THREADS "%st1 5ms call_enter run m.py 1\n"
			     "t1 12ms gpu_call launch cudaLaunchKernel 10ms 10.1ms 7\n"
			     "t1 33ms gpu_call sync cudaDeviceSynchronize 13ms 33ms 8 holds\n"
			     "t2 40ms gpu_work kernel k 0 %s\n"
			     "t1 60ms call_exit run m.py 1\n" ENDING,
		 clock, work);
	if (trace_text_open(text, &trace, &err) != ISC_OK || isc_analysis_new(trace, &options, &a, &err) != ISC_OK)
		fail_msg("%s", err.what);
	assert_non_null(a->timeline);
	n = isc_trace_stats_get(trace)->readings;
	isc_analysis_free(a);
	isc_trace_close(trace);
	return n;
}

/* What held its caller, waits, the survey, the walk and the picture; and where clocks are compared the work once more. */
static void a_report_reads_the_events_of_a_trace_with_gpus_six_times_at_most(void **state)
{
	(void)state;
	assert_int_equal(readings_of(readings(), "520ms 521ms 7 time=device"), 5);
	assert_int_equal(readings_of("", "520ms 521ms 7 time=device"), 6);
	assert_int_equal(readings_of("", "20ms 21ms 7"), 6);
}

static void a_trace_without_gpus_has_none(void **state)
{
	isc_analysis *a = analysis_of(TWO_THREADS ENDING);

	(void)state;
	assert_null(a->timeline);
	assert_non_null(warning_of(a, "no_gpu"));
	assert_true(text_is(&a->host, "h"));
	isc_analysis_free(a);
}

/* ---- text ---- */

static void a_dump_tells_every_field(void **state)
{
	isc_trace *trace = NULL;
	isc_error err;
	char *text = NULL;
	size_t len = 0;
	FILE *out = open_memstream(&text, &len);
	isc_dump_options options = {.definitions = true};

	(void)state;
	assert_int_equal(
		trace_text_open(
			TWO_THREADS
			"t1 12ms gpu_call launch clEnqueue 10ms 11ms 7 holds device=0 tid=9 error=-5 \"run m.py 1 9\"\n"
			"t2 40ms gpu_work h2d write 0 20ms 30ms 7 stream=3 bytes=64 pageable\n"
			"t2 41ms gpu_clock 0 1ms 501ms 1.5ms\n"
			"t2 42ms gpu_source OpenCL failed code=-30 detail=clCreate\n" ENDING,
			&trace, &err),
		ISC_OK);
	assert_true(isc_dump_write(trace, &options, out, &err));
	fclose(out);
	assert_non_null(
		strstr(text, "gpu_call \"clEnqueue\" launch ticks 1010000000..1011000000 correlation 7 holds device 0 "
			     "tid 9 error -5"));
	assert_non_null(
		strstr(text, "gpu_work \"write\" h2d monotonic 1020000000..1030000000 correlation 7 device 0 context 0 "
			     "stream 3 bytes 64 pageable grid 4,2,1 block 64,1,1"));
	assert_non_null(strstr(text, "gpu_clock device 0 before 1001000000 device_ns 501000000 after 1001500000"));
	assert_non_null(strstr(text, "gpu_source \"OpenCL\" failed code -30 \"clCreate\""));
	assert_non_null(strstr(text, " gpu OpenCL 0 \"device 0\""));
	free(text);
	isc_trace_close(trace);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_the_library_says_of_a_scope_counts_before_thread_and_time),
		cmocka_unit_test(times_of_a_device_become_those_of_the_host),
		cmocka_unit_test(a_clock_that_cannot_be_read_is_bounded_by_calls),
		cmocka_unit_test(without_any_word_of_the_clock_the_margin_is_assumed),
		cmocka_unit_test(work_never_begins_before_its_call),
		cmocka_unit_test(work_without_a_time_stamp_is_counted_and_left_out),
		cmocka_unit_test(a_kernel_knows_the_line_that_launched_it),
		cmocka_unit_test(idle_time_has_a_cause_and_a_place),
		cmocka_unit_test(a_window_cuts_what_gpus_did),
		cmocka_unit_test(a_wait_inside_a_call_that_waits_for_a_gpu_is_gpu_wait),
		cmocka_unit_test(samples_of_a_driver_that_spins_are_gpu_wait),
		cmocka_unit_test(a_scope_that_waits_for_a_gpu_says_so),
		cmocka_unit_test(what_a_source_says_of_itself_is_a_warning),
		cmocka_unit_test(a_report_reads_the_events_of_a_trace_with_gpus_six_times_at_most),
		cmocka_unit_test(a_trace_without_gpus_has_none),
		cmocka_unit_test(a_dump_tells_every_field),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
