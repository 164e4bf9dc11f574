/*
 * Each moment of a thread is in one state, and the sums.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis_text.h"
#include "analyze/time/account.h"
#include "analyze/time/spin.h"
#include "trace_text.h"

#undef META
#undef ONE_THREAD
#define META "meta {\"argv\": [\"serve\"], \"perf\": \"ok\", \"waits\": true, \"switches\": 9}\n"
#define ONE_THREAD \
	"p1 pid=100 root traced python end=100ms status=0 argv serve\n" \
	"t1 p1 tid=100 main name=main end=100ms\n"

static uint64_t draw(uint64_t *seed)
{
	*seed ^= *seed << 13;
	*seed ^= *seed >> 7;
	*seed ^= *seed << 17;
	return *seed >> 11;
}

static double sum_of(const double *us)
{
	double sum = 0;

	for (int state = 0; state < ISC_STATES; state++)
		sum += us[state] >= 0 ? us[state] : 0;
	return sum;
}

static const isc_analysis_thread *thread_of(const isc_analysis *a, uint32_t tid)
{
	for (size_t i = 0; i < a->thread_count; i++) {
		if (a->threads[i].tid == tid)
			return &a->threads[i];
	}
	fail_msg("no thread %u", tid);
	return NULL;
}

static void check_us(double is, double wanted)
{
	if (fabs(is - wanted) > 1)
		fail_msg("%.3f us, not %.3f", is, wanted);
}

/* 20 ms of reading of which it was blocked for 5 and had no CPU for 5: 10 ms were a system call at work. */
static void reading_without_being_blocked_is_no_wait(void **state)
{
	isc_analysis *a = analysis_of(META ONE_THREAD "t1 1ms in\n"
						      "t1 50ms out\n"
						      "t1 55ms in\n"
						      "t1 60ms preempt\n"
						      "t1 65ms in\n"
						      "t1 70ms wait_exit read 20ms\n"
						      "t1 80ms sample 1 40ms \"step model.py 3 4\"\n"
						      "end 100ms status=0\n");
	const isc_analysis_thread *t = thread_of(a, 100);

	(void)state;
	check_us(t->state_us[ISC_STATE_IO_WAIT], 5e3);
	check_us(t->state_us[ISC_STATE_RUN_QUEUE], 6e3); /* and before it began */
	assert_true(t->state_us[ISC_STATE_SYSCALL] > 13.5e3 && t->state_us[ISC_STATE_SYSCALL] < 14.5e3);
	check_us(sum_of(t->state_us), 100e3);
	isc_analysis_free(a);
}

static void waits_take_the_time_in_which_a_thread_was_blocked(void **state)
{
	isc_analysis *a = analysis_of(META ONE_THREAD "t1 10ms out\n"
						      "t1 40ms in\n"
						      "t1 40ms wait_exit sleep 30ms\n"
						      "t1 50ms out\n"
						      "t1 70ms in\n"
						      "t1 70ms wait_exit read 20ms\n"
						      "t1 80ms sample 1 40ms \"step model.py 3 4\"\n"
						      "t1 80ms sample 1 10ms \"native gemm /usr/lib/libmkl.so\"\n"
						      "t1 80ms preempt\n"
						      "t1 85ms in\n"
						      "end 100ms status=0\n");
	const isc_analysis_thread *t = thread_of(a, 100);

	(void)state;
	check_us(t->state_us[ISC_STATE_SLEEP], 30e3);
	check_us(t->state_us[ISC_STATE_IO_WAIT], 20e3);
	check_us(t->state_us[ISC_STATE_RUN_QUEUE], 5e3);
	check_us(t->state_us[ISC_STATE_PYTHON], 36e3);
	check_us(t->state_us[ISC_STATE_NATIVE], 9e3);
	check_us(t->state_us[ISC_STATE_OTHER], 0);
	assert_true(t->state_us[ISC_STATE_GC] < 0);
	assert_int_equal(t->source[ISC_STATE_SLEEP], ISC_SOURCE_AGENT);
	assert_int_equal(t->source[ISC_STATE_RUN_QUEUE], ISC_SOURCE_SWITCHES);
	assert_int_equal(t->source[ISC_STATE_PYTHON], ISC_SOURCE_SAMPLED);
	assert_true(a->breakdown.known);
	assert_int_equal(a->breakdown.tid, 100);
	assert_true(text_is(&a->breakdown.name, "main"));
	check_us(a->breakdown.pct[ISC_STATE_SLEEP], 30);
	assert_null(warning_of(a, "no_waits"));
	isc_analysis_free(a);
}

