/* tail_holes: who is at fault when calls were not recorded, over traces written as text. */
#include "analysis_text.h"

#include <math.h>

#include "analyze/picture/lanes.h"
#include "analyze/time/unseen.h"

#undef META
#define META \
	"meta {\"argv\": [\"serve\"], \"perf\": \"ok\", \"waits\": true, \"budget_pct\": 5, \"host\": \"h\"}\n" \
	"p1 pid=100 root traced python end=700ms status=0 argv serve\n" \
	"t1 p1 tid=100 main name=main end=700ms\n"
#define REQUESTS 40
#define DEEPEST 4

/*
 * A server: <module> calls main, which calls handle() for requests of 10 ms; that calls parse() for 5 ms and, in every
 * tenth, cull() for 20 ms more.  What of that is recorded a test chooses; samples see all of it.
 */
struct server {
	int paused_from, paused_to; /* ms: calls are not recorded then; 0: never */
	int burst;		    /* in that time so many ms of 50 are recorded all the same */
	bool gated;		    /* but for calls of handle(), which units begin with */
	bool nibbled;		    /* nor in the last millisecond of slow requests */
	bool all_nibbled;	    /* nor in that of any request */
	bool governed;		    /* cull() is not recorded from the first call on */
	bool counted;		    /* but each of its calls is counted, as before Python 3.12 */
	bool hidden;		    /* cull() is not recorded while slow requests run */
	int step;		    /* ms between samples; 0: none */
	bool weightless;	    /* they stand for no time */
};

static const char *const functions[] = {"<module> /a/m.py 1", "main /a/m.py 5", "handle /a/m.py 20", "parse /a/m.py 40",
					"cull /a/m.py 60"};
enum { MODULE, MAIN, HANDLE, PARSE, CULL };

/* What is on the stack at a moment: how deep, and which functions. */
static int stack_at(int ms, int *stack, bool *begins, bool *ends)
{
	int at = 10, n = 0;

	stack[n++] = MODULE;
	stack[n++] = MAIN;
	*begins = *ends = false;
	for (int i = 0; i < REQUESTS && at <= ms; i++) {
		int took = i % 10 == 7 ? 30 : 10;

		*begins |= ms == at;
		*ends |= ms == at + took;
		if (ms >= at && ms < at + took) {
			stack[n++] = HANDLE;
			if (ms >= at + 2 && ms < at + 7)
				stack[n++] = PARSE;
			else if (took == 30 && ms >= at + 7 && ms < at + 27)
				stack[n++] = CULL;
		}
		at += took + 5;
	}
	return n;
}

/* Is it in the last so many milliseconds of a request, of slow ones or of any? */
static bool is_last(int ms, int last, bool any)
{
	int at = 10, took;

	for (int i = 0; i < REQUESTS; i++) {
		took = i % 10 == 7 ? 30 : 10;
		if ((took == 30 || any) && ms >= at + took - last && ms < at + took)
			return true;
		at += took + 5;
	}
	return false;
}

static bool is_slow(int ms)
{
	return is_last(ms, 30, false);
}

static bool is_paused(const struct server *s, int ms)
{
	if ((s->nibbled || s->all_nibbled) && is_last(ms, 1, s->all_nibbled))
		return true;
	return ms >= s->paused_from && ms < s->paused_to && (ms - s->paused_from) % 50 >= s->burst;
}

static void say_call(isc_buffer *out, const struct server *s, int ms, const char *what, int function)
{
	if ((is_paused(s, ms) && !(s->gated && function == HANDLE)) || ((s->governed || s->hidden) && function == CULL))
		return;
	isc_buffer_format(out, "t1 %dms %s %s%s\n", ms, what, functions[function],
			  strcmp(what, "call_exit") == 0 ? " 0" : "");
}

