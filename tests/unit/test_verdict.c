/*
 * verdict: which rule wins, how sure that is, and when nothing is said.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>

#include "analyze/rules/rules_file.h"
#include "analyze/verdict/verdict.h"
#include "verdict_scene.h"

static const char *cause_at(enum isc_state state, double pct)
{
	struct scene *s = scene();
	const char *cause;

	set(s, state, pct);
	cause = reach(s)->claim.cause;
	drop(s);
	return cause;
}

static void states_fire_above_their_threshold_and_not_at_it(void **state)
{
	static const struct {
		enum isc_state state;
		double threshold;
		const char *id;
	} rows[] = {
		{ISC_STATE_GIL_WAIT, 15, "gil_contention"},
		{ISC_STATE_LOCK_WAIT, 10, "lock_contention"},
		{ISC_STATE_IO_WAIT, 15, "io_wait"},
		{ISC_STATE_SLEEP, 10, "sleeping"},
		{ISC_STATE_GC, 5, "gc_pauses"},
		{ISC_STATE_SYSCALL, 10, "chatty_syscalls"},
		{ISC_STATE_SPIN, 10, "spinning"},
		{ISC_STATE_PAGE_FAULT, 5, "page_faults"},
		{ISC_STATE_THROTTLED, 5, "cpu_throttled"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_null(cause_at(rows[i].state, rows[i].threshold));
		assert_string_equal(cause_at(rows[i].state, nextafter(rows[i].threshold, 100) + 1e-9), rows[i].id);
	}
}

static const char *cause_of_place(size_t place, double pct)
{
	struct scene *s = scene();
	isc_place at = {.name = {"f", 1}, .us = pct * 1e4};
	const char *cause;

	memcpy((char *)&s->j + place, &at, sizeof(at));
	cause = reach(s)->claim.cause;
	drop(s);
	return cause;
}

static void places_fire_above_their_threshold_and_not_at_it(void **state)
{
	static const struct {
		size_t place;
		double threshold;
		const char *id;
	} rows[] = {
		{offsetof(isc_evidence, hot), 40, "hot_function"},
		{offsetof(isc_evidence, stage), 40, "slow_stage"},
		{offsetof(isc_evidence, logged), 10, "logging"},
		{offsetof(isc_evidence, loop), 10, "event_loop_blocked"},
		{offsetof(isc_evidence, pool), 20, "pool_saturated"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_null(cause_of_place(rows[i].place, rows[i].threshold));
		assert_string_equal(cause_of_place(rows[i].place, nextafter(rows[i].threshold, 100) + 1e-9),
				    rows[i].id);
	}
}

static void a_queue_of_its_own_threads_fires_above_its_threshold(void **state)
{
	(void)state;
	for (int more = 0; more < 4; more++) {
		struct scene *s = scene();

		s->j.cpus = 4;
		s->j.demand = more & 1 ? 5.001 : 5; /* 1.25 for each CPU are none too many */
		set(s, ISC_STATE_RUN_QUEUE, more & 2 ? 10.001 : 10);
		if (more == 3)
			assert_string_equal(reach(s)->claim.cause, "oversubscription");
		else
			assert_null(reach(s)->claim.cause);
		drop(s);
	}
}

static void a_machine_that_others_use_tells_nothing_of_the_program(void **state)
{
	(void)state;
	for (int more = 0; more < 2; more++) {
		struct scene *s = scene();

		s->j.cpus = 4;
		s->j.demand = 1;
		set(s, ISC_STATE_RUN_QUEUE, more ? 50.001 : 50);
		assert_null(reach(s)->claim.cause);
		if (more)
			assert_non_null(strstr(s->a.verdict.withheld, "other programs had the CPUs"));
		else
			assert_null(s->a.verdict.withheld);
		/* What it does itself beside that is told all the same. */
		set(s, ISC_STATE_GIL_WAIT, 40);
		assert_string_equal(reach(s)->claim.cause, "gil_contention");
		drop(s);
	}
}

static void fresh_pages_fire_above_their_threshold(void **state)
{
	static const struct {
		double faults, system_us;
		bool fires;
	} rows[] = {{100001, 100001, true}, {100000, 100001, false}, {100001, 100000, false}};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct scene *s = scene();

		/* A second of CPU time, all of the window; the kernel's part is 10%, or just more. */
		s->a.minor_faults = rows[i].faults;
		s->a.system_us = rows[i].system_us;
		s->a.user_us = 1e6 - rows[i].system_us;
		s->j.stretch = 1;
		set(s, ISC_STATE_NATIVE, 100);
		assert_string_equal(reach(s)->claim.cause, rows[i].fires ? "memory_churn" : "native_compute");
		drop(s);
	}
}

