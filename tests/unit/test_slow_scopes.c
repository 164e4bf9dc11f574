/* slow_scopes: which scopes are slow, by their durations alone. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/scopes/slow_scopes.h"

#define USUAL 1e7 /* what an ordinary one takes */

/* One kind of scope: so many, each so many times as long as usual, give or take. */
struct kind {
	int count;
	double times, spread;
};

/* Evenly over the bell of their spread, so that a test is the same in every run. */
static double bell(int i, int of)
{
	double p = (i + 0.5) / of, sign = p < 0.5 ? -1 : 1, t = sqrt(-2 * log(p < 0.5 ? p : 1 - p));

	return sign * (t - (2.30753 + 0.27061 * t) / (1 + 0.99229 * t + 0.04481 * t * t));
}

static void add(isc_histogram *h, const struct kind *k)
{
	for (int i = 0; i < k->count; i++)
		assert_true(isc_histogram_add(h, (uint64_t)(USUAL * k->times * exp(k->spread * bell(i, k->count)))));
}

/* How many are slow of these kinds. */
static int slow_of(const struct kind *kinds, size_t n)
{
	isc_histogram h = {0};
	uint64_t from;
	double slow;

	for (size_t i = 0; i < n; i++)
		add(&h, &kinds[i]);
	from = isc_slow_scopes_from(&h);
	slow = from > 0 ? (1 - isc_slow_scopes_below(&h, from)) * (double)h.count : 0;
	isc_histogram_fini(&h);
	return (int)lround(slow);
}

#define SLOW_OF(...) \
	slow_of((const struct kind[]){__VA_ARGS__}, sizeof((const struct kind[]){__VA_ARGS__}) / sizeof(struct kind))

static void those_of_a_second_hill_are_slow_whatever_their_share(void **state)
{
	(void)state;
	assert_in_range(SLOW_OF({570, 1, 0.04}, {30, 1.3, 0.03}), 28, 32);
	assert_in_range(SLOW_OF({490, 1, 0.05}, {10, 2, 0.05}), 9, 11);
	assert_in_range(SLOW_OF({4900, 1, 0.1}, {100, 2, 0.05}), 95, 105);
	assert_in_range(SLOW_OF({300, 1, 0.05}, {100, 1.4, 0.05}), 97, 103);
	assert_in_range(SLOW_OF({220, 1, 0.05}, {180, 1.5, 0.05}), 177, 183);
}

/* Every third, all alike; and a fifth that differ among themselves, but less than they do from the others. */
static void those_behind_a_gap_are_all_slow(void **state)
{
	(void)state;
	assert_int_equal(SLOW_OF({20, 1, 0}, {10, 3, 0}), 10);
	assert_int_equal(SLOW_OF({48, 1, 0.01}, {12, 3, 0.03}), 12);
}

/* The machine makes a few slow too; they are slow with the others, not instead of them. */
static void a_few_with_bad_luck_do_not_hide_the_others(void **state)
{
	(void)state;
	assert_in_range(SLOW_OF({567, 1, 0.03}, {30, 1.3, 0.03}, {3, 12, 0.5}), 30, 36);
}

/* Many take nearly the same, so single steps of the scale are empty; a tenth takes twenty times as long. */
static void a_few_far_off_do_not_drag_ordinary_ones_along(void **state)
{
	(void)state;
	assert_int_equal(SLOW_OF({36, 1, 0.001}, {18, 1.1, 0.001}, {6, 25, 0.01}), 6);
	assert_int_equal(SLOW_OF({30, 1, 0.001}, {12, 1.08, 0.001}, {12, 1.16, 0.001}, {6, 25, 0.01}), 6);
}

static void without_a_second_hill_the_slowest_tenth_is_slow(void **state)
{
	isc_histogram h = {0};
	uint64_t from;

	(void)state;
	for (double spread = 0.1; spread < 1; spread *= 2)
		assert_in_range(SLOW_OF({600, 1, spread}), 50, 60);
	for (int i = 0; i < 600; i++)
		assert_true(isc_histogram_add(&h, (uint64_t)(USUAL * (1 - log((i + 0.5) / 600)))));
	from = isc_slow_scopes_from(&h);
	assert_in_range((1 - isc_slow_scopes_below(&h, from)) * 600, 50, 61);
	isc_histogram_fini(&h);
}

/* A third of them are a tenth slower: tracing itself may do that for a while. */
static void many_that_differ_little_are_not_slow(void **state)
{
	(void)state;
	assert_in_range(SLOW_OF({400, 1, 0.01}, {200, 1.1, 0.01}), 1, 60);
}

static void few_that_stand_far_apart_are_slow_alone(void **state)
{
	(void)state;
	assert_int_equal(SLOW_OF({57, 1, 0.05}, {3, 3, 0.05}), 3);
	assert_int_equal(SLOW_OF({196, 1, 0.03}, {4, 3, 0.02}), 4);
	/* One alone does not stand for anything. */
	assert_in_range(SLOW_OF({59, 1, 0.05}, {1, 9, 0}), 4, 6);
}

static void alike_or_few_have_no_slow_ones(void **state)
{
	isc_histogram none = {0};

	(void)state;
	assert_int_equal(isc_slow_scopes_from(&none), 0);
	assert_int_equal(SLOW_OF({19, 1, 0}, {0, 1, 0}), 0);
	assert_int_equal(SLOW_OF({600, 1, 0.001}), 0);
}

/* From a file that is not ours. */
static void any_durations_have_an_answer(void **state)
{
	isc_histogram h = {0};

	(void)state;
	for (int i = 0; i < 40; i++)
		assert_true(isc_histogram_add(&h, 0));
	assert_int_equal(isc_slow_scopes_from(&h), 0);
	for (int i = 0; i < 10; i++)
		assert_true(isc_histogram_add(&h, UINT64_MAX));
	assert_true(isc_slow_scopes_from(&h) > 0);
	isc_histogram_fini(&h);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(those_of_a_second_hill_are_slow_whatever_their_share),
		cmocka_unit_test(those_behind_a_gap_are_all_slow),
		cmocka_unit_test(a_few_with_bad_luck_do_not_hide_the_others),
		cmocka_unit_test(a_few_far_off_do_not_drag_ordinary_ones_along),
		cmocka_unit_test(without_a_second_hill_the_slowest_tenth_is_slow),
		cmocka_unit_test(many_that_differ_little_are_not_slow),
		cmocka_unit_test(few_that_stand_far_apart_are_slow_alone),
		cmocka_unit_test(alike_or_few_have_no_slow_ones),
		cmocka_unit_test(any_durations_have_an_answer),
	};

	return cmocka_run_group_tests_name("slow_scopes", tests, NULL, NULL);
}
