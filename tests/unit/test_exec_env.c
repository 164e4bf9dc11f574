/* Our variables in the environment of a new program. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collect/hooks/exec_env.h"

static char self[4096];	  /* what the runtime takes for its own path: here, this program's */
static char inject[4096]; /* the folder beside it */
static char result[16384];

/* Builds in memory of exactly the size that was asked for, so that a sanitizer
 * sees every byte too many, and joins the entries with '|'. */
static const char *built(char *const env[], bool with)
{
	isc_exec_env e = {NULL, NULL, 0, 0, false};
	size_t entries, text_bytes;

	isc_exec_env_build(&e, env, with);
	entries = e.entries;
	text_bytes = e.text_bytes;
	e.vector = malloc(entries * sizeof(char *));
	e.text = malloc(text_bytes + 1);
	isc_exec_env_build(&e, env, with);
	assert_int_equal(e.entries, entries);
	assert_int_equal(e.text_bytes, text_bytes);
	assert_null(e.vector[entries - 1]);
	result[0] = '\0';
	for (size_t i = 0; e.vector[i] != NULL; i++) {
		strcat(result, i > 0 ? "|" : "");
		strcat(result, e.vector[i]);
	}
	if (!e.changed)
		strcat(result, " (unchanged)");
	free(e.vector);
	free(e.text);
	return result;
}

/* The text with every @ replaced by our path, and every % by the folder for Python. */
static const char *with_self(const char *text)
{
	static char out[16384];
	size_t n = 0;

	for (; *text != '\0'; text++) {
		if (*text == '@')
			n += (size_t)sprintf(out + n, "%s", self);
		else if (*text == '%')
			n += (size_t)sprintf(out + n, "%s", inject);
		else
			out[n++] = *text;
	}
	out[n] = '\0';
	return out;
}

#define ENV(...) ((char *const[]){__VA_ARGS__, NULL})
#define SESSION "INFERSCOPE_SESSION=/run/s"

static char *entry(const char *text)
{
	return strdup(with_self(text)); /* small, and gone with the test */
}

static void check(char *const env[], bool with, const char *expected)
{
	assert_string_equal(built(env, with), with_self(expected));
}

static void an_empty_environment_gets_both(void **state)
{
	(void)state;
	check(NULL, true, "LD_PRELOAD=@|" SESSION);
	check(ENV((char *)NULL), true, "LD_PRELOAD=@|" SESSION);
	check(NULL, false, " (unchanged)");
}

static void an_environment_that_has_all_stays(void **state)
{
	char *preload = entry("LD_PRELOAD=@"), *second = entry("LD_PRELOAD=/x.so @:/y.so");

	(void)state;
	check(ENV((char *)"A=1", preload, (char *)"PYTHONPATH=/a", (char *)SESSION), true,
	      "A=1|LD_PRELOAD=@|PYTHONPATH=/a|" SESSION " (unchanged)");
	check(ENV(second, (char *)SESSION), true, "LD_PRELOAD=/x.so @:/y.so|" SESSION " (unchanged)");
	free(preload);
	free(second);
}

static void what_is_there_already_stays_behind_ours(void **state)
{
	(void)state;
	check(ENV((char *)"LD_PRELOAD=/x.so", (char *)"PYTHONPATH=/a:/b"), true,
	      "LD_PRELOAD=@:/x.so|PYTHONPATH=/a:/b|" SESSION);
	check(ENV((char *)"LD_PRELOAD=", (char *)"PYTHONPATH="), true, "LD_PRELOAD=@|PYTHONPATH=|" SESSION);
}

static void a_path_that_only_begins_like_ours_is_not_ours(void **state)
{
	char *longer = entry("LD_PRELOAD=@.old"), *inside = entry("LD_PRELOAD=/pre@");

	(void)state;
	check(ENV(longer), true, "LD_PRELOAD=@:@.old|" SESSION);
	check(ENV(inside), false, "LD_PRELOAD=/pre@ (unchanged)");
	check(ENV((char *)"LD_PRELOADED=1", (char *)"INFERSCOPE_SESSIONS=2"), false,
	      "LD_PRELOADED=1|INFERSCOPE_SESSIONS=2 (unchanged)");
	free(longer);
	free(inside);
}

static void taken_out_others_are_as_they_were(void **state)
{
	static const char *const cases[][2] = {
		{"LD_PRELOAD=@", ""},
		{"LD_PRELOAD=@:/x.so", "LD_PRELOAD=/x.so"},
		{"LD_PRELOAD=/x.so:@", "LD_PRELOAD=/x.so"},
		{"LD_PRELOAD=/x.so @ /y.so", "LD_PRELOAD=/x.so /y.so"},
		{"LD_PRELOAD=/x.so:@:/y.so", "LD_PRELOAD=/x.so:/y.so"},
		{"PYTHONPATH=%", ""},
		{"PYTHONPATH=%::/a", "PYTHONPATH=:/a"},
		{"PYTHONPATH=/a:%", "PYTHONPATH=/a"},
		{"INFERSCOPE_PYTHONPATH==/a", ""},
		{SESSION, ""},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		char *one = entry(cases[i][0]), *expected = entry(cases[i][1]);
		char joined[16384];

		snprintf(joined, sizeof(joined), "A=1%s%s|Z=2", expected[0] != '\0' ? "|" : "", expected);
		assert_string_equal(built(ENV((char *)"A=1", one, (char *)"Z=2"), false), joined);
		free(one);
		free(expected);
	}
}