/* Of samples that met page faults: what the kernel took to fill them, and to map. */
static void pages_that_samples_met_fire_above_their_threshold(void **state)
{
	(void)state;
	for (int more = 0; more < 2; more++) {
		struct scene *s = scene();

		s->j.fills = true;
		s->j.stretch = 1;
		s->j.filled_us = 60e3 + more * 1e-3;
		s->j.mapping_us = 40e3;
		s->j.faults = 50000;
		s->j.filled_for = (isc_place){.name = {"ones", 4}};
		s->j.at[ISC_STATE_PAGE_FAULT] =
			(isc_place){.name = {"prepare", 7}, .file = {"/app/preprocess.py", 18}, .line = 12};
		set(s, ISC_STATE_PAGE_FAULT, 6 + more * 1e-7);
		if (more) {
			static const char said[] = "page faults (50,000 fresh pages a second) under ones in prepare "
						   "(app/preprocess.py:12)";

			assert_string_equal(reach(s)->claim.cause, "memory_churn");
			assert_true(headline_says(&s->a.verdict, said));
		} else {
			assert_null(reach(s)->claim.cause);
		}
		/* Calls that map, and no page that is filled: there is nothing that is used again. */
		set(s, ISC_STATE_PAGE_FAULT, 0);
		s->j.filled_us = 0;
		s->j.mapping_us = 900e3;
		assert_null(reach(s)->claim.cause);
		drop(s);
	}
}

static void what_is_read_and_what_is_filled_have_rules_of_their_own(void **state)
{
	struct scene *s = scene();

	(void)state;
	s->j.fills = true;
	s->j.stretch = 1;
	s->j.filled_us = 30e3;
	set(s, ISC_STATE_PAGE_FAULT, 8);
	assert_null(reach(s)->claim.cause);
	set(s, ISC_STATE_PAGE_FAULT, 8.001);
	assert_string_equal(reach(s)->claim.cause, "page_faults");
	drop(s);
}

static void swap_fires_above_its_threshold_where_memory_is_in_it(void **state)
{
	double swap[] = {0, 20.5e6, 0}, rss[] = {1e9, 1e9, 1e9}, at[] = {0, 1, 2};

	(void)state;
	for (int more = 0; more < 3; more++) {
		struct scene *s = scene();

		s->a.usage = (isc_analysis_usage){
			.known = true, .points = 3, .at_us = at, .rss_bytes = rss, .swap_bytes = swap};
		swap[1] = more == 2 ? 20e6 : 20.5e6; /* 2.01% of all, or 1.96% */
		set(s, ISC_STATE_PAGE_FAULT, more == 0 ? 5 : 5.001);
		if (more == 0)
			assert_null(reach(s)->claim.cause);
		else
			assert_string_equal(reach(s)->claim.cause, more == 1 ? "swapping" : "page_faults");
		drop(s);
	}
}

static void far_memory_fires_above_its_threshold(void **state)
{
	static const struct {
		double cpu[2], remote;
		bool fires;
	} rows[] = {{{1, 0}, 25, false},
		    {{1, 0}, 25.001, true},
		    {{1, 1}, 50, false}, /* both nodes run it: half is far in any case */
		    {{1, 1}, 75.001, true},
		    {{1, 0}, -1, false}};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		isc_analysis_node_memory nodes[2] = {{.number = 0, .cpu_us = rows[i].cpu[0]},
						     {.number = 1, .cpu_us = rows[i].cpu[1], .last_bytes = 1048576}};
		struct scene *s = scene();

		s->j.stretch = 1;
		s->a.numa = (isc_analysis_numa){.count = 2, .nodes = nodes, .remote_pct = rows[i].remote};
		set(s, ISC_STATE_NATIVE, 100);
		assert_string_equal(reach(s)->claim.cause, rows[i].fires ? "remote_memory" : "native_compute");
		drop(s);
	}
}

static void idle_is_never_a_cause(void **state)
{
	(void)state;
	assert_null(cause_at(ISC_STATE_IDLE, 99));
	assert_null(cause_at(ISC_STATE_OTHER, 40));
	assert_null(cause_at(ISC_STATE_PYTHON, 100));
}