static void say_sample(isc_buffer *out, const struct server *s, int ms, const int *stack, int depth)
{
	isc_buffer_format(out, "t1 %d.5ms sample 1 %dms", ms, s->weightless ? 0 : s->step);
	for (int i = 0; i < depth; i++)
		isc_buffer_format(out, " \"%s 0\"", functions[stack[i]]);
	isc_buffer_text(out, "\n");
}

static isc_analysis *serve(const struct server *s, const isc_analysis_options *options)
{
	int stack[DEEPEST], now[DEEPEST], depth = 0, end = 10 + REQUESTS * 15 + 4 * 20;
	isc_buffer text = {0};
	bool paused = false;
	isc_analysis *a;

	isc_buffer_text(&text, META "t1 1ms in\n");
	if (s->governed)
		isc_buffer_format(&text, "t1 1ms governed %s %d\n", functions[CULL],
				  s->counted ? ISC_GOVERNED_COUNTED : ISC_GOVERNED_OFF);
	for (int ms = 2; ms <= end; ms++) {
		bool begins, ends;
		int n = stack_at(ms, now, &begins, &ends), same = 0;

		if (is_paused(s, ms) != paused) {
			paused = !paused;
			isc_buffer_format(&text, "t1 %dms governed all %d\n", ms,
					  paused ? (s->gated ? ISC_GOVERNED_GATED : ISC_GOVERNED_OFF)
						 : ISC_GOVERNED_TRACED);
		}
		if (s->hidden && is_slow(ms) != is_slow(ms - 1))
			isc_buffer_format(&text, "t1 %dms governed %s %d\n", ms, functions[CULL],
					  is_slow(ms) ? ISC_GOVERNED_OFF : ISC_GOVERNED_TRACED);
		while (same < n && same < depth && now[same] == stack[same])
			same++;
		for (int i = depth; i > same; i--)
			say_call(&text, s, ms, "call_exit", stack[i - 1]);
		if (ends)
			isc_buffer_format(&text, "t1 %dms scope_exit request\n", ms);
		if (begins)
			isc_buffer_format(&text, "t1 %dms scope_enter request\n", ms);
		for (int i = same; i < n; i++)
			say_call(&text, s, ms, "call_enter", now[i]);
		memcpy(stack, now, sizeof(stack));
		depth = n;
		if (s->step > 0 && ms % s->step == 0)
			say_sample(&text, s, ms, now, n);
	}
	isc_buffer_text(&text, "end 700ms status=0\n");
	a = options != NULL ? analysis_with(text.data, options) : analysis_of(text.data);
	isc_buffer_fini(&text);
	return a;
}

static const isc_analysis_scope *request_of(const isc_analysis *a)
{
	assert_int_equal(a->scope_count, 1);
	assert_int_equal(a->scopes[0].slow.count, 4);
	return &a->scopes[0];
}

/* No cause exceeds what slow ones take more, nor do all of them; nothing saves more than a request has. */
static void estimates_fit(const isc_analysis *a)
{
	const isc_analysis_scope *s = request_of(a);
	double more = s->slow.mean_us - s->median.mean_us, sum = 0;

	for (size_t i = 0; i < s->cause_count; i++)
		sum += s->causes[i].extra_us;
	if (sum > more * 1.15)
		fail_msg("causes have %f of %f us", sum, more);
	for (size_t i = 0; i < s->what_if_count; i++)
		assert_true(s->what_if[i].saves_at_most_us <= s->all.mean_us * 1.0001);
}

static void blames(const struct server *s, const char *cause, const char *where)
{
	isc_analysis *a = serve(s, NULL);
	const isc_analysis_scope *request = request_of(a);

	if (request->cause_count == 0)
		fail_msg("nobody is blamed, not %s", where);
	if (!text_is(&request->causes[0].where.name, where) || strcmp(isc_cause_name(&request->causes[0]), cause) != 0)
		fail_msg("%s in %.*s is blamed, not %s in %s", isc_cause_name(&request->causes[0]),
			 (int)request->causes[0].where.name.len, request->causes[0].where.name.at, cause, where);
	assert_null(warning_of(a, "unknown_stacks"));
	estimates_fit(a);
	isc_analysis_free(a);
}

