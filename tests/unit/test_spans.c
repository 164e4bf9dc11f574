/* spans: scopes of tasks, which take turns on a thread and move between threads. */
#include "check.h"
#include "analysis_text.h"

#include "trace/totals/totals.h"
#include "trace/totals/totals_lane.h"

static void feed(isc_totals *t, uint32_t thread, uint8_t kind, uint64_t instance, uint64_t more, uint16_t arg)
{
	isc_record r = {.ticks = 1000, .id = 5, .kind = kind, .slots = 2, .arg = arg};
	isc_span span = {instance, more};

	CHECK_OK(isc_totals_feed(t, 1, thread, 0, &r, &span, sizeof(span), NULL));
}

TEST(an_exit_says_itself_how_long_it_took)
{
	const isc_total_scope *s;
	isc_totals *t;

	CHECK_OK(isc_totals_new(&t, NULL));
	feed(t, 1, ISC_KIND_SPAN_ENTER, 1, 0, 0);
	feed(t, 1, ISC_KIND_SPAN_ENTER, 2, 0, 0);
	feed(t, 1, ISC_KIND_SPAN_EXIT, 1, 70, 0); /* the first, though the second is on top */
	feed(t, 1, ISC_KIND_SPAN_EXIT, 2, 30, 0);
	feed(t, 1, ISC_KIND_SPAN_EXIT, 3, 50, 0); /* its enter was lost: it still took 50 */
	feed(t, 1, ISC_KIND_SPAN_ENTER, 4, 0, 0);
	feed(t, 1, ISC_KIND_SPAN_EXIT, 9, ISC_SPAN_UNKNOWN, 0);
	s = isc_totals_scope_at(t, 0);
	CHECK_EQ(s->count, 3);
	CHECK_EQ(s->open, 1);
	CHECK_EQ(s->unmatched, 1);
	CHECK_EQ(s->total_ticks, 150);
	CHECK_EQ(s->min_ticks, 30);
	CHECK_EQ(s->max_ticks, 70);
	isc_totals_free(t);
}

/* The recorder reads thread after thread, and may halt between them. */
TEST(an_exit_elsewhere_may_be_read_before_its_enter)
{
	isc_buffer out = {0}, ends = {0};
	isc_totals *t, *later;

	CHECK_OK(isc_totals_new(&t, NULL));
	CHECK_OK(isc_totals_new(&later, NULL));
	feed(t, 2, ISC_KIND_SPAN_EXIT, 1, 10, ISC_SPAN_MOVED);
	feed(t, 2, ISC_KIND_SPAN_EXIT, 2, 10, ISC_SPAN_MOVED);
	feed(t, 1, ISC_KIND_SPAN_ENTER, 1, 0, 0);
	CHECK_EQ(isc_totals_scope_at(t, 0)->open, 0);
	isc_totals_write(t, &(isc_totals_cover){7, 8}, &out, &ends);
	CHECK_OK(isc_totals_read(later, (const uint8_t *)out.data, out.len));
	CHECK_EQ(isc_totals_scope_at(later, 0)->open, 0);
	feed(later, 1, ISC_KIND_SPAN_ENTER, 2, 0, 0);
	CHECK_EQ(isc_totals_scope_at(later, 0)->open, 0);
	CHECK_EQ(isc_totals_scope_at(later, 0)->count, 2);
	feed(later, 1, ISC_KIND_SPAN_ENTER, 3, 0, 0);
	CHECK_EQ(isc_totals_scope_at(later, 0)->open, 1);
	isc_buffer_fini(&out);
	isc_buffer_fini(&ends);
	isc_totals_free(t);
	isc_totals_free(later);
}

TEST(a_span_without_its_bytes_is_unmatched)
{
	isc_record r = {.ticks = 1, .id = 5, .kind = ISC_KIND_SPAN_EXIT, .slots = 1};
	isc_totals *t;

	CHECK_OK(isc_totals_new(&t, NULL));
	CHECK_OK(isc_totals_feed(t, 1, 1, 0, &r, NULL, 0, NULL));
	CHECK_EQ(isc_totals_scope_at(t, 0)->unmatched, 1);
	CHECK_EQ(isc_totals_scope_at(t, 0)->count, 0);
	isc_totals_free(t);
}

