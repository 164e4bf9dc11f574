/* budget: the time in which a program works, of which a budget is a share. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "runtime/budget.h"

#define MS 1000000ull

isc_image isc_image_self = {.clock_source = ISC_CLOCK_MONOTONIC, .ticks_per_us = 1000};

static uint64_t read_ns(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

static uint64_t worked(void)
{
	return isc_budget_worked(read_ns(CLOCK_MONOTONIC));
}

static void work(uint64_t ns)
{
	uint64_t until = read_ns(CLOCK_PROCESS_CPUTIME_ID) + ns;

	while (read_ns(CLOCK_PROCESS_CPUTIME_ID) < until)
		;
}

static void wait_for(uint64_t ns)
{
	struct timespec t = {0, (long)ns};

	nanosleep(&t, NULL);
}

static void time_that_is_waited_for_is_not_worked_in(void **state)
{
	uint64_t before;

	(void)state;
	before = worked();
	for (int i = 0; i < 5; i++) {
		wait_for(20 * MS);
		worked();
	}
	assert_true(worked() - before < 10 * MS);
}

static void work_counts_however_often_one_asks(void **state)
{
	uint64_t before;

	(void)state;
	worked();
	wait_for(2 * MS);
	before = worked();
	work(40 * MS);
	assert_in_range(worked() - before, 39 * MS, 60 * MS);
	before = worked();
	for (int i = 0; i < 400; i++) {
		work(MS / 10);
		worked();
	}
	wait_for(5 * MS);
	/* The clock may be behind by a tick of the kernel. */
	assert_in_range(worked() - before, 30 * MS, 120 * MS);
}

/* A server that waits for half a millisecond, again and again. */
static void brief_waits_are_not_worked_in(void **state)
{
	uint64_t before, cpu;

	(void)state;
	worked();
	work(5 * MS);
	before = worked();
	cpu = read_ns(CLOCK_PROCESS_CPUTIME_ID);
	for (int i = 0; i < 200; i++) {
		for (int k = 0; k < 10; k++) {
			work(MS / 100);
			worked();
		}
		wait_for(MS / 2);
		worked();
	}
	cpu = read_ns(CLOCK_PROCESS_CPUTIME_ID) - cpu;
	assert_in_range(worked() - before, cpu * 8 / 10, cpu + 12 * MS);
}

static void it_never_goes_back(void **state)
{
	uint64_t now = read_ns(CLOCK_MONOTONIC), found = isc_budget_worked(now);

	(void)state;
	assert_int_equal(isc_budget_worked(now - MS), found);
	assert_int_equal(isc_budget_worked(now), found);
	assert_in_range(isc_budget_worked(now + 10), found, found + 10);
}

/* Whose CPU clock begins at zero, behind what its parent had used. */
static void a_fork_child_goes_on(void **state)
{
	uint64_t before;
	int status = -1;
	pid_t child;

	(void)state;
	work(30 * MS);
	wait_for(2 * MS);
	worked();
	child = fork();
	if (child == 0) {
		wait_for(3 * MS);
		worked();
		before = worked();
		work(20 * MS);
		_exit(worked() - before >= 19 * MS ? 0 : 1);
	}
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

static void what_is_spent_outside_comes_out_of_the_share_and_leaves_half(void **state)
{
	static isc_control control;

	(void)state;
	assert_true(isc_budget_share(-1) < 0);
	assert_true(isc_budget_share(4) == 0.04);
	atomic_store(&isc_image_self.control, &control);
	assert_true(isc_budget_share(4) == 0.04);
	atomic_store(&control.outside_ppm, 10000);
	assert_true(isc_budget_share(4) > 0.0299 && isc_budget_share(4) < 0.0301);
	assert_true(isc_budget_share(-1) < 0);
	/* Whatever the recorder writes, or somebody else. */
	atomic_store(&control.outside_ppm, UINT32_MAX);
	assert_true(isc_budget_share(4) == 0.02);
	atomic_store(&isc_image_self.control, NULL);
}

static void time_is_paid_in_once_whoever_does_it(void **state)
{
	(void)state;
	isc_budget_set(1000 * MS);
	isc_budget_take(1000 * MS);
	/* Who looks often did so lately: nobody else pays in. */
	isc_budget_pay(10 * MS, 10 * MS, 0.1);
	isc_budget_pay_late(15 * MS, 20 * MS, 5 * MS, 0.1);
	assert_int_equal(isc_budget_left(), 1 * MS);
	/* It is silent, and a thread pays for 30 of 70 ms; what it paid for does not come twice. */
	isc_budget_pay_late(40 * MS, 20 * MS, 10 * MS, 0.1);
	isc_budget_pay_late(60 * MS, 20 * MS, 20 * MS, 0.1);
	assert_int_equal(isc_budget_left(), 4 * MS);
	isc_budget_pay(80 * MS, 70 * MS, 0.1);
	assert_int_equal(isc_budget_left(), 8 * MS);
	/* Threads side by side pay for more than the time that passes: that is not owed. */
	isc_budget_pay_late(120 * MS, 20 * MS, 60 * MS, 0.1);
	isc_budget_pay(130 * MS, 50 * MS, 0.1);
	assert_int_equal(isc_budget_left(), 14 * MS);
	isc_budget_pay(140 * MS, 10 * MS, 0.1);
	assert_int_equal(isc_budget_left(), 15 * MS);
}

static void all_that_is_taken_is_counted(void **state)
{
	uint64_t before = atomic_load(&isc_budget_self.spent);

	(void)state;
	isc_budget_set(1000);
	isc_budget_take(1500);
	assert_int_equal(isc_budget_left(), -500);
	assert_int_equal(isc_budget_fill(200), -300);
	isc_budget_take(7);
	assert_int_equal(atomic_load(&isc_budget_self.spent) - before, 1507);
}

static void no_debt_is_for_ever(void **state)
{
	(void)state;
	isc_budget_set(1000);
	isc_budget_take(1000000);
	assert_int_equal(isc_budget_fill(10), -16000);
	assert_int_equal(isc_budget_fill(16500), 500);
	assert_int_equal(isc_budget_fill(16500), 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(time_that_is_waited_for_is_not_worked_in),
		cmocka_unit_test(work_counts_however_often_one_asks),
		cmocka_unit_test(brief_waits_are_not_worked_in),
		cmocka_unit_test(it_never_goes_back),
		cmocka_unit_test(a_fork_child_goes_on),
		cmocka_unit_test(what_is_spent_outside_comes_out_of_the_share_and_leaves_half),
		cmocka_unit_test(time_is_paid_in_once_whoever_does_it),
		cmocka_unit_test(all_that_is_taken_is_counted),
		cmocka_unit_test(no_debt_is_for_ever),
	};

	return cmocka_run_group_tests_name("budget", tests, NULL, NULL);
}
