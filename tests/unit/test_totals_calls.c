/* totals_calls: calls, own and whole time of functions, whatever is missing. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "call_totals.h"
#include "sample_trace.h"

static void lose(isc_totals *t)
{
	assert_int_equal(isc_totals_lose(t, 1, 1, 0, NULL), ISC_OK);
}

static void own_time_is_the_whole_less_the_calls_made(void **state)
{
	isc_totals *t = fresh();

	(void)state;
	feed(t, 100, ENTER, 1);
	feed(t, 110, ENTER, 2);
	feed(t, 130, EXIT, 2);
	feed(t, 135, ENTER, 2);
	feed(t, 140, EXIT, 2);
	feed(t, 200, EXIT, 1);
	assert_function(t, 1, 1, 75, 100);
	assert_function(t, 2, 2, 25, 25);
	assert_false(function(t, 1)->estimated);
	isc_totals_free(t);
}

static void recursion_counts_its_whole_time_once(void **state)
{
	isc_totals *t = fresh();

	(void)state;
	/* f -> f -> g -> f, and g is not inside itself. */
	feed(t, 0, ENTER, 1);
	feed(t, 10, ENTER, 1);
	feed(t, 20, ENTER, 2);
	feed(t, 30, ENTER, 1);
	feed(t, 40, EXIT, 1);
	feed(t, 50, EXIT, 2);
	feed(t, 60, EXIT, 1);
	feed(t, 70, EXIT, 1);
	assert_function(t, 1, 3, 50, 70);
	assert_function(t, 2, 1, 20, 30);
	isc_totals_free(t);
}

static void a_generator_is_left_by_yield_and_gone_on_with(void **state)
{
	isc_totals *t = fresh();

	(void)state;
	feed(t, 0, ENTER, 1);
	feed(t, 10, ENTER, 2);
	feed_on(t, 1, 0, 15, EXIT, 2, ISC_CALL_YIELDED);
	feed(t, 20, RESUME, 2);
	feed_on(t, 1, 0, 27, EXIT, 2, ISC_CALL_YIELDED);
	feed_on(t, 1, 0, 30, RESUME, 2, ISC_CALL_THROWN);
	feed_on(t, 1, 0, 31, EXIT, 2, ISC_CALL_RAISED);
	feed_on(t, 1, 0, 40, EXIT, 1, ISC_CALL_RAISED);
	assert_function(t, 2, 3, 13, 13);
	assert_int_equal(function(t, 2)->resumes, 2);
	assert_function(t, 1, 1, 27, 40);
	isc_totals_free(t);
}

static void threads_and_streams_do_not_see_each_other(void **state)
{
	isc_totals *t = fresh();

	(void)state;
	feed_on(t, 1, 0, 0, ENTER, 1, 0);
	feed_on(t, 2, 0, 5, ENTER, 1, 0);
	feed_on(t, 1, 1, 6, ENTER, 1, 0);
	feed_on(t, 1, 1, 8, EXIT, 1, 0);
	feed_on(t, 1, 0, 10, EXIT, 1, 0);
	feed_on(t, 2, 0, 25, EXIT, 1, 0);
	assert_function(t, 1, 3, 32, 32);
	isc_totals_free(t);
}

static void c_functions_are_functions(void **state)
{
	isc_totals *t = fresh();

	(void)state;
	feed(t, 0, ENTER, 1);
	feed(t, 3, ISC_KIND_C_ENTER, 7);
	feed(t, 9, ISC_KIND_C_EXIT, 7);
	feed(t, 10, EXIT, 1);
	assert_function(t, 1, 1, 4, 10);
	assert_function(t, 7, 1, 6, 6);
	isc_totals_free(t);
}

static void an_exit_ends_what_lies_above_it(void **state)
{
	isc_totals *t = fresh();

	(void)state;
	feed(t, 0, ENTER, 1);
	feed(t, 10, ENTER, 2);
	feed(t, 20, ENTER, 3);
	feed(t, 50, EXIT, 1);
	assert_function(t, 1, 1, 10, 50);
	assert_function(t, 2, 1, 10, 40);
	assert_function(t, 3, 1, 30, 30);
	assert_false(function(t, 1)->estimated);
	assert_true(function(t, 2)->estimated);
	assert_true(function(t, 3)->estimated);
	isc_totals_free(t);
}

static void an_exit_of_a_call_from_before_changes_nothing(void **state)
{
	isc_totals *t = fresh();

	(void)state;
	feed(t, 0, ENTER, 1);
	feed(t, 10, EXIT, 2);
	feed(t, 20, EXIT, 1);
	feed(t, 30, EXIT, 9);
	assert_function(t, 1, 1, 20, 20);
	assert_function(t, 2, 0, 0, 0);
	assert_int_equal(function(t, 2)->unmatched, 1);
	assert_false(function(t, 2)->estimated);
	assert_int_equal(function(t, 9)->unmatched, 1);
	isc_totals_free(t);
}

