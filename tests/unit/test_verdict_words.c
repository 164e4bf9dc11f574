/*
 * verdict: what it is of, and what would change it.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <math.h>

#include "analyze/names.h"
#include "analyze/verdict/verdict.h"
#include "verdict_says.h"

/* A thread of one second in ten scopes, which take so long each. */
struct scene {
	isc_analysis a;
	isc_analysis_scope scope;
	isc_evidence j;
	isc_rules rules;
	isc_timeline_facts timeline;
	isc_facts_gpu gpu[2];
	isc_facts_source source;
	isc_facts_process process;
	isc_facts_thread thread;
};

static struct scene *scene(double mean_us)
{
	struct scene *s = calloc(1, sizeof(*s));

	assert_non_null(s);
	s->scope = (isc_analysis_scope){.name = {"request", 7}};
	s->scope.all.count = 10;
	s->scope.all.mean_us = mean_us;
	s->a.scopes = &s->scope;
	s->a.scope_count = 1;
	s->a.events = 5000;
	s->a.samples.count = 500;
	s->a.lost_known = s->a.complete = true;
	s->j = (isc_evidence){.a = &s->a,
			      .arena = isc_arena_new(),
			      .known = true,
			      .window_us = 1e6,
			      .scope = {"request", 7},
			      .scopes = 10,
			      .samples = 500};
	assert_non_null(s->j.arena);
	for (int i = 0; i < ISC_STATES; i++)
		s->j.source[i] = ISC_SOURCE_AGENT;
	isc_rules_init(&s->rules);
	return s;
}

static void drop(struct scene *s)
{
	isc_arena_free(s->j.arena);
	isc_rules_fini(&s->rules);
	free(s);
}

static const isc_analysis_verdict *reach(struct scene *s)
{
	isc_error err;

	assert_int_equal(isc_verdict_reach(&s->j, &s->rules, &s->a, &err), ISC_OK);
	return &s->a.verdict;
}

static void waiting_for_the_loop_fires_above_its_threshold_however_short_its_steps_are(void **state)
{
	(void)state;
	for (int more = 0; more < 2; more++) {
		/* Eight tasks take turns: each request takes as long as eight of them run. */
		struct scene *s = scene(800e3);
		const isc_analysis_verdict *v;

		s->j.loop = (isc_place){.name = {"model", 5}, .us = 0};
		s->scope.path_loop_us = (80e3 + more) * (more + 1);
		s->j.stretch = more + 1; /* the loop's thread waits for a CPU as long as it has one */
		v = reach(s);
		if (more == 0) {
			assert_null(v->claim.cause);
		} else {
			assert_string_equal(v->claim.cause, "event_loop_blocked");
			assert_true(fabs(v->claim.share - 20) < 0.01 && fabs(v->evidence[0].value - 10) < 0.01);
			assert_true(headline_says(v, "20.0% of each request waits for the event loop"));
			assert_true(headline_says(v, "of 800 ms"));
		}
		drop(s);
	}
}

static void shares_of_a_thread_are_not_said_to_be_of_requests_that_take_turns_on_it(void **state)
{
	struct scene *s = scene(800e3);

	(void)state;
	s->j.state_us[ISC_STATE_SLEEP] = 500e3;
	assert_string_equal(reach(s)->claim.cause, "sleeping");
	assert_true(headline_says(&s->a.verdict, "50.0% of the thread's time in request"));
	assert_true(headline_says(&s->a.verdict, "at most 400 ms of 800 ms"));
	drop(s);
	/* One after the other they are the thread's time. */
	s = scene(100e3);
	s->j.state_us[ISC_STATE_SLEEP] = 500e3;
	assert_string_equal(reach(s)->claim.cause, "sleeping");
	assert_true(headline_says(&s->a.verdict, "50.0% of each request"));
	assert_true(headline_says(&s->a.verdict, "at most 50.0 ms of 100 ms"));
	drop(s);
}