static void a_collection_counts_before_what_it_interrupts(void **state)
{
	isc_analysis *a = analysis_of(META ONE_THREAD "t1 50ms gc 2 20ms 3\n"
						      "t1 80ms sample 1 80ms \"step model.py 3 4\"\n"
						      "t1 99ms out\n"
						      "end 100ms status=0\n");
	const isc_analysis_thread *t = thread_of(a, 100);

	(void)state;
	check_us(t->state_us[ISC_STATE_GC], 20e3);
	check_us(t->state_us[ISC_STATE_PYTHON], 79e3);
	assert_int_equal(a->gc_unseen, 3);
	assert_non_null(warning_of(a, "unseen_collections"));
	isc_analysis_free(a);
}

/* None in the part that is looked at is not the same as nobody looking. */
static void collections_are_known_to_be_none(void **state)
{
	isc_analysis_options part = {.from_us = 50e3};
	isc_analysis *a = analysis_of(META ONE_THREAD "t1 1ms gc 65535 0ms\nend 100ms status=0\n");

	(void)state;
	check_us(thread_of(a, 100)->state_us[ISC_STATE_GC], 0);
	isc_analysis_free(a);
	a = analysis_with(META ONE_THREAD "t1 1ms gc 65535 0ms\nt1 60ms instant mark\nend 100ms status=0\n", &part);
	check_us(thread_of(a, 100)->state_us[ISC_STATE_GC], 0);
	isc_analysis_free(a);
}

/* By the name of its file, and of the function where it has one. */
static void code_that_waits_on_its_cpu_is_known_by_name(void **state)
{
	static const struct {
		const char *module, *name;
		bool spins;
	} cases[] = {
		{"/usr/lib/libc.so.6", "sched_yield", true},
		{"/usr/lib/libc.so.6", "memcpy", false},
		{"/usr/lib/x86_64-linux-gnu/libgomp.so.1.0.0", "libgomp.so.1.0.0", true},
		{"/site-packages/torch/lib/libgomp-a34b3233.so.1", "gomp_team_barrier_wait_end", true},
		{"/usr/lib/libgomp.so.1", "GOMP_loop_dynamic_next", false},
		{"/usr/lib/libgomp.so.1", "omp_get_wtime", false},
		{"/opt/libiomp5.so", "__kmp_wait_template<kmp_flag_64>", true},
		{"/opt/libiomp5.so", "__kmpc_for_static_init_8", false},
		{"/opt/libiomp5.so", "libiomp5.so", false},
		{"/opt/libomp.so", "__kmp_hyper_barrier_release", true},
		{"/opt/my/libgomp/work.so", "work", false},
		{"libopenblas.so", "blas_thread_server", true},
		{"libopenblas.so", "dgemm_kernel_wait", false},
		{"", "", false},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		isc_frame frame = {.kind = ISC_FRAME_NATIVE,
				   .name = {cases[i].name, (uint32_t)strlen(cases[i].name)},
				   .module = {cases[i].module, (uint32_t)strlen(cases[i].module)}};

		if (isc_spin_is(&frame) != cases[i].spins)
			fail_msg("%s of %s", cases[i].name, cases[i].module);
		frame.kind = ISC_FRAME_PYTHON;
		assert_false(isc_spin_is(&frame));
	}
}

