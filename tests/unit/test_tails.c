/* tails: why slow scopes are slow, over traces written as text. */
#include "analysis_text.h"

#include "analyze/verdict/whatif.h"

#define WAITS "meta {\"argv\": [\"serve\"], \"perf\": \"ok\", \"waits\": true, \"budget_pct\": 5, \"host\": \"h\"}\n"
#define PROGRAM \
	"p1 pid=100 root traced python end=10s status=0 argv serve\n" \
	"t1 p1 tid=100 main name=main end=10s\n" \
	"t2 p1 tid=101 name=worker end=10s\n"
#define REQUESTS 40

struct script {
	char text[65536];
	int len;
	int at; /* ms */
};

static void say(struct script *s, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct script *s, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	s->len += vsnprintf(s->text + s->len, sizeof(s->text) - (size_t)s->len, format, args);
	va_end(args);
	assert_true((size_t)s->len < sizeof(s->text));
}

static const isc_analysis_scope *scope_of(const isc_analysis *a, const char *name)
{
	for (size_t i = 0; i < a->scope_count; i++) {
		if (text_is(&a->scopes[i].name, name))
			return &a->scopes[i];
	}
	fail_msg("no scope %s", name);
	return NULL;
}

static isc_text text(const char *words)
{
	return (isc_text){words, strlen(words)};
}

static void adds_up(const isc_analysis_scope_group *g)
{
	double sum = 0;

	assert_true(g->count > 0);
	for (int state = 0; state < ISC_STATES; state++)
		sum += g->state_us[state] > 0 ? g->state_us[state] : 0;
	assert_near(sum, g->mean_us);
}

static void cause_is(const isc_analysis_scope *s, size_t i, const char *cause, const char *where, double extra_us)
{
	if (i >= s->cause_count)
		fail_msg("only %zu causes, and no %s", s->cause_count, cause);
	if (strcmp(isc_cause_name(&s->causes[i]), cause) != 0 || !text_is(&s->causes[i].where.name, where))
		fail_msg("cause %zu is %s in %.*s, not %s in %s", i, isc_cause_name(&s->causes[i]),
			 (int)s->causes[i].where.name.len, s->causes[i].where.name.at, cause, where);
	assert_near(s->causes[i].extra_us, extra_us);
}

/* Requests of 10 ms, every tenth of them 20 ms longer; body says what happens then. */
static isc_analysis *requests(void (*body)(struct script *, int begin, bool slow))
{
	static struct script s;

	s = (struct script){.at = 10};
	say(&s, "%s", WAITS PROGRAM "t1 1ms in\n");
	for (int i = 0; i < REQUESTS; i++) {
		bool slow = i % 10 == 7;

		say(&s, "t1 %dms scope_enter request\nt1 %dms call_enter answer /a/m.py 1\n", s.at, s.at);
		body(&s, s.at, slow);
		s.at += slow ? 30 : 10;
		say(&s, "t1 %dms call_exit answer /a/m.py 1 0\nt1 %dms scope_exit request\n", s.at, s.at);
		s.at += 5;
	}
	say(&s, "end 10s status=0\n");
	return analysis_of(s.text);
}

static void wait_for_a_lock(struct script *s, int begin, bool slow)
{
	if (slow)
		say(s, "t1 %dms out\nt1 %dms in\nt1 %dms wait_exit mutex 20ms 101 \"answer /a/m.py 1 7\"\n", begin + 5,
		    begin + 25, begin + 25);
}