/* The work itself is no fault, and there is nothing to suggest. */
static void native_work_and_answers_from_outside_are_limits(void **state)
{
	struct scene *s = scene();

	(void)state;
	set(s, ISC_STATE_NATIVE, 25);
	assert_null(reach(s)->claim.cause);
	set(s, ISC_STATE_NATIVE, 60);
	assert_string_equal(reach(s)->claim.cause, "native_compute");
	assert_int_equal(s->a.verdict.claim.kind, ISC_CLAIM_LIMIT);
	assert_int_equal(s->a.suggestion_count, 0);
	set(s, ISC_STATE_IO_WAIT, 70);
	s->j.net = (isc_place){.name = {"fetch", 5}, .us = 699e3};
	assert_string_equal(reach(s)->claim.cause, "downstream");
	/* A fault that saves a tenth comes first, a smaller one behind. */
	isc_rules_find(&s->rules, "gil_contention")->threshold = 5;
	set(s, ISC_STATE_GIL_WAIT, 10.1);
	assert_string_equal(reach(s)->claim.cause, "gil_contention");
	set(s, ISC_STATE_GIL_WAIT, 9.9);
	assert_string_equal(reach(s)->claim.cause, "downstream");
	assert_int_equal(s->a.suggestion_count, 1);
	drop(s);
}

/* A GPU that works for most of the time limits, whatever its host does meanwhile. */
static void the_host_of_a_busy_gpu_is_no_limit(void **state)
{
	struct scene *s = scene();

	(void)state;
	with_gpu(s);
	s->gpu.busy_ns = 950000000;
	s->thread.busy_ns = 940000000;
	set(s, ISC_STATE_NATIVE, 90);
	assert_null(reach(s)->claim.cause);
	drop(s);
}

/* What a function takes with it, such as its wait for a CPU, may be a cause of its own, and the larger one. */
static void a_function_is_ranked_by_what_it_has_for_itself(void **state)
{
	struct scene *s = scene();

	(void)state;
	set(s, ISC_STATE_PYTHON, 40);
	set(s, ISC_STATE_RUN_QUEUE, 60);
	s->j.cpus = 1;
	s->j.demand = 3;
	s->j.hot = (isc_place){.name = {"f", 1}, .us = 1e6};
	s->j.hot_cpu_us = 400e3;
	assert_string_equal(reach(s)->claim.cause, "oversubscription");
	set(s, ISC_STATE_RUN_QUEUE, 30);
	s->j.hot_cpu_us = 700e3;
	assert_string_equal(reach(s)->claim.cause, "hot_function");
	drop(s);
}

static void devices_fire_above_their_threshold_and_not_at_it(void **state)
{
	struct scene *s = scene();

	(void)state;
	with_gpu(s);
	s->gpu.busy_ns = 900000000;
	assert_null(reach(s)->claim.cause);
	assert_string_equal(s->a.gpu_bottleneck[0], "balanced");
	s->gpu.busy_ns = 899999999;
	assert_string_equal(reach(s)->claim.cause, "gpu_idle");
	assert_string_equal(s->a.verdict.bottleneck, "cpu_bound");
	assert_int_equal(isc_claim_device(&s->a.verdict.claim), 3);
	assert_string_equal(s->a.gpu_bottleneck[0], "cpu_bound");
	drop(s);

	s = scene();
	with_gpu(s);
	s->thread.busy_ns = 500000000;
	assert_null(reach(s)->claim.cause);
	s->thread.waited_ns = 1;
	assert_string_equal(reach(s)->claim.cause, "gpu_bound");
	assert_string_equal(s->a.verdict.bottleneck, "gpu_bound");
	s->thread = (isc_facts_thread){.asked = 1000, .busy_ns = 1000000};
	/* That it is idle for a tenth is worth more than that it works for long. */
	s->gpu.busy_ns = 900000000;
	assert_string_equal(reach(s)->claim.cause, "gpu_bound");
	s->gpu.busy_ns = 899999999;
	assert_string_equal(reach(s)->claim.cause, "gpu_idle");
	isc_rules_find(&s->rules, "gpu_idle")->off = true;
	s->gpu.busy_ns = 500000000;
	assert_string_equal(reach(s)->claim.cause, "gpu_bound");
	s->gpu.busy_ns--;
	assert_null(reach(s)->claim.cause);
	drop(s);

	s = scene();
	with_gpu(s);
	s->timeline.copy_count = 1;
	s->copy = (isc_facts_copy){.kind = ISC_GPU_H2D, .count = 10, .total_ns = 200000000};
	s->gpu.copy_ns = 400000000;
	assert_null(reach(s)->claim.cause);
	s->copy.total_ns++;
	assert_string_equal(reach(s)->claim.cause, "copy_bound");
	assert_string_equal(s->a.verdict.bottleneck, "memory_bound");
	assert_true(headline_says(&s->a.verdict, "copy-bound"));
	drop(s);
}

