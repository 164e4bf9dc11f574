/* facts: what the recorder says at the end of what it cost. */
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "session/facts.h"

#define SECOND_NS 1000000000ull
#define SECOND_US 1000000ull

static double said(isc_facts_end end, const char *name)
{
	isc_error unknown = {.what = "not known"};
	isc_buffer out = {0};
	const char *at;
	double value;

	end.throttle_unknown = &unknown;
	end.at_once = end.at_once != 0 ? end.at_once : 1;
	isc_facts_last(&out, &end);
	at = strstr(out.data, name);
	assert_non_null(at);
	value = strtod(at + strlen(name), NULL);
	isc_buffer_fini(&out);
	return value;
}

static double told_pct(isc_facts_end end)
{
	return said(end, "\"measured_pct\":");
}

/* Of a program of 1,000 s beside which the recorder took 100, on so many CPUs less than there are. */
static double beside_pct(int idle, bool known)
{
	isc_facts_end end = {.wall_ns = 1000 * SECOND_NS, .collecting_ns = 100 * SECOND_NS, .faults_known = known};
	cpu_set_t all;

	assert_int_equal(sched_getaffinity(0, sizeof(all), &all), 0);
	end.user_us = (uint64_t)(CPU_COUNT(&all) - idle) * 1000 * SECOND_US;
	return told_pct(end);
}

static void the_recorder_costs_where_it_is_in_the_way(void **state)
{
	(void)state;
	assert_float_equal(beside_pct(0, true), 10.0, 0.01);
	assert_float_equal(beside_pct(1, true), 0.0, 0.01);
	assert_float_equal(beside_pct(0, false), 0.0, 0.01);
}

static double hooks_pct(uint64_t allocations)
{
	isc_facts_end end = {.wall_ns = 1000 * SECOND_NS, .faults_known = true, .user_us = 1000 * SECOND_US};

	end.writer.allocations = allocations;
	return told_pct(end);
}

static void hooks_cost_less_in_a_loop_of_them(void **state)
{
	(void)state;
	assert_float_equal(hooks_pct(1000000000), 0.4, 0.01);
	assert_float_equal(hooks_pct(5000000000), 2.0, 0.01);
	assert_float_equal(hooks_pct(50000000000), 5.0 + 1.5, 0.01);
}

static void costs_inside_add_up(void **state)
{
	isc_facts_end end = {.wall_ns = 1000 * SECOND_NS, .start_cost_ns = 10 * SECOND_NS};

	(void)state;
	end.writer.call_ns = 20.0 * (double)SECOND_NS;
	end.writer.sample_ns = 5.0 * (double)SECOND_NS;
	end.switches.cost_pct = 0.5;
	assert_float_equal(told_pct(end), 1.0 + 2.0 + 0.5 + 0.5, 0.01);
	assert_float_equal(said(end, "\"calls\":"), 20e6, 1);
	assert_float_equal(said(end, "\"samples\":"), 5e6, 1);
	assert_float_equal(said(end, "\"start\":"), 10e6, 1);
	assert_float_equal(said(end, "\"switches\":"), 5e6, 1);
}

static void all_but_calls_and_samples_is_apart(void **state)
{
	isc_facts_end end = {.wall_ns = 1000 * SECOND_NS, .start_cost_ns = 10 * SECOND_NS, .at_once = 1};

	(void)state;
	end.writer.call_ns = 20.0 * (double)SECOND_NS;
	end.writer.sample_ns = 5.0 * (double)SECOND_NS;
	end.writer.syscalls = 80000000; /* 2 of the 5 s */
	end.switches.cost_pct = 0.5;
	assert_float_equal(isc_facts_apart_ns(&end), 15e9, 1e6);
}

static void what_samples_tell_of_is_not_counted_twice(void **state)
{
	isc_facts_end end = {.wall_ns = 1000 * SECOND_NS};

	(void)state;
	end.writer.sample_ns = 20.0 * (double)SECOND_NS;
	end.writer.syscalls = 80000000;
	end.writer.looked_at = 1000000;
	assert_float_equal(told_pct(end), 2.0, 0.01);
	assert_float_equal(said(end, "\"samples\":"), 14e6, 1);
	assert_float_equal(said(end, "\"system_calls\":"), 2e6, 1);
	assert_float_equal(said(end, "\"memory\":"), 4e6, 1);
	/* Without samples nobody reports it. */
	end.writer.sample_ns = 0;
	assert_float_equal(told_pct(end), 0.6, 0.01);
}

static void cpu_time_of_children_that_nobody_waited_for_is_the_programs(void **state)
{
	isc_facts_end end = {.wall_ns = 1000 * SECOND_NS, .faults_known = true, .user_us = 300 * SECOND_US};

	(void)state;
	assert_float_equal(said(end, "\"program_cpu_us\":"), 300e6, 1);
	end.writer.cpu_ns = 900 * SECOND_NS;
	assert_float_equal(said(end, "\"program_cpu_us\":"), 900e6, 1);
	end.user_us = 1200 * SECOND_US;
	assert_float_equal(said(end, "\"program_cpu_us\":"), 1200e6, 1);
}

static void what_processes_lose_side_by_side_is_lost_once(void **state)
{
	isc_facts_end end = {.wall_ns = 1000 * SECOND_NS, .start_cost_ns = 50 * SECOND_NS, .at_once = 2};

	(void)state;
	assert_float_equal(told_pct(end), 2.5, 0.01);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_recorder_costs_where_it_is_in_the_way),
		cmocka_unit_test(hooks_cost_less_in_a_loop_of_them),
		cmocka_unit_test(costs_inside_add_up),
		cmocka_unit_test(all_but_calls_and_samples_is_apart),
		cmocka_unit_test(what_samples_tell_of_is_not_counted_twice),
		cmocka_unit_test(cpu_time_of_children_that_nobody_waited_for_is_the_programs),
		cmocka_unit_test(what_processes_lose_side_by_side_is_lost_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
