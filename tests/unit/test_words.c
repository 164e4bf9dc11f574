/* words: how reports speak of commands, functions and places. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "report/text/words.h"

#define TEXT(s) {s, sizeof(s) - 1}

static void check(void (*words)(isc_buffer *, const isc_analysis_function *), const isc_analysis_function *f,
		  const char *expected)
{
	isc_buffer out = {0};

	isc_buffer_text(&out, "");
	words(&out, f);
	assert_false(out.failed);
	assert_int_equal(out.len, strlen(expected));
	assert_memory_equal(out.len > 0 ? out.data : "", expected, out.len);
	isc_buffer_fini(&out);
}

static void check_place(const char *file, uint32_t line, const char *expected)
{
	check(isc_words_place, &(isc_analysis_function){.file = {file, strlen(file)}, .line = line}, expected);
}

static void check_name(const char *name, const char *file, const char *expected)
{
	check(isc_words_function, &(isc_analysis_function){.name = {name, strlen(name)}, .file = {file, strlen(file)}},
	      expected);
}

static void a_command_reads_as_one_would_type_it(void **state)
{
	const isc_text argv[] = {{"sh", 2}, {"-c", 2}, {"echo 'x'", 8}, {"", 0}};
	isc_buffer out = {0};

	(void)state;
	isc_words_command(&out, argv, 4, false);
	assert_string_equal(out.data, "sh -c 'echo '\\''x'\\''' ''");
	isc_buffer_clear(&out);
	isc_words_command(&out, argv, 1, true);
	assert_string_equal(out.data, "sh ...");
	isc_buffer_clear(&out);
	isc_words_command(&out, NULL, 0, false);
	assert_string_equal(out.data, "?");
	isc_buffer_fini(&out);
}

static void a_place_is_as_short_as_tells_it_apart(void **state)
{
	(void)state;
	check_place("/opt/env/lib/python3.11/site-packages/torch/nn/modules/linear.py", 130,
		    "torch/nn/modules/linear.py:130");
	check_place("/usr/lib/python3/dist-packages/yaml/reader.py", 5, "yaml/reader.py:5");
	check_place("/usr/lib/python3.11/threading.py", 295, "python3.11/threading.py:295");
	check_place("/usr/lib64/python3.9/json/decoder.py", 1, "python3.9/json/decoder.py:1");
	check_place("/srv/app/model/layers.py", 17, "model/layers.py:17");
	check_place("/layers.py", 17, "layers.py:17");
	check_place("layers.py", 0, "layers.py");
	check_place("<string>", 1, "(string):1");
	check_place("/a/site-packages/", 0, "");
	check_place("", 3, "");
	check_place("<frozen importlib._bootstrap>", 7, "(frozen importlib._bootstrap):7");
	check_place("<a><b>", 7, "<a><b>:7");
	check(isc_words_place, &(isc_analysis_function){0}, "");
}

static void a_function_is_named_as_people_name_it(void **state)
{
	(void)state;
	check_name("Model.forward", "/srv/model.py", "Model.forward");
	check_name("outer.<locals>.inner", "/srv/model.py", "outer.inner");
	check_name("outer.<locals>.<lambda>", "/srv/model.py", "outer.(lambda)");
	check_name("run.<locals>.<genexpr>", "/srv/model.py", "run.(genexpr)");
	check_name("<module>", "/srv/app/infer.py", "(module infer.py)");
	check_name("<module>", "/env/site-packages/torch/__init__.py", "(module torch/__init__.py)");
	check_name("<module>", "", "(module)");
	check_name("<module>", "<frozen runpy>", "(module frozen runpy)");
	check_name("<modules>", "/x.py", "<modules>");
	check_name("<script>", "/x.py", "<script>");
	check_name("a<", "/x.py", "a<");
	check(isc_words_function, &(isc_analysis_function){0}, "");
}

static bool waits(const char *name, const char *file)
{
	return isc_words_waits(&(isc_analysis_function){.name = {name, strlen(name)}, .file = {file, strlen(file)}});
}

static void only_functions_of_the_library_are_known_to_wait(void **state)
{
	(void)state;
	assert_true(waits("Condition.wait", "/usr/lib/python3.11/threading.py"));
	assert_true(waits("wait", "/usr/lib/python3.9/threading.py"));
	assert_true(waits("EpollSelector.select", "/usr/lib/python3.13/selectors.py"));
	assert_false(waits("await", "/usr/lib/python3.11/threading.py"));
	assert_false(waits("Condition.notify", "/usr/lib/python3.11/threading.py"));
	assert_false(waits("Condition.wait", "/srv/app/threading.py"));
	assert_false(waits("Condition.wait", "/usr/lib/python3.11/site-packages/odd/threading.py"));
	assert_false(waits("Condition.wait", ""));
}

static void the_top_leaves_out_who_only_waits(void **state)
{
	isc_analysis_function f[] = {
		{.name = TEXT("Condition.wait"), .file = TEXT("/usr/lib/python3.11/threading.py"), .self_us = 90},
		{.name = TEXT("forward"), .file = TEXT("/srv/model.py"), .self_us = 50},
		{.name = TEXT("load"), .file = TEXT("/srv/model.py"), .self_us = 20},
		{.name = TEXT("never"), .file = TEXT("/srv/model.py"), .self_us = 0},
	};
	const isc_analysis_function *top[3];
	isc_analysis a = {.functions = f, .function_count = 4};

	(void)state;
	assert_int_equal(isc_words_top(&a, top, 3), 2);
	assert_ptr_equal(top[0], &f[1]);
	assert_ptr_equal(top[1], &f[2]);
	assert_int_equal(isc_words_top(&a, top, 1), 1);
	a.function_count = 1;
	assert_int_equal(isc_words_top(&a, top, 3), 1);
	assert_ptr_equal(top[0], &f[0]);
	f[0].self_us = -1; /* not known */
	assert_int_equal(isc_words_top(&a, top, 3), 0);
	a.function_count = 0;
	assert_int_equal(isc_words_top(&a, top, 3), 0);
}

