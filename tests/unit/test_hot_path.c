/* hot_path and limiter: which part of a program is worth changing, and which thread limits it. */
#include <stdio.h>
#include <string.h>

#include "check.h"
#include "analyze/analysis.h"
#include "trace_text.h"

#define META_WAITS "meta {\"argv\": [\"serve\"], \"waits\": true, \"perf\": \"ok\"}\n"
#define ONE \
	META_WAITS "p1 pid=100 root traced python end=2100ms status=0 argv serve\n" \
		   "t1 p1 tid=100 main name=main end=2100ms\n" \
		   "t1 1ms in\n"
#define END "t1 2060ms out\nend 2100ms status=0\n"
#define SERVE "\"handle /app/serve.py 20 23\" "
#define TORCH "/usr/lib/python3/dist-packages/torch"
#define LOAD \
	"\"get_model /app/serve.py 8 10\" \"load " TORCH \
	"/serialization.py 1100 1180\" \"native read /usr/lib/libtorch.so\""
#define WORK "\"forward /app/model.py 30 31\" \"native gemm /usr/lib/libtorch.so\""

/* A scene that is put together. */
static char text[1 << 16];

static void begin(const char *program)
{
	snprintf(text, sizeof(text), "%s", program);
}

static void add(const char *lines)
{
	size_t len = strlen(text);

	CHECK((size_t)snprintf(text + len, sizeof(text) - len, "%s", lines) < sizeof(text) - len);
}

/* Samples of 5 ms each, up to so many milliseconds from the begin of a round on. */
static void runs(const char *thread, int until_ms, int ms, const char *frames)
{
	char line[512];

	for (int at = until_ms - ms; at < until_ms; at += 5) {
		snprintf(line, sizeof(line), "%s @%dms sample 1 5ms %s\n", thread, at, frames);
		add(line);
	}
}

static void rounds(int n)
{
	char line[64];

	snprintf(line, sizeof(line), "repeat %d 100ms\n", n);
	add(line);
}

static isc_analysis *analysis_of(const char *end)
{
	isc_trace *trace = NULL;
	isc_analysis *a = NULL;
	isc_error err = {0};

	add(end);
	CHECK_OK(trace_text_open(text, &trace, &err), &err);
	CHECK_OK(isc_analysis_new(trace, NULL, &a, &err), &err);
	isc_trace_close(trace);
	return a;
}

static bool is_in(const isc_analysis *a, const char *function)
{
	isc_text name = a->verdict.claim.place.function;

	return name.len == strlen(function) && memcmp(name.at, function, name.len) == 0;
}

static const char *cause_of(const isc_analysis *a)
{
	return a->verdict.claim.cause != NULL ? a->verdict.claim.cause : "";
}

TEST(what_is_made_in_each_request_is_a_cause)
{
	isc_analysis *a;

	begin(ONE);
	rounds(20);
	runs("t1", 110, 60, SERVE LOAD);
	runs("t1", 150, 40, SERVE WORK);
	a = analysis_of("again\n" END);
	CHECK_TEXT(cause_of(a), "hot_path");
	CHECK(is_in(a, "get_model"));
	CHECK_EQ(a->verdict.claim.place.line, 10);
	CHECK_EQ(a->verdict.claim.fix, ISC_FIX_MAKE_ONCE);
	CHECK_NEAR(a->verdict.claim.share, 60, 4);
	isc_analysis_free(a);
}

TEST(what_is_made_once_is_none_however_long_it_takes)
{
	isc_analysis *a;

	begin(ONE);
	rounds(12);
	runs("t1", 150, 100, SERVE WORK);
	add("again\n");
	rounds(8);
	runs("t1", 1350, 100, SERVE LOAD);
	a = analysis_of("again\n" END);
	CHECK_TEXT(cause_of(a), "native_compute");
	isc_analysis_free(a);
}

