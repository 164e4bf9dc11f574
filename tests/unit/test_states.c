/* states: what threads told of their waits and collections, as intervals, over traces written as text. */
#include <string.h>

#include "check.h"
#include "base/buffer.h"
#include "timeline/states.h"
#include "trace/kinds.h"
#include "trace_text.h"

#define PROGRAM \
	"meta {\"argv\": [\"serve\"]}\n" \
	"p1 pid=100 root traced python end=50ms status=0 argv serve\n" \
	"t1 p1 tid=100 main name=main end=40ms\n" \
	"t2 p1 tid=101 name=worker end=30ms\n"
#define END "end 50ms status=0\n"

struct told {
	isc_buffer lines;
	uint64_t start_ns;
};

/* Thread, times in microseconds, state and call; what else is known of it. */
static bool write_line(void *self, const isc_thread_interval *i)
{
	struct told *t = self;

	isc_buffer_format(&t->lines, "%u %.0f..%.0f %s %s", i->tid, (double)(i->from_ns - t->start_ns) / 1e3,
			  (double)(i->to_ns - t->start_ns) / 1e3, isc_state_name((enum isc_state)i->state),
			  isc_wait_name(i->call));
	if (i->kind == ISC_INTERVAL_BRIEF)
		isc_buffer_format(&t->lines, " of %u", (unsigned)i->count);
	if (i->holder != 0)
		isc_buffer_format(&t->lines, " for %u", i->holder);
	isc_buffer_format(&t->lines, "%s%s\n", i->stack != 0 ? " at" : "", i->open ? " open" : "");
	return true;
}

static void check_told(const char *events, const char *wanted)
{
	isc_trace *trace = NULL;
	struct told told = {0};
	isc_buffer text = {0};
	isc_walk walk = {0};
	isc_states states;
	isc_waits waits;
	isc_error err = {0};

	isc_buffer_format(&text, "%s%s%s", PROGRAM, events, END);
	CHECK_OK(trace_text_open(text.data, &trace, &err), &err);
	told.start_ns = isc_trace_header(trace)->start_ns;
	isc_waits_init(&waits, trace);
	isc_states_init(&states, &waits, 1);
	isc_states_listen(&states, write_line, &told);
	isc_states_join(&states, &walk);
	CHECK(isc_walk_run(&walk, trace));
	CHECK(isc_states_end(&states, UINT64_MAX));
	CHECK_TEXT(told.lines.data != NULL ? told.lines.data : "", wanted);
	isc_states_fini(&states);
	isc_waits_fini(&waits);
	isc_buffer_fini(&told.lines);
	isc_buffer_fini(&text);
	isc_trace_close(trace);
}

TEST(a_wait_that_is_told_at_both_ends_is_one)
{
	check_told("t1 2ms wait_enter sleep \"nap a.py 1 2\"\nt1 5ms wait_exit sleep 3ms 0 \"nap a.py 1 2\"\n",
		   "100 2000..5000 sleep sleep at\n");
}

TEST(the_place_is_known_when_either_end_tells_it)
{
	check_told("t1 2ms wait_enter recv \"fetch a.py 1 2\"\nt1 5ms wait_exit recv 3ms 0\n",
		   "100 2000..5000 io_wait recv at\n");
}

TEST(a_wait_that_a_thread_jumps_out_of_ends_where_it_runs)
{
	check_told("t1 2ms wait_enter sleep \"nap a.py 1 2\"\nt1 9ms call_enter go a.py 9\n"
		   "t1 12ms wait_exit recv 1ms 0 \"fetch a.py 1 2\"\n",
		   "100 2000..9000 sleep sleep at open\n100 11000..12000 io_wait recv at\n");
	check_told("t1 2ms wait_enter sleep \"nap a.py 1 2\"\nt1 9ms wait_enter recv \"fetch a.py 1 2\"\n"
		   "t1 12ms wait_exit recv 3ms 0 \"fetch a.py 1 2\"\n",
		   "100 2000..9000 sleep sleep at open\n100 9000..12000 io_wait recv at\n");
}

TEST(another_wait_inside_one_does_not_end_it)
{
	check_told("t1 2ms wait_enter sleep \"nap a.py 1 2\"\nt1 4ms wait_exit recv 1ms 0 \"fetch a.py 1 2\"\n"
		   "t1 5ms gc 2 500us 0\nt1 9ms wait_exit sleep 7ms 0 \"nap a.py 1 2\"\n",
		   "100 3000..4000 io_wait recv at\n100 4500..5000 gc gc\n100 2000..9000 sleep sleep at\n");
}

TEST(a_wait_without_an_end_goes_on_to_that_of_its_thread)
{
	check_told("t1 2ms wait_enter sleep \"nap a.py 1 2\"\nt2 3ms wait_enter epoll \"serve a.py 1 2\"\n",
		   "100 2000..40000 sleep sleep at open\n101 3000..30000 idle epoll at open\n");
}

TEST(brief_transfers_did_not_wait_and_other_brief_waits_did)
{
	check_told("t1 9ms wait_brief read 1ms 900\nt1 10ms wait_brief read 1ms 90\nt1 11ms wait_brief gil 1ms 900\n"
		   "t1 12ms wait_brief sem 1ms 900\n",
		   "100 8000..9000 syscall read of 900\n100 9000..10000 io_wait read of 90\n"
		   "100 10000..11000 gil_wait gil of 900\n100 11000..12000 idle sem of 900\n");
}

TEST(who_holds_a_semaphore_decides_and_not_who_was_asked_first)
{
	check_told("t1 2ms wait_exit sem 1ms 101 \"take a.py 1 2\"\nt1 4ms wait_exit sem 1ms 100 \"take a.py 1 2\"\n"
		   "t1 6ms wait_exit sem 1ms 0 \"take a.py 1 2\"\nt1 8ms wait_exit sem 1ms 101 \"take a.py 1 2\"\n",
		   "100 1000..2000 lock_wait sem for 101 at\n100 3000..4000 idle sem for 100 at\n"
		   "100 5000..6000 lock_wait sem at\n100 7000..8000 lock_wait sem for 101 at\n");
}

TEST(a_wait_longer_than_the_session_begins_with_the_clock)
{
	isc_waits waits = {0};
	isc_states states;

	isc_states_init(&states, &waits, 1);
	CHECK_EQ(isc_states_began_ns(&states, 1000, 400), 600);
	CHECK_EQ(isc_states_began_ns(&states, 1000, UINT64_MAX), 0);
}