/* Whoever is named is at fault; a test where little is seen may also name nobody. */
static void never_blames_another(const struct server *s)
{
	isc_analysis *a = serve(s, NULL);
	const isc_analysis_scope *request = request_of(a);

	for (size_t i = 0; i < request->cause_count; i++) {
		const isc_analysis_cause *c = &request->causes[i];

		/* What is under a tenth of it is chance. */
		if (c->extra_us > 2000 && !c->not_seen && !text_is(&c->where.name, "cull"))
			fail_msg("%s in %.*s is blamed for %f us", isc_cause_name(c), (int)c->where.name.len,
				 c->where.name.at, c->extra_us);
	}
	estimates_fit(a);
	isc_analysis_free(a);
}

static void with_all_calls_the_one_at_fault_is_named(void **state)
{
	(void)state;
	blames(&(struct server){0}, "python", "cull");
	blames(&(struct server){.step = 5}, "python", "cull");
}

static void in_a_pause_samples_name_the_same(void **state)
{
	(void)state;
	blames(&(struct server){.paused_from = 5, .paused_to = 10000, .step = 5}, "python", "cull");
	blames(&(struct server){.paused_from = 300, .paused_to = 10000, .step = 5}, "python", "cull");
	blames(&(struct server){.paused_from = 5, .paused_to = 400, .step = 5}, "python", "cull");
}

/* handle() is open in it from its first call on, and is not the one. */
static void in_a_gate_samples_name_the_same(void **state)
{
	(void)state;
	blames(&(struct server){.paused_from = 5, .paused_to = 10000, .gated = true, .step = 5}, "python", "cull");
	blames(&(struct server){.paused_from = 300, .paused_to = 10000, .gated = true, .step = 5}, "python", "cull");
	blames(&(struct server){.paused_from = 5, .paused_to = 10000, .gated = true, .step = 0}, "not_seen", "");
	for (int burst = 3; burst < 50; burst += 7)
		never_blames_another(&(struct server){
			.paused_from = 5, .paused_to = 10000, .gated = true, .burst = burst, .step = 5});
}

/* Whole requests are the others alone: what differs may be what was recorded. */
static void where_recording_saw_more_of_the_others_samples_decide(void **state)
{
	(void)state;
	blames(&(struct server){.nibbled = true, .step = 0}, "not_seen", "");
	blames(&(struct server){.nibbled = true, .step = 5}, "python", "cull");
	/* handle() seems to take longer, as cull() is missing. */
	blames(&(struct server){.hidden = true, .step = 0}, "not_seen", "");
	blames(&(struct server){.hidden = true, .step = 5}, "python", "cull");
}

/* A tenth of a request at most is missing: its calls are still evidence. */
static void a_short_gap_leaves_the_calls_of_a_scope(void **state)
{
	(void)state;
	blames(&(struct server){.all_nibbled = true, .step = 0}, "python", "cull");
}

/* Those in the pause would dilute what cull() takes. */
static void whole_scopes_are_compared_with_whole_ones(void **state)
{
	isc_analysis *a = serve(&(struct server){.paused_from = 5, .paused_to = 130}, NULL);
	const isc_analysis_scope *s = request_of(a);

	(void)state;
	assert_int_equal(s->cause_count, 1);
	assert_true(text_is(&s->causes[0].where.name, "cull"));
	assert_near(s->causes[0].extra_us, 20e3);
	isc_analysis_free(a);
}

static void below_four_samples_nobody_is_named(void **state)
{
	(void)state;
	blames(&(struct server){.paused_from = 5, .paused_to = 10000, .step = 20}, "python", "cull");
	blames(&(struct server){.paused_from = 5, .paused_to = 10000, .step = 64}, "not_seen", "");
	blames(&(struct server){.paused_from = 5, .paused_to = 10000, .step = 0}, "not_seen", "");
}