static void a_wait_has_its_line_and_its_holder(void **state)
{
	isc_analysis *a = requests(wait_for_a_lock);
	const isc_analysis_scope *s = scope_of(a, "request");

	(void)state;
	assert_int_equal(s->slow.count, 4);
	assert_int_equal(s->all.count, REQUESTS);
	assert_true(s->median.count >= 30);
	assert_int_equal(s->cause_count, 1);
	cause_is(s, 0, "lock_wait", "answer", 20000);
	assert_int_equal(s->causes[0].where.line, 7);
	assert_int_equal(s->causes[0].holder_tid, 101);
	assert_near(s->slow.state_us[ISC_STATE_LOCK_WAIT], 20000);
	assert_near(s->median.state_us[ISC_STATE_LOCK_WAIT], 0);
	adds_up(&s->all);
	adds_up(&s->median);
	adds_up(&s->slow);
	isc_analysis_free(a);
}

/* At the end of the wait the holder is back in handle; while it is waited for it is in lookup, where it sleeps, or runs. */
static void wait_for_lookup(struct script *s, int begin, bool slow, bool sleeps)
{
	if (!slow)
		return;
	if (sleeps)
		say(s, "t2 %dms wait_exit sleep 19ms 0 \"handle /a/h.py 1 3\" \"lookup /a/h.py 10 12\"\n", begin + 24);
	for (int i = 0; i < 4 && !sleeps; i++)
		say(s, "t2 %dms sample 1 5ms \"handle /a/h.py 1 3\" \"lookup /a/h.py 10 12\"\n", begin + 6 + i * 5);
	say(s, "t2 %dms sample 1 1ms \"handle /a/h.py 1 4\"\n", begin + 27);
	say(s, "t1 %dms wait_exit mutex 20ms 101 at \"handle /a/h.py 1 4\" \"answer /a/m.py 1 7\"\n", begin + 25);
}

static void wait_for_a_sleeper(struct script *s, int begin, bool slow)
{
	wait_for_lookup(s, begin, slow, true);
}

static void wait_for_a_worker(struct script *s, int begin, bool slow)
{
	wait_for_lookup(s, begin, slow, false);
}

/* Nothing is known of what it did: where it was at the end is all there is. */
static void wait_for_a_stranger(struct script *s, int begin, bool slow)
{
	if (slow)
		say(s, "t1 %dms wait_exit mutex 20ms 101 at \"handle /a/h.py 1 4\" \"answer /a/m.py 1 7\"\n",
		    begin + 25);
}

static void a_holder_is_where_it_was_while_it_was_waited_for(void **state)
{
	static void (*const bodies[])(struct script *, int, bool) = {wait_for_a_sleeper, wait_for_a_worker,
								     wait_for_a_stranger};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		isc_analysis *a = requests(bodies[i]);
		const isc_analysis_scope *s = scope_of(a, "request");

		cause_is(s, 0, "lock_wait", "answer", 20000);
		assert_true(text_is(&s->causes[0].holder.name, i < 2 ? "lookup" : "handle"));
		assert_int_equal(s->causes[0].holder.line, i < 2 ? 12 : 4);
		isc_analysis_free(a);
	}
}

static void call_retry(struct script *s, int begin, bool slow)
{
	if (slow)
		say(s, "t1 %dms call_enter retry /a/m.py 20\nt1 %dms call_exit retry /a/m.py 20 0\n", begin + 2,
		    begin + 22);
}

static void a_function_has_what_it_took_itself(void **state)
{
	isc_analysis *a = requests(call_retry);
	const isc_analysis_scope *s = scope_of(a, "request");

	(void)state;
	assert_int_equal(s->cause_count, 1);
	cause_is(s, 0, "python", "retry", 20000);
	isc_analysis_free(a);
}

static void collect(struct script *s, int begin, bool slow)
{
	/* A finaliser runs inside the collection: it is still the collection's time. */
	if (slow)
		say(s,
		    "t1 %dms call_enter close /a/m.py 30\nt1 %dms call_exit close /a/m.py 30 0\n"
		    "t1 %dms gc 2 20ms 0\n",
		    begin + 5, begin + 10, begin + 22);
}

