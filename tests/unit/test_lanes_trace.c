/* lanes: what a trace of ours is drawn as, over traces written as text. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "analyze/picture/lanes.h"
#include "base/buffer.h"
#include "trace_text.h"

#define ONE_THREAD \
	"meta {\"argv\": [\"serve\"], \"perf\": \"ok\"}\n" \
	"p1 pid=100 root traced end=10ms status=0 argv serve\n" \
	"t1 p1 tid=100 main name=main end=10ms\n"

/* A piece a line: kind of row and depth, name, and from..to in microseconds. */
static void check_pieces(const char *text, const char *wanted)
{
	static const char *const kinds[] = {
		[ISC_ROW_SCOPE] = "scope", [ISC_ROW_RUN] = "run", [ISC_ROW_WAIT] = "wait", [ISC_ROW_CALL] = "call"};
	isc_analysis_options options = {.lanes = true};
	isc_trace *trace = NULL;
	isc_analysis *a = NULL;
	isc_buffer got = {0};
	isc_error err = {0};

	if (trace_text_open(text, &trace, &err) != ISC_OK || isc_analysis_new(trace, &options, &a, &err) != ISC_OK)
		fail_msg("%s", err.what);
	for (size_t i = 0; i < a->lanes->lane_count; i++) {
		const isc_lane *lane = &a->lanes->lanes[i];

		isc_buffer_format(&got, "t%u\n", (unsigned)lane->number);
		for (size_t k = 0; k < lane->row_count; k++) {
			const isc_lane_row *row = &lane->rows[k];

			for (size_t n = 0; n < row->count; n++) {
				const isc_lane_piece *p = &row->piece[n];
				const isc_text *name = &a->lanes->names[p->name].name;

				isc_buffer_format(&got, "%s %u ", kinds[row->kind], row->depth);
				if (row->kind == ISC_ROW_WAIT || row->kind == ISC_ROW_RUN)
					isc_buffer_text(&got, isc_state_name((enum isc_state)p->name));
				else
					isc_buffer_add(&got, name->at, name->len);
				isc_buffer_format(&got, " %.0f..%.0f\n", (double)p->start_ns / 1e3,
						  (double)p->end_ns / 1e3);
			}
		}
	}
	assert_string_equal(got.data != NULL ? got.data : "", wanted);
	isc_buffer_fini(&got);
	isc_analysis_free(a);
	isc_trace_close(trace);
}

static void a_call_that_is_seen_to_end_is_drawn_around_pauses(void **state)
{
	(void)state;
	check_pieces(ONE_THREAD "t1 1ms call_enter serve a.py 1\n"
				"t1 2ms call_enter step a.py 9\n"
				"t1 3ms governed all 1\n"
				"t1 4ms governed all 0\n"
				"t1 5ms governed all 1\n"
				"t1 6ms governed all 0\n"
				"t1 8ms call_exit serve a.py 1\n"
				"end 10ms status=0\n",
		     "t100\n"
		     /* It may have ended in the first of them. */
		     "call 1 step 2000..3000\n"
		     "call 0 serve 1000..3000\n"
		     "call 0 (calls not recorded) 3000..4000\n"
		     "call 0 serve 4000..5000\n"
		     "call 0 (calls not recorded) 5000..6000\n"
		     "call 0 serve 6000..8000\n");
}

static void a_call_with_no_end_is_drawn_up_to_the_first_pause(void **state)
{
	(void)state;
	check_pieces(ONE_THREAD "t1 1ms call_enter serve a.py 1\n"
				"t1 3ms governed all 1\n"
				"t1 4ms governed all 0\n"
				"t1 6ms call_enter late a.py 20\n"
				"t1 7ms call_exit late a.py 20\n"
				"end 10ms status=0\n",
		     "t100\n"
		     "call 1 late 6000..7000\n"
		     "call 0 serve 1000..3000\n"
		     "call 0 (calls not recorded) 3000..4000\n");
}

static void a_scope_that_is_left_on_another_thread_ends_there(void **state)
{
	(void)state;
	check_pieces(ONE_THREAD "t2 p1 tid=101 name=worker end=10ms\n"
				"t1 1ms span_enter request 7 0\n"
				"t1 2ms span_enter decode 8 7\n"
				"t1 3ms span_exit decode 8 1ms\n"
				"t1 4ms instant here\n"
				"t2 6ms span_exit request 7 5ms 1\n"
				"end 10ms status=0\n",
		     "t100\n"
		     "scope 1 decode 2000..3000\n"
		     "scope 0 request 1000..6000\n");
}

static void a_wait_that_never_ends_is_drawn(void **state)
{
	(void)state;
	check_pieces(ONE_THREAD "t1 1ms call_enter serve a.py 1\n"
				"t1 2ms wait_enter mutex \"serve a.py 1 3\"\n"
				"end 10ms status=0\n",
		     "t100\n"
		     "wait 0 lock_wait 2000..10000\n"
		     "call 0 serve 1000..10000\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_call_that_is_seen_to_end_is_drawn_around_pauses),
		cmocka_unit_test(a_call_with_no_end_is_drawn_up_to_the_first_pause),
		cmocka_unit_test(a_scope_that_is_left_on_another_thread_ends_there),
		cmocka_unit_test(a_wait_that_never_ends_is_drawn),
	};

	return cmocka_run_group_tests_name("lanes of a trace", tests, NULL, NULL);
}
