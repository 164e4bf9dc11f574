/* phases: what a process did when, over traces written as text. */
#include "check.h"

#include "analysis_text.h"
#include "base/buffer.h"

#define RUN \
	META "p1 pid=100 root traced python end=1000ms status=0 argv serve\n" \
	     "t1 p1 tid=100 main name=main end=1000ms\n" \
	     "t2 p1 tid=101 name=worker end=1000ms\n"
#define END "end 1000ms status=0\n"
#define PROGRAM "t1 10ms call_enter <module> /a/run.py 1\n"
#define HANDLE(every) \
	"repeat 10 " every "\n" \
	"t1 @400ms call_enter handle /a/run.py 20\n" \
	"t1 @420ms call_exit handle /a/run.py 20\n" \
	"again\n"

/* "serving 100 400..620", in ms. */
static void check_phases(const char *scene, const char *wanted)
{
	isc_analysis *a = analysis_of(scene);
	isc_buffer got = {0};

	for (size_t i = 0; i < a->phase_count; i++) {
		const isc_analysis_phase *p = &a->phases[i];

		isc_buffer_format(&got, "%s %u %g..%g\n", isc_phase_name((enum isc_phase)p->phase), p->pid,
				  p->from_us / 1e3, p->to_us / 1e3);
	}
	CHECK_TEXT(got.data != NULL ? got.data : "", wanted);
	isc_buffer_fini(&got);
	isc_analysis_free(a);
}

TEST(a_program_imports_loads_serves_and_ends)
{
	check_phases(RUN PROGRAM
		     "t1 20ms call_enter <module> /l/torch/__init__.py 1\n"
		     "t1 200ms call_exit <module> /l/torch/__init__.py 1\n"
		     "t1 200ms call_enter load /a/run.py 9\n"
		     "t1 390ms call_exit load /a/run.py 9\n" HANDLE("25ms") "t1 700ms call_exit <module> /a/run.py 1\n"
									    "t1 720ms leaving\n" END,
		     "startup 100 0..10\n"
		     "imports 100 20..200\n"
		     "loading 100 200..400\n"
		     "serving 100 400..645\n"
		     "shutdown 100 700..1000\n");
}

TEST(imports_that_are_close_are_one)
{
	check_phases(RUN PROGRAM "t1 20ms call_enter <module> /l/a.py 1\n"
				 "t1 100ms call_exit <module> /l/a.py 1\n"
				 "t1 140ms call_enter <module> /l/b.py 1\n"
				 "t1 200ms call_exit <module> /l/b.py 1\n"
				 "t1 260ms call_enter <module> /l/c.py 1\n"
				 "t1 400ms call_exit <module> /l/c.py 1\n" HANDLE(
					 "25ms") "t1 700ms call_exit <module> /a/run.py 1\n"
						 "t1 700ms leaving\n" END,
		     "startup 100 0..10\n"
		     "imports 100 20..200\n"
		     "loading 100 200..260\n"
		     "imports 100 260..400\n"
		     "serving 100 400..645\n"
		     "shutdown 100 700..1000\n");
}

TEST(an_import_inside_another_is_a_part_of_it)
{
	check_phases(RUN PROGRAM "t1 20ms call_enter <module> /l/a.py 1\n"
				 "t1 30ms call_enter <module> /l/b.py 1\n"
				 "t1 90ms call_exit <module> /l/b.py 1\n"
				 "t1 400ms call_exit <module> /l/a.py 1\n" HANDLE(
					 "25ms") "t1 700ms call_exit <module> /a/run.py 1\n"
						 "t1 700ms leaving\n" END,
		     "startup 100 0..10\n"
		     "imports 100 20..400\n"
		     "serving 100 400..645\n"
		     "shutdown 100 700..1000\n");
}

TEST(a_first_unit_that_imports_is_warm_up_and_a_later_import_is_inside_its_unit)
{
	check_phases(RUN PROGRAM "t1 380ms call_enter handle /a/run.py 20\n"
				 "t1 381ms call_enter <module> /l/lazy.py 1\n"
				 "t1 396ms call_exit <module> /l/lazy.py 1\n"
				 "t1 398ms call_exit handle /a/run.py 20\n" HANDLE(
					 "25ms") "t1 650ms call_enter handle /a/run.py 20\n"
						 "t1 652ms call_enter <module> /l/late.py 1\n"
						 "t1 660ms call_exit <module> /l/late.py 1\n"
						 "t1 670ms call_exit handle /a/run.py 20\n"
						 "t1 700ms call_exit <module> /a/run.py 1\n"
						 "t1 700ms leaving\n" END,
		     "startup 100 0..10\n"
		     "loading 100 10..380\n"
		     "warm_up 100 380..398\n"
		     "imports 100 381..396\n"
		     "serving 100 398..670\n"
		     "imports 100 652..660\n"
		     "shutdown 100 700..1000\n");
}

static void add_task(isc_buffer *out, const char *code, int number, int from_ms)
{
	isc_buffer_format(out, "t1 %dms task Task-%d\n", from_ms, number);
	isc_buffer_format(out, "t1 %dms call_enter %s /a/run.py 20\n", from_ms, code);
	isc_buffer_format(out, "t1 %dms call_exit %s /a/run.py 20 0\n", from_ms + 20, code);
	isc_buffer_format(out, "t1 %dms task 0\n", from_ms + 20);
}

