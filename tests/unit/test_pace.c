/* pace: how long the steps of threads are when samples have to be fewer. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "collect/sample/pace.h"

#define USUAL 5000000u	/* 200 Hz */
#define QUICK 1000000u	/* 1 kHz */
#define SLOW 200000000u /* 5 Hz */

static bool is_kept(const uint64_t *ns, size_t n, uint64_t mine)
{
	isc_pace_sums sums = {0};

	for (size_t i = 0; i < n; i++)
		sums.ns[isc_pace_size(ns[i])] += ns[i];
	return isc_pace_size(mine) >= isc_pace_cut(&sums);
}

static void threads_that_have_most_of_the_time_are_kept(void **state)
{
	static const uint64_t one[] = {950000000, 10000000, 10000000, 10000000, 20000000};
	static const uint64_t pair[] = {500000000, 480000000, 1000000, 1000000};

	(void)state;
	assert_true(is_kept(one, 5, 950000000));
	assert_false(is_kept(one, 5, 20000000));
	assert_true(is_kept(pair, 4, 480000000));
	assert_false(is_kept(pair, 4, 1000000));
}

/* The kept ones together have four fifths at least, whatever the sizes are. */
static void those_that_are_kept_cover_four_fifths(void **state)
{
	uint64_t random = 88172645463325252ull, ns[40];

	(void)state;
	for (int round = 0; round < 2000; round++) {
		isc_pace_sums sums = {0};
		double all = 0, kept = 0;

		for (int i = 0; i < 40; i++) {
			random ^= random << 13;
			random ^= random >> 7;
			random ^= random << 17;
			ns[i] = random >> (24 + random % 40);
			sums.ns[isc_pace_size(ns[i])] += ns[i];
			all += (double)ns[i];
		}
		for (int i = 0; i < 40; i++)
			kept += isc_pace_size(ns[i]) >= isc_pace_cut(&sums) ? (double)ns[i] : 0;
		assert_true(kept >= all * 0.8);
	}
}

static void nobody_is_kept_where_nobody_ran(void **state)
{
	isc_pace_sums sums = {0};

	(void)state;
	assert_int_equal(isc_pace_cut(&sums), 1);
}

static void others_are_thinned_out_first_and_the_kept_ones_never_below_100_hz(void **state)
{
	uint32_t most = isc_pace_level_most(USUAL);

	(void)state;
	assert_int_equal(isc_pace_step_ns(USUAL, 0, true), USUAL);
	assert_int_equal(isc_pace_step_ns(USUAL, 0, false), USUAL);
	for (uint32_t level = 1; level < most; level++) {
		assert_int_equal(isc_pace_step_ns(USUAL, level, true), USUAL);
		assert_true(isc_pace_step_ns(USUAL, level, false) > isc_pace_step_ns(USUAL, level - 1, false));
	}
	assert_int_equal(isc_pace_step_ns(USUAL, most, false), ISC_PACE_MOST_NS);
	assert_int_equal(isc_pace_step_ns(USUAL, most, true), ISC_PACE_LEAST_NS);
	assert_int_equal(isc_pace_step_ns(USUAL, most + 7, true), ISC_PACE_LEAST_NS);
}

static void a_high_rate_falls_to_200_hz_before_it_falls_further(void **state)
{
	uint32_t most = isc_pace_level_most(QUICK);

	(void)state;
	assert_int_equal(isc_pace_step_ns(QUICK, 1, true), 2 * QUICK);
	assert_int_equal(isc_pace_step_ns(QUICK, most - 1, true), ISC_PACE_KEPT_NS);
	assert_int_equal(isc_pace_step_ns(QUICK, most, true), ISC_PACE_LEAST_NS);
}

static void nobody_gets_more_than_was_asked_for(void **state)
{
	(void)state;
	for (uint32_t level = 0; level <= isc_pace_level_most(SLOW); level++) {
		assert_int_equal(isc_pace_step_ns(SLOW, level, true), SLOW);
		assert_int_equal(isc_pace_step_ns(SLOW, level, false), SLOW);
	}
}

static void samples_wait_until_calls_had_their_turn(void **state)
{
	isc_pace_look look = {.left = -10, .then = 0, .most = 100, .share = 0.04, .samples = 0.015};

	(void)state;
	/* A little debt, of which samples are a third. */
	assert_int_equal(isc_pace_next(USUAL, 0, &look), 0);
	look.left = -150;
	assert_int_equal(isc_pace_next(USUAL, 0, &look), 1);
	/* It is being paid. */
	look.then = -200;
	assert_int_equal(isc_pace_next(USUAL, 0, &look), 0);
	/* Samples are not the reason. */
	look.then = 0;
	look.samples = 0.002;
	assert_int_equal(isc_pace_next(USUAL, 0, &look), 0);
	/* They alone are more than there is. */
	look = (isc_pace_look){.left = -1, .then = -5, .most = 100, .share = 0.04, .samples = 0.05};
	assert_int_equal(isc_pace_next(USUAL, 0, &look), 1);
	assert_int_equal(isc_pace_next(USUAL, isc_pace_level_most(USUAL), &look), isc_pace_level_most(USUAL));
}

static void they_come_back_when_there_is_room_for_twice_as_many(void **state)
{
	isc_pace_look look = {.left = 60, .then = 40, .most = 100, .share = 0.04, .samples = 0.01};

	(void)state;
	assert_int_equal(isc_pace_next(USUAL, 3, &look), 2);
	assert_int_equal(isc_pace_next(USUAL, 0, &look), 0);
	look.samples = 0.03;
	assert_int_equal(isc_pace_next(USUAL, 3, &look), 3);
	look = (isc_pace_look){.left = 40, .then = 60, .most = 100, .share = 0.04, .samples = 0.01};
	assert_int_equal(isc_pace_next(USUAL, 3, &look), 3);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_that_have_most_of_the_time_are_kept),
		cmocka_unit_test(those_that_are_kept_cover_four_fifths),
		cmocka_unit_test(nobody_is_kept_where_nobody_ran),
		cmocka_unit_test(others_are_thinned_out_first_and_the_kept_ones_never_below_100_hz),
		cmocka_unit_test(a_high_rate_falls_to_200_hz_before_it_falls_further),
		cmocka_unit_test(nobody_gets_more_than_was_asked_for),
		cmocka_unit_test(samples_wait_until_calls_had_their_turn),
		cmocka_unit_test(they_come_back_when_there_is_room_for_twice_as_many),
	};

	return cmocka_run_group_tests_name("pace", tests, NULL, NULL);
}
