/* excerpt: the events of a part of a trace, over traces written as text. */
#include "analysis_text.h"

#include "analyze/picture/excerpt.h"
#include "base/buffer.h"

#define MS 1000000ull

typedef struct cut {
	double from_ms, to_ms; /* to 0: the end */
	uint32_t pid, tid;
	size_t most;
} cut;

static isc_excerpt counts; /* of the last reading; its events are in the text */

/* One line for each: kind, when it began and ended, thread and flags. */
static char *spans_of(const char *text, const cut *c)
{
	isc_buffer out = {0};
	isc_trace *trace = NULL;
	isc_excerpt spans;
	isc_error err = {0};
	isc_excerpt_options options = {.pid = c->pid, .tid = c->tid, .most = c->most};
	uint64_t start;

	if (trace_text_open(text, &trace, &err) != ISC_OK)
		fail_msg("%s", err.what);
	start = isc_trace_header(trace)->start_ticks;
	options.from_ticks = start + (uint64_t)(c->from_ms * MS);
	options.to_ticks = c->to_ms > 0 ? start + (uint64_t)(c->to_ms * MS) : UINT64_MAX;
	assert_int_equal(isc_excerpt_read(trace, &options, &spans, &err), ISC_OK);
	start = isc_trace_header(trace)->start_ns;
	for (size_t i = 0; i < spans.count; i++) {
		const isc_piece *s = &spans.span[i];

		isc_buffer_format(&out, "%u %g..%g t%u %x%s\n", s->kind, (double)(s->start_ns - start) / MS,
				  (double)(s->end_ns - start) / MS, s->thread, s->flags,
				  s->extra_len > 0 ? " extra" : "");
	}
	counts = spans;
	isc_excerpt_fini(&spans);
	isc_trace_close(trace);
	return out.data != NULL ? out.data : calloc(1, 1);
}

#define check(text, cut_, wanted) \
	do { \
		char *got = spans_of(text, &(cut)cut_); \
		assert_string_equal(got, wanted); \
		free(got); \
	} while (0)
#define CUT(...) {__VA_ARGS__}

#define NESTED \
	META ONE_THREAD "t1 1ms call_enter f a.py 1\n" \
			"t1 2ms call_enter g a.py 9\n" \
			"t1 3ms call_exit g a.py 9 2\n" \
			"t1 4ms instant mark {\"n\":1}\n" \
			"t1 5ms call_exit f a.py 1\n" \
			"t1 6ms call_enter f a.py 1\n" \
			"t1 8ms call_exit f a.py 1\n" \
			"end 10ms status=0\n"

static void calls_have_their_end_and_come_in_the_order_of_their_start(void **state)
{
	(void)state;
	check(NESTED, CUT(.pid = 0), "16 1..5 t1 0\n16 2..3 t1 8\n1 4..4 t1 0 extra\n16 6..8 t1 0\n");
	assert_int_equal(counts.threads, 1);
	assert_int_equal(counts.unmatched, 0);
}

static void what_began_before_is_left_out_and_what_goes_on_is_open(void **state)
{
	(void)state;
	check(NESTED, CUT(.from_ms = 1.5, .to_ms = 7), "16 2..3 t1 8\n1 4..4 t1 0 extra\n16 6..7 t1 10\n");
	assert_int_equal(counts.unmatched, 1);
	check(NESTED, CUT(.from_ms = 8.5, .to_ms = 9), "");
}

static void an_end_closes_what_lies_above_it(void **state)
{
	(void)state;
	check(META ONE_THREAD "t1 1ms call_enter f a.py 1\n"
			      "t1 2ms call_enter g a.py 9\n"
			      "t1 4ms call_exit f a.py 1\n"
			      "t1 5ms call_exit g a.py 9\n"
			      "end 10ms status=0\n",
	      CUT(.pid = 0), "16 1..4 t1 0\n16 2..4 t1 10\n");
	assert_int_equal(counts.unmatched, 1);
}

static void resumes_and_yields_are_told(void **state)
{
	(void)state;
	check(META ONE_THREAD "t1 1ms call_enter g a.py 1\n"
			      "t1 2ms call_exit g a.py 1 1\n"
			      "t1 3ms call_resume g a.py 1 1\n"
			      "t1 4ms call_exit g a.py 1 2\n"
			      "end 10ms status=0\n",
	      CUT(.pid = 0), "16 1..2 t1 4\n17 3..4 t1 b\n");
}

