/* intervals: the states of each thread side by side, found by a moment. */
#include <math.h>
#include <string.h>

#include "check.h"
#include "analyze/analysis.h"
#include "random_run.h"
#include "timeline/intervals.h"
#include "timeline/spool.h"
#include "trace/kinds.h"

#define ROUNDS 60
#define ROUNDING_US 0.1

static isc_intervals *intervals_of(isc_trace *trace)
{
	isc_intervals *in = NULL;
	isc_walk walk = {0};
	isc_states states;
	isc_waits waits;
	isc_error err = {0};

	isc_waits_init(&waits, trace);
	isc_states_init(&states, &waits, 1);
	isc_states_join(&states, &walk);
	CHECK_OK(isc_intervals_new(trace, &in, &err), &err);
	isc_intervals_join(in, &states, &walk);
	CHECK(isc_walk_run(&walk, trace));
	CHECK(isc_states_end(&states, isc_trace_end_get(trace)->end_ns));
	CHECK_OK(isc_intervals_end(in, &err), &err);
	isc_states_fini(&states);
	isc_waits_fini(&waits);
	return in;
}

static isc_trace *trace_of(const char *text)
{
	isc_trace *trace = NULL;
	isc_error err = {0};

	CHECK_OK(trace_text_open(text, &trace, &err), &err);
	return trace;
}

/* ---- by hand ---- */

#define PROGRAM \
	"meta {\"argv\": [\"serve\"]}\n" \
	"p1 pid=100 root traced python end=50ms status=0 argv serve\n" \
	"t1 p1 tid=100 main name=main start=1ms end=40ms\n" \
	"t2 p1 tid=101 name=worker end=30ms\n"
#define END "end 50ms status=0\n"

/* A line each: times in microseconds, and state or what a sample stands for. */
static void check_lines(const char *events, enum isc_interval_kind kind, uint64_t from_us, const char *wanted)
{
	isc_buffer text = {0}, got = {0};
	const isc_thread_interval *i;
	isc_intervals *in;
	isc_trace *trace;
	uint64_t start;

	isc_buffer_format(&text, "%s%s%s", PROGRAM, events, END);
	trace = trace_of(text.data);
	start = isc_trace_header(trace)->start_ns;
	in = intervals_of(trace);
	for (i = isc_intervals_find(in, 100, kind, start + from_us * 1000); i != NULL; i = isc_intervals_next(in))
		isc_buffer_format(&got, "%.0f..%.0f %s\n", (double)(i->from_ns - start) / 1e3,
				  (double)(i->to_ns - start) / 1e3, isc_state_name((enum isc_state)i->state));
	CHECK_TEXT(got.data != NULL ? got.data : "", wanted);
	isc_intervals_free(in);
	isc_buffer_fini(&got);
	isc_buffer_fini(&text);
	isc_trace_close(trace);
}

TEST(of_two_states_at_once_the_first_counts)
{
	check_lines("t1 5ms wait_exit sem 1ms 101 \"take a.py 1 2\"\nt1 8ms gc 2 6ms 0\n", ISC_INTERVAL_STATE, 0,
		    "1000..2000 other\n2000..8000 gc\n8000..40000 other\n");
	check_lines("t1 5ms gc 2 2ms 0\nt1 8ms wait_exit sem 6ms 101 \"take a.py 1 2\"\n", ISC_INTERVAL_STATE, 0,
		    "1000..2000 other\n2000..3000 lock_wait\n3000..5000 gc\n5000..8000 lock_wait\n8000..40000 other\n");
}

TEST(of_two_alike_the_later_counts_unless_it_lies_inside)
{
	check_lines("t1 8ms wait_exit sleep 4ms 0 \"a a.py 1 2\"\nt1 9ms wait_exit sleep 3ms 0 \"b b.py 1 2\"\n"
		    "t1 20ms wait_exit sleep 1ms 0 \"b b.py 1 2\"\nt1 21ms wait_exit sleep 4ms 0 \"a a.py 1 2\"\n",
		    ISC_INTERVAL_STATE, 0,
		    "1000..4000 other\n4000..6000 sleep\n6000..9000 sleep\n9000..17000 other\n17000..21000 sleep\n"
		    "21000..40000 other\n");
}

TEST(an_interval_is_found_by_a_moment)
{
	static const char events[] = "t1 8ms wait_exit sleep 4ms 0 \"a a.py 1 2\"\nt2 9ms gc 2 1ms 0\n";

	check_lines(events, ISC_INTERVAL_STATE, 5000, "4000..8000 sleep\n8000..40000 other\n");
	check_lines(events, ISC_INTERVAL_STATE, 8000, "4000..8000 sleep\n8000..40000 other\n");
	check_lines(events, ISC_INTERVAL_STATE, 8001, "8000..40000 other\n");
	check_lines(events, ISC_INTERVAL_STATE, 41000, "");
}

