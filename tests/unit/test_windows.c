/* windows: whatever part of a run is asked for, the parts add up to the whole, and nobody has more than the part. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/analysis.h"
#include "base/buffer.h"
#include "trace_text.h"

#define THREADS 3
#define FUNCTIONS 6
#define RUN_US 20000.0
#define PARTS_MAX 7
#define ROUNDS 60
#define ROUNDING_US 0.1 /* of a sum over parts: times are whole nanoseconds at each edge */

static uint64_t random_state;

static uint32_t draw(uint32_t below)
{
	random_state = random_state * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)(random_state >> 33) % below;
}

/* Calls, waits and collections of a thread, as a program could have made them. */
static void add_thread(isc_buffer *text, int thread)
{
	static const char *const waits[] = {"sleep", "mutex", "poll"};
	int stack[16], depth = 0;
	double us = 100.0 + draw(300);

	while (us < RUN_US - 3000) {
		unsigned what = draw(10);

		us += 1 + draw(400);
		if (what < 4 && depth < 16) {
			stack[depth] = (int)draw(FUNCTIONS);
			isc_buffer_format(text, "t%d %.3fms call_enter f%d a.py %d\n", thread, us / 1e3, stack[depth],
					  stack[depth] + 1);
			depth++;
		} else if (what < 7 && depth > 0) {
			depth--;
			isc_buffer_format(text, "t%d %.3fms call_exit f%d a.py %d\n", thread, us / 1e3, stack[depth],
					  stack[depth] + 1);
		} else if (what < 9) {
			const char *wait = waits[draw(3)];
			unsigned long_us = 20 + draw(2500);

			isc_buffer_format(text, "t%d %.3fms wait_enter %s \"g a.py 1 3\"\n", thread, us / 1e3, wait);
			us += long_us;
			isc_buffer_format(text, "t%d %.3fms wait_exit %s %uus 0 \"g a.py 1 3\"\n", thread, us / 1e3,
					  wait, long_us);
		} else {
			unsigned long_us = 20 + draw(900);

			us += long_us;
			isc_buffer_format(text, "t%d %.3fms gc 2 %uus 0\n", thread, us / 1e3, long_us);
		}
	}
	/* Some end in the middle of a call, or of a wait. */
	if (draw(2) == 0)
		isc_buffer_format(text, "t%d %.3fms wait_enter poll \"g a.py 1 3\"\n", thread, us / 1e3 + 0.5);
}

static isc_trace *scene(uint64_t seed)
{
	isc_buffer text = {0};
	isc_trace *trace = NULL;
	isc_error err = {0};

	random_state = seed;
	isc_buffer_format(&text,
			  "meta {\"argv\": [\"serve\"], \"perf\": \"ok\", \"waits\": true}\n"
			  "p1 pid=100 root traced python end=%.3fms status=0 argv serve\n",
			  RUN_US / 1e3);
	for (int t = 1; t <= THREADS; t++)
		isc_buffer_format(&text, "t%d p1 tid=%d%s name=n%d end=%.3fms\n", t, 99 + t, t == 1 ? " main" : "", t,
				  RUN_US / 1e3);
	for (int t = 1; t <= THREADS; t++)
		add_thread(&text, t);
	isc_buffer_format(&text, "end %.3fms status=0\n", RUN_US / 1e3);
	if (trace_text_open(text.data, &trace, &err) != ISC_OK)
		fail_msg("%s", err.what);
	isc_buffer_fini(&text);
	return trace;
}

struct sums {
	double self_us[FUNCTIONS], total_us[FUNCTIONS];
	double calls[FUNCTIONS];
	double wall_us[THREADS], state_us[THREADS][ISC_STATES];
};