#define TWO \
	META "p1 pid=100 root traced end=10ms status=0 argv serve\n" \
	     "p2 pid=200 parent=p1 traced end=10ms argv serve\n" \
	     "t1 p1 tid=100 main end=10ms\n" \
	     "t2 p1 tid=101 end=10ms\n" \
	     "t3 p2 tid=200 main end=10ms\n" \
	     "t2 1ms scope_enter s\n" \
	     "t1 2ms counter c 1.5\n" \
	     "t3 3ms scope_enter s\n" \
	     "t1 4ms scope_exit s\n" \
	     "end 10ms status=0\n"

static void one_process_or_one_thread_can_be_asked_for(void **state)
{
	(void)state;
	check(TWO, CUT(.pid = 0), "2 1..1 t2 0\n4 2..2 t1 0 extra\n2 3..3 t3 0\n3 4..4 t1 0\n");
	check(TWO, CUT(.pid = 100), "2 1..1 t2 0\n4 2..2 t1 0 extra\n3 4..4 t1 0\n");
	assert_int_equal(counts.threads, 2);
	check(TWO, CUT(.pid = 100, .tid = 101), "2 1..1 t2 0\n");
	check(TWO, CUT(.pid = 300), "");
}

static void samples_are_moments(void **state)
{
	(void)state;
	check(META ONE_THREAD "t1 1ms call_enter f a.py 1\n"
			      "t1 2ms sample 3 5ms \"f a.py 1 2\"\n"
			      "t1 4ms call_exit f a.py 1\n"
			      "end 10ms status=0\n",
	      CUT(.pid = 0), "16 1..4 t1 0\n32 2..2 t1 0 extra\n");
}

static void losses_inside_are_counted(void **state)
{
	(void)state;
	check(META ONE_THREAD "t1 1ms scope_enter s\nt1 lose 5\nt1 2ms scope_exit s\n"
			      "t1 3ms scope_enter s\nt1 lose 7\nt1 5ms scope_exit s\nend 10ms status=0\n",
	      CUT(.from_ms = 2.5), "2 3..3 t1 0\n3 5..5 t1 0\n");
	assert_int_equal(counts.lost, 7);
}

static void more_than_are_to_be_kept_go_oldest_first(void **state)
{
	(void)state;
	check(META ONE_THREAD "t1 1ms call_enter f a.py 1\n"
			      "t1 2ms scope_enter a\nt1 3ms scope_enter b\nt1 4ms scope_enter c\nt1 5ms scope_enter d\n"
			      "t1 6ms call_exit f a.py 1\nend 10ms status=0\n",
	      CUT(.most = 4), "2 4..4 t1 0\n2 5..5 t1 0\n");
	assert_int_equal(counts.dropped, 3);
	assert_int_equal(counts.unmatched, 1);
}

/* Told when they have ended: 51 a collection, 49 a wait. */
static void collections_and_waits_for_others_have_their_beginning(void **state)
{
	(void)state;
	check(META ONE_THREAD "t1 1ms gc 65535 0ms\n"
			      "t1 30ms gc 2 20ms\n"
			      "t1 40ms wait_exit gil 5ms\n"
			      "t1 50ms wait_exit mutex 4ms\n"
			      "t1 60ms wait_exit sleep 3ms\n"
			      "end 100ms status=0\n",
	      CUT(0),
	      "51 10..30 t1 0 extra\n"
	      "49 35..40 t1 0 extra\n"
	      "49 46..50 t1 0 extra\n");
	/* One that began before the part is left out, as calls are. */
	check(META ONE_THREAD "t1 30ms gc 2 20ms\n"
			      "t1 40ms wait_exit gil 5ms\n"
			      "end 100ms status=0\n",
	      CUT(.from_ms = 20), "49 35..40 t1 0 extra\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(collections_and_waits_for_others_have_their_beginning),
		cmocka_unit_test(calls_have_their_end_and_come_in_the_order_of_their_start),
		cmocka_unit_test(what_began_before_is_left_out_and_what_goes_on_is_open),
		cmocka_unit_test(an_end_closes_what_lies_above_it),
		cmocka_unit_test(resumes_and_yields_are_told),
		cmocka_unit_test(one_process_or_one_thread_can_be_asked_for),
		cmocka_unit_test(samples_are_moments),
		cmocka_unit_test(losses_inside_are_counted),
		cmocka_unit_test(more_than_are_to_be_kept_go_oldest_first),
	};

	(void)analysis_of;
	(void)warning_of;
	(void)text_is;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