TEST(samples_are_apart_from_states)
{
	check_lines("t1 6ms sample 2 1ms \"a a.py 1 2\"\nt1 8ms wait_exit sleep 4ms 0 \"a a.py 1 2\"\n"
		    "t1 9ms sample 1 1ms \"a a.py 1 2\"\n",
		    ISC_INTERVAL_SAMPLE, 0, "4000..6000 other\n8000..9000 other\n");
}

TEST(what_a_thread_tells_lies_in_its_life)
{
	check_lines("t1 2ms wait_exit sleep 9ms 0 \"a a.py 1 2\"\nt1 35ms wait_enter epoll \"a a.py 1 2\"\n",
		    ISC_INTERVAL_STATE, 0, "1000..2000 sleep\n2000..35000 other\n35000..40000 idle\n");
}

/* ---- at random ---- */

#define CELLS 2000 /* of 10 us */
#define CELL_US 10.0

/* In the order in which they count. */
static const struct {
	const char *event;
	enum isc_state state;
} telling[] = {
	{"gc 2 %uus 0", ISC_STATE_GC},
	{"wait_exit gil %uus 101", ISC_STATE_GIL_WAIT},
	{"wait_exit mutex %uus 0", ISC_STATE_LOCK_WAIT},
	{"wait_exit recv %uus 0", ISC_STATE_IO_WAIT},
	{"wait_exit sleep %uus 0", ISC_STATE_SLEEP},
	{"wait_exit cond %uus 0", ISC_STATE_IDLE},
	{"wait_exit yield %uus 0", ISC_STATE_SPIN},
};
#define TELLING (sizeof(telling) / sizeof(telling[0]))

/* Anything at any time, as no program does it; each cell has the rank of the first state that covers it. */
static isc_trace *overlapping_run(uint64_t seed, uint8_t cells[RANDOM_RUN_THREADS][CELLS])
{
	isc_trace *trace;
	isc_buffer text = {0};

	random_state = seed;
	memset(cells, TELLING, RANDOM_RUN_THREADS * CELLS);
	isc_buffer_format(&text, "meta {}\np1 pid=100 root traced end=20ms status=0 argv serve\n");
	for (int t = 0; t < RANDOM_RUN_THREADS; t++)
		isc_buffer_format(&text, "t%d p1 tid=%d name=n%d end=20ms\n", t + 1, 100 + t, t);
	for (int t = 0; t < RANDOM_RUN_THREADS; t++) {
		for (unsigned at = 1 + random_draw(100); at < CELLS; at += 1 + random_draw(100)) {
			unsigned rank = random_draw(TELLING), n = 1 + random_draw(random_draw(2) == 0 ? 20 : 300);

			isc_buffer_format(&text, "t%d %.3fms ", t + 1, at * CELL_US / 1e3);
			isc_buffer_format(&text, telling[rank].event, n * (unsigned)CELL_US);
			isc_buffer_text(&text, "\n");
			for (unsigned cell = at > n ? at - n : 0; cell < at; cell++)
				cells[t][cell] = cells[t][cell] < rank ? cells[t][cell] : (uint8_t)rank;
		}
	}
	isc_buffer_text(&text, "end 20ms status=0\n");
	trace = trace_of(text.data);
	isc_buffer_fini(&text);
	return trace;
}

TEST(at_every_moment_a_thread_is_in_the_first_state_that_it_told_of)
{
	static uint8_t cells[RANDOM_RUN_THREADS][CELLS];

	for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
		isc_trace *trace = overlapping_run(seed, cells);
		isc_intervals *in = intervals_of(trace);
		uint64_t start = isc_trace_header(trace)->start_ns;

		for (unsigned n = 0; n < 500; n++) {
			unsigned t = random_draw(RANDOM_RUN_THREADS), cell = random_draw(CELLS);
			uint64_t ns = start + (uint64_t)((cell + 0.5) * CELL_US * 1e3);
			const isc_thread_interval *i = isc_intervals_find(in, 100 + t, ISC_INTERVAL_STATE, ns);

			CHECK(i != NULL && i->from_ns < ns && i->to_ns >= ns);
			CHECK_EQ(i->state, cells[t][cell] < TELLING ? telling[cells[t][cell]].state : ISC_STATE_OTHER);
		}
		isc_intervals_free(in);
		isc_trace_close(trace);
	}
}

TEST(intervals_of_a_thread_are_its_life_without_gap_or_overlap)
{
	static uint8_t cells[RANDOM_RUN_THREADS][CELLS];

	for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
		isc_trace *trace = overlapping_run(seed, cells);
		isc_intervals *in = intervals_of(trace);
		uint64_t start = isc_trace_header(trace)->start_ns;

		for (uint32_t tid = 100; tid < 100 + RANDOM_RUN_THREADS; tid++) {
			const isc_thread_interval *i = isc_intervals_find(in, tid, ISC_INTERVAL_STATE, 0);
			uint64_t last = start;

			for (; i != NULL; i = isc_intervals_next(in)) {
				CHECK_EQ(i->from_ns, last);
				CHECK(i->to_ns > i->from_ns);
				last = i->to_ns;
			}
			CHECK_EQ(last, start + 20000000);
		}
		isc_intervals_free(in);
		isc_trace_close(trace);
	}
}

