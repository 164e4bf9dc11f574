/* facts: what the recorder says at the end of what it cost. */
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

/* Of a program of 1,000 s in which we took 50 s of CPU time, and which took so many itself.  What this test takes as the
 * recorder is too little to be seen beside that. */
static double told_pct(uint64_t cpu_s, bool known)
{
	static const char name[] = "\"measured_pct\":";
	isc_error unknown = {.what = "not known"};
	isc_facts_end end = {.wall_ns = 1000 * SECOND_NS,
			     .start_cost_ns = 50 * SECOND_NS,
			     .faults_known = known,
			     .user_us = cpu_s * SECOND_US,
			     .throttle_unknown = &unknown};
	isc_buffer out = {0};
	const char *at;
	double told;

	isc_facts_last(&out, &end);
	at = strstr(out.data, name);
	assert_non_null(at);
	told = strtod(at + sizeof(name) - 1, NULL);
	isc_buffer_fini(&out);
	return told;
}

static void what_is_lost_side_by_side_is_lost_once(void **state)
{
	(void)state;
	assert_float_equal(told_pct(1000, true), 5.0, 0.1);
	assert_float_equal(told_pct(2000, true), 2.5, 0.1);
}

static void who_waits_loses_no_more_for_it(void **state)
{
	(void)state;
	assert_float_equal(told_pct(10, true), 5.0, 0.1);
	assert_float_equal(told_pct(0, false), 5.0, 0.1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_lost_side_by_side_is_lost_once),
		cmocka_unit_test(who_waits_loses_no_more_for_it),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