TEST(requests_of_several_kinds_are_served_together)
{
	isc_buffer scene = {0};

	isc_buffer_text(&scene, RUN PROGRAM);
	for (int i = 0; i < 12; i++)
		add_task(&scene, i == 0 || i > 7 || i == 3 ? "put" : "get", i + 1, 100 + i * 40);
	isc_buffer_text(&scene, "t1 700ms call_exit <module> /a/run.py 1\n"
				"t1 700ms leaving\n" END);
	check_phases(scene.data, "startup 100 0..10\n"
				 "loading 100 10..100\n"
				 "serving 100 100..560\n"
				 "shutdown 100 700..1000\n");
	isc_buffer_fini(&scene);
}

TEST(rounds_of_the_event_loop_before_the_first_request_are_no_work_of_their_own)
{
	isc_buffer scene = {0};

	isc_buffer_text(&scene, RUN PROGRAM "t1 20ms call_enter _run_once /lib/python3.11/asyncio/base_events.py 1\n"
					    "repeat 4 60ms\n"
					    "t1 @30ms call_enter load /a/run.py 9\n"
					    "t1 @85ms call_exit load /a/run.py 9\n"
					    "again\n");
	for (int i = 0; i < 10; i++)
		add_task(&scene, "get", i + 1, 300 + i * 30);
	isc_buffer_text(&scene, "t1 600ms call_exit _run_once /lib/python3.11/asyncio/base_events.py 1\n"
				"t1 700ms call_exit <module> /a/run.py 1\n"
				"t1 700ms leaving\n" END);
	check_phases(scene.data, "startup 100 0..10\n"
				 "loading 100 10..300\n"
				 "serving 100 300..590\n"
				 "shutdown 100 700..1000\n");
	isc_buffer_fini(&scene);
}

TEST(shutdown_begins_when_threads_were_waited_for)
{
	check_phases(RUN PROGRAM "t1 300ms call_exit <module> /a/run.py 1\n"
				 "t1 300ms call_enter _shutdown /lib/python3.11/threading.py 1500\n"
				 "repeat 10 25ms\n"
				 "t2 @310ms call_enter handle /a/run.py 20\n"
				 "t2 @330ms call_exit handle /a/run.py 20\n"
				 "again\n"
				 "t1 600ms call_exit _shutdown /lib/python3.11/threading.py 1500\n"
				 "t1 610ms leaving\n" END,
		     "startup 100 0..10\n"
		     "serving 100 10..600\n"
		     "shutdown 100 600..1000\n");
}

TEST(without_units_all_that_follows_the_imports_is_served)
{
	check_phases(RUN PROGRAM "t1 20ms call_enter <module> /l/a.py 1\n"
				 "t1 300ms call_exit <module> /l/a.py 1\n"
				 "t1 800ms call_exit <module> /a/run.py 1\n"
				 "t1 810ms leaving\n" END,
		     "startup 100 0..10\n"
		     "imports 100 20..300\n"
		     "serving 100 300..800\n"
		     "shutdown 100 800..1000\n");
}

TEST(a_server_that_only_waits_for_work_has_loaded_and_does_not_serve)
{
	check_phases(RUN PROGRAM "t1 20ms call_enter <module> /l/a.py 1\n"
				 "t1 300ms call_exit <module> /l/a.py 1\n"
				 "repeat 4 100ms\n"
				 "t1 @499ms wait_exit epoll 99ms\n"
				 "again\n"
				 "t1 800ms call_exit <module> /a/run.py 1\n"
				 "t1 810ms leaving\n" END,
		     "startup 100 0..10\n"
		     "imports 100 20..300\n"
		     "loading 100 300..400\n"
		     "shutdown 100 800..1000\n");
}

TEST(a_program_that_is_killed_has_no_shutdown)
{
	check_phases(RUN PROGRAM "t1 20ms call_enter <module> /l/a.py 1\n"
				 "t1 400ms call_exit <module> /l/a.py 1\n" HANDLE("25ms") END,
		     "startup 100 0..20\n"
		     "imports 100 20..400\n"
		     "serving 100 400..645\n");
}

TEST(what_nothing_is_known_of_has_no_phases)
{
	check_phases(RUN "t1 20ms instant hello\n" END, "");
}

TEST(the_start_names_the_imports_that_took_longest)
{
	isc_analysis *a = analysis_of(RUN PROGRAM "t1 20ms call_enter <module> /l/torch/__init__.py 1\n"
						  "t1 200ms call_exit <module> /l/torch/__init__.py 1\n"
						  "t1 200ms call_enter <module> /l/json.py 1\n"
						  "t1 250ms call_exit <module> /l/json.py 1\n" HANDLE(
							  "25ms") "t1 700ms call_exit <module> /a/run.py 1\n"
								  "t1 720ms leaving\n" END);

	CHECK(a->startup.known);
	CHECK(warning_of(a, "units_unknown") == NULL);
	assert_near(a->startup.imports_us, 230e3);
	assert_near(a->startup.loading_us, 150e3);
	assert_near(a->startup.took_us, 400e3);
	CHECK_EQ(a->startup.top_count, 2);
	CHECK(text_is(&a->startup.top[0].name, "torch"));
	CHECK(text_is(&a->startup.top[1].name, "json"));
	isc_analysis_free(a);
}

TEST(serving_is_what_is_judged)
{
	isc_analysis *a = analysis_of(RUN PROGRAM "t1 20ms call_enter <module> /l/a.py 1\n"
						  "t1 400ms call_exit <module> /l/a.py 1\n" HANDLE(
							  "25ms") "t1 650ms gc 2 300ms 0\n"
								  "t1 700ms call_exit <module> /a/run.py 1\n"
								  "t1 700ms leaving\n" END);

	assert_near(a->window.from_us, 400e3);
	assert_near(a->window.to_us, 645e3);
	CHECK_TEXT(a->window.why, "serving");
	isc_analysis_free(a);
}