static void a_collection_is_garbage_whatever_runs_in_it(void **state)
{
	isc_analysis *a = requests(collect);
	const isc_analysis_scope *s = scope_of(a, "request");

	(void)state;
	cause_is(s, 0, "gc", "answer", 20000);
	adds_up(&s->slow);
	isc_analysis_free(a);
}

static void put_off(struct script *s, int begin, bool slow)
{
	if (slow)
		say(s, "t1 %dms preempt\nt1 %dms in\n", begin + 5, begin + 25);
}

static void a_thread_without_a_cpu_is_told_so(void **state)
{
	isc_analysis *a = requests(put_off);
	const isc_analysis_scope *s = scope_of(a, "request");

	(void)state;
	/* And not as time of the function that happened to be put off. */
	assert_int_equal(s->cause_count, 1);
	cause_is(s, 0, "run_queue", "", 20000);
	adds_up(&s->slow);
	isc_analysis_free(a);
}

/* Every slow one takes 5 ms longer in retry(), and one of four is put off for 60 ms in parse(). */
static void put_off_elsewhere(struct script *s, int begin, bool slow)
{
	static int slow_ones;
	int queued = slow && slow_ones++ % 4 == 2 ? 60 : 0;

	say(s, "t1 %dms call_enter parse /a/m.py 10\n", begin + 1);
	if (queued > 0)
		say(s, "t1 %dms preempt\nt1 %dms in\n", begin + 2, begin + 2 + queued);
	say(s, "t1 %dms call_exit parse /a/m.py 10 0\n", begin + 3 + queued);
	if (slow)
		say(s, "t1 %dms call_enter retry /a/m.py 20\nt1 %dms call_exit retry /a/m.py 20 0\n",
		    begin + 4 + queued, begin + 9 + queued);
	s->at += queued;
}

/* A function in which its thread was put off is as quick as ever: the one that takes longer is named. */
static void time_without_a_cpu_is_no_functions(void **state)
{
	isc_analysis *a = requests(put_off_elsewhere);
	const isc_analysis_scope *s = scope_of(a, "request");

	(void)state;
	cause_is(s, 0, "run_queue", "", 15000);
	for (size_t i = 1; i < s->cause_count; i++)
		assert_false(text_is(&s->causes[i].where.name, "parse"));
	adds_up(&s->slow);
	isc_analysis_free(a);
}

/* The newest frame of the loop is one of the interpreter in every other sample, that of the other function one of a library. */
static void run_both(struct script *s, int begin, bool slow)
{
	static const char *const leaf[] = {"", " \"native long_add /usr/lib/libpython3.11.so.1.0\""};

	if (!slow)
		return;
	say(s, "t1 %dms call_enter loop /a/m.py 10\n", begin + 1);
	for (int i = 0; i < 5; i++)
		say(s, "t1 %dms sample 1 2ms \"answer /a/m.py 1 2\" \"loop /a/m.py 10 11\"%s\n", begin + 2 + 2 * i,
		    leaf[i % 3 > 0]);
	say(s, "t1 %dms call_exit loop /a/m.py 10 0\nt1 %dms call_enter pack /a/m.py 20\n", begin + 13, begin + 13);
	for (int i = 0; i < 3; i++)
		say(s,
		    "t1 %dms sample 1 2ms \"answer /a/m.py 1 2\" \"pack /a/m.py 20 21\" \"native deflate "
		    "/lib/libz.so.1\"\n",
		    begin + 14 + 2 * i);
	say(s, "t1 %dms call_exit pack /a/m.py 20 0\n", begin + 20);
}

static void the_interpreters_own_code_is_python_as_in_breakdowns(void **state)
{
	isc_analysis *a = requests(run_both);
	const isc_analysis_scope *s = scope_of(a, "request");

	(void)state;
	cause_is(s, 0, "python", "loop", 12000);
	cause_is(s, 1, "native", "pack", 7000);
	isc_analysis_free(a);
}

