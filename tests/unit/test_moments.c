/* Marks and counters of a timeline: each with its moment, in order, in the window and nowhere else. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "timeline/timeline.h"

#define MANY 5000

struct heard {
	size_t count, wrong, counters;
	uint32_t thread;
	int64_t at_ns;
	double sum;
};

static isc_timeline *timeline;
static struct heard heard;

static void hear_span(void *self, const isc_timeline_seen *s)
{
	(void)self;
	(void)s;
}

/* Thread by thread, and by their time. */
static void hear_moment(void *self, const isc_timeline_seen *s)
{
	struct heard *h = self;

	if (h->count > 0 && (s->thread < h->thread || (s->thread == h->thread && s->start_ns < h->at_ns)))
		h->wrong++;
	h->count++;
	h->counters += s->kind == ISC_HOST_COUNTER;
	h->thread = s->thread;
	h->at_ns = s->start_ns;
	h->sum += s->value;
}

static int begin(void **state)
{
	static const isc_timeline_watch watch = {
		.span = hear_span, .moment = hear_moment, .work = hear_span, .self = &heard};
	const isc_timeline_options small = {.memory_bytes = 16u << 10, .watch = &watch};

	(void)state;
	heard = (struct heard){0};
	return isc_timeline_new(&small, &timeline, NULL) == ISC_OK ? 0 : -1;
}

static int end(void **state)
{
	(void)state;
	isc_timeline_free(timeline);
	timeline = NULL;
	return 0;
}

static uint32_t thread(uint64_t tid)
{
	return isc_timeline_thread(timeline, isc_timeline_source(timeline, "a"), 1, tid);
}

static uint32_t name(const char *text)
{
	return isc_timeline_name(timeline, text, strlen(text));
}

static void add(const isc_host_moment *m)
{
	assert_int_equal(isc_timeline_moment(timeline, m, NULL), ISC_OK);
}

static const isc_timeline_facts *finish(const isc_timeline_window *window)
{
	const isc_timeline_facts *facts;

	assert_int_equal(isc_timeline_finish(timeline, window, &facts, NULL), ISC_OK);
	return facts;
}

static void many_of_them_are_told_in_order(void **state)
{
	uint32_t source = isc_timeline_source(timeline, "a"), threads[3], depth = name("depth"), token = name("token");
	const isc_timeline_facts *f;

	(void)state;
	for (uint32_t i = 0; i < 3; i++)
		threads[i] = isc_timeline_thread(timeline, source, 1, 7 + i);
	for (uint32_t i = 0; i < MANY; i++) {
		int64_t at = (int64_t)(i * 7919u % MANY) * 10;

		add(&(isc_host_moment){
			.at_ns = at, .value = i, .thread = threads[i % 3], .name = depth, .counter = true});
		add(&(isc_host_moment){.at_ns = at, .thread = threads[i % 3], .name = token});
	}
	f = finish(NULL);
	assert_int_equal(heard.count, 2 * MANY);
	assert_int_equal(heard.counters, MANY);
	assert_int_equal(heard.wrong, 0);
	assert_true(heard.sum == (double)MANY * (MANY - 1) / 2);
	assert_int_equal(f->counter_count, 1);
	assert_int_equal(f->counters[0].count, MANY);
	assert_true(f->counters[0].min == 0 && f->counters[0].max == MANY - 1);
	assert_int_equal(f->marks[0].count, MANY);
	assert_int_equal(f->to_ns, (MANY - 1) * 10);
}

/* Threads are told one after the other; what a counter said last is of all of them. */
static void the_last_value_is_the_latest_of_all_threads(void **state)
{
	uint32_t source = isc_timeline_source(timeline, "a"), depth = name("depth");
	uint32_t first = isc_timeline_thread(timeline, source, 1, 1);
	uint32_t second = isc_timeline_thread(timeline, source, 1, 2);

	(void)state;
	add(&(isc_host_moment){.at_ns = 900, .value = 9, .thread = first, .name = depth, .counter = true});
	add(&(isc_host_moment){.at_ns = 500, .value = 5, .thread = second, .name = depth, .counter = true});
	assert_true(finish(NULL)->counters[0].last == 9);
}

static void a_window_has_only_its_own(void **state)
{
	const isc_timeline_window window = {.from_ns = 100, .to_ns = 200};
	uint32_t t = thread(1), early = name("early"), inside = name("inside");
	const isc_timeline_facts *f;

	(void)state;
	add(&(isc_host_moment){.at_ns = 1000, .thread = t, .name = early});
	add(&(isc_host_moment){.at_ns = 1150, .thread = t, .name = inside});
	add(&(isc_host_moment){.at_ns = 1150, .value = 3, .thread = t, .name = early, .counter = true});
	add(&(isc_host_moment){.at_ns = 1900, .value = 4, .thread = t, .name = early, .counter = true});
	f = finish(&window);
	assert_int_equal(f->mark_count, 1);
	assert_string_equal(f->marks[0].name.at, "inside");
	assert_int_equal(f->counters[0].count, 1);
	assert_true(f->counters[0].last == 3);
	assert_int_equal(heard.count, 2);
}

/* "Record Window End" and the like say when the recorder did something. */
static void what_tells_of_the_recording_makes_it_no_longer(void **state)
{
	uint32_t t = thread(1), word = name("word");
	const isc_host_span span = {.start_ns = 1000, .end_ns = 2000, .thread = t, .name = word};
	const isc_timeline_facts *f;

	(void)state;
	assert_int_equal(isc_timeline_span(timeline, &span, NULL), ISC_OK);
	add(&(isc_host_moment){.at_ns = 10, .thread = t, .name = word, .apart = true});
	add(&(isc_host_moment){.at_ns = 9000, .thread = t, .name = word, .apart = true});
	f = finish(NULL);
	assert_int_equal(f->to_ns, 1000);
	assert_int_equal(f->marks[0].count, 2);
}

static void times_at_the_edge_of_numbers_are_bounded(void **state)
{
	uint32_t t = thread(1), word = name("word");

	(void)state;
	add(&(isc_host_moment){.at_ns = INT64_MIN, .thread = t, .name = word});
	add(&(isc_host_moment){.at_ns = INT64_MAX, .thread = t, .name = word});
	assert_int_equal(finish(NULL)->marks[0].count, 2);
	assert_int_equal(heard.wrong, 0);
}

static void a_thread_that_was_never_met_is_refused(void **state)
{
	const isc_host_moment m = {.thread = 99, .name = name("word")};

	(void)state;
	assert_int_not_equal(isc_timeline_moment(timeline, &m, NULL), ISC_OK);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(many_of_them_are_told_in_order, begin, end),
		cmocka_unit_test_setup_teardown(the_last_value_is_the_latest_of_all_threads, begin, end),
		cmocka_unit_test_setup_teardown(a_window_has_only_its_own, begin, end),
		cmocka_unit_test_setup_teardown(what_tells_of_the_recording_makes_it_no_longer, begin, end),
		cmocka_unit_test_setup_teardown(times_at_the_edge_of_numbers_are_bounded, begin, end),
		cmocka_unit_test_setup_teardown(a_thread_that_was_never_met_is_refused, begin, end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