/* The agent's yields and the samples are about the same loops. */
static void spinning_is_what_the_agent_or_samples_saw(void **state)
{
	isc_account account = {.wall = 100e3,
			       .switches = true,
			       .on_cpu = 80e3,
			       .queue = 5e3,
			       .blocked = 15e3,
			       .sampled = true,
			       .placed = true,
			       .python = 10e3,
			       .native = 10e3,
			       .spin = 20e3};
	isc_analysis_thread t;

	(void)state;
	isc_account_settle(&account, &t);
	check_us(t.state_us[ISC_STATE_SPIN], 40e3);
	check_us(t.state_us[ISC_STATE_PYTHON], 20e3);
	assert_int_equal(t.source[ISC_STATE_SPIN], ISC_SOURCE_SAMPLED);
	account.agent = true;
	account.told[ISC_STATE_SPIN] = 60e3;
	isc_account_settle(&account, &t);
	check_us(t.state_us[ISC_STATE_SPIN], 60e3);
	check_us(t.state_us[ISC_STATE_PYTHON], 10e3);
	assert_int_equal(t.source[ISC_STATE_SPIN], ISC_SOURCE_AGENT);
	account = (isc_account){.wall = 100, .sampled = true, .python = 10, .native = 10};
	isc_account_settle(&account, &t);
	assert_true(t.state_us[ISC_STATE_SPIN] < 0);
}

/* It comes back from its wait and says what that was for; the one before was for something else. */
static void the_wait_before_a_fault_was_for_memory(void **state)
{
	static const char watched[] =
		"meta {\"argv\": [\"serve\"], \"perf\": \"ok\", \"faults\": true, \"waits\": true}\n";
	char text[1024];
	isc_analysis *a;

	(void)state;
	snprintf(text, sizeof(text), "%s%s", watched,
		 ONE_THREAD "t1 10ms out\n"
			    "t1 20ms in\n"
			    "t1 30ms out\n"
			    "t1 35ms in\n"
			    "t1 36ms fault\n"
			    "t1 37ms fault\n"
			    "end 100ms status=0\n");
	a = analysis_of(text);
	check_us(thread_of(a, 100)->state_us[ISC_STATE_PAGE_FAULT], 5e3);
	check_us(thread_of(a, 100)->state_us[ISC_STATE_OTHER], 95e3);
	assert_int_equal(thread_of(a, 100)->source[ISC_STATE_PAGE_FAULT], ISC_SOURCE_SWITCHES);
	isc_analysis_free(a);
	/* A read that was blocked for a part of its time leaves the fault its own. */
	snprintf(text, sizeof(text), "%s%s", watched,
		 ONE_THREAD "t1 1ms in\n"
			    "t1 20ms out\n"
			    "t1 25ms in\n"
			    "t1 50ms wait_exit read 40ms\n"
			    "t1 60ms out\n"
			    "t1 80ms in\n"
			    "t1 81ms fault\n"
			    "end 100ms status=0\n");
	a = analysis_of(text);
	check_us(thread_of(a, 100)->state_us[ISC_STATE_PAGE_FAULT], 20e3);
	assert_true(thread_of(a, 100)->state_us[ISC_STATE_IO_WAIT] < 7e3);
	isc_analysis_free(a);
	/* Nobody watched. */
	a = analysis_of(META ONE_THREAD "t1 10ms out\nt1 20ms in\nend 100ms status=0\n");
	assert_true(thread_of(a, 100)->state_us[ISC_STATE_PAGE_FAULT] < 0);
	isc_analysis_free(a);
}

static void a_wait_that_never_ends_lasts_to_the_end_of_its_thread(void **state)
{
	isc_analysis *a = analysis_of(META ONE_THREAD "t1 10ms wait_enter accept\n"
						      "t1 10ms out\n"
						      "end 100ms status=0\n");

	(void)state;
	check_us(thread_of(a, 100)->state_us[ISC_STATE_IDLE], 90e3);
	isc_analysis_free(a);
}

/* Its handler jumped out of it. */
static void a_thread_that_calls_has_left_its_wait(void **state)
{
	isc_analysis *a = analysis_of(META ONE_THREAD "t1 10ms wait_enter sleep\n"
						      "t1 10ms out\n"
						      "t1 30ms in\n"
						      "t1 30ms call_enter run model.py 1\n"
						      "end 100ms status=0\n");

	(void)state;
	check_us(thread_of(a, 100)->state_us[ISC_STATE_SLEEP], 20e3);
	isc_analysis_free(a);
}

