/* unit_loops: which calls a recording takes for iterations of the program's loop, over traces written as text. */
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "trace_text.h"
#include "unit_text.h"

#define MAIN "t1 0ms call_enter main m.py 1\n"

static void a_function_that_is_called_again_and_again_is_the_unit(void **state)
{
	(void)state;
	/* What the first two iterations were is known when the third has ended. */
	check(PROCESS MAIN "t1 1ms call_enter load m.py 9\n"
			   "t1 9ms call_exit load m.py 9\n"
			   "repeat 4 2ms\n"
			   "t1 @10ms call_enter handle m.py 20\n"
			   "t1 @11ms call_exit handle m.py 20\n"
			   "again\n",
	      "loop handle of main t1 10..11\n"
	      "loop handle of main t1 12..13\n"
	      "loop handle of main t1 14..15\n"
	      "loop handle of main t1 16..17\n");
}

static void an_iteration_of_three_calls_is_one_unit(void **state)
{
	(void)state;
	check(PROCESS MAIN "repeat 3 10ms\n"
			   "t1 @10ms call_enter tokenize m.py 20\n"
			   "t1 @11ms call_exit tokenize m.py 20\n"
			   "t1 @12ms call_enter forward m.py 30\n"
			   "t1 @17ms call_exit forward m.py 30\n"
			   "t1 @17ms call_enter decode m.py 40\n"
			   "t1 @18ms call_exit decode m.py 40\n"
			   "again\n"
			   "t1 50ms call_exit main m.py 1\n",
	      "loop tokenize of main t1 10..18\n"
	      "loop tokenize of main t1 20..28\n"
	      "loop tokenize of main t1 30..38\n");
}

static void a_worker_that_waits_for_its_queue_has_units_without_the_wait(void **state)
{
	(void)state;
	check(PROCESS "t2 0ms call_enter worker w.py 1\n"
		      "repeat 3 20ms\n"
		      "t2 @10ms call_enter get queue.py 20\n"
		      "t2 @24ms wait_exit sem 14ms\n"
		      "t2 @24ms call_exit get queue.py 20\n"
		      "t2 @25ms call_enter handle w.py 30\n"
		      "t2 @28ms call_exit handle w.py 30\n"
		      "again\n",
	      "loop handle of worker t2 25..28\n"
	      "loop handle of worker t2 45..48\n"
	      "loop handle of worker t2 65..68\n");
}

static void an_event_loop_that_only_waits_is_none(void **state)
{
	(void)state;
	check(PROCESS MAIN "repeat 9 20ms\n"
			   "t1 @10ms call_enter select selectors.py 20\n"
			   "t1 @28ms wait_exit epoll 18ms\n"
			   "t1 @28ms call_exit select selectors.py 20\n"
			   "again\n",
	      "");
}

static void of_nested_loops_the_outer_one_counts(void **state)
{
	(void)state;
	check(PROCESS MAIN "repeat 3 10ms\n"
			   "t1 @10ms call_enter batch m.py 20\n"
			   "t1 @11ms call_enter step m.py 30\n"
			   "t1 @14ms call_exit step m.py 30\n"
			   "t1 @14ms call_enter step m.py 30\n"
			   "t1 @19ms call_exit step m.py 30\n"
			   "t1 @19ms call_exit batch m.py 20\n"
			   "again\n"
			   "repeat 2 10ms\n"
			   "t1 @40ms call_enter batch m.py 20\n"
			   "t1 @48ms call_exit batch m.py 20\n"
			   "again\n",
	      /* Until the outer one had come three times, the inner one was all there was. */
	      "loop step of batch t1 11..14\n"
	      "loop step of batch t1 14..19\n"
	      "loop step of batch t1 21..24\n"
	      "loop step of batch t1 24..29\n"
	      "loop step of batch t1 31..34\n"
	      "loop step of batch t1 34..39\n"
	      "loop batch of main t1 10..19\n"
	      "loop batch of main t1 20..29\n"
	      "loop batch of main t1 30..39\n"
	      "loop batch of main t1 40..48\n"
	      "loop batch of main t1 50..58\n");
}

