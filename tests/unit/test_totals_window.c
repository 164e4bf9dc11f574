/* totals_window: calls that were counted for a moment, and what lies between. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "call_totals.h"

/* Without what counting cost, likely 1.2 times 20 ns a call, 76 of 100 us are left. */
#define LIKELY_NS 76e3

static void assert_close(double value, double want)
{
	if (value < want * 0.999 || value > want * 1.001)
		fail_msg("%g is not %g", value, want);
}

static void window(isc_totals *t, uint64_t begin_ms, int flags, uint32_t id, uint32_t calls)
{
	feed_window(t, begin_ms * 1000000, flags, &(isc_burst_calls){id, calls}, 1);
}

static void calls_go_in_a_straight_line_from_one_window_to_the_next(void **state)
{
	isc_totals *t = fresh();
	const isc_total_function *f;

	(void)state;
	window(t, 10, ISC_BURST_SEEN, 2, 400);
	window(t, 20, 0, 2, 400);
	window(t, 30, 0, 2, 800);
	f = function(t, 2);
	assert_int_equal(f->window_calls, 1600);
	assert_close(f->between.likely, 9.9e6 * 400 / LIKELY_NS + 9.9e6 * 600 / LIKELY_NS);
	assert_true(f->between.least < f->between.likely && f->between.likely < f->between.most);
	assert_close(f->spread, (9.9e6 * 400 / LIKELY_NS) * (9.9e6 * 400 / LIKELY_NS));
	assert_int_equal(isc_totals_calls_at(t, 0)->windows, 3);
	assert_int_equal(isc_totals_calls_at(t, 0)->between_ns, 2 * 9900000);
	assert_int_equal(isc_totals_calls_at(t, 0)->inside_ns, 3 * 100000);
	isc_totals_free(t);
}

static void what_calls_cost_is_what_the_program_measured(void **state)
{
	isc_totals *t = fresh();

	(void)state;
	window(t, 10, ISC_BURST_SEEN, 2, 400);
	assert_int_equal(isc_totals_calls_cost(t).events, 0);
	feed_on(t, 1, 0, 0, ISC_KIND_GOVERNED, 50 * 16, ISC_GOVERNED_COST);
	feed_on(t, 1, 0, 1, ISC_KIND_CALL_ENTER, 2, 0);
	feed_on(t, 1, 0, 2, ISC_KIND_CALL_EXIT, 2, 0);
	assert_close(isc_totals_calls_cost(t).ns, 401 * 50);
	assert_int_equal(isc_totals_calls_cost(t).events, 2);
	assert_int_equal(isc_totals_calls_cost(t).cold, 0);
	/* After other work: caches are cold then, and the program's own measure knows only warm ones. */
	feed_on(t, 1, 0, 5003, ISC_KIND_CALL_ENTER, 2, 0);
	feed_on(t, 1, 0, 5004, ISC_KIND_CALL_ENTER, 2, 0);
	feed_on(t, 1, 0, 15000, ISC_KIND_CALL_EXIT, 2, 0);
	assert_int_equal(isc_totals_calls_cost(t).cold, 1);
	isc_totals_free(t);
}

static void nothing_lies_between_where_all_was_seen(void **state)
{
	isc_totals *t = fresh();

	(void)state;
	window(t, 10, ISC_BURST_SEEN, 2, 400);
	window(t, 20, ISC_BURST_SEEN, 2, 400);
	assert_true(function(t, 2)->between.likely == 0);
	assert_int_equal(function(t, 2)->window_calls, 800);
	isc_totals_free(t);
}

static void one_that_a_window_does_not_have_was_not_called_in_it(void **state)
{
	isc_totals *t = fresh();

	(void)state;
	window(t, 10, ISC_BURST_SEEN, 2, 400);
	window(t, 20, 0, 3, 400);
	window(t, 30, 0, 3, 400);
	window(t, 40, 0, 2, 400);
	/* Half a gap behind its first window and half a gap before its last. */
	assert_close(function(t, 2)->between.likely, 9.9e6 * 400 / LIKELY_NS);
	assert_close(function(t, 3)->between.likely, 9.9e6 * 600 / LIKELY_NS);
	isc_totals_settle(t, NULL, NULL);
	assert_close(function(t, 3)->between.likely, 9.9e6 * 800 / LIKELY_NS);
	isc_totals_free(t);
}