static void waits_launches_and_the_bus_fire_above_their_threshold(void **state)
{
	(void)state;
	for (int more = 0; more < 2; more++) {
		struct scene *s = scene();

		with_gpu(s);
		s->gpu.drained_ns = 100000000 + more;
		isc_rules_find(&s->rules, "gpu_idle")->off = true;
		assert_true(more ? strcmp(reach(s)->claim.cause, "gpu_sync") == 0 : reach(s)->claim.cause == NULL);
		s->gpu.drained_ns = 0;
		s->gpu.idle[ISC_IDLE_SYNC].ns = 100000000 + more;
		assert_true(more ? strcmp(reach(s)->claim.cause, "gpu_sync") == 0 : reach(s)->claim.cause == NULL);
		drop(s);

		s = scene();
		with_gpu(s);
		s->gpu.kernels = 50000;
		s->gpu.kernel_ns = 900000000;
		s->gpu.busy_ns = 900000000; /* 18 us each */
		s->gpu.idle[ISC_IDLE_HOST_WAIT] = (isc_facts_idle){.ns = 100000000 + more, .gaps = 50000};
		assert_true(more ? strcmp(reach(s)->claim.cause, "launch_bound") == 0 : reach(s)->claim.cause == NULL);
		drop(s);

		s = scene();
		with_gpu(s);
		s->gpu.h2d_bytes = 10000000000 + (uint64_t)more * 1000;
		s->gpu.copy_ns = 1000;
		assert_true(more ? strcmp(reach(s)->claim.cause, "pcie_saturated") == 0
				 : reach(s)->claim.cause == NULL);
		drop(s);
	}
}

/* What samples told is a bound with their error in it; what was told by waits is exact. */
static void a_bound_by_samples_has_their_error(void **state)
{
	struct scene *s = scene();

	(void)state;
	s->j.hot = (isc_place){.name = {"f", 1}, .us = 500e3};
	reach(s);
	assert_true(s->a.suggestions[0].saves_at_most_us > 540e3 && s->a.suggestions[0].saves_at_most_us < 550e3);
	s->j.hot.us = 0;
	set(s, ISC_STATE_SLEEP, 50);
	reach(s);
	assert_true(fabs(s->a.suggestions[0].saves_at_most_us - 500e3) < 1e-6);
	drop(s);
}

static void what_saves_most_wins_and_all_are_shown(void **state)
{
	struct scene *s = scene();
	const isc_analysis_verdict *v;

	(void)state;
	set(s, ISC_STATE_GIL_WAIT, 30); /* (30 - 10) / 10 = 2, with the threshold below */
	isc_rules_find(&s->rules, "gil_contention")->threshold = 10;
	set(s, ISC_STATE_IO_WAIT, 40);	 /* (40 - 15) / 15 = 1.7 */
	set(s, ISC_STATE_LOCK_WAIT, 11); /* 0.1 */
	v = reach(s);
	assert_string_equal(v->claim.cause, "io_wait");
	assert_int_equal(v->evidence_count, 3);
	assert_string_equal(v->evidence[1].rule, "gil_contention");
	assert_string_equal(v->evidence[2].rule, "lock_contention");
	assert_true(v->evidence[0].value == 40 && v->evidence[0].threshold == 15);
	assert_int_equal(s->a.suggestion_count, 3);
	assert_string_equal(s->a.suggestions[0].claim.cause, "io_wait");
	assert_string_equal(s->a.suggestions[1].claim.cause, "gil_contention");
	assert_true(fabs(s->a.suggestions[1].saves_at_most_us - 300e3) < 1e-6);
	assert_string_equal(s->a.suggestions[2].claim.cause, "lock_contention");
	/* At 30% the next one would win. */
	assert_true(change_says(v, "30.0%"));
	assert_true(change_says(v, "gil_contention"));
	/* What saves about as much is told apart by how far it is above its threshold. */
	set(s, ISC_STATE_GIL_WAIT, 37);
	assert_string_equal(reach(s)->claim.cause, "gil_contention");
	isc_rules_find(&s->rules, "io_wait")->weight = 2;
	assert_string_equal(reach(s)->claim.cause, "io_wait");
	isc_rules_find(&s->rules, "io_wait")->off = true;
	assert_string_equal(reach(s)->claim.cause, "gil_contention");
	isc_rules_find(&s->rules, "gil_contention")->off = true;
	assert_string_equal(reach(s)->claim.cause, "lock_contention");
	drop(s);
}