static void bursts_between_pauses_blame_nobody_else(void **state)
{
	(void)state;
	for (int burst = 3; burst < 50; burst += 7) {
		for (int step = 0; step <= 10; step += 5)
			never_blames_another(
				&(struct server){.paused_from = 5, .paused_to = 10000, .burst = burst, .step = step});
	}
}

/* handle() is open all the time that cull() takes, and was not the one. */
static void a_governed_function_is_a_hole_in_its_caller(void **state)
{
	(void)state;
	blames(&(struct server){.governed = true, .step = 5}, "python", "cull");
	/* One sample in each slow one. */
	blames(&(struct server){.governed = true, .step = 10}, "python", "cull");
	blames(&(struct server){.governed = true, .counted = true, .step = 5}, "python", "cull");
}

/* As in a file that is not ours. */
static void samples_that_stand_for_no_time_take_none_away(void **state)
{
	isc_analysis *a = serve(&(struct server){.governed = true, .weightless = true, .step = 5}, NULL);
	const isc_analysis_scope *s = request_of(a);
	double sum = 0;

	(void)state;
	for (size_t i = 0; i < s->what_if_count; i++)
		sum += s->what_if[i].saves_at_most_us;
	assert_true(isfinite(sum) && sum > s->all.mean_us * 0.9);
	isc_analysis_free(a);
}

/* main() runs a request itself: 20 ms, and for slow ones more. */
struct plain {
	const char *before, *after; /* of main(): lines */
	const char *slow_call;	    /* what slow ones call for that; NULL: nothing */
	int slow_ms;
	bool blocked; /* slow ones have no CPU then, and no event says why */
	bool sampled; /* each has a sample in main() */
};

static isc_analysis *serve_plain(const struct plain *s)
{
	isc_buffer text = {0};
	isc_analysis *a;
	int ms = 10;

	isc_buffer_format(
		&text,
		"meta {\"argv\": [\"serve\"], \"perf\": \"ok\", \"waits\": true, \"budget_pct\": 5, \"host\": \"h\"}\n"
		"p1 pid=100 root traced python end=2s status=0 argv serve\nt1 p1 tid=100 main name=main end=2s\n"
		"t1 1ms in\nt1 1ms call_enter <module> /a/m.py 1\n%st1 6ms call_enter main /a/m.py 5\n%s",
		s->before, s->after != NULL ? s->after : "");
	for (int i = 0; i < REQUESTS; i++) {
		int more = i % 10 == 7 ? s->slow_ms : 0;

		isc_buffer_format(&text, "t1 %dms scope_enter request\n", ms);
		if (s->sampled)
			isc_buffer_format(
				&text, "t1 %dms sample 1 20ms \"<module> /a/m.py 1 2\" \"main /a/m.py 5 6\"\n", ms + 5);
		ms += 20;
		if (more > 0 && s->slow_call != NULL)
			isc_buffer_format(&text, "t1 %dms call_enter %s\nt1 %dms call_exit %s 0\n", ms, s->slow_call,
					  ms + more, s->slow_call);
		if (more > 0 && s->blocked)
			isc_buffer_format(&text, "t1 %dms out\nt1 %dms in\n", ms, ms + more);
		ms += more;
		isc_buffer_format(&text, "t1 %dms scope_exit request\n", ms);
		ms += 2;
	}
	isc_buffer_text(&text, "end 2s status=0\n");
	a = analysis_of(text.data);
	isc_buffer_fini(&text);
	return a;
}

static void plain_blames(const struct plain *p, const char *cause, const char *where)
{
	isc_analysis *a = serve_plain(p);
	const isc_analysis_scope *s = request_of(a);

	if (s->cause_count != 1)
		fail_msg("%zu causes, not %s in %s", s->cause_count, cause, where);
	assert_string_equal(isc_cause_name(&s->causes[0]), cause);
	if (!text_is(&s->causes[0].where.name, where))
		fail_msg("%.*s is blamed, not %s", (int)s->causes[0].where.name.len, s->causes[0].where.name.at, where);
	assert_near(s->causes[0].extra_us, p->slow_ms * 1e3);
	isc_analysis_free(a);
}