static void both_at_once(struct script *s, int begin, bool slow)
{
	wait_for_a_lock(s, begin, slow);
	say(s, "t1 %dms sample 1 5ms \"answer /a/m.py 1 2\"\n", begin + (slow ? 27 : 3));
}

static void samples_of_groups_are_those_of_their_stacks(void **state)
{
	isc_analysis *a = requests(both_at_once);

	(void)state;
	assert_true(text_is(&a->samples.scope, "request"));
	assert_null(warning_of(a, "no_slow_scopes"));
	assert_int_equal(a->samples.slow_scopes, 4);
	assert_near(a->stacks[0].us_median, 5000);
	assert_near(a->stacks[0].us_slow, 5000);
	isc_analysis_free(a);
}

/* Two in a hundred are slow, the others alike: those are not called slow for company. */
static void many_that_are_alike_do_not_water_down_the_few(void **state)
{
	static struct script s;
	isc_analysis *a;

	(void)state;
	s = (struct script){.at = 10};
	say(&s, "%s", WAITS PROGRAM);
	for (int i = 0; i < 100; i++) {
		int took = i == 30 || i == 60 ? 50 : 10;

		say(&s, "t1 %dms scope_enter step\nt1 %dms scope_exit step\n", s.at, s.at + took);
		s.at += took + 1;
	}
	say(&s, "end 10s status=0\n");
	a = analysis_of(s.text);
	assert_int_equal(scope_of(a, "step")->slow.count, 2);
	assert_near(scope_of(a, "step")->slow.mean_us, 50000);
	assert_near(scope_of(a, "step")->median.mean_us, 10000);
	assert_int_equal(scope_of(a, "step")->slowest_count, 10);
	assert_near(scope_of(a, "step")->slowest[0].dur_us, 50000);
	assert_near(scope_of(a, "step")->slowest[0].start_us, 10000 + 30 * 11000);
	assert_int_equal(scope_of(a, "step")->slowest[1].tid, 100);
	assert_near(scope_of(a, "step")->slowest[2].dur_us, 10000);
	isc_analysis_free(a);
}

static void alike_or_few_have_no_groups(void **state)
{
	static struct script s;
	isc_analysis *a;

	(void)state;
	for (int n = 19; n <= 40; n += 21) {
		s = (struct script){.at = 10};
		say(&s, "%s", WAITS PROGRAM);
		for (int i = 0; i < n; i++) {
			int took = n == 19 && i == 5 ? 50 : 10;

			say(&s, "t1 %dms scope_enter step\nt1 %dms scope_exit step\n", s.at, s.at + took);
			s.at += took + 1;
		}
		say(&s, "end 10s status=0\n");
		a = analysis_of(s.text);
		assert_int_equal(scope_of(a, "step")->slow.count, 0);
		assert_int_equal(scope_of(a, "step")->cause_count, 0);
		assert_int_equal(scope_of(a, "step")->all.count, n);
		isc_analysis_free(a);
	}
}