/* ---- and the reports ---- */

struct sums {
	double us[RANDOM_RUN_THREADS][ISC_STATES];
};

static void add_intervals(struct sums *s, isc_intervals *in, uint64_t from_ns, uint64_t to_ns)
{
	for (uint32_t t = 0; t < RANDOM_RUN_THREADS; t++) {
		const isc_thread_interval *i = isc_intervals_find(in, 100 + t, ISC_INTERVAL_STATE, from_ns);

		for (; i != NULL && i->from_ns < to_ns; i = isc_intervals_next(in)) {
			uint64_t from = i->from_ns > from_ns ? i->from_ns : from_ns;
			uint64_t to = i->to_ns < to_ns ? i->to_ns : to_ns;

			s->us[t][i->state] += to > from ? (double)(to - from) / 1e3 : 0;
		}
	}
}

/* Of io_wait only what switches saw blocked is waiting. */
static const enum isc_state exact[] = {ISC_STATE_GC, ISC_STATE_LOCK_WAIT, ISC_STATE_SLEEP};

static void check_table(const struct sums *s, const isc_analysis *a)
{
	for (size_t n = 0; n < sizeof(exact) / sizeof(exact[0]); n++) {
		for (size_t i = 0; i < a->thread_count; i++) {
			const isc_analysis_thread *t = &a->threads[i];

			CHECK_NEAR(fmax(t->state_us[exact[n]], 0), s->us[t->tid - 100][exact[n]], ROUNDING_US);
		}
	}
}

/* The verdict looks at what the phases of the program leave of it. */
static void check_breakdown(isc_intervals *in, const isc_analysis *a, uint64_t start_ns)
{
	const isc_analysis_breakdown *judged = &a->breakdown;
	double from_us = a->window.from_us, to_us = a->window.to_us;
	struct sums s = {0};

	if (!judged->known)
		return;
	add_intervals(&s, in, start_ns + (uint64_t)round(from_us * 1e3), start_ns + (uint64_t)round(to_us * 1e3));
	for (size_t n = 0; n < sizeof(exact) / sizeof(exact[0]); n++)
		CHECK_NEAR(fmax(judged->pct[exact[n]], 0) / 100 * (to_us - from_us), s.us[judged->tid - 100][exact[n]],
			   ROUNDING_US);
}

TEST(tables_and_breakdown_of_any_window_have_the_sums_of_its_intervals)
{
	for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
		isc_trace *trace = random_run(seed);
		isc_intervals *in = intervals_of(trace);
		uint64_t start = isc_trace_header(trace)->start_ns;

		for (int part = 0; part < 4; part++) {
			uint32_t from = part > 0 ? random_draw(15000) : 0;
			uint32_t to = part > 0 ? from + 1000 + random_draw(4000) : (uint32_t)RANDOM_RUN_US;
			isc_analysis_options options = {.from_us = from, .to_us = to};
			struct sums sums = {0};
			isc_analysis *a = NULL;
			isc_error err = {0};

			CHECK_OK(isc_analysis_new(trace, part > 0 ? &options : NULL, &a, &err), &err);
			add_intervals(&sums, in, start + from * 1000ull, start + to * 1000ull);
			check_table(&sums, a);
			check_breakdown(in, a, start);
			isc_analysis_free(a);
		}
		isc_intervals_free(in);
		isc_trace_close(trace);
	}
}

TEST(the_verdict_and_the_table_agree_on_a_wait_that_was_jumped_out_of)
{
	isc_trace *trace = trace_of("meta {\"argv\": [\"serve\"], \"waits\": true}\n"
				    "p1 pid=100 root traced python end=50ms status=0 argv serve\n"
				    "t1 p1 tid=100 main name=main end=50ms\n"
				    "t1 2ms wait_enter sleep \"nap a.py 1 2\"\n"
				    "t1 9ms call_enter go a.py 9\n"
				    "t1 45ms call_exit go a.py 9\n" END);
	isc_analysis *a = NULL;
	isc_error err = {0};

	CHECK_OK(isc_analysis_new(trace, NULL, &a, &err), &err);
	CHECK_EQ(a->thread_count, 1);
	CHECK_NEAR(a->threads[0].state_us[ISC_STATE_SLEEP], 7000, ROUNDING_US);
	CHECK_NEAR(a->breakdown.pct[ISC_STATE_SLEEP], 7.0 / 50 * 100, 0.01);
	isc_analysis_free(a);
	isc_trace_close(trace);
}