static void a_thread_for_each_request_is_a_loop_too(void **state)
{
	(void)state;
	check(PROCESS "t1 1ms call_enter run threading.py 1\n"
		      "t1 1ms call_enter serve s.py 9\n"
		      "t1 5ms call_exit serve s.py 9\n"
		      "t1 5ms call_exit run threading.py 1\n"
		      "t2 2ms call_enter run threading.py 1\n"
		      "t2 2ms call_enter serve s.py 9\n"
		      "t2 6ms call_exit serve s.py 9\n"
		      "t2 6ms call_exit run threading.py 1\n"
		      "t3 3ms call_enter run threading.py 1\n"
		      "t3 3ms call_enter serve s.py 9\n"
		      "t3 7ms call_exit serve s.py 9\n"
		      "t3 7ms call_exit run threading.py 1\n",
	      "loop serve of run t1 1..5\n"
	      "loop serve of run t2 2..6\n"
	      "loop serve of run t3 3..7\n");
}

static void workers_that_live_as_long_as_the_program_are_no_units_but_what_they_do(void **state)
{
	(void)state;
	check(PROCESS "t1 1ms call_enter run threading.py 1\n"
		      "t1 1ms call_enter handle s.py 2\n"
		      "repeat 3 2ms\n"
		      "t1 @2ms call_enter answer s.py 9\n"
		      "t1 @4ms call_exit answer s.py 9\n"
		      "again\n"
		      "t1 8ms call_exit handle s.py 2\n"
		      "t1 8ms call_exit run threading.py 1\n"
		      "t2 1ms call_enter run threading.py 1\n"
		      "t2 1ms call_enter handle s.py 2\n"
		      "repeat 3 2ms\n"
		      "t2 @2ms call_enter answer s.py 9\n"
		      "t2 @4ms call_exit answer s.py 9\n"
		      "again\n"
		      "t2 8ms call_exit handle s.py 2\n"
		      "t2 8ms call_exit run threading.py 1\n"
		      "t3 1ms call_enter run threading.py 1\n"
		      "t3 1ms call_enter handle s.py 2\n"
		      "repeat 3 2ms\n"
		      "t3 @2ms call_enter answer s.py 9\n"
		      "t3 @4ms call_exit answer s.py 9\n"
		      "again\n"
		      "t3 8ms call_exit handle s.py 2\n"
		      "t3 8ms call_exit run threading.py 1\n",
	      "loop answer of handle t1 2..4\n"
	      "loop answer of handle t1 4..6\n"
	      "loop answer of handle t1 6..8\n"
	      "loop answer of handle t2 2..4\n"
	      "loop answer of handle t2 4..6\n"
	      "loop answer of handle t2 6..8\n"
	      "loop answer of handle t3 2..4\n"
	      "loop answer of handle t3 4..6\n"
	      "loop answer of handle t3 6..8\n");
}

static void what_a_script_did_before_is_set_up(void **state)
{
	(void)state;
	check(PROCESS MAIN "t1 1ms call_enter load m.py 9\n"
			   "t1 9ms call_exit load m.py 9\n"
			   "t1 500ms call_enter parse m.py 20\n"
			   "t1 502ms call_exit parse m.py 20\n"
			   "t1 502ms call_enter write m.py 30\n"
			   "t1 503ms call_exit write m.py 30\n"
			   "repeat 2 4ms\n"
			   "t1 @504ms call_enter parse m.py 20\n"
			   "t1 @506ms call_exit parse m.py 20\n"
			   "t1 @506ms call_enter write m.py 30\n"
			   "t1 @507ms call_exit write m.py 30\n"
			   "again\n",
	      "loop parse of main t1 500..503\n"
	      "loop parse of main t1 504..507\n"
	      "loop parse of main t1 508..511\n");
}