#define OTHER_LEFT_OUT "t1 2ms governed other /a/o.py 1 1\n"
#define AND_BACK "t1 4ms governed other /a/o.py 1 0\n"

/* What main() may have called unseen is nothing: every call of a whole request is there. */
static void time_of_an_outermost_call_in_whole_scopes_is_its_own(void **state)
{
	(void)state;
	plain_blames(&(struct plain){.before = OTHER_LEFT_OUT AND_BACK, .slow_ms = 20}, "python", "main");
	/* It may have ended in the pause. */
	plain_blames(&(struct plain){.before = OTHER_LEFT_OUT AND_BACK,
				     .after = "t1 7ms governed all 1\nt1 8ms governed all 0\n",
				     .slow_ms = 20},
		     "not_seen", "");
}

/* Four samples of main() leave open by 6 ms what it takes; of cull(), which was recorded, nothing. */
static void a_sampling_error_is_only_of_what_samples_gave(void **state)
{
	(void)state;
	plain_blames(
		&(struct plain){
			.before = OTHER_LEFT_OUT, .slow_call = "cull /a/m.py 60", .slow_ms = 5, .sampled = true},
		"python", "cull");
}

static void time_without_a_cpu_is_not_also_time_that_was_not_seen(void **state)
{
	(void)state;
	plain_blames(&(struct plain){.before = "t1 2ms governed all 1\n", .slow_ms = 20, .blocked = true}, "other", "");
}

#define STEPS 5
#define SLOW_STEP 3

/*
 * 240 requests of five steps of 2 ms, every 20th of which takes 8 ms in one of them.  Each step calls fold(), which is not
 * recorded, for a ninth of its time.  Samples come every 7 ms: a slow request has one or two, or none.  In the end the module
 * itself may run for 3 ms, with a sample in every request.
 */
static isc_analysis *serve_steps(bool slow_sampled, bool foreign)
{
	int us = 10000, sample_us = 10500, samples[STEPS] = {0};
	isc_buffer text = {0};
	isc_analysis *a;

	isc_buffer_text(
		&text,
		"meta {\"argv\": [\"serve\"], \"perf\": \"ok\", \"waits\": true, \"budget_pct\": 5, \"host\": \"h\"}\n"
		"p1 pid=100 root traced python end=5s status=0 argv serve\n"
		"t1 p1 tid=100 main name=main end=5s\n"
		"t1 1ms in\nt1 1ms call_enter <module> /a/m.py 1\nt1 1ms governed fold /a/m.py 60 1\n");
	for (int i = 0; i < 240; i++) {
		isc_buffer_format(&text, "t1 %dus scope_enter request\nt1 %dus call_enter handle /a/m.py 20\n", us, us);
		for (int k = 0; k < STEPS; k++) {
			int took = k == SLOW_STEP && i % 20 == 7 ? 8000 : 2000;

			isc_buffer_format(&text, "t1 %dus call_enter step%d /a/m.py 3%d\n", us, k, k);
			while (sample_us < us)
				sample_us += 7000;
			for (; sample_us < us + took; sample_us += 7000) {
				if (i % 20 == 7 && !slow_sampled)
					continue;
				isc_buffer_format(
					&text,
					"t1 %dus sample 1 7ms \"<module> /a/m.py 1 2\" \"handle /a/m.py 20 21\" "
					"\"step%d /a/m.py 3%d 3%d\"%s\n",
					sample_us, k, k, k, samples[k]++ % 9 == 4 ? " \"fold /a/m.py 60 61\"" : "");
			}
			us += took;
			isc_buffer_format(&text, "t1 %dus call_exit step%d /a/m.py 3%d 0\n", us, k, k);
		}
		isc_buffer_format(&text, "t1 %dus call_exit handle /a/m.py 20 0\n", us);
		if (foreign)
			isc_buffer_format(&text, "t1 %dus sample 1 3ms \"<module> /a/m.py 1 2\"\n", us + 1000);
		us += foreign ? 3000 : 0;
		isc_buffer_format(&text, "t1 %dus scope_exit request\n", us);
		us += 300;
	}
	isc_buffer_text(&text, "end 5s status=0\n");
	a = analysis_of(text.data);
	isc_buffer_fini(&text);
	return a;
}