static void the_end_of_a_wait_is_told_once(void **state)
{
	isc_analysis *a = analysis_of(META ONE_THREAD "t1 10ms wait_enter sleep\n"
						      "t1 10ms out\n"
						      "t1 30ms in\n"
						      "t1 30ms wait_exit sleep 20ms\n"
						      "end 100ms status=0\n");

	(void)state;
	check_us(thread_of(a, 100)->state_us[ISC_STATE_SLEEP], 20e3);
	isc_analysis_free(a);
}

static void brief_transfers_are_system_calls_and_long_ones_waits(void **state)
{
	isc_analysis *a = analysis_of(META ONE_THREAD "t1 10ms wait_brief read 2ms 1000\n"
						      "t1 20ms wait_brief send 3ms 10\n"
						      "t1 30ms wait_brief yield 4ms 900\n"
						      "t1 90ms out\n"
						      "end 100ms status=0\n");
	const isc_analysis_thread *t = thread_of(a, 100);

	(void)state;
	check_us(t->state_us[ISC_STATE_SYSCALL], 2e3);
	check_us(t->state_us[ISC_STATE_IO_WAIT], 3e3);
	check_us(t->state_us[ISC_STATE_SPIN], 4e3);
	isc_analysis_free(a);
}

static void without_the_agent_waits_are_not_known(void **state)
{
	isc_analysis *a = analysis_of("meta {\"argv\": [\"serve\"], \"perf\": \"ok\", \"waits\": false}\n" ONE_THREAD
				      "t1 10ms out\nt1 90ms in\nend 100ms status=0\n");
	const isc_analysis_thread *t = thread_of(a, 100);

	(void)state;
	assert_true(t->state_us[ISC_STATE_SLEEP] < 0 && t->state_us[ISC_STATE_GIL_WAIT] < 0);
	check_us(t->state_us[ISC_STATE_OTHER], 100e3);
	assert_non_null(warning_of(a, "no_waits"));
	isc_analysis_free(a);
}

static void a_part_of_the_run_has_its_part_of_a_wait(void **state)
{
	const char *text = META ONE_THREAD "t1 10ms out\n"
					   "t1 60ms in\n"
					   "t1 60ms wait_exit sleep 50ms\n"
					   "t1 70ms wait_enter poll\n"
					   "t1 70ms out\n"
					   "end 100ms status=0\n";
	isc_analysis_options options = {.from_us = 30e3, .to_us = 40e3};
	isc_analysis *a = analysis_with(text, &options);

	(void)state;
	check_us(thread_of(a, 100)->state_us[ISC_STATE_SLEEP], 10e3);
	isc_analysis_free(a);
	/* One that began before the part and never ended. */
	options = (isc_analysis_options){.from_us = 80e3, .to_us = 90e3};
	a = analysis_with(text, &options);
	check_us(thread_of(a, 100)->state_us[ISC_STATE_IDLE], 10e3);
	isc_analysis_free(a);
}

static void the_thread_with_most_time_in_scopes_is_the_one_that_counts(void **state)
{
	isc_analysis *a = analysis_of(META ONE_THREAD "t2 p1 tid=101 name=worker end=100ms\n"
						      "t1 10ms scope_enter load\n"
						      "t1 12ms scope_exit load\n"
						      "t2 10ms scope_enter request\n"
						      "t2 90ms scope_exit request\n"
						      "end 100ms status=0\n");

	(void)state;
	assert_int_equal(a->breakdown.tid, 101);
	isc_analysis_free(a);
}