TEST(small_functions_of_one_caller_are_a_cause_together)
{
	isc_analysis *a;

	begin(ONE);
	rounds(20);
	runs("t1", 70, 20, SERVE "\"tokenise /app/text.py 3 5\" \"split /app/text.py 10 11\"");
	runs("t1", 90, 20, SERVE "\"tokenise /app/text.py 3 6\" \"lower /app/text.py 20 21\"");
	runs("t1", 110, 20, SERVE "\"tokenise /app/text.py 3 7\" \"look_up /app/text.py 30 31\"");
	runs("t1", 150, 40, SERVE WORK);
	a = analysis_of("again\n" END);
	CHECK_TEXT(cause_of(a), "hot_path");
	CHECK(is_in(a, "tokenise"));
	CHECK_EQ(a->verdict.claim.fix, ISC_FIX_CHEAPER_FUNCTION);
	isc_analysis_free(a);
}

/* The same in code of a package, which nobody who uses it can change. */
TEST(small_functions_of_a_library_are_none)
{
	isc_analysis *a;

	begin(ONE);
	rounds(20);
	runs("t1", 80, 30, SERVE "\"generate " TORCH "/generation.py 3 5\" \"step " TORCH "/generation.py 40 41\"");
	runs("t1", 110, 30, SERVE "\"generate " TORCH "/generation.py 3 6\" \"pick " TORCH "/generation.py 60 61\"");
	runs("t1", 150, 40, SERVE WORK);
	a = analysis_of("again\n" END);
	CHECK_TEXT(cause_of(a), "native_compute");
	isc_analysis_free(a);
}

#define TWO_PROCESSES \
	META_WAITS "p1 pid=100 root traced python end=2100ms status=0 argv serve\n" \
		   "t1 p1 tid=100 main name=main end=2100ms\n" \
		   "p2 pid=200 parent=1 traced python end=2100ms status=0 argv engine\n" \
		   "t2 p2 tid=200 main name=engine end=2100ms\n"

/* The program waits for its engine, which is at fault. */
TEST(the_process_that_works_is_judged_and_not_the_one_that_waits)
{
	isc_analysis *a;

	begin(TWO_PROCESSES);
	rounds(20);
	add("t1 @140ms wait_exit read 90ms 0 \"recv /usr/lib/python3.11/multiprocessing/connection.py 250 250\"\n");
	runs("t1", 150, 10, "\"answer /app/serve.py 3 5\"");
	runs("t2", 140, 90, "\"loop /app/engine.py 3 5\" \"score /app/engine.py 10 11\"");
	a = analysis_of("again\nend 2100ms status=0\n");
	CHECK_TEXT(cause_of(a), "hot_function");
	CHECK(is_in(a, "score"));
	CHECK_EQ(a->breakdown.tid, 200);
	isc_analysis_free(a);
}

#define SERVER_AND_CLIENT \
	META_WAITS "p1 pid=100 root traced python end=2100ms status=0 argv serve\n" \
		   "t1 p1 tid=100 main name=main end=2100ms\n" \
		   "t2 p1 tid=101 name=server end=2100ms\n" \
		   "t3 p1 tid=102 name=client end=2100ms\n"

/* Clients that wait for a server in the same process are not what limits it. */
TEST(whoever_waits_for_an_answer_leaves_the_limit_to_others)
{
	isc_analysis *a;

	begin(SERVER_AND_CLIENT);
	rounds(20);
	add("t1 @150ms wait_exit join 99ms 0 \"main /app/serve.py 3 5\"\n");
	add("t3 @150ms wait_exit recv 99ms 0 \"ask /app/client.py 3 5\"\n");
	runs("t2", 140, 60, SERVE WORK);
	a = analysis_of("again\nend 2100ms status=0\n");
	CHECK_EQ(a->breakdown.tid, 101);
	CHECK_TEXT(cause_of(a), "native_compute");
	isc_analysis_free(a);
}