static void a_call_in_front_that_takes_long_now_and_then_changes_nothing(void **state)
{
	(void)state;
	check(PROCESS MAIN "t1 10ms call_enter answer m.py 20\n"
			   "t1 17ms call_exit answer m.py 20\n"
			   "repeat 3 10ms\n"
			   "t1 @20ms call_enter answer m.py 20\n"
			   "t1 @27ms call_exit answer m.py 20\n"
			   "t1 @28ms call_enter read m.py 30\n"
			   "t1 @29ms call_exit read m.py 30\n"
			   "again\n"
			   "repeat 2 10ms\n"
			   "t1 @50ms call_enter answer m.py 20\n"
			   "t1 @57ms call_exit answer m.py 20\n"
			   "again\n"
			   "t1 70ms call_exit main m.py 1\n",
	      "loop answer of main t1 10..17\n"
	      "loop answer of main t1 20..27\n"
	      "loop answer of main t1 30..37\n"
	      "loop answer of main t1 40..47\n"
	      "loop answer of main t1 50..57\n"
	      "loop answer of main t1 60..67\n");
}

static void brief_functions_that_were_put_off_take_no_room(void **state)
{
	static const char *const brief[] = {"a", "b", "c", "d"};
	isc_buffer scene = {0};

	(void)state;
	isc_buffer_text(&scene, PROCESS MAIN);
	for (size_t i = 0; i < 4; i++) {
		isc_buffer_format(&scene,
				  "repeat 40 20us\nt1 @%zums call_enter %s m.py %zu\nt1 @%zu.01ms call_exit %s m.py "
				  "%zu\nagain\n",
				  i + 1, brief[i], i + 2, i + 1, brief[i], i + 2);
	}
	/* Others had the CPU in three calls of each. */
	for (size_t k = 0; k < 3; k++) {
		for (size_t i = 0; i < 4; i++)
			isc_buffer_format(&scene, "t1 %zums call_enter %s m.py %zu\nt1 %zu.6ms call_exit %s m.py %zu\n",
					  10 + 4 * k + i, brief[i], i + 2, 10 + 4 * k + i, brief[i], i + 2);
	}
	isc_buffer_text(&scene, "repeat 3 10ms\n"
				"t1 @30ms call_enter parse m.py 20\n"
				"t1 @34ms call_exit parse m.py 20\n"
				"t1 @34ms call_enter write m.py 21\n"
				"t1 @38ms call_exit write m.py 21\n"
				"again\n");
	check(scene.data, "loop parse of main t1 30..38\n"
			  "loop parse of main t1 40..48\n"
			  "loop parse of main t1 50..58\n");
	isc_buffer_fini(&scene);
}

static void what_a_task_awaits_again_and_again_is_the_unit(void **state)
{
	isc_buffer scene = {0};

	(void)state;
	isc_buffer_text(&scene, PROCESS "t1 0ms task a 1\nt1 0ms call_enter worker w.py 1\n"
					"t1 0ms call_enter get q.py 2\nt1 0.01ms call_exit get q.py 2 1\n"
					"t1 0.1ms call_exit worker w.py 1 1\nt1 0.1ms task 0\n");
	for (unsigned i = 10; i < 40; i += 10) {
		/* The queue has something: it is taken, half of the work is done, and the rest after a wait of 2 ms. */
		isc_buffer_format(&scene,
				  "t1 %ums task a 1\nt1 %ums call_resume worker w.py 1\n"
				  "t1 %ums call_resume get q.py 2\nt1 %u.01ms call_exit get q.py 2 0\n"
				  "t1 %u.1ms call_enter enrich w.py 9\nt1 %ums call_exit enrich w.py 9 1\n"
				  "t1 %ums call_exit worker w.py 1 1\nt1 %ums task 0\n",
				  i, i, i, i, i, i + 2, i + 2, i + 2);
		isc_buffer_format(&scene,
				  "t1 %ums task a 1\nt1 %ums call_resume worker w.py 1\n"
				  "t1 %ums call_resume enrich w.py 9\nt1 %u.1ms call_exit enrich w.py 9 0\n"
				  "t1 %u.1ms call_enter get q.py 2\nt1 %u.11ms call_exit get q.py 2 1\n"
				  "t1 %u.2ms call_exit worker w.py 1 1\nt1 %u.2ms task 0\n",
				  i + 4, i + 4, i + 4, i + 4, i + 4, i + 4, i + 4, i + 4);
	}
	check(scene.data, "loop enrich of worker t1 10.1..14.1\n"
			  "loop enrich of worker t1 20.1..24.1\n"
			  "loop enrich of worker t1 30.1..34.1\n");
	isc_buffer_fini(&scene);
}

