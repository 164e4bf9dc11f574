/* walk: one reading of the events for all who want some of them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "analyze/analysis.h"
#include "timeline/walk.h"
#include "trace_text.h"

/* Something of everything: waits with a holder, scopes, samples, memory, calls that were left out. */
#define BUSY \
	"meta {\"argv\": [\"serve\"]}\n" \
	"p1 pid=100 root traced python end=10ms status=0 argv serve\n" \
	"t1 p1 tid=100 main name=main end=10ms\n" \
	"t2 p1 tid=101 name=worker end=10ms\n" \
	"t1 0ms scope_enter request\n" \
	"t1 1ms call_enter serve /app/serve.py 1\n" \
	"t1 2ms sample 1 5ms \"serve /app/serve.py 1 2\"\n" \
	"t1 4ms wait_exit sem 2ms 101 \"serve /app/serve.py 1 3\"\n" \
	"t1 5ms governed all 1\n" \
	"t1 6ms governed all 0\n" \
	"t1 7ms memory_alloc malloc 2 1000000 0 \"serve /app/serve.py 1 4\"\n" \
	"t1 8ms call_exit serve /app/serve.py 1\n" \
	"t1 9ms scope_exit request\n" \
	"t2 3ms sample 1 5ms \"hold /app/serve.py 9 9\"\n" \
	"end 10ms status=0\n"

struct heard {
	size_t count, most;
	uint8_t kinds[32];
	uint64_t last_ns;
};

static bool hear(void *self, const isc_event *ev)
{
	struct heard *h = self;

	assert_true(h->count < sizeof(h->kinds));
	h->kinds[h->count++] = ev->kind;
	h->last_ns = ev->time_ns;
	return h->count < h->most;
}

static isc_trace *trace_of(const char *text)
{
	isc_trace *trace = NULL;
	isc_error err = {0};

	if (trace_text_open(text, &trace, &err) != ISC_OK)
		fail_msg("%s", err.what);
	return trace;
}

static void each_part_gets_its_groups_and_none_twice(void **state)
{
	struct heard marks = {.most = SIZE_MAX}, samples = marks, both = marks, all = marks;
	isc_trace *trace = trace_of(BUSY);
	isc_walk walk = {0};

	(void)state;
	isc_walk_join(&walk, ISC_WALK_MARKS, hear, &marks);
	isc_walk_join(&walk, ISC_WALK_SAMPLES, hear, &samples);
	isc_walk_join(&walk, ISC_WALK_MARKS | ISC_WALK_SAMPLES, hear, &both);
	isc_walk_join(&walk, ISC_WALK_ALL, hear, &all);
	assert_true(isc_walk_run(&walk, trace));
	assert_int_equal(marks.count, 2);
	assert_int_equal(marks.kinds[0], ISC_KIND_SCOPE_ENTER);
	assert_int_equal(marks.kinds[1], ISC_KIND_SCOPE_EXIT);
	assert_int_equal(samples.count, 2);
	assert_int_equal(both.count, 4);
	assert_int_equal(all.count, 10);
	assert_int_equal(isc_trace_stats_get(trace)->readings, 1);
	isc_trace_close(trace);
}

static void a_part_without_memory_ends_the_walk(void **state)
{
	struct heard first = {.most = 3}, second = {.most = SIZE_MAX};
	isc_trace *trace = trace_of(BUSY);
	isc_walk walk = {0};

	(void)state;
	isc_walk_join(&walk, ISC_WALK_ALL, hear, &first);
	isc_walk_join(&walk, ISC_WALK_ALL, hear, &second);
	assert_false(isc_walk_run(&walk, trace));
	assert_int_equal(first.count, 3);
	assert_int_equal(second.count, 2);
	isc_trace_close(trace);
}

static void nobody_reads_for_nobody(void **state)
{
	isc_trace *trace = trace_of(BUSY);

	(void)state;
	assert_true(isc_walk_run(&(isc_walk){0}, trace));
	assert_int_equal(isc_trace_stats_get(trace)->readings, 0);
	isc_trace_close(trace);
}

static uint64_t readings_for(const isc_analysis_options *options)
{
	isc_trace *trace = trace_of(BUSY);
	isc_analysis *a = NULL;
	isc_error err = {0};
	uint64_t readings;

	if (isc_analysis_new(trace, options, &a, &err) != ISC_OK)
		fail_msg("%s", err.what);
	readings = isc_trace_stats_get(trace)->readings;
	isc_analysis_free(a);
	isc_trace_close(trace);
	return readings;
}

static void a_report_reads_the_events_of_a_plain_trace_three_times_at_most(void **state)
{
	(void)state;
	assert_int_equal(readings_for(NULL), 2);
	assert_int_equal(readings_for(&(isc_analysis_options){.lanes = true}), 3);
	/* A part is counted event by event, once it is known what of it was not seen. */
	assert_int_equal(readings_for(&(isc_analysis_options){.from_us = 1000}), 4);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_part_gets_its_groups_and_none_twice),
		cmocka_unit_test(a_part_without_memory_ends_the_walk),
		cmocka_unit_test(nobody_reads_for_nobody),
		cmocka_unit_test(a_report_reads_the_events_of_a_plain_trace_three_times_at_most),
	};

	return cmocka_run_group_tests_name("walk", tests, NULL, NULL);
}
