/* walk: one reading of the events for all who want some of them. */
#include "check.h"
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

	CHECK(h->count < sizeof(h->kinds));
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

TEST(each_part_gets_its_kinds_and_none_twice)
{
	struct heard marks = {.most = SIZE_MAX}, samples = marks, both = marks, all = marks;
	isc_trace *trace = trace_of(BUSY);
	isc_walk walk = {0};

	isc_walk_join(&walk, ISC_WALK_MARKS, hear, &marks);
	isc_walk_join(&walk, ISC_WALK_SAMPLES, hear, &samples);
	isc_walk_join(&walk, ISC_WALK_MARKS | ISC_WALK_SAMPLES, hear, &both);
	isc_walk_join(&walk, ISC_WALK_ALL, hear, &all);
	CHECK(isc_walk_run(&walk, trace));
	CHECK_EQ(marks.count, 2);
	CHECK_EQ(marks.kinds[0], ISC_KIND_SCOPE_ENTER);
	CHECK_EQ(marks.kinds[1], ISC_KIND_SCOPE_EXIT);
	CHECK_EQ(samples.count, 2);
	CHECK_EQ(both.count, 4);
	CHECK_EQ(all.count, 10);
	CHECK_EQ(isc_trace_stats_get(trace)->readings, 1);
	isc_trace_close(trace);
}

TEST(a_part_without_memory_ends_the_walk)
{
	struct heard first = {.most = 3}, second = {.most = SIZE_MAX};
	isc_trace *trace = trace_of(BUSY);
	isc_walk walk = {0};

	isc_walk_join(&walk, ISC_WALK_ALL, hear, &first);
	isc_walk_join(&walk, ISC_WALK_ALL, hear, &second);
	CHECK(!isc_walk_run(&walk, trace));
	CHECK_EQ(first.count, 3);
	CHECK_EQ(second.count, 2);
	isc_trace_close(trace);
}

TEST(nobody_reads_for_nobody)
{
	isc_trace *trace = trace_of(BUSY);

	CHECK(isc_walk_run(&(isc_walk){0}, trace));
	CHECK_EQ(isc_trace_stats_get(trace)->readings, 0);
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

TEST(a_report_reads_the_events_of_a_plain_trace_three_times_at_most)
{
	CHECK_EQ(readings_for(NULL), 2);
	CHECK_EQ(readings_for(&(isc_analysis_options){.lanes = true}), 3);
	/* A part is counted event by event, once it is known what of it was not seen. */
	CHECK_EQ(readings_for(&(isc_analysis_options){.from_us = 1000}), 4);
}