/* Tasks A and B take turns on one thread; A's request runs something on another. */
#define TURNS \
	META "p1 pid=100 root traced end=10ms status=0 argv serve\n" \
	     "t1 p1 tid=100 main name=main end=10ms\nt2 p1 tid=101 name=pool end=10ms\n" \
	     "t1 1ms task A\nt1 1ms span_enter request 1\nt1 1.5ms instant of_a\n" \
	     "t1 2ms task B\nt1 2ms span_enter other 2\nt1 2.5ms instant of_b\n" \
	     "t2 3ms span_enter work 3 1\nt2 3.5ms instant of_a\nt2 4ms span_exit work 3 1ms\n" \
	     "t2 4.5ms instant of_nobody\n" \
	     "t1 5ms task A\nt1 5ms instant of_a\nt1 6ms span_exit request 1 5ms\nt1 6.5ms instant of_nobody\n" \
	     "t1 7ms task B\nt1 8ms span_exit other 2 6ms\nend 10ms status=0\n"

TEST(durations_are_right_though_tasks_take_turns)
{
	isc_analysis *a = analysis_of(TURNS);

	CHECK_EQ(a->scope_count, 3);
	CHECK(text_is(&a->scopes[0].name, "other"));
	assert_near(a->scopes[0].total_us, 6000);
	CHECK(text_is(&a->scopes[1].name, "request"));
	assert_near(a->scopes[1].total_us, 5000);
	assert_near(a->scopes[2].total_us, 1000);
	CHECK_EQ(warning_of(a, "open_scopes"), NULL);
	CHECK_EQ(warning_of(a, "unmatched_scopes"), NULL);
	isc_analysis_free(a);
}

TEST(a_scope_holds_its_own_task_and_what_that_started)
{
	isc_analysis *a = analysis_with(TURNS, &(isc_analysis_options){.scope = "request"});

	CHECK_EQ(a->scope_count, 2);
	CHECK(text_is(&a->scopes[0].name, "request"));
	CHECK(text_is(&a->scopes[1].name, "work"));
	assert_near(a->scopes[1].total_us, 1000);
	CHECK_EQ(a->mark_count, 1);
	CHECK(text_is(&a->marks[0].name, "of_a"));
	CHECK_EQ(a->marks[0].count, 3);
	isc_analysis_free(a);
}

TEST(a_time_window_has_only_what_was_entered_in_it)
{
	isc_analysis *a = analysis_with(TURNS, &(isc_analysis_options){.from_us = 1800, .to_us = 9000});

	CHECK_EQ(a->scope_count, 3);
	CHECK(text_is(&a->scopes[0].name, "other"));
	assert_near(a->scopes[0].total_us, 6000);
	for (size_t i = 0; i < 3; i++) {
		if (text_is(&a->scopes[i].name, "request")) {
			CHECK_EQ(a->scopes[i].count, 0);
			CHECK_EQ(a->scopes[i].unmatched, 1);
		}
	}
	isc_analysis_free(a);
}

/* An exit on another thread ends the scope on the one that it was entered on. */
TEST(a_scope_that_moved_ends_where_it_began)
{
	isc_analysis *a = analysis_with(META "p1 pid=100 root traced end=10ms status=0 argv serve\n"
					     "t1 p1 tid=100 main name=main end=10ms\nt2 p1 tid=101 name=b end=10ms\n"
					     "t1 1ms span_enter request 1\nt1 2ms instant inside\n"
					     "t2 3ms span_exit request 1 2ms 1\nt1 4ms instant outside\n"
					     "end 10ms status=0\n",
					&(isc_analysis_options){.scope = "request"});

	CHECK_EQ(a->scope_count, 1);
	CHECK_EQ(a->scopes[0].count, 1);
	assert_near(a->scopes[0].total_us, 2000);
	CHECK_EQ(a->mark_count, 1);
	CHECK(text_is(&a->marks[0].name, "inside"));
	isc_analysis_free(a);
}