static void scopes_inside_have_their_part(void **state)
{
	static struct script s;
	const isc_analysis_scope *request;
	isc_analysis *a;

	(void)state;
	s = (struct script){.at = 10};
	say(&s, "%s", WAITS PROGRAM "t1 1ms in\n");
	for (int i = 1; i <= 40; i++) {
		int more = i % 10 == 7 ? 20 : 0, id = i * 4;

		say(&s, "t1 %dms span_enter request %d\nt1 %dms span_enter prefill %d %d\n", s.at, id, s.at, id + 1,
		    id);
		say(&s, "t1 %dms span_exit prefill %d 4ms\nt1 %dms span_enter decode %d %d\n", s.at + 4, id + 1,
		    s.at + 4, id + 2, id);
		/* One deeper is the decode's. */
		say(&s, "t1 %dms span_enter token %d %d\n", s.at + 5, id + 3, id + 2);
		if (more > 0)
			say(&s, "t1 %dms out\nt1 %dms in\nt1 %dms wait_exit sleep 20ms 0 \"wait /a/m.py 9 9\"\n",
			    s.at + 5, s.at + 25, s.at + 25);
		say(&s, "t1 %dms span_exit token %d %dms\n", s.at + 6 + more, id + 3, 1 + more);
		s.at += 10 + more;
		say(&s, "t1 %dms span_exit decode %d %dms\n", s.at, id + 2, 6 + more);
		say(&s, "t1 %dms span_exit request %d %dms\n", s.at, id, 10 + more);
		s.at += 5;
	}
	say(&s, "end 10s status=0\n");
	a = analysis_of(s.text);
	request = scope_of(a, "request");
	cause_is(request, 0, "sleep", "wait", 20000);
	cause_is(scope_of(a, "decode"), 0, "sleep", "wait", 20000);
	cause_is(scope_of(a, "token"), 0, "sleep", "wait", 20000);
	assert_int_equal(scope_of(a, "prefill")->cause_count, 0);
	assert_int_equal(request->nested_count, 2);
	assert_true(text_is(&request->nested[0].name, "decode") && text_is(&request->nested[1].name, "prefill"));
	assert_int_equal(request->nested[0].count, 40);
	assert_near(request->nested[0].us_median, 6000);
	assert_near(request->nested[0].us_slow, 26000);
	assert_near(request->nested[1].us_slow, 4000);
	isc_analysis_free(a);
}

/* A task waits for a part that runs in a pool; threads are read in runs, so either may come first. */
static void waiting_for_another_thread_is_what_that_did(void **state)
{
	static const char *const orders[] = {"t1t2", "t2t1"};
	static struct script s;

	(void)state;
	for (int order = 0; order < 2; order++) {
		const isc_analysis_scope *request;
		isc_analysis *a;

		s = (struct script){0};
		say(&s, "%s", WAITS PROGRAM);
		for (int half = 0; half < 2; half++) {
			bool loop = (orders[order][half * 2 + 1] == '1');

			s.at = 10;
			for (int i = 1; i <= 40; i++) {
				int more = i % 10 == 7 ? 20 : 0, id = i * 2;

				if (loop) {
					say(&s, "t1 %dms task Task-%d\nt1 %dms span_enter request %d\n", s.at, i, s.at,
					    id);
					say(&s, "t1 %dms task none\n", s.at + 1);
					say(&s, "t1 %dms wait_exit epoll %dms\n", s.at + 9 + more, 8 + more);
					say(&s, "t1 %dms task Task-%d\n", s.at + 9 + more, i);
					say(&s, "t1 %dms span_exit request %d %dms\n", s.at + 10 + more, id, 10 + more);
					say(&s, "t1 %dms task none\n", s.at + 10 + more);
				} else {
					say(&s, "t2 %dms span_enter fetch %d %d\n", s.at + 1, id + 1, id);
					if (more > 0)
						say(&s, "t2 %dms wait_exit recv 20ms 0 \"get /a/m.py 9 9\"\n",
						    s.at + 25);
					say(&s, "t2 %dms span_exit fetch %d %dms\n", s.at + 9 + more, id + 1, 8 + more);
				}
				s.at += 15 + more;
			}
		}
		say(&s, "end 10s status=0\n");
		a = analysis_of(s.text);
		request = scope_of(a, "request");
		cause_is(request, 0, "io_wait", "get", 20000);
		assert_int_equal(request->nested_count, 1);
		adds_up(&request->slow);
		assert_near(request->slow.state_us[ISC_STATE_IDLE] + 20000, 20000);
		isc_analysis_free(a);
	}
}

