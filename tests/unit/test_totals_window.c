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
	/* What the program says that they took has all of it. */
	feed_on(t, 1, 0, 3, ISC_KIND_GOVERNED, 70000, ISC_GOVERNED_SPENT);
	feed_on(t, 1, 0, 4, ISC_KIND_GOVERNED, 5000, ISC_GOVERNED_SPENT);
	assert_close(isc_totals_calls_cost(t).ns, 75000);
	assert_int_equal(isc_totals_calls_cost(t).events, 2);
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

static void calls_that_were_counted_one_by_one_are_exact(void **state)
{
	isc_totals *t = fresh();
	const isc_total_function *f;

	(void)state;
	feed_on(t, 1, 0, 1, ISC_KIND_CALL_ENTER, 2, 0);
	feed_on(t, 1, 0, 2, ISC_KIND_CALL_EXIT, 2, 0);
	feed_on(t, 1, 0, 3, ISC_KIND_GOVERNED, 2, ISC_GOVERNED_COUNTED);
	window(t, 10, ISC_BURST_EXACT, 2, 400);
	/* Its times say nothing, so it may come behind a window. */
	window(t, 30, ISC_BURST_SEEN, 3, 5);
	window(t, 20, ISC_BURST_EXACT, 2, 100);
	f = function(t, 2);
	assert_true(f->governed && f->off && f->tallied);
	assert_int_equal(f->calls, 1);
	assert_int_equal(f->window_calls, 500);
	assert_close(1 + f->between.likely, 1);
	assert_int_equal(isc_totals_calls_at(t, 0)->windows, 1);
	feed_on(t, 1, 0, 4, ISC_KIND_GOVERNED, 2, ISC_GOVERNED_TRACED);
	assert_false(function(t, 2)->off);
	isc_totals_free(t);
}

static void start_up_is_told_once_and_kept(void **state)
{
	const isc_record r = {500, 0, ISC_KIND_STARTUP, 2, ISC_STARTUP_TASK}, late = {900, 0, ISC_KIND_STARTUP, 2, 1};
	const isc_startup first = {40, 1000}, second = {1, 2};
	isc_totals *t = fresh(), *again = fresh();
	isc_buffer out = {0}, ends = {0};
	const isc_total_calls *c;

	(void)state;
	assert_int_equal(isc_totals_feed(t, 1, 1, 0, &r, &first, 8, NULL), ISC_OK);
	assert_int_equal(isc_totals_calls_at(t, 0)->startup_end, 0);
	assert_int_equal(isc_totals_feed(t, 1, 1, 0, &r, &first, sizeof(first), NULL), ISC_OK);
	assert_int_equal(isc_totals_feed(t, 1, 1, 0, &late, &second, sizeof(second), NULL), ISC_OK);
	isc_totals_write(t, &(isc_totals_cover){1, 3}, &out, &ends);
	assert_int_equal(ends.len, sizeof(size_t));
	assert_int_equal(isc_totals_read(again, (const uint8_t *)out.data, out.len), ISC_OK);
	c = isc_totals_calls_at(again, 0);
	assert_int_equal(c->startup_end, 500);
	assert_int_equal(c->startup_cost_ns, 40);
	assert_int_equal(c->startup_worked_ns, 1000);
	isc_buffer_fini(&out);
	isc_buffer_fini(&ends);
	isc_totals_free(t);
	isc_totals_free(again);
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
		cmocka_unit_test(calls_that_were_counted_one_by_one_are_exact),
		cmocka_unit_test(start_up_is_told_once_and_kept),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