static void states_add_up_whatever_was_told(void **state)
{
	uint64_t seed = 5;

	(void)state;
	for (int round = 0; round < 200000; round++) {
		isc_account account = {0};
		isc_analysis_thread t = {0};

#define DRAW(most) ((double)(draw(&seed) % 1000) * (most) / 1000)
		account.wall = DRAW(1e6);
		account.switches = draw(&seed) % 4 != 0;
		account.on_cpu = DRAW(account.wall);
		account.queue = DRAW(account.wall - account.on_cpu);
		account.blocked = DRAW(account.wall - account.on_cpu - account.queue);
		account.agent = draw(&seed) % 4 != 0;
		account.collections = draw(&seed) % 2;
		account.throttling = draw(&seed) % 2;
		account.sampled = draw(&seed) % 2;
		account.traced = draw(&seed) % 2;
		account.placed = draw(&seed) % 2;
		account.faults = draw(&seed) % 2;
		account.python = DRAW(2e6);
		account.spin = draw(&seed) % 2 ? 0 : DRAW(1e6);
		account.native = DRAW(1e5);
		for (int s = 0; s < ISC_STATES; s++)
			account.told[s] = draw(&seed) % 3 ? 0 : DRAW(1e6);
		isc_account_settle(&account, &t);
		if (fabs(sum_of(t.state_us) - account.wall) > 1e-6 * (account.wall + 1))
			fail_msg("round %d: %.6f of %.6f us", round, sum_of(t.state_us), account.wall);
		for (int s = 0; s < ISC_STATES; s++)
			assert_true((t.source[s] == ISC_SOURCE_NONE) == (t.state_us[s] < 0));
	}
}

/* Whole traces, with waits that overlap, switches that are missing and events that were lost. */
static void breakdowns_add_up_to_100_in_any_trace(void **state)
{
	static const char *const calls[] = {"gil", "mutex", "sem", "read", "sleep", "poll", "accept", "yield"};
	uint64_t seed = 11;

	(void)state;
	for (int round = 0; round < 300; round++) {
		char text[16384];
		int len = snprintf(text, sizeof(text), "%s",
				   META ONE_THREAD "t2 p1 tid=101 name=worker start=20ms end=90ms\n");
		unsigned at[3] = {0, 0, 20};
		isc_analysis *a;

		for (int i = 0; i < 60; i++) {
			unsigned thread = 1 + (unsigned)(draw(&seed) % 2), call = (unsigned)(draw(&seed) % 8);
			unsigned took = (unsigned)(draw(&seed) % 20), now;

			at[thread] += (unsigned)(draw(&seed) % 3);
			now = at[thread];
			switch (draw(&seed) % 9) {
			case 8:
				len += sprintf(text + len, "t%u %ums fault\n", thread, now);
				break;
			case 0:
				len += sprintf(text + len, "t%u %ums in\n", thread, now);
				break;
			case 1:
				len += sprintf(text + len, "t%u %ums out\n", thread, now);
				break;
			case 2:
				len += sprintf(text + len, "t%u %ums preempt\n", thread, now);
				break;
			case 3:
				len += sprintf(text + len, "t%u %ums wait_enter %s\n", thread, now, calls[call]);
				break;
			case 4:
				len += sprintf(text + len, "t%u %ums wait_exit %s %ums\n", thread, now, calls[call],
					       took);
				break;
			case 5:
				len += sprintf(text + len, "t%u %ums wait_brief %s %ums 3\n", thread, now, calls[call],
					       took);
				break;
			case 6:
				len += sprintf(text + len, "t%u %ums sample 1 %ums \"run x.py 1 2\"\n", thread, now,
					       took + 1);
				break;
			default:
				len += sprintf(text + len, "t%u %ums gc 1 %ums\nt%u lose 2\n", thread, now, took,
					       thread);
			}
		}
		sprintf(text + len, "end 100ms status=0\n");
		a = analysis_of(text);
		assert_true(a->breakdown.known);
		if (fabs(sum_of(a->breakdown.pct) - 100) > 0.1)
			fail_msg("round %d: %.3f%%\n%s", round, sum_of(a->breakdown.pct), text);
		for (size_t i = 0; i < a->thread_count; i++)
			check_us(sum_of(a->threads[i].state_us), a->threads[i].wall_us);
		isc_analysis_free(a);
	}
}

