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
#include "random_run.h"

#define PARTS_MAX 7
#define ROUNDS 60
#define ROUNDING_US 0.1 /* of a sum over parts: times are whole nanoseconds at each edge */

struct sums {
	double self_us[RANDOM_RUN_FUNCTIONS], total_us[RANDOM_RUN_FUNCTIONS];
	double calls[RANDOM_RUN_FUNCTIONS];
	double wall_us[RANDOM_RUN_THREADS], state_us[RANDOM_RUN_THREADS][ISC_STATES];
};

static void add_analysis(struct sums *s, const isc_analysis *a)
{
	for (size_t i = 0; i < a->function_count; i++) {
		const isc_analysis_function *f = &a->functions[i];
		int n = f->name.len == 2 && f->name.at[0] == 'f' ? f->name.at[1] - '0' : -1;

		if (n < 0 || n >= RANDOM_RUN_FUNCTIONS)
			continue;
		s->self_us[n] += f->self_us;
		s->total_us[n] += f->total_us;
		s->calls[n] += (double)f->calls;
	}
	for (size_t i = 0; i < a->thread_count; i++) {
		const isc_analysis_thread *t = &a->threads[i];
		int n = (int)t->tid - 100;

		assert_true(n >= 0 && n < RANDOM_RUN_THREADS);
		s->wall_us[n] += t->wall_us;
		for (int state = 0; state < ISC_STATES; state++)
			s->state_us[n][state] += t->state_us[state] > 0 ? t->state_us[state] : 0;
	}
}

static void add_part(struct sums *s, isc_trace *trace, double from_us, double to_us)
{
	isc_analysis_options options = {.from_us = from_us, .to_us = to_us};
	double room_us = (to_us > 0 ? to_us : RANDOM_RUN_US) - from_us + ROUNDING_US;
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
		assert_true(a->functions[i].total_us <= room_us * RANDOM_RUN_THREADS &&
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
		isc_trace *trace = random_run(seed);
		struct sums whole = {0}, parts = {0};
		double edge[PARTS_MAX + 1] = {0};
		size_t count = 2 + random_draw(PARTS_MAX - 1);

		/* Between two events, so that none is in two parts. */
		for (size_t i = 1; i < count; i++)
			edge[i] = 1 + random_draw((uint32_t)RANDOM_RUN_US - 2) + 0.5;
		edge[count] = RANDOM_RUN_US;
		qsort(edge + 1, count - 1, sizeof(*edge), by_size);
		add_part(&whole, trace, 0, RANDOM_RUN_US);
		nested_us += whole.total_us[0] - whole.self_us[0];
		for (int n = 0; n < ISC_STATES; n++)
			seen[n] += whole.state_us[0][n];
		for (size_t i = 0; i < count; i++) {
			if (edge[i + 1] > edge[i])
				add_part(&parts, trace, edge[i], edge[i + 1]);
		}
		for (int i = 0; i < RANDOM_RUN_FUNCTIONS; i++) {
			check_near(seed, "own time", i, parts.self_us[i], whole.self_us[i]);
			check_near(seed, "whole time", i, parts.total_us[i], whole.total_us[i]);
			check_near(seed, "calls", i, parts.calls[i], whole.calls[i]);
		}
		for (int i = 0; i < RANDOM_RUN_THREADS; i++) {
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
