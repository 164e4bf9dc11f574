/* memory: who took it, who holds it, and what grows, over traces written as text. */
#include "analysis_text.h"

#include <math.h>

#include "report/text/phrase.h"

#define SERVE "meta {\"argv\": [\"serve\"], \"perf\": \"ok\", \"waits\": true, \"budget_pct\": 5, \"host\": \"h\"}\n"
#define PROGRAM \
	SERVE "p1 pid=100 root traced python end=10s status=0 argv serve\n" \
	      "t1 p1 tid=100 main name=main end=10s\n" \
	      "t2 p1 tid=101 name=worker end=10s\n" \
	      "t1 1ms memory_source libc.so.6 0\n"
#define END "end 10s status=0\n"

struct script {
	char text[65536];
	int len;
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

static const isc_analysis_site *site_of(const isc_analysis *a, const char *name)
{
	for (size_t i = 0; i < a->memory.site_count; i++) {
		if (text_is(&a->memory.sites[i].at.name, name))
			return &a->memory.sites[i];
	}
	fail_msg("no site %s", name);
	return NULL;
}

static void a_record_stands_for_what_its_probability_says(void **state)
{
	isc_analysis *a = analysis_of(PROGRAM "t1 5ms memory_alloc malloc 16 1000 100000 \"small m.py 1 2\"\n"
					      "t1 6ms memory_alloc malloc 32 9000000 100000 \"large m.py 1 3\"\n" END);
	const isc_analysis_site *small = site_of(a, "small"), *large = site_of(a, "large");

	(void)state;
	assert_near(small->count, 1 / -expm1(-0.01));
	assert_near(small->bytes, 1000 / -expm1(-0.01));
	assert_near(large->count, 1);
	assert_near(large->bytes, 9000000);
	assert_int_equal(large->at.line, 3);
	isc_analysis_free(a);
}

static void memory_is_held_until_any_thread_gives_it_back(void **state)
{
	isc_analysis *a = analysis_of(PROGRAM "t1 5ms memory_alloc malloc 16 500 0 \"one m.py 1 2\"\n"
					      "t1 6ms memory_alloc malloc 32 700 0 \"two m.py 1 3\"\n"
					      "t2 8ms memory_free malloc 16 500 0 \"one m.py 1 2\"\n"
					      "t1 9ms memory_alloc malloc 16 90 0 \"two m.py 1 3\"\n" END);

	(void)state;
	assert_near(site_of(a, "one")->live_bytes, 0);
	assert_near(site_of(a, "two")->live_bytes, 790);
	assert_near(a->memory.peak_bytes, 1200);
	assert_near(a->memory.peak_us, 6000);
	assert_near(site_of(a, "one")->peak_bytes, 500);
	assert_near(site_of(a, "two")->peak_bytes, 700);
	isc_analysis_free(a);
}

static void what_is_freed_when_the_interpreter_ends_was_in_use(void **state)
{
	isc_analysis *a = analysis_of(PROGRAM "t1 5ms memory_alloc malloc 16 500 0 \"one m.py 1 2\"\n"
					      "t1 7ms memory_total 1 10 500 9\n"
					      "t1 8ms memory_free malloc 16 500 0 \"one m.py 1 2\"\n"
					      "t1 9ms memory_total 2 12 600 11\n" END);

	(void)state;
	assert_near(site_of(a, "one")->live_bytes, 500);
	assert_int_equal(a->memory.calls, 12);
	assert_int_equal(a->memory.bytes, 600);
	isc_analysis_free(a);
}

static void totals_of_processes_add_up_and_of_one_the_last_counts(void **state)
{
	isc_analysis *a = analysis_of(SERVE "p1 pid=100 root traced end=10s status=0 argv serve\n"
					    "p2 pid=101 parent=p1 traced end=10s status=0 argv work\n"
					    "t1 p1 tid=100 main name=main end=10s\n"
					    "t2 p1 tid=102 name=worker end=10s\n"
					    "t3 p2 tid=101 main name=main end=10s\n"
					    "t1 1ms memory_source libc.so.6 0\n"
					    "t2 5ms memory_total 0 10 500 9\n"
					    "t1 4ms memory_total 0 8 400 7\n"
					    "t3 9ms memory_total 2 12 600 11\n" END);

	(void)state;
	assert_int_equal(a->memory.calls, 22);
	assert_int_equal(a->memory.bytes, 1100);
	assert_int_equal(a->memory.frees, 20);
	isc_analysis_free(a);
}

static void a_line_of_the_program_is_named_and_not_one_of_a_package(void **state)
{
	isc_analysis *a = analysis_of(PROGRAM "t1 5ms memory_alloc malloc 16 500 0 \"prepare /app/m.py 1 2\" "
					      "\"ones /venv/lib/python3.11/site-packages/numpy/numeric.py 10 12\"\n"
					      "t1 6ms memory_alloc malloc 32 700 0 \"main /venv/bin/serve 1 3\" "
					      "\"load /venv/lib/python3.11/site-packages/serve/load.py 1 9\"\n" END);

	(void)state;
	assert_near(site_of(a, "prepare")->bytes, 500);
	assert_int_equal(site_of(a, "prepare")->at.line, 2);
	assert_near(site_of(a, "load")->bytes, 700);
	isc_analysis_free(a);
}

/* Of 100 steps over 10 s: how many bytes each keeps, and when it gives them back (0: never). */
static isc_analysis *steps(int (*bytes)(int step), int (*lasts)(int step))
{
	struct script s = {.len = 0};
	isc_analysis *a;

	say(&s, "%s", PROGRAM);
	for (int i = 0; i < 100; i++) {
		for (int old = 0; old < i; old++)
			if (bytes(old) > 0 && lasts(old) > 0 && old + lasts(old) == i)
				say(&s, "t1 %dms memory_free malloc %d %d 0 \"keep m.py 1 2\"\n", 50 + i * 98, old + 1,
				    bytes(old));
		if (bytes(i) > 0)
			say(&s, "t1 %dms memory_alloc malloc %d %d 0 \"keep m.py 1 2\"\n", 50 + i * 98, i + 1,
			    bytes(i));
	}
	say(&s, "%s", END);
	a = analysis_of(s.text);
	return a;
}

static int always(int step)
{
	return step >= 0 ? 100000 : 0;
}

static int never(int step)
{
	return step < 0;
}

static int first_half(int step)
{
	return step < 50 ? 200000 : 0;
}

static int soon(int step)
{
	return step >= 0 ? 5 : 0;
}

static int sixty(int step)
{
	return step >= 0 ? 60 : 0;
}

static int little(int step)
{
	return step >= 0 ? 1000 : 0;
}

static int every_third(int step)
{
	return step % 3 == 0 ? 300000 : 0;
}

static void grown(isc_analysis *a, double bytes)
{
	if (bytes > 0) {
		assert_int_equal(a->memory.leak_count, 1);
		assert_near(a->memory.leaks[0].bytes, bytes);
	} else {
		assert_int_equal(a->memory.leak_count, 0);
	}
	isc_analysis_free(a);
}

static void what_grows_to_the_end_is_told_with_its_size(void **state)
{
	(void)state;
	grown(steps(always, never), 100 * 100000);
	grown(steps(every_third, never), 34 * 300000);
}

static void what_was_loaded_or_comes_and_goes_is_no_leak(void **state)
{
	(void)state;
	grown(steps(first_half, never), 0);
	grown(steps(always, soon), 0);
	grown(steps(always, sixty), 0); /* a cache of 60 */
	grown(steps(little, never), 0); /* 100 kB */
}

/* 40 requests over 10 s; each keeps so much of what it takes, and throws out what an earlier one kept. */
static isc_analysis *requests(int keeps, int throws_out, const char *kind)
{
	struct script s = {.len = 0};
	isc_analysis *a;

	say(&s, "%s", PROGRAM);
	for (int i = 0; i < 40; i++) {
		int at = 50 + i * 240;

		say(&s, "t1 %dms %s_enter request %d 0\n", at, kind, i + 1);
		say(&s, "t1 %dms memory_alloc malloc %d 300000 0 \"use m.py 1 2\"\n", at + 1, 1000 + i);
		if (keeps > 0)
			say(&s, "t1 %dms memory_alloc malloc %d %d 0 \"keep m.py 1 3\"\n", at + 2, 1 + i, keeps);
		if (throws_out > 0 && i >= throws_out)
			say(&s, "t1 %dms memory_free malloc %d %d 0 \"keep m.py 1 3\"\n", at + 3, 1 + i - throws_out,
			    keeps);
		say(&s, "t1 %dms memory_free malloc %d 300000 0 \"use m.py 1 2\"\n", at + 4, 1000 + i);
		say(&s, "t1 %dms %s_exit request %d 5ms\n", at + 5, kind, i + 1);
		/* Between them: nobody's. */
		say(&s, "t1 %dms memory_alloc malloc %d 50000 0 \"else m.py 1 4\"\n", at + 6, 5000 + i);
	}
	say(&s, "%s", END);
	a = analysis_of(s.text);
	return a;
}

static void memory_grows_from_scope_to_scope(void **state)
{
	static const char *const kinds[] = {"scope", "span"};

	(void)state;
	for (int k = 0; k < 2; k++) {
		isc_analysis *a = requests(100000, 0, kinds[k]);
		const isc_analysis_memory_scope *s = a->memory.scopes;

		assert_int_equal(a->memory.scope_count, 1);
		assert_true(text_is(&s->name, "request"));
		assert_int_equal(s->count, 40);
		assert_near(s->bytes, 40 * 400000);
		assert_near(s->growth, 40 * 100000);
		assert_int_equal(s->samples, 40);
		assert_true(s->grows);
		isc_analysis_free(a);
	}
}

static void a_full_cache_and_buffers_of_a_scope_do_not_grow(void **state)
{
	isc_analysis *full = requests(100000, 5, "span"), *none = requests(0, 0, "span");

	(void)state;
	assert_near(full->memory.scopes[0].growth, 5 * 100000);
	assert_false(full->memory.scopes[0].grows);
	assert_near(none->memory.scopes[0].growth, 0);
	assert_int_equal(none->memory.scopes[0].samples, 0);
	assert_false(none->memory.scopes[0].grows);
	isc_analysis_free(full);
	isc_analysis_free(none);
}

/* A span that another thread leaves is over here too; and while another task runs it waits. */
static void memory_is_of_the_scope_that_runs(void **state)
{
	isc_analysis *a = analysis_of(PROGRAM "t1 5ms task one\n"
					      "t1 6ms span_enter moved 1 0\n"
					      "t1 7ms memory_alloc malloc 16 500 0 \"in m.py 1 2\"\n"
					      "t1 8ms task two\n"
					      "t1 9ms memory_alloc malloc 32 700 0 \"in m.py 1 2\"\n"
					      "t1 10ms task one\n"
					      "t1 11ms memory_alloc malloc 48 90 0 \"in m.py 1 2\"\n"
					      "t2 12ms span_exit moved 1 6ms 1\n"
					      "t1 13ms memory_alloc malloc 64 8000 0 \"in m.py 1 2\"\n" END);

	(void)state;
	assert_int_equal(a->memory.scope_count, 1);
	assert_near(a->memory.scopes[0].bytes, 590);
	isc_analysis_free(a);
}

static void what_python_alone_told_is_said(void **state)
{
	isc_analysis *a = analysis_of(SERVE "p1 pid=100 root traced end=10s status=0 argv serve\n"
					    "t1 p1 tid=100 main name=main end=10s\n"
					    "t1 1ms memory_source Python 4\n"
					    "t1 9ms memory_total 2 12 600 11\n" END);
	const isc_analysis_warning *w = warning_of(a, "memory_of_python");

	(void)state;
	assert_non_null(w);
	assert_false(w->grave);
	assert_true(a->memory.python_told);
	assert_false(a->memory.hooks_told);
	isc_analysis_free(a);
}

static void an_allocator_that_goes_past_us_is_told(void **state)
{
	isc_analysis *a = analysis_of(SERVE "p1 pid=100 root traced end=10s status=0 argv serve\n"
					    "t1 p1 tid=100 main name=main end=10s\n"
					    "t1 1ms memory_source own\\x1b.so 1\n" END);
	const isc_analysis_warning *w = warning_of(a, "memory_bypassed");

	(void)state;
	assert_non_null(w);
	assert_true(w->grave);
	assert_null(strchr(w->text, '\x1b'));
	isc_analysis_free(a);
}

static void what_grows_is_a_suggestion_without_a_verdict(void **state)
{
	isc_analysis *a = steps(always, never);
	isc_buffer where = {0};

	(void)state;
	assert_null(a->verdict.claim.cause);
	assert_int_equal(a->suggestion_count, 1);
	assert_string_equal(a->suggestions[0].claim.cause, "memory_growth");
	isc_phrase_where(&where, &a->suggestions[0]);
	assert_string_equal(where.data, "keep (m.py:2)");
	isc_buffer_fini(&where);
	assert_true(a->suggestions[0].saves_at_most_us < 0);
	isc_analysis_free(a);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_record_stands_for_what_its_probability_says),
		cmocka_unit_test(memory_is_held_until_any_thread_gives_it_back),
		cmocka_unit_test(what_is_freed_when_the_interpreter_ends_was_in_use),
		cmocka_unit_test(totals_of_processes_add_up_and_of_one_the_last_counts),
		cmocka_unit_test(a_line_of_the_program_is_named_and_not_one_of_a_package),
		cmocka_unit_test(what_grows_to_the_end_is_told_with_its_size),
		cmocka_unit_test(what_was_loaded_or_comes_and_goes_is_no_leak),
		cmocka_unit_test(memory_grows_from_scope_to_scope),
		cmocka_unit_test(a_full_cache_and_buffers_of_a_scope_do_not_grow),
		cmocka_unit_test(memory_is_of_the_scope_that_runs),
		cmocka_unit_test(what_python_alone_told_is_said),
		cmocka_unit_test(an_allocator_that_goes_past_us_is_told),
		cmocka_unit_test(what_grows_is_a_suggestion_without_a_verdict),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