static void both_costs_are_said_when_they_differ(void **state)
{
	(void)state;
	assert_true(isc_words_costs_apart(&(isc_analysis){.measured_pct = 0.2, .measured_cpu_pct = 7}));
	assert_false(isc_words_costs_apart(&(isc_analysis){.measured_pct = 2, .measured_cpu_pct = 2.9}));
	assert_false(isc_words_costs_apart(&(isc_analysis){.measured_pct = 2, .measured_cpu_pct = -1}));
	assert_false(isc_words_costs_apart(&(isc_analysis){.measured_pct = -1, .measured_cpu_pct = 7}));
}

static void a_scope_that_came_once_is_the_slowest_only_alone(void **state)
{
	isc_analysis_scope s[] = {
		{.name = TEXT("load"), .count = 1, .max_us = 9000},
		{.name = TEXT("request"), .count = 64, .max_us = 30},
		{.name = TEXT("forward"), .count = 64, .max_us = 20},
		{.name = TEXT("open"), .count = 0, .max_us = -1},
	};
	isc_analysis a = {.scopes = s, .scope_count = 4};

	(void)state;
	assert_ptr_equal(isc_words_slowest(&a), &s[1]);
	a.scope_count = 1;
	assert_ptr_equal(isc_words_slowest(&a), &s[0]);
	a = (isc_analysis){.scopes = &s[3], .scope_count = 1};
	assert_null(isc_words_slowest(&a));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_command_reads_as_one_would_type_it),
		cmocka_unit_test(a_place_is_as_short_as_tells_it_apart),
		cmocka_unit_test(a_function_is_named_as_people_name_it),
		cmocka_unit_test(only_functions_of_the_library_are_known_to_wait),
		cmocka_unit_test(the_top_leaves_out_who_only_waits),
		cmocka_unit_test(both_costs_are_said_when_they_differ),
		cmocka_unit_test(a_scope_that_came_once_is_the_slowest_only_alone),
	};

	return cmocka_run_group_tests_name("words", tests, NULL, NULL);
}