/* 60 ms on a CPU, of which samples met the kernel filling pages for 20: those are in no other state. */
static void pages_that_are_filled_are_an_estimate_of_what_ran(void **state)
{
	char text[8192] = META ONE_THREAD "t1 0ms in\n";
	const isc_analysis_thread *t;
	isc_analysis *a;

	(void)state;
	for (int i = 0; i < 20; i++)
		sprintf(text + strlen(text), "t1 %dms sample 1 1ms faults=500 kernel_us=1000 \"fill m.py 1 2\"\n",
			i + 1);
	for (int i = 20; i < 60; i++)
		sprintf(text + strlen(text), "t1 %dms sample 1 1ms \"work m.py 11 12\"\n", i + 1);
	strcat(text, "t1 60ms out\nt1 100ms in\nend 100ms status=0\n");
	a = analysis_of(text);
	t = thread_of(a, 100);
	check_us(t->state_us[ISC_STATE_PAGE_FAULT], 20e3);
	check_us(t->state_us[ISC_STATE_PYTHON], 40e3);
	assert_int_equal(t->source[ISC_STATE_PAGE_FAULT], ISC_SOURCE_ESTIMATED);
	assert_true(a->usage.fault_sampled && fabs(a->usage.fault_us - 2) < 1e-6);
	isc_analysis_free(a);
}

/* Too few samples met any to tell what one takes: what the recorder measured does; without that nothing is known. */
static void few_faults_have_the_cost_that_was_measured_at_the_start(void **state)
{
#define FAULTS \
	"t1 0ms in\nt1 5ms sample 1 5ms faults=2000 kernel_us=5000 \"fill m.py 1 2\"\nt1 60ms out\nend 100ms " \
	"status=0\n"
	isc_analysis *a = analysis_of(
		"meta {\"perf\": \"ok\", \"switches\": 9, \"usage\": {\"fault_ns\": 500}}\n" ONE_THREAD FAULTS);

	(void)state;
	check_us(thread_of(a, 100)->state_us[ISC_STATE_PAGE_FAULT], 1e3);
	assert_false(a->usage.fault_sampled);
	isc_analysis_free(a);
	a = analysis_of("meta {\"perf\": \"ok\", \"switches\": 9}\n" ONE_THREAD FAULTS);
	assert_true(thread_of(a, 100)->state_us[ISC_STATE_PAGE_FAULT] < 0);
	isc_analysis_free(a);
	/* In a system call the kernel does something else. */
	a = analysis_of(
		"meta {\"perf\": \"ok\", \"switches\": 9, \"usage\": {\"fault_ns\": 0.5}}\n" ONE_THREAD
		"t1 0ms in\nt1 5ms sample 1 5ms faults=2000 kernel_us=5000 flags=4096 \"fill m.py 1 2\"\nt1 60ms out\n"
		"end 100ms status=0\n");
	check_us(thread_of(a, 100)->state_us[ISC_STATE_PAGE_FAULT], 1);
	isc_analysis_free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waits_take_the_time_in_which_a_thread_was_blocked),
		cmocka_unit_test(reading_without_being_blocked_is_no_wait),
		cmocka_unit_test(a_collection_counts_before_what_it_interrupts),
		cmocka_unit_test(collections_are_known_to_be_none),
		cmocka_unit_test(code_that_waits_on_its_cpu_is_known_by_name),
		cmocka_unit_test(spinning_is_what_the_agent_or_samples_saw),
		cmocka_unit_test(the_wait_before_a_fault_was_for_memory),
		cmocka_unit_test(pages_that_are_filled_are_an_estimate_of_what_ran),
		cmocka_unit_test(few_faults_have_the_cost_that_was_measured_at_the_start),
		cmocka_unit_test(a_wait_that_never_ends_lasts_to_the_end_of_its_thread),
		cmocka_unit_test(a_thread_that_calls_has_left_its_wait),
		cmocka_unit_test(the_end_of_a_wait_is_told_once),
		cmocka_unit_test(brief_transfers_are_system_calls_and_long_ones_waits),
		cmocka_unit_test(without_the_agent_waits_are_not_known),
		cmocka_unit_test(a_part_of_the_run_has_its_part_of_a_wait),
		cmocka_unit_test(the_thread_with_most_time_in_scopes_is_the_one_that_counts),
		cmocka_unit_test(states_add_up_whatever_was_told),
		cmocka_unit_test(breakdowns_add_up_to_100_in_any_trace),
	};

	return cmocka_run_group_tests_name("account", tests, NULL, NULL);
}
