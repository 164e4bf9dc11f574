/* minor: which processes and threads a report for people only counts. */
#include "check.h"
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

TEST(short_helpers_are_minor_and_the_root_is_not)
{
	isc_analysis a = helpers_of_a_shell();

	CHECK(isc_minor_process(&a, &processes[3]));
	CHECK(!isc_minor_process(&a, &processes[0]));
	CHECK(isc_minor_thread(&a, &threads[3]));
	CHECK(!isc_minor_thread(&a, &threads[0]));
}

TEST(what_says_something_is_listed)
{
	isc_analysis a = helpers_of_a_shell();

	processes[1].traced = true;
	processes[2].failed = true;
	processes[3].signal = 9;
	processes[4].wall_us = 100;
	processes[5].wall_known = false;
	processes[6].events = 1;
	for (int i = 1; i <= 6; i++)
		CHECK(!isc_minor_process(&a, &processes[i]));
	threads[1].events = 1;
	threads[2].on_cpu_us = 10;
	threads[3].on_cpu_us = -1;
	for (int i = 1; i <= 3; i++)
		CHECK(!isc_minor_thread(&a, &threads[i]));
}

TEST(a_short_list_is_shown_whole)
{
	isc_analysis a = helpers_of_a_shell();

	a.process_count = a.thread_count = MANY - 1;
	CHECK(!isc_minor_process(&a, &processes[3]));
	CHECK(!isc_minor_thread(&a, &threads[3]));
}