static void after_a_loss_an_exit_shows_what_was_still_open(void **state)
{
	isc_totals *t = fresh();

	(void)state;
	feed(t, 0, ENTER, 1);
	feed(t, 10, ENTER, 2);
	feed(t, 20, ENTER, 3);
	feed(t, 30, ISC_KIND_INSTANT, 5);
	lose(t); /* 2 and 3 are left here, and nobody sees it */
	feed(t, 100, ENTER, 4);
	feed(t, 120, EXIT, 4);
	feed(t, 120, ENTER, 3); /* not inside the one that has ended */
	feed(t, 125, EXIT, 3);
	feed(t, 130, EXIT, 8); /* it was entered in the gap */
	feed(t, 200, EXIT, 1);
	/* 3 until events were last seen, at 30; 4 is a call of 1. */
	assert_function(t, 3, 2, 15, 15);
	assert_function(t, 2, 1, 10, 20);
	assert_function(t, 4, 1, 20, 20);
	assert_function(t, 1, 1, 155, 200);
	assert_true(function(t, 1)->estimated && function(t, 2)->estimated && function(t, 3)->estimated);
	assert_false(function(t, 4)->estimated);
	assert_true(function(t, 8)->estimated);
	assert_int_equal(isc_totals_calls_at(t, 0)->unmatched, 1);
	isc_totals_free(t);
}

static void losses_one_after_the_other_keep_one_mark(void **state)
{
	isc_totals *t = fresh();

	(void)state;
	feed(t, 0, ENTER, 1);
	for (uint64_t i = 1; i <= 1000; i++) {
		lose(t);
		feed(t, i * 100, ENTER, 2);
		feed(t, i * 100 + 10, ENTER, 3);
	}
	assert_true(t->lanes[0]->calls->depth <= 4);
	feed(t, 200000, EXIT, 1);
	assert_function(t, 1, 1, 200000 - 999 * 10 - (200000 - 100000), 200000);
	assert_int_equal(function(t, 2)->calls, 1000);
	assert_int_equal(t->lanes[0]->calls->depth, 0);
	isc_totals_free(t);
}

static void a_clock_that_goes_back_makes_no_centuries(void **state)
{
	isc_totals *t = fresh();

	(void)state;
	feed(t, 100, ENTER, 1);
	feed(t, 90, ENTER, 2);
	feed(t, 150, EXIT, 2);
	feed(t, 120, EXIT, 1);
	feed(t, 200, ENTER, 3);
	feed(t, 190, EXIT, 3);
	assert_function(t, 1, 1, 0, 60);
	assert_function(t, 2, 1, 60, 60);
	assert_function(t, 3, 1, 0, 0);
	isc_totals_free(t);
}

static void what_is_open_counts_when_the_end_is_known(void **state)
{
	isc_totals *t = fresh();

	(void)state;
	feed(t, 0, ENTER, 1);
	feed(t, 10, ENTER, 2);
	assert_function(t, 1, 1, 0, 0);
	isc_totals_settle(t, NULL, NULL);
	assert_function(t, 1, 1, 10, 10);
	assert_function(t, 2, 1, 0, 0);
	isc_totals_free(t);
}

static void a_function_that_is_not_watched_ends_where_that_began(void **state)
{
	const isc_total_function *f;
	isc_totals *t = fresh();

	(void)state;
	feed_on(t, 1, 0, 0, ISC_KIND_GOVERNED, 800, ISC_GOVERNED_COST);
	feed(t, 0, ENTER, 1);
	feed(t, 10, ENTER, 2);
	feed_on(t, 2, 0, 12, ENTER, 2, 0); /* on another thread its end will not be seen */
	feed(t, 20, EXIT, 2);
	feed_on(t, 1, 0, 100, ISC_KIND_GOVERNED, 2, ISC_GOVERNED_OFF);
	feed(t, 1500, EXIT, 1);
	feed_on(t, 2, 0, 1400, ENTER, 3, 0);
	feed_on(t, 2, 0, 1500, EXIT, 3, 0);
	isc_totals_settle(t, NULL, NULL);
	f = function(t, 2);
	assert_true(f->governed && f->estimated && !f->unseen);
	assert_int_equal(f->calls, 2);
	assert_int_equal(f->self_ticks, 10);
	assert_int_equal(f->unmatched, 0);
	assert_function(t, 1, 1, 1490, 1500);
	assert_int_equal(isc_totals_calls_at(t, 0)->cost, 800);
	isc_totals_free(t);
}