static void one_that_is_new_to_windows_had_its_rate_before(void **state)
{
	isc_totals *t = fresh();

	(void)state;
	window(t, 10, ISC_BURST_SEEN, 3, 400);
	feed_on(t, 1, 0, 11, ISC_KIND_GOVERNED, 2, ISC_GOVERNED_OFF);
	window(t, 20, 0, 2, 400);
	assert_close(function(t, 2)->between.likely, 9.9e6 * 400 / LIKELY_NS);
	isc_totals_free(t);
}

static void what_was_counted_while_cold_has_no_rate(void **state)
{
	isc_totals *t = fresh();

	(void)state;
	window(t, 10, ISC_BURST_SEEN, 2, 400);
	window(t, 11, ISC_BURST_SEEN | ISC_BURST_ROUGH, 2, 10);
	window(t, 21, 0, 2, 400);
	assert_int_equal(function(t, 2)->window_calls, 810);
	assert_close(function(t, 2)->between.likely, 9.9e6 * 400 / LIKELY_NS);
	assert_int_equal(isc_totals_calls_at(t, 0)->windows, 2);
	isc_totals_free(t);
}

static void the_end_says_how_long_nobody_looked(void **state)
{
	isc_totals *t = fresh();

	(void)state;
	window(t, 10, ISC_BURST_SEEN, 2, 400);
	feed_window(t, 15000000, ISC_BURST_END, NULL, 0);
	assert_int_equal(isc_totals_calls_at(t, 0)->end_ns, 15100000);
	assert_int_equal(isc_totals_calls_at(t, 0)->window_ns, 10100000);
	isc_totals_free(t);
}

static void windows_that_go_back_or_are_cut_short_are_left_out(void **state)
{
	const isc_record r = {5, 0, ISC_KIND_BURST, 2, 0};
	isc_totals *t = fresh();

	(void)state;
	window(t, 10, ISC_BURST_SEEN, 2, 400);
	window(t, 9, 0, 2, 400);
	assert_int_equal(isc_totals_feed(t, 1, 1, 0, &r, "sixteen bytes...", 16, NULL), ISC_OK);
	assert_int_equal(function(t, 2)->window_calls, 400);
	assert_int_equal(isc_totals_calls_at(t, 0)->windows, 1);
	isc_totals_free(t);
}

static void no_rate_is_higher_than_calls_can_come(void **state)
{
	const isc_burst b = {.begin_ns = 0, .end_ns = 10, .cost = 20 * 16, .least = 20 * 16, .calls = 1000};
	const isc_record r = {5, 0, ISC_KIND_BURST, 4, ISC_BURST_SEEN};
	const isc_burst_calls calls = {2, 1000};
	isc_totals *t = fresh();
	char extra[sizeof(b) + sizeof(calls)];

	(void)state;
	memcpy(extra, &b, sizeof(b));
	memcpy(extra + sizeof(b), &calls, sizeof(calls));
	assert_int_equal(isc_totals_feed(t, 1, 1, 0, &r, extra, sizeof(extra), NULL), ISC_OK);
	assert_close(function(t, 2)->rate_most, 0.1); /* half of 20 ns each */
	isc_totals_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(calls_go_in_a_straight_line_from_one_window_to_the_next),
		cmocka_unit_test(nothing_lies_between_where_all_was_seen),
		cmocka_unit_test(what_calls_cost_is_what_the_program_measured),
		cmocka_unit_test(one_that_a_window_does_not_have_was_not_called_in_it),
		cmocka_unit_test(one_that_is_new_to_windows_had_its_rate_before),
		cmocka_unit_test(what_was_counted_while_cold_has_no_rate),
		cmocka_unit_test(the_end_says_how_long_nobody_looked),
		cmocka_unit_test(windows_that_go_back_or_are_cut_short_are_left_out),
		cmocka_unit_test(no_rate_is_higher_than_calls_can_come),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