/* One task keeps the loop from all others. */
static void a_loop_that_others_have_is_named(void **state)
{
	static struct script s;
	isc_analysis *a;

	(void)state;
	s = (struct script){.at = 10};
	say(&s, "%s", WAITS PROGRAM);
	for (int i = 1; i <= 40; i++) {
		int more = i % 10 == 7 ? 20 : 0;

		say(&s, "t1 %dms task Task-%d\nt1 %dms span_enter request %d\n", s.at, i, s.at, i);
		say(&s, "t1 %dms task none\n", s.at + 1);
		if (more > 0)
			say(&s,
			    "t1 %dms task Task-100\nt1 %dms call_resume dump /a/m.py 50\nt1 %dms call_exit dump "
			    "/a/m.py 50 0\n"
			    "t1 %dms task none\n",
			    s.at + 1, s.at + 1, s.at + 21, s.at + 21);
		say(&s, "t1 %dms wait_exit epoll 7ms\nt1 %dms task Task-%d\n", s.at + 9 + more, s.at + 9 + more, i);
		say(&s, "t1 %dms span_exit request %d %dms\nt1 %dms task none\n", s.at + 10 + more, i, 10 + more,
		    s.at + 10 + more);
		s.at += 15 + more;
	}
	say(&s, "end 10s status=0\n");
	a = analysis_of(s.text);
	cause_is(scope_of(a, "request"), 0, "event_loop", "dump", 20000);
	adds_up(&scope_of(a, "request")->slow);
	isc_analysis_free(a);
}

/* The driver sleeps, or looks again and again: in a call that returns when the device is done both are waiting for it. */
static void what_a_call_for_a_device_waits_for_is_the_device(void **state)
{
	isc_analysis *a = analysis_of(
		WAITS PROGRAM "t1 10ms scope_enter request\n"
			      "t1 30ms wait_exit sleep 19ms\n"
			      "t1 31ms gpu_call sync cudaDeviceSynchronize 10.5ms 31ms 0 holds \"step /a/m.py 3 9\"\n"
			      "t2 32ms gpu_work kernel gemm 0 11ms 30ms 0\n"
			      "t1 34ms wait_exit sleep 1ms\n"
			      "t1 35ms scope_exit request\n"
			      "t1 40ms scope_enter request\nt1 42ms scope_exit request\nend 10s status=0\n");
	const isc_analysis_scope *s = scope_of(a, "request");
	isc_analysis_frame where = {.name = text("step"), .file = text("/a/m.py"), .line = 9};
	isc_text request = text("request");

	(void)state;
	assert_near(s->all.state_us[ISC_STATE_GPU_WAIT], 20500.0 / 2);
	assert_near(s->all.state_us[ISC_STATE_SLEEP], 1000.0 / 2);
	assert_near(isc_whatif_bound(a, &request, ISC_STATE_GPU_WAIT, &where), 20500.0 / 2);
	adds_up(&s->all);
	/* The thread is judged by the same. */
	assert_near(a->breakdown.pct[ISC_STATE_GPU_WAIT], 20.5 / 27 * 100);
	assert_near(a->breakdown.pct[ISC_STATE_SLEEP], 1 / 27.0 * 100);
	isc_analysis_free(a);
}

/* What is open when events are lost may have ended: its time is nobody's. */
static void scopes_around_a_loss_are_left_out(void **state)
{
	isc_analysis *a = analysis_of(WAITS PROGRAM "t1 1ms scope_enter request\n"
						    "t1 lose 3\n"
						    "t1 5ms scope_exit request\n"
						    "t1 6ms scope_enter request\nt1 8ms scope_exit request\n"
						    "end 10s status=0\n");

	(void)state;
	assert_int_equal(scope_of(a, "request")->all.count, 1);
	assert_near(scope_of(a, "request")->all.mean_us, 2000);
	isc_analysis_free(a);
}

