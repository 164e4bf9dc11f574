/* minor: which processes and threads a report for people only counts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "report/minor.h"

#define MANY 9

static isc_analysis_process processes[MANY];
static isc_analysis_thread threads[MANY];

static isc_analysis helpers_of_a_shell(void)
{
	for (uint32_t i = 0; i < MANY; i++) {
		processes[i] = (isc_analysis_process){.pid = 100 + i, .wall_known = true, .wall_us = 10};
		threads[i] = (isc_analysis_thread){.pid = 100 + i, .on_cpu_us = 1};
	}
	return (isc_analysis){
		.processes = processes, .process_count = MANY, .threads = threads, .thread_count = MANY, .to_us = 1000};
}

static void short_helpers_are_minor_and_the_root_is_not(void **state)
{
	isc_analysis a = helpers_of_a_shell();

	(void)state;
	assert_true(isc_minor_process(&a, &processes[3]));
	assert_false(isc_minor_process(&a, &processes[0]));
	assert_true(isc_minor_thread(&a, &threads[3]));
	assert_false(isc_minor_thread(&a, &threads[0]));
}

static void what_says_something_is_listed(void **state)
{
	isc_analysis a = helpers_of_a_shell();

	(void)state;
	processes[1].traced = true;
	processes[2].failed = true;
	processes[3].signal = 9;
	processes[4].wall_us = 100;
	processes[5].wall_known = false;
	processes[6].events = 1;
	for (int i = 1; i <= 6; i++)
		assert_false(isc_minor_process(&a, &processes[i]));
	threads[1].events = 1;
	threads[2].on_cpu_us = 10;
	threads[3].on_cpu_us = -1;
	for (int i = 1; i <= 3; i++)
		assert_false(isc_minor_thread(&a, &threads[i]));
}

static void a_short_list_is_shown_whole(void **state)
{
	isc_analysis a = helpers_of_a_shell();

	(void)state;
	a.process_count = a.thread_count = MANY - 1;
	assert_false(isc_minor_process(&a, &processes[3]));
	assert_false(isc_minor_thread(&a, &threads[3]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(short_helpers_are_minor_and_the_root_is_not),
		cmocka_unit_test(what_says_something_is_listed),
		cmocka_unit_test(a_short_list_is_shown_whole),
	};

	return cmocka_run_group_tests_name("minor", tests, NULL, NULL);
}
