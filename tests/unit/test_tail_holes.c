/* tail_holes: who is at fault when calls were not recorded, over traces written as text. */
#include "analysis_text.h"

#include "analyze/lanes.h"
#include "analyze/unseen.h"

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
	bool governed;		    /* cull() is not recorded from the first call on */
	int step;		    /* ms between samples; 0: none */
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

static bool is_paused(const struct server *s, int ms)
{
	return ms >= s->paused_from && ms < s->paused_to && (ms - s->paused_from) % 50 >= s->burst;
}

static void say_call(isc_buffer *out, const struct server *s, int ms, const char *what, int function)
{
	if (is_paused(s, ms) || (s->governed && function == CULL))
		return;
	isc_buffer_format(out, "t1 %dms %s %s%s\n", ms, what, functions[function],
			  strcmp(what, "call_exit") == 0 ? " 0" : "");
}

static void say_sample(isc_buffer *out, const struct server *s, int ms, const int *stack, int depth)
{
	isc_buffer_format(out, "t1 %d.5ms sample 1 %dms", ms, s->step);
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
		isc_buffer_format(&text, "t1 1ms governed %s 1\n", functions[CULL]);
	for (int ms = 2; ms <= end; ms++) {
		bool begins, ends;
		int n = stack_at(ms, now, &begins, &ends), same = 0;

		if (is_paused(s, ms) != paused) {
			paused = !paused;
			isc_buffer_format(&text, "t1 %dms governed all %d\n", ms, paused);
		}
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

static void below_ten_samples_nobody_is_named(void **state)
{
	(void)state;
	blames(&(struct server){.paused_from = 5, .paused_to = 10000, .step = 20}, "not_seen", "");
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
		cmocka_unit_test(below_ten_samples_nobody_is_named),
		cmocka_unit_test(bursts_between_pauses_blame_nobody_else),
		cmocka_unit_test(a_governed_function_is_a_hole_in_its_caller),
		cmocka_unit_test(a_pause_and_a_governed_function_blame_nobody_else),
		cmocka_unit_test(a_timeline_draws_no_call_through_a_pause),
		cmocka_unit_test(a_part_behind_a_pause_has_no_call_from_before),
		cmocka_unit_test(an_open_caller_has_no_more_than_samples_allow),
		cmocka_unit_test(pauses_are_found_in_order),
	};

	return cmocka_run_group_tests_name("tail_holes", tests, NULL, NULL);
}
