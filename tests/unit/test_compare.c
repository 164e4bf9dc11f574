/* compare: sets of runs, what differs between them and what is noise, over traces written as text. */
#include "check.h"
#include "analysis_text.h"

#include "analyze/compare/compare.h"
#include "report/diff/diff.h"
#include "report/report.h"

#define RUNS 4

static char texts[2][RUNS][16384];
static isc_analysis *runs[2][RUNS];

/* Requests of so many ms, sleep of it, on a machine. */
static isc_analysis *run_of(char *text, int ms, int sleep_ms, int requests, const char *cpu)
{
	int at = 10, len = 0;

	len += sprintf(
		text,
		"meta {\"argv\": [\"serve\"], \"perf\": \"ok\", \"waits\": true, \"host\": \"h\", \"cpu\": \"%s\", "
		"\"cpus\": 4}\n"
		"p1 pid=100 root traced python end=5s status=0 argv serve\nt1 p1 tid=100 main name=main end=5s\n",
		cpu);
	for (int i = 0; i < requests; i++) {
		len += sprintf(text + len, "t1 %dms scope_enter request\nt1 %dms call_enter answer /a/m.py 1\n", at,
			       at);
		len += sprintf(text + len, "t1 %dms call_enter load /a/m.py 9\n", at);
		if (sleep_ms > 0)
			len += sprintf(text + len, "t1 %dms wait_exit sleep %dms 0 \"load /a/m.py 9 9\"\n",
				       at + sleep_ms, sleep_ms);
		len += sprintf(text + len, "t1 %dms call_exit load /a/m.py 9 0\n", at + sleep_ms);
		len += sprintf(text + len, "t1 %dms call_exit answer /a/m.py 1 0\nt1 %dms scope_exit request\n",
			       at + ms, at + ms);
		at += ms + 1;
	}
	sprintf(text + len, "end 5s status=0\n");
	return analysis_of(text);
}

static isc_comparison compared(size_t n, isc_arena **arena, isc_run_set sets[2])
{
	isc_comparison c;
	isc_error err = {0};

	*arena = isc_arena_new();
	sets[0] = (isc_run_set){runs[0], n};
	sets[1] = (isc_run_set){runs[1], n};
	CHECK_OK(isc_compare(&sets[0], &sets[1], *arena, &c, &err), &err);
	return c;
}

static void done(size_t n, isc_arena *arena)
{
	isc_arena_free(arena);
	for (size_t i = 0; i < n; i++) {
		isc_analysis_free(runs[0][i]);
		isc_analysis_free(runs[1][i]);
	}
}

static const isc_scope_change *request_in(const isc_comparison *c)
{
	CHECK_EQ(c->scope_count, 1);
	return &c->scopes[0];
}

TEST(a_slower_scope_has_its_function_and_its_state)
{
	isc_arena *arena;
	isc_run_set sets[2];
	isc_comparison c;
	isc_buffer out = {0};
	isc_diff d;

	runs[0][0] = run_of(texts[0][0], 20, 5, 30, "x");
	runs[1][0] = run_of(texts[1][0], 30, 15, 30, "x");
	c = compared(1, &arena, sets);
	CHECK_EQ(isc_change_direction(&request_in(&c)->p50), 1);
	CHECK_EQ(isc_change_direction(&request_in(&c)->count), 0);
	CHECK(!(request_in(&c)->p50.measured));
	assert_near(request_in(&c)->fresh_us[ISC_STATE_SLEEP] - request_in(&c)->base_us[ISC_STATE_SLEEP], 10000);
	CHECK_EQ(c.function_count, 1);
	CHECK(text_is(&c.functions[0].subject, "load") && c.functions[0].function->line == 9);
	assert_near(c.functions[0].fresh - c.functions[0].base, 300e3);
	d = (isc_diff){.comparison = c};
	CHECK_OK(isc_diff_write(&d, ISC_REPORT_MARKDOWN, &out, NULL));
	CHECK(strstr(out.data, "request is slower: p50") != NULL);
	CHECK(strstr(out.data, "| sleep | 5.00 ms | 15.0 ms | +10.0 ms |") != NULL);
	isc_buffer_fini(&out);
	done(1, arena);
}

/* Runs of one set that differ by 20% make a difference of 10% say nothing; with steady ones it is real. */
TEST(noise_is_what_runs_of_a_set_differ_by)
{
	static const int noisy[2][RUNS] = {{20, 26, 18, 24}, {22, 27, 21, 26}},
			 steady[2][RUNS] = {{20, 20, 20, 20}, {22, 22, 22, 22}};

	for (int kind = 0; kind < 2; kind++) {
		isc_arena *arena;
		isc_run_set sets[2];
		isc_comparison c;

		for (int i = 0; i < RUNS; i++) {
			for (int set = 0; set < 2; set++)
				runs[set][i] =
					run_of(texts[set][i], kind == 0 ? noisy[set][i] : steady[set][i], 5, 30, "x");
		}
		c = compared(RUNS, &arena, sets);
		CHECK(request_in(&c)->mean.measured);
		CHECK_EQ(isc_change_direction(&request_in(&c)->mean), kind);
		done(RUNS, arena);
	}
}

TEST(more_requests_are_no_slower_function)
{
	isc_arena *arena;
	isc_run_set sets[2];
	isc_comparison c;

	runs[0][0] = run_of(texts[0][0], 20, 5, 30, "x");
	runs[1][0] = run_of(texts[1][0], 20, 5, 60, "x");
	c = compared(1, &arena, sets);
	CHECK(text_is(&c.per, "request"));
	CHECK_EQ(c.function_count, 0);
	CHECK_EQ(isc_change_direction(&request_in(&c)->p50), 0);
	CHECK_EQ(isc_change_direction(&request_in(&c)->count), 1);
	done(1, arena);
}

TEST(other_machines_are_told)
{
	isc_run_set sets[2] = {{runs[0], 1}, {runs[1], 1}};
	isc_error err = {0};

	runs[0][0] = run_of(texts[0][0], 20, 5, 3, "x");
	runs[1][0] = run_of(texts[1][0], 20, 5, 3, "y");
	CHECK_EQ(isc_compare_machines(&sets[0], &sets[1], &err), ISC_ERR_INVALID);
	CHECK(strstr(err.what, "processors x and y") != NULL);
	CHECK_EQ(warning_of(runs[0][0], "no_clock"), NULL);
	isc_analysis_free(runs[1][0]);
	runs[1][0] = run_of(texts[1][0], 20, 5, 3, "x");
	CHECK_OK(isc_compare_machines(&sets[0], &sets[1], &err), &err);
	done(1, NULL);
}