/* How long a step took is known, and few samples in slow requests do not undo that. */
static void a_caller_keeps_what_few_samples_do_not_deny(void **state)
{
	isc_analysis *a = serve_steps(true, false);
	const isc_analysis_scope *s = &a->scopes[0];

	(void)state;
	assert_int_equal(s->slow.count, 12);
	assert_true(s->cause_count > 0);
	assert_true(text_is(&s->causes[0].where.name, "step3"));
	assert_string_equal(isc_cause_name(&s->causes[0]), "python");
	assert_true(s->causes[0].extra_us > 4000 && s->causes[0].extra_us < 6100);
	for (size_t i = 1; i < s->cause_count; i++)
		assert_true(text_is(&s->causes[i].where.name, "fold") && s->causes[i].extra_us < 2000);
	isc_analysis_free(a);
}

/* Without a sample it may as well have been fold(). */
static void without_samples_a_caller_of_what_is_not_recorded_is_not_named(void **state)
{
	isc_analysis *a = serve_steps(false, false);
	const isc_analysis_scope *s = &a->scopes[0];

	(void)state;
	assert_true(s->cause_count == 0 || s->causes[0].not_seen);
	isc_analysis_free(a);
}

/* The module's samples say nothing about a step. */
static void what_a_caller_gives_up_is_not_named_by_samples_of_others(void **state)
{
	isc_analysis *a = serve_steps(false, true);
	const isc_analysis_scope *s = &a->scopes[0];

	(void)state;
	assert_int_equal(s->slow.count, 12);
	assert_int_equal(s->cause_count, 1);
	assert_true(s->causes[0].not_seen && s->causes[0].extra_us > 5000);
	isc_analysis_free(a);
}

static void a_pause_and_a_governed_function_blame_nobody_else(void **state)
{
	(void)state;
	never_blames_another(
		&(struct server){.governed = true, .paused_from = 100, .paused_to = 300, .burst = 10, .step = 5});
}

/* The picture has the calls up to the pause, and says that there were none to see in it. */
static void a_timeline_draws_no_call_through_a_pause(void **state)
{
	isc_analysis *a = serve(&(struct server){.paused_from = 100, .paused_to = 200, .step = 5},
				&(isc_analysis_options){.lanes = true});
	const isc_lanes *l = a->lanes;
	bool said = false;

	(void)state;
	for (size_t i = 0; i < l->lane_count; i++) {
		for (size_t k = 0; k < l->lanes[i].row_count; k++) {
			const isc_lane_row *row = &l->lanes[i].rows[k];

			for (size_t p = 0; row->kind == ISC_ROW_CALL && p < row->count; p++) {
				const isc_lane_piece *piece = &row->piece[p];
				bool unseen = text_is(&l->names[piece->name].name, "(calls not recorded)");
				said |= unseen && piece->start_ns == 100000000 && piece->end_ns == 200000000;
				assert_true(unseen || piece->end_ns <= 100000000 || piece->start_ns >= 200000000);
			}
		}
	}
	assert_true(said);
	isc_analysis_free(a);
}