static void what_is_not_waited_for_is_saved(void **state)
{
	isc_analysis *a = requests(wait_for_a_lock);
	isc_analysis_frame where = {.name = text("answer"), .file = text("/a/m.py"), .line = 7};
	isc_text request = text("request"), nothing = text("nothing");

	(void)state;
	/* 20 ms in four of forty. */
	assert_near(isc_whatif_bound(a, &request, ISC_STATE_LOCK_WAIT, NULL), 2000);
	assert_near(isc_whatif_bound(a, &request, ISC_STATE_LOCK_WAIT, &where), 2000);
	assert_near(isc_whatif_bound(a, &request, ISC_STATE_SLEEP, NULL), 0);
	/* The function has its own 10 ms too, which is all there is. */
	assert_near(isc_whatif_function(a, &request, &where), 12000);
	where.line = 8;
	assert_near(isc_whatif_bound(a, &request, ISC_STATE_LOCK_WAIT, &where), 0);
	assert_true(isc_whatif_bound(a, &nothing, ISC_STATE_LOCK_WAIT, NULL) < 0);
	isc_analysis_free(a);
}

/* Two parts run at once, of 28 and 8 ms; without the 20 ms that one of them waits, 20 are saved: more than its
 * part in the sum of both. */
static void one_of_two_that_run_at_once_may_save_all_of_its_time(void **state)
{
	static struct script s;
	isc_text request = text("request");
	isc_analysis *a;

	(void)state;
	s = (struct script){.at = 10};
	say(&s, "%s", WAITS PROGRAM "t3 p1 tid=102 name=other end=10s\n");
	for (int i = 1; i <= 10; i++) {
		int id = i * 3;

		say(&s, "t1 %dms task Task-%d\nt1 %dms span_enter request %d\n", s.at, i, s.at, id);
		say(&s, "t1 %dms task none\n", s.at);
		say(&s, "t2 %dms span_enter fetch %d %d\n", s.at, id + 1, id);
		say(&s, "t2 %dms wait_exit recv 20ms 0 \"get /a/m.py 9 9\"\n", s.at + 20);
		say(&s, "t2 %dms span_exit fetch %d 28ms\n", s.at + 28, id + 1);
		say(&s, "t3 %dms span_enter fetch %d %d\nt3 %dms span_exit fetch %d 8ms\n", s.at, id + 2, id, s.at + 8,
		    id + 2);
		say(&s, "t1 %dms wait_exit epoll 28ms\nt1 %dms task Task-%d\n", s.at + 28, s.at + 28, i);
		say(&s, "t1 %dms span_exit request %d 28ms\nt1 %dms task none\n", s.at + 28, id, s.at + 28);
		s.at += 30;
	}
	say(&s, "end 10s status=0\n");
	a = analysis_of(s.text);
	assert_near(isc_whatif_bound(a, &request, ISC_STATE_IO_WAIT, NULL), 20000);
	adds_up(&scope_of(a, "request")->all);
	isc_analysis_free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_wait_has_its_line_and_its_holder),
		cmocka_unit_test(a_holder_is_where_it_was_while_it_was_waited_for),
		cmocka_unit_test(a_function_has_what_it_took_itself),
		cmocka_unit_test(a_collection_is_garbage_whatever_runs_in_it),
		cmocka_unit_test(a_thread_without_a_cpu_is_told_so),
		cmocka_unit_test(time_without_a_cpu_is_no_functions),
		cmocka_unit_test(the_interpreters_own_code_is_python_as_in_breakdowns),
		cmocka_unit_test(samples_of_groups_are_those_of_their_stacks),
		cmocka_unit_test(many_that_are_alike_do_not_water_down_the_few),
		cmocka_unit_test(alike_or_few_have_no_groups),
		cmocka_unit_test(scopes_inside_have_their_part),
		cmocka_unit_test(waiting_for_another_thread_is_what_that_did),
		cmocka_unit_test(a_loop_that_others_have_is_named),
		cmocka_unit_test(what_a_call_for_a_device_waits_for_is_the_device),
		cmocka_unit_test(scopes_around_a_loss_are_left_out),
		cmocka_unit_test(what_is_not_waited_for_is_saved),
		cmocka_unit_test(one_of_two_that_run_at_once_may_save_all_of_its_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