static void recursion_and_generators_are_no_loops(void **state)
{
	(void)state;
	check(PROCESS MAIN "t1 1ms call_enter walk m.py 5\n"
			   "t1 2ms call_enter walk m.py 5\n"
			   "t1 3ms call_enter walk m.py 5\n"
			   "t1 4ms call_enter walk m.py 5\n"
			   "t1 5ms call_exit walk m.py 5\n"
			   "t1 6ms call_exit walk m.py 5\n"
			   "t1 7ms call_exit walk m.py 5\n"
			   "t1 8ms call_exit walk m.py 5\n"
			   "repeat 5 2ms\n"
			   "t1 @10ms call_resume rows m.py 20\n"
			   "t1 @11ms call_exit rows m.py 20 1\n"
			   "again\n",
	      "");
}

static void imports_are_no_units(void **state)
{
	(void)state;
	check(PROCESS "t1 0ms call_enter <module> m.py 1\n"
		      "t1 1ms call_enter <module> torch.py 1\n"
		      "repeat 5 2ms\n"
		      "t1 @10ms call_enter register torch.py 20\n"
		      "t1 @11ms call_exit register torch.py 20\n"
		      "again\n"
		      "t1 30ms call_exit <module> torch.py 1\n"
		      "repeat 3 2ms\n"
		      "t1 @40ms call_enter handle m.py 20\n"
		      "t1 @41ms call_exit handle m.py 20\n"
		      "again\n",
	      "loop handle of <module> t1 40..41\n"
	      "loop handle of <module> t1 42..43\n"
	      "loop handle of <module> t1 44..45\n");
}

static void a_function_that_is_mostly_short_is_no_unit(void **state)
{
	(void)state;
	check(PROCESS MAIN "repeat 4 10ms\n"
			   "t1 @9.0ms call_enter get m.py 20\n"
			   "t1 @9.1ms call_exit get m.py 20\n"
			   "t1 @9.1ms call_enter get m.py 20\n"
			   "t1 @9.2ms call_exit get m.py 20\n"
			   "t1 @9.2ms call_enter get m.py 20\n"
			   "t1 @9.3ms call_exit get m.py 20\n"
			   "t1 @9.3ms call_enter get m.py 20\n"
			   "t1 @9.4ms call_exit get m.py 20\n"
			   "t1 @10ms call_enter get m.py 20\n"
			   "t1 @18ms call_exit get m.py 20\n"
			   "again\n",
	      "");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_function_that_is_called_again_and_again_is_the_unit),
		cmocka_unit_test(an_iteration_of_three_calls_is_one_unit),
		cmocka_unit_test(a_worker_that_waits_for_its_queue_has_units_without_the_wait),
		cmocka_unit_test(an_event_loop_that_only_waits_is_none),
		cmocka_unit_test(of_nested_loops_the_outer_one_counts),
		cmocka_unit_test(a_thread_for_each_request_is_a_loop_too),
		cmocka_unit_test(workers_that_live_as_long_as_the_program_are_no_units_but_what_they_do),
		cmocka_unit_test(what_a_script_did_before_is_set_up),
		cmocka_unit_test(a_call_in_front_that_takes_long_now_and_then_changes_nothing),
		cmocka_unit_test(brief_functions_that_were_put_off_take_no_room),
		cmocka_unit_test(what_a_task_awaits_again_and_again_is_the_unit),
		cmocka_unit_test(recursion_and_generators_are_no_loops),
		cmocka_unit_test(imports_are_no_units),
		cmocka_unit_test(a_function_that_is_mostly_short_is_no_unit),
	};

	return cmocka_run_group_tests_name("unit_loops", tests, NULL, NULL);
}