static double confidence(double pct, double lost, double other, uint8_t source)
{
	struct scene *s = scene();
	double found;

	set(s, ISC_STATE_GIL_WAIT, pct);
	set(s, ISC_STATE_OTHER, other);
	s->j.source[ISC_STATE_GIL_WAIT] = source;
	s->a.lost = (uint64_t)(lost * 5000);
	found = reach(s)->confidence;
	drop(s);
	return found;
}

static void confidence_falls_with_every_reason_to_doubt(void **state)
{
	double best = confidence(60, 0, 0, ISC_SOURCE_AGENT);

	(void)state;
	assert_true(best > 0.9 && best <= 1);
	assert_true(confidence(20, 0, 0, ISC_SOURCE_AGENT) < best);
	assert_true(confidence(11, 0, 0, ISC_SOURCE_AGENT) < confidence(20, 0, 0, ISC_SOURCE_AGENT));
	assert_true(confidence(11, 0, 0, ISC_SOURCE_AGENT) > ISC_CONFIDENCE_FLOOR);
	assert_true(confidence(60, 0.1, 0, ISC_SOURCE_AGENT) < best);
	assert_true(confidence(60, 0, 30, ISC_SOURCE_AGENT) < best);
	assert_true(confidence(60, 0, 0, ISC_SOURCE_ESTIMATED) < best);
}

static void a_verdict_is_withheld_when_too_little_was_seen(void **state)
{
	struct scene *s = scene();
	const isc_analysis_verdict *v;

	(void)state;
	set(s, ISC_STATE_GIL_WAIT, 60);
	s->a.samples.count = 199;
	s->a.events = 999;
	v = reach(s);
	assert_string_equal(v->bottleneck, "unknown");
	assert_non_null(v->withheld);
	assert_null(v->claim.cause);
	assert_int_equal(s->a.suggestion_count, 0);
	s->a.samples.count = 200;
	assert_null(reach(s)->withheld);
	s->a.samples.count = 0;
	s->a.events = 1000;
	assert_null(reach(s)->withheld);
	/* Half of all events are gone. */
	s->a.lost = 1000;
	v = reach(s);
	assert_non_null(v->withheld);
	assert_true(v->confidence == 0);
	assert_string_equal(v->bottleneck, "unknown");
	drop(s);
}

static void a_verdict_is_withheld_when_most_of_the_time_is_not_known(void **state)
{
	struct scene *s = scene();

	(void)state;
	set(s, ISC_STATE_OTHER, 55);
	assert_non_null(
		strstr(reach(s)->withheld, "55.0% of the time is not known: it waited in calls that are not hooked"));
	s->j.state_us[ISC_STATE_IDLE] = -1;
	assert_non_null(strstr(reach(s)->withheld, "without --no-agent"));
	/* A cause that explains less may not be the largest. */
	set(s, ISC_STATE_GIL_WAIT, 40);
	assert_null(reach(s)->claim.cause);
	set(s, ISC_STATE_OTHER, 45);
	assert_string_equal(reach(s)->claim.cause, "gil_contention");
	drop(s);
}

static void nothing_that_stands_out_is_balanced(void **state)
{
	struct scene *s = scene();
	const isc_analysis_verdict *v;

	(void)state;
	set(s, ISC_STATE_PYTHON, 91);
	set(s, ISC_STATE_GIL_WAIT, 9);
	v = reach(s);
	assert_string_equal(v->bottleneck, "balanced");
	assert_null(v->claim.cause);
	assert_null(v->withheld);
	assert_true(headline_says(v, "No single cause stands out") && v->claim.share < 0);
	assert_int_equal(v->evidence_count, 0);
	/* What came nearest would change it. */
	assert_true(change_says(v, "gil_wait_pct"));
	drop(s);
}

static const char *cause_when_stalled(double pct, bool known)
{
	struct scene *s = scene();
	const char *cause;

	s->a.wall_us = 2e6;
	s->a.usage = (isc_analysis_usage){.known = known,
					  .group_known = known,
					  .limit_bytes = 512.0 * 1048576,
					  .group_bytes = 500.0 * 1048576,
					  .some_us = pct * 2e4};
	cause = reach(s)->claim.cause;
	if (cause != NULL)
		assert_true(headline_says(&s->a.verdict, "500 of 512 MiB"));
	drop(s);
	return cause;
}