static void add_analysis(struct sums *s, const isc_analysis *a)
{
	for (size_t i = 0; i < a->function_count; i++) {
		const isc_analysis_function *f = &a->functions[i];
		int n = f->name.len == 2 && f->name.at[0] == 'f' ? f->name.at[1] - '0' : -1;

		if (n < 0 || n >= FUNCTIONS)
			continue;
		s->self_us[n] += f->self_us;
		s->total_us[n] += f->total_us;
		s->calls[n] += (double)f->calls;
	}
	for (size_t i = 0; i < a->thread_count; i++) {
		const isc_analysis_thread *t = &a->threads[i];
		int n = (int)t->tid - 100;

		assert_true(n >= 0 && n < THREADS);
		s->wall_us[n] += t->wall_us;
		for (int state = 0; state < ISC_STATES; state++)
			s->state_us[n][state] += t->state_us[state] > 0 ? t->state_us[state] : 0;
	}
}

static void add_part(struct sums *s, isc_trace *trace, double from_us, double to_us)
{
	isc_analysis_options options = {.from_us = from_us, .to_us = to_us};
	double room_us = (to_us > 0 ? to_us : RUN_US) - from_us + ROUNDING_US;
	isc_analysis *a = NULL;
	isc_error err = {0};

	if (isc_analysis_new(trace, &options, &a, &err) != ISC_OK)
		fail_msg("%s", err.what);
	for (size_t i = 0; i < a->thread_count; i++) {
		assert_true(a->threads[i].wall_us <= room_us);
		for (int state = 0; state < ISC_STATES; state++)
			assert_true(a->threads[i].state_us[state] <= room_us);
	}
	for (size_t i = 0; i < a->function_count; i++)
		assert_true(a->functions[i].total_us <= room_us * THREADS &&
			    a->functions[i].self_us <= a->functions[i].total_us + ROUNDING_US);
	add_analysis(s, a);
	isc_analysis_free(a);
}

static void check_near(uint64_t seed, const char *what, int which, double parts, double whole)
{
	if (fabs(parts - whole) > ROUNDING_US * PARTS_MAX)
		fail_msg("seed %llu: %s of %d is %.3f in parts, %.3f in whole", (unsigned long long)seed, what, which,
			 parts, whole);
}

static int by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static void any_parts_of_a_run_add_up_to_the_whole(void **state)
{
	double seen[ISC_STATES] = {0}, nested_us = 0;

	(void)state;
	for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
		isc_trace *trace = scene(seed);
		struct sums whole = {0}, parts = {0};
		double edge[PARTS_MAX + 1] = {0};
		size_t count = 2 + draw(PARTS_MAX - 1);

		/* Between two events, so that none is in two parts. */
		for (size_t i = 1; i < count; i++)
			edge[i] = 1 + draw((uint32_t)RUN_US - 2) + 0.5;
		edge[count] = RUN_US;
		qsort(edge + 1, count - 1, sizeof(*edge), by_size);
		add_part(&whole, trace, 0, RUN_US);
		nested_us += whole.total_us[0] - whole.self_us[0];
		for (int n = 0; n < ISC_STATES; n++)
			seen[n] += whole.state_us[0][n];
		for (size_t i = 0; i < count; i++) {
			if (edge[i + 1] > edge[i])
				add_part(&parts, trace, edge[i], edge[i + 1]);
		}
		for (int i = 0; i < FUNCTIONS; i++) {
			check_near(seed, "own time", i, parts.self_us[i], whole.self_us[i]);
			check_near(seed, "whole time", i, parts.total_us[i], whole.total_us[i]);
			check_near(seed, "calls", i, parts.calls[i], whole.calls[i]);
		}
		for (int i = 0; i < THREADS; i++) {
			check_near(seed, "time", i, parts.wall_us[i], whole.wall_us[i]);
			for (int n = 0; n < ISC_STATES; n++)
				check_near(seed, isc_state_name((enum isc_state)n), i, parts.state_us[i][n],
					   whole.state_us[i][n]);
		}
		isc_trace_close(trace);
	}
	assert_true(nested_us > 0 && seen[ISC_STATE_GC] > 0 && seen[ISC_STATE_SLEEP] > 0 &&
		    seen[ISC_STATE_LOCK_WAIT] > 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(any_parts_of_a_run_add_up_to_the_whole),
	};

	return cmocka_run_group_tests_name("windows", tests, NULL, NULL);
}
