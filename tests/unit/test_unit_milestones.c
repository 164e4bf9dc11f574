/* unit_milestones: what the file keeps of a process besides its units, over traces written as text. */
#include "check.h"

#include "base/buffer.h"
#include "trace_text.h"

#define PROCESS \
	"p1 pid=100 root traced python\n" \
	"t1 p1 tid=100 main\n"

/* "16 t1 5": source, thread and how many ms. */
static bool add_milestone(void *self, const isc_trace_unit *u)
{
	isc_buffer *got = self;

	isc_buffer_format(got, "%u t%u %g\n", u->source, u->thread, (double)(u->end_ns - u->begin_ns) / 1e6);
	return true;
}

static void check_milestones(const char *scene, const char *wanted)
{
	isc_trace *trace = NULL;
	isc_buffer got = {0};
	isc_error err = {0};

	CHECK_OK(trace_text_open(scene, &trace, &err), &err);
	CHECK_OK(isc_trace_milestones_each(trace, add_milestone, &got, &err), &err);
	CHECK_TEXT(got.data != NULL ? got.data : "", wanted);
	isc_buffer_fini(&got);
	isc_trace_close(trace);
}

TEST(the_outermost_import_the_program_and_its_end_are_kept)
{
	check_milestones(PROCESS "t1 0ms call_enter <module> /a/run.py 1\n"
				 "t1 1ms call_enter <module> /l/a.py 1\n"
				 "t1 2ms call_enter <module> /l/b.py 1\n"
				 "t1 5ms call_exit <module> /l/b.py 1\n"
				 "t1 11ms call_exit <module> /l/a.py 1\n"
				 "t1 20ms call_exit <module> /a/run.py 1\n"
				 "t1 21ms call_enter _shutdown /lib/python3.11/threading.py 1500\n"
				 "t1 24ms call_exit _shutdown /lib/python3.11/threading.py 1500\n"
				 "t1 25ms leaving\n",
			 "16 t1 10\n"
			 "17 t1 20\n"
			 "18 t1 3\n"
			 "19 t1 0\n");
}

TEST(what_runpy_runs_is_the_program_and_its_imports_are_kept)
{
	check_milestones(PROCESS "t1 0ms call_enter _run_code /lib/python3.9/runpy.py 64\n"
				 "t1 0ms call_enter <module> /a/__main__.py 1\n"
				 "t1 1ms call_enter <module> /l/a.py 1\n"
				 "t1 5ms call_exit <module> /l/a.py 1\n"
				 "t1 20ms call_exit <module> /a/__main__.py 1\n"
				 "t1 20ms call_exit _run_code /lib/python3.9/runpy.py 64\n",
			 "16 t1 4\n"
			 "17 t1 20\n");
}

TEST(functions_of_the_same_name_elsewhere_are_nothing_special)
{
	check_milestones(PROCESS "t1 0ms call_enter _shutdown /a/server.py 9\n"
				 "t1 9ms call_exit _shutdown /a/server.py 9\n",
			 "");
}

TEST(no_unit_is_counted_for_a_milestone)
{
	isc_trace *trace = NULL;
	isc_buffer got = {0};

	CHECK_OK(trace_text_open(PROCESS "t1 0ms call_enter <module> /a/run.py 1\n"
					 "t1 20ms call_exit <module> /a/run.py 1\n",
				 &trace, NULL));
	CHECK_OK(isc_trace_units_each(trace, add_milestone, &got, NULL));
	CHECK_EQ(got.len, 0);
	isc_trace_close(trace);
}