/* What began before a pause is not open in a part that begins after it. */
static void a_part_behind_a_pause_has_no_call_from_before(void **state)
{
	isc_analysis *a = serve(&(struct server){.paused_from = 26, .paused_to = 60, .step = 0},
				&(isc_analysis_options){.from_us = 61e3, .to_us = 69e3});

	(void)state;
	for (size_t i = 0; i < a->function_count; i++) {
		if (text_is(&a->functions[i].name, "handle"))
			assert_true(a->functions[i].self_us <= 8000);
		assert_false(text_is(&a->functions[i].name, "main") && a->functions[i].self_us > 0);
	}
	isc_analysis_free(a);
}

/* main is open all the time, and runs for 5 of 15 ms. */
static void an_open_caller_has_no_more_than_samples_allow(void **state)
{
	static const struct server servers[] = {{.paused_from = 5, .paused_to = 10000, .burst = 5, .step = 5},
						{.governed = true, .step = 5}};

	(void)state;
	for (size_t i = 0; i < sizeof(servers) / sizeof(servers[0]); i++) {
		isc_analysis *a = serve(&servers[i], NULL);

		for (size_t k = 0; k < a->function_count; k++) {
			const isc_analysis_function *f = &a->functions[k];

			if (text_is(&f->name, "main") || text_is(&f->name, "handle"))
				assert_true(f->self_us <= f->cpu_self_us + f->cpu_error_us + 1);
		}
		isc_analysis_free(a);
	}
}

static void pauses_are_found_in_order(void **state)
{
	isc_pause pauses[] = {{10, 20}, {30, 40}, {50, UINT64_MAX}}, p;
	isc_unseen_process of = {.pause = pauses, .count = 3};
	size_t at = 0;

	(void)state;
	assert_false(isc_unseen_pause(NULL, &at, 0, 100, &p));
	assert_false(isc_unseen_pause(&of, &at, 0, 10, &p));
	assert_true(isc_unseen_pause(&of, &at, 5, 12, &p) && p.from_ns == 10 && p.to_ns == 12);
	assert_true(isc_unseen_pause(&of, &at, 12, 35, &p) && p.from_ns == 12 && p.to_ns == 35);
	assert_false(isc_unseen_pause(&of, &at, 40, 50, &p));
	assert_true(isc_unseen_pause(&of, &at, 45, 99, &p) && p.from_ns == 50 && p.to_ns == 99);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(with_all_calls_the_one_at_fault_is_named),
		cmocka_unit_test(in_a_pause_samples_name_the_same),
		cmocka_unit_test(in_a_gate_samples_name_the_same),
		cmocka_unit_test(where_recording_saw_more_of_the_others_samples_decide),
		cmocka_unit_test(a_short_gap_leaves_the_calls_of_a_scope),
		cmocka_unit_test(whole_scopes_are_compared_with_whole_ones),
		cmocka_unit_test(time_of_an_outermost_call_in_whole_scopes_is_its_own),
		cmocka_unit_test(a_sampling_error_is_only_of_what_samples_gave),
		cmocka_unit_test(time_without_a_cpu_is_not_also_time_that_was_not_seen),
		cmocka_unit_test(samples_that_stand_for_no_time_take_none_away),
		cmocka_unit_test(what_a_caller_gives_up_is_not_named_by_samples_of_others),
		cmocka_unit_test(below_four_samples_nobody_is_named),
		cmocka_unit_test(bursts_between_pauses_blame_nobody_else),
		cmocka_unit_test(a_governed_function_is_a_hole_in_its_caller),
		cmocka_unit_test(a_caller_keeps_what_few_samples_do_not_deny),
		cmocka_unit_test(without_samples_a_caller_of_what_is_not_recorded_is_not_named),
		cmocka_unit_test(a_pause_and_a_governed_function_blame_nobody_else),
		cmocka_unit_test(a_timeline_draws_no_call_through_a_pause),
		cmocka_unit_test(a_part_behind_a_pause_has_no_call_from_before),
		cmocka_unit_test(an_open_caller_has_no_more_than_samples_allow),
		cmocka_unit_test(pauses_are_found_in_order),
	};

	return cmocka_run_group_tests_name("tail_holes", tests, NULL, NULL);
}