static void every_double_of_a_variable_is_treated(void **state)
{
	(void)state;
	/* The loader takes the last one, getenv the first. */
	check(ENV((char *)"LD_PRELOAD=/x.so", (char *)"LD_PRELOAD=/y.so", (char *)SESSION, (char *)"PYTHONPATH=/a"),
	      true, "LD_PRELOAD=@:/x.so|LD_PRELOAD=@:/y.so|" SESSION "|PYTHONPATH=/a");
}

static void another_session_is_known_and_kept(void **state)
{
	char *preload = entry("LD_PRELOAD=@");
	char *const *other = ENV(preload, (char *)"INFERSCOPE_SESSION=/run/other");

	(void)state;
	check(other, true, "LD_PRELOAD=@|INFERSCOPE_SESSION=/run/other (unchanged)");
	assert_true(isc_exec_env_has_other(other));
	assert_false(isc_exec_env_has_other(ENV((char *)SESSION)));
	assert_false(isc_exec_env_has_other(NULL));
	free(preload);
}

static void the_way_into_python_stays_in_the_program_that_opened_it(void **state)
{
	char *path = entry("PYTHONPATH=%:/a"), *preload = entry("LD_PRELOAD=@");

	(void)state;
	/* The next program opens its own, if it is a Python. */
	check(ENV(path, preload, (char *)"INFERSCOPE_PYTHONPATH==/a", (char *)SESSION), true,
	      "PYTHONPATH=/a|LD_PRELOAD=@|" SESSION);
	free(path);
	free(preload);
}

#define CUDA "CUDA_INJECTION64_PATH=/p/libinferscope_cuda.so"

/* The last one: from here on the variable is noted. */
static void what_the_cuda_driver_loads_goes_with_us(void **state)
{
	char *preload = entry("LD_PRELOAD=@");

	(void)state;
	check(ENV(preload, (char *)SESSION, (char *)CUDA), true, "LD_PRELOAD=@|" SESSION "|" CUDA " (unchanged)");
	check(ENV((char *)CUDA), false, "CUDA_INJECTION64_PATH=/p/libinferscope_cuda.so (unchanged)");
	setenv("CUDA_INJECTION64_PATH", "/other/tool.so", 1);
	isc_exec_env_init();
	check(ENV(preload, (char *)SESSION), true, "LD_PRELOAD=@|" SESSION " (unchanged)");
	setenv("CUDA_INJECTION64_PATH", "/p/libinferscope_cuda.so", 1);
	isc_exec_env_init();
	check(ENV(preload, (char *)SESSION), true, "LD_PRELOAD=@|" SESSION "|" CUDA);
	check(ENV((char *)"A=1", (char *)CUDA), false, "A=1");
	check(ENV((char *)"CUDA_INJECTION64_PATH=/other.so", preload, (char *)SESSION), true,
	      "CUDA_INJECTION64_PATH=/other.so|LD_PRELOAD=@|" SESSION " (unchanged)");
	check(ENV((char *)"CUDA_INJECTION64_PATH=/other.so"), false, "CUDA_INJECTION64_PATH=/other.so (unchanged)");
	free(preload);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_environment_gets_both),
		cmocka_unit_test(an_environment_that_has_all_stays),
		cmocka_unit_test(what_is_there_already_stays_behind_ours),
		cmocka_unit_test(a_path_that_only_begins_like_ours_is_not_ours),
		cmocka_unit_test(taken_out_others_are_as_they_were),
		cmocka_unit_test(every_double_of_a_variable_is_treated),
		cmocka_unit_test(another_session_is_known_and_kept),
		cmocka_unit_test(the_way_into_python_stays_in_the_program_that_opened_it),
		cmocka_unit_test(what_the_cuda_driver_loads_goes_with_us),
	};
	isc_exec_env e = {NULL, NULL, 0, 0, false};
	char *text, *vector[8];

	setenv("INFERSCOPE_SESSION", "/run/s", 1);
	unsetenv("CUDA_INJECTION64_PATH");
	isc_exec_env_init();
	if (!isc_exec_env_ready() || !isc_exec_env_reachable())
		return 1;
	isc_exec_env_build(&e, NULL, true);
	text = malloc(e.text_bytes);
	e.vector = vector;
	e.text = text;
	isc_exec_env_build(&e, NULL, true);
	snprintf(self, sizeof(self), "%s", vector[0] + strlen("LD_PRELOAD="));
	snprintf(inject, sizeof(inject), "%s", isc_exec_env_inject());
	free(text);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