static void clocks_stand_still_while_tracing_is_paused(void **state)
{
	const isc_total_function *f;
	isc_totals *t = fresh();

	(void)state;
	feed(t, 1000, ENTER, 1);
	feed(t, 1100, ENTER, 2);
	feed(t, 1200, EXIT, 2);
	feed_on(t, 1, 0, 1200, ISC_KIND_GOVERNED, 0, ISC_GOVERNED_OFF);
	/* A call ends the pause, even if that is said later. */
	feed(t, 3000, ENTER, 2);
	feed(t, 3050, EXIT, 2);
	feed_on(t, 1, 0, 3060, ISC_KIND_GOVERNED, 0, ISC_GOVERNED_TRACED);
	feed_on(t, 1, 0, 3100, ISC_KIND_GOVERNED, 0, ISC_GOVERNED_OFF);
	feed(t, 3600, EXIT, 1);
	isc_totals_settle(t, NULL, NULL);
	assert_function(t, 2, 2, 150, 150);
	/* 1000 to 1100, then 50 between the pauses. */
	assert_function(t, 1, 1, 150, 300);
	f = function(t, 1);
	assert_int_equal(f->exact_self, 100);
	assert_int_equal(f->exact_total, 200);
	assert_int_equal(function(t, 2)->exact_calls, 1);
	assert_int_equal(isc_totals_calls_at(t, 0)->first_pause, 1200);
	assert_int_equal(isc_totals_calls_at(t, 0)->paused_ticks, 1800 + 500);
	isc_totals_free(t);
}

static void tasks_and_missed_calls_are_counted(void **state)
{
	isc_totals *t = fresh();

	(void)state;
	feed(t, 0, ISC_KIND_TASK, 5);
	feed(t, 1, ISC_KIND_TASK, 0);
	feed_on(t, 1, 0, 2, ISC_KIND_MISSED, 0, 1);
	feed_on(t, 1, 0, 3, ISC_KIND_MISSED, 0, 0);
	assert_int_equal(isc_totals_calls_at(t, 0)->tasks, 2);
	assert_int_equal(isc_totals_calls_at(t, 0)->missed, 1);
	assert_null(isc_totals_function_at(t, 0));
	isc_totals_free(t);
}

/* ---- against a model that is slow and plain ---- */

#define MODEL_IDS 900u

struct model {
	uint32_t stack[300];
	uint64_t entered[300], children[300];
	size_t depth;
};

static struct {
	uint64_t calls, self, total;
} counted[MODEL_IDS];

static void model_step(struct model *m, isc_totals *t, uint32_t thread, uint64_t ticks, uint64_t r)
{
	bool down = m->depth == 0 || (m->depth < 300 && r % 16 < 8);

	if (down) {
		uint32_t id = (r >> 8) % 4 ? (uint32_t)(r >> 16) % 20 : (uint32_t)(r >> 16) % MODEL_IDS;

		m->stack[m->depth] = id;
		m->entered[m->depth] = ticks;
		m->children[m->depth++] = 0;
		counted[id].calls++;
		feed_on(t, thread, 0, ticks, ENTER, id, 0);
	} else {
		uint32_t id = m->stack[--m->depth];
		uint64_t took = ticks - m->entered[m->depth];
		bool inside = false;

		for (size_t i = 0; i < m->depth; i++)
			inside |= m->stack[i] == id;
		counted[id].self += took - m->children[m->depth];
		counted[id].total += inside ? 0 : took;
		if (m->depth > 0)
			m->children[m->depth - 1] += took;
		feed_on(t, thread, 0, ticks, EXIT, id, 0);
	}
}

static void many_functions_come_out_as_a_plain_model_has_them(void **state)
{
	static struct model m[3];
	isc_totals *t = fresh();
	uint64_t seed = 9;

	(void)state;
	memset(counted, 0, sizeof(counted));
	for (uint64_t i = 0; i < 300000; i++) {
		uint64_t r = sample_draw(&seed);

		model_step(&m[i / 1000 % 3], t, 1 + i / 1000 % 3, i * 7 + r % 5, sample_draw(&seed));
	}
	for (size_t i = 0; i < 3; i++) {
		while (m[i].depth > 0)
			model_step(&m[i], t, 1 + (uint32_t)i, 3000000, 15);
	}
	for (uint32_t id = 0; id < MODEL_IDS; id++)
		assert_function(t, id, counted[id].calls, counted[id].self, counted[id].total);
	isc_totals_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(own_time_is_the_whole_less_the_calls_made),
		cmocka_unit_test(recursion_counts_its_whole_time_once),
		cmocka_unit_test(a_generator_is_left_by_yield_and_gone_on_with),
		cmocka_unit_test(threads_and_streams_do_not_see_each_other),
		cmocka_unit_test(c_functions_are_functions),
		cmocka_unit_test(an_exit_ends_what_lies_above_it),
		cmocka_unit_test(an_exit_of_a_call_from_before_changes_nothing),
		cmocka_unit_test(after_a_loss_an_exit_shows_what_was_still_open),
		cmocka_unit_test(losses_one_after_the_other_keep_one_mark),
		cmocka_unit_test(a_clock_that_goes_back_makes_no_centuries),
		cmocka_unit_test(what_is_open_counts_when_the_end_is_known),
		cmocka_unit_test(a_function_that_is_not_watched_ends_where_that_began),
		cmocka_unit_test(clocks_stand_still_while_tracing_is_paused),
		cmocka_unit_test(tasks_and_missed_calls_are_counted),
		cmocka_unit_test(many_functions_come_out_as_a_plain_model_has_them),
	};

	return cmocka_run_group_tests_name("totals_calls", tests, NULL, NULL);
}