static void the_same_cause_on_another_gpu_would_change_nothing(void **state)
{
	struct scene *s = scene(100e3);
	isc_facts_gpu gpu = {.seen = true,
			     .last_ns = 1000000000,
			     .busy_ns = 1000000000,
			     .kernel_ns = 1000000000,
			     .kernels = 1000,
			     .bounded = true};

	(void)state;
	s->source.rank = ISC_GPU_UNKNOWN;
	s->gpu[0] = s->gpu[1] = gpu;
	s->gpu[1].number = 1;
	s->thread = (isc_facts_thread){.asked = 1000, .busy_ns = 100000000};
	s->timeline = (isc_timeline_facts){.sources = &s->source,
					   .source_count = 1,
					   .gpus = s->gpu,
					   .gpu_count = 2,
					   .processes = &s->process,
					   .process_count = 1,
					   .threads = &s->thread,
					   .thread_count = 1,
					   .to_ns = 1000000000};
	s->a.timeline = &s->timeline;
	s->j.known = false;
	assert_string_equal(reach(s)->claim.cause, "gpu_bound");
	assert_true(change_says(&s->a.verdict, "gpu_cpu_ratio of every GPU at or below 2 x (it is 5 x)"));
	assert_true(change_says(&s->a.verdict, "then it would be balanced"));
	s->timeline.gpu_count = 1;
	assert_string_equal(reach(s)->claim.cause, "gpu_bound");
	assert_true(change_says(&s->a.verdict, "gpu_cpu_ratio at or below 2 x (it is 5 x)"));
	drop(s);
}

static const char *cause_near(double part, bool known)
{
	struct scene *s = scene(100e3);
	const char *cause;

	s->a.wall_us = 2e6;
	s->a.usage = (isc_analysis_usage){.known = true,
					  .some_us = -1,
					  .limit_bytes = known ? 1000.0 * 1048576 : -1,
					  .peak_rss_bytes = part * 1000.0 * 1048576,
					  .refused = -1};
	cause = reach(s)->claim.cause;
	if (cause != NULL)
		assert_true(headline_says(&s->a.verdict, " of 1,000 MiB."));
	drop(s);
	return cause;
}

static void memory_near_the_limit_fires_above_its_threshold(void **state)
{
	(void)state;
	assert_null(cause_near(0.9, true));
	assert_string_equal(cause_near(0.90001, true), "memory_near_limit");
	assert_null(cause_near(0.99, false));
}

static void kernels_are_named_as_people_know_them(void **state)
{
	static const char *const rows[][2] = {
		{"void (anonymous namespace)::resolve_kernel<long>(long*, long const*)", "resolve_kernel"},
		{"void at::native::vectorized_elementwise_kernel<4, float, std::array<char*, 1>>(int, float)",
		 "at::native::vectorized_elementwise_kernel"},
		{"ampere_sgemm_128x64_tn", "ampere_sgemm_128x64_tn"},
		{"<unnamed>", "<unnamed>"},
		{"forward (/app/model.py:9)", "forward (/app/model.py:9)"},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		isc_buffer out = {0};

		isc_names_kernel(&out, rows[i][0], strlen(rows[i][0]));
		isc_buffer_add(&out, "", 1);
		assert_string_equal(out.data, rows[i][1]);
		isc_buffer_fini(&out);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(waiting_for_the_loop_fires_above_its_threshold_however_short_its_steps_are),
		cmocka_unit_test(shares_of_a_thread_are_not_said_to_be_of_requests_that_take_turns_on_it),
		cmocka_unit_test(the_same_cause_on_another_gpu_would_change_nothing),
		cmocka_unit_test(memory_near_the_limit_fires_above_its_threshold),
		cmocka_unit_test(kernels_are_named_as_people_know_them),
	};

	return cmocka_run_group_tests_name("verdict_words", tests, NULL, NULL);
}