static void a_group_that_is_short_of_memory_is_told(void **state)
{
	(void)state;
	assert_string_equal(cause_when_stalled(10.5, true), "memory_pressure");
	assert_null(cause_when_stalled(10, true));
	assert_null(cause_when_stalled(0, true));
	assert_null(cause_when_stalled(90, false));
}

static void chatty_calls_are_counted_in_the_headline(void **state)
{
	isc_analysis_syscall calls[] = {{.name = "clock_nanosleep", .count = 900000, .total_us = 9e8},
					{.name = "read", .count = 40000, .total_us = 60000, .bytes = 640000},
					{.name = "close", .count = 10, .total_us = 10}};
	const char *words = "(read: 40,000 calls, 16 bytes each)";
	struct scene *s = scene();

	(void)state;
	s->a.syscalls = calls;
	s->a.syscall_count = 3;
	set(s, ISC_STATE_SYSCALL, 40);
	assert_string_equal(reach(s)->claim.cause, "chatty_syscalls");
	assert_true(headline_says(&s->a.verdict, words));
	drop(s);
}

static void what_a_file_of_rules_says_outlives_its_rules(void **state)
{
	static const char text[] =
		"rules: {mine: {metric: gil_wait_pct, threshold: 1, title: Use a queue, fix: a queue}}";
	struct scene *s = scene();
	const isc_claim *c;
	isc_error err;

	(void)state;
	assert_int_equal(isc_rules_parse(&s->rules, text, strlen(text), "rules.yaml", &err), ISC_OK);
	set(s, ISC_STATE_GIL_WAIT, 60);
	c = &reach(s)->claim;
	assert_ptr_not_equal(c->cause, isc_rules_find(&s->rules, "mine")->id);
	isc_rules_fini(&s->rules);
	assert_string_equal(c->cause, "mine");
	assert_int_equal(c->fix, ISC_FIX_NONE);
	assert_int_equal(c->kind, ISC_CLAIM_FAULT);
	assert_true(headline_says(&s->a.verdict, "can be saved by a queue."));
	assert_memory_equal(isc_phrase_title(c).at, "Use a queue", strlen("Use a queue"));
	assert_int_equal(isc_phrase_check(c).len, 0);
	drop(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(states_fire_above_their_threshold_and_not_at_it),
		cmocka_unit_test(a_group_that_is_short_of_memory_is_told),
		cmocka_unit_test(chatty_calls_are_counted_in_the_headline),
		cmocka_unit_test(places_fire_above_their_threshold_and_not_at_it),
		cmocka_unit_test(a_queue_of_its_own_threads_fires_above_its_threshold),
		cmocka_unit_test(a_machine_that_others_use_tells_nothing_of_the_program),
		cmocka_unit_test(fresh_pages_fire_above_their_threshold),
		cmocka_unit_test(pages_that_samples_met_fire_above_their_threshold),
		cmocka_unit_test(what_is_read_and_what_is_filled_have_rules_of_their_own),
		cmocka_unit_test(swap_fires_above_its_threshold_where_memory_is_in_it),
		cmocka_unit_test(far_memory_fires_above_its_threshold),
		cmocka_unit_test(waits_launches_and_the_bus_fire_above_their_threshold),
		cmocka_unit_test(a_bound_by_samples_has_their_error),
		cmocka_unit_test(idle_is_never_a_cause),
		cmocka_unit_test(native_work_and_answers_from_outside_are_limits),
		cmocka_unit_test(the_host_of_a_busy_gpu_is_no_limit),
		cmocka_unit_test(a_function_is_ranked_by_what_it_has_for_itself),
		cmocka_unit_test(devices_fire_above_their_threshold_and_not_at_it),
		cmocka_unit_test(what_saves_most_wins_and_all_are_shown),
		cmocka_unit_test(confidence_falls_with_every_reason_to_doubt),
		cmocka_unit_test(a_verdict_is_withheld_when_too_little_was_seen),
		cmocka_unit_test(a_verdict_is_withheld_when_most_of_the_time_is_not_known),
		cmocka_unit_test(nothing_that_stands_out_is_balanced),
		cmocka_unit_test(what_a_file_of_rules_says_outlives_its_rules),
	};

	return cmocka_run_group_tests_name("verdict", tests, NULL, NULL);
}
