/* How a Python is brought to load us: its options, and its environment. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "collect/hooks/exec_env.h"
#include "collect/hooks/inject.h"
#include "runtime/runtime.h"

/* What the constructor asks for; this program holds no Python, so nothing comes of it. */
const char *isc_exec_env_inject(void)
{
	return "";
}

const isc_control *isc_rt_control(void)
{
	return NULL;
}

#define WORDS(...) ((char *const[]){__VA_ARGS__, NULL})
#define W(text) ((char *)(text))

static void options_that_leave_the_environment_or_site_out_turn_us_away(void **state)
{
	(void)state;
	assert_false(isc_inject_is_welcome(WORDS(W("python"), W("-I"), W("x.py"))));
	assert_false(isc_inject_is_welcome(WORDS(W("/usr/bin/python3.11"), W("-E"))));
	assert_false(isc_inject_is_welcome(WORDS(W("python3"), W("-BuS"), W("-c"), W("1"))));
	assert_false(isc_inject_is_welcome(WORDS(W("python"), W("-X"), W("dev"), W("-I"))));
	assert_false(isc_inject_is_welcome(WORDS(W("python"), W("-Wignore"), W("-E"))));
	assert_false(isc_inject_is_welcome(WORDS(W("python"), W("--check-hash-based-pycs"), W("never"), W("-E"))));
}

static void what_only_looks_like_one_of_them_does_not(void **state)
{
	(void)state;
	assert_true(isc_inject_is_welcome(NULL));
	assert_true(isc_inject_is_welcome(WORDS(W("python"))));
	assert_true(isc_inject_is_welcome(WORDS(W("python"), W("-"), W("-I"))));
	assert_true(isc_inject_is_welcome(WORDS(W("python"), W("x.py"), W("-E"))));
	assert_true(isc_inject_is_welcome(WORDS(W("python"), W("-c"), W("-I"))));
	assert_true(isc_inject_is_welcome(WORDS(W("python"), W("-cIS"))));
	assert_true(isc_inject_is_welcome(WORDS(W("python"), W("-m"), W("x"), W("-S"))));
	assert_true(isc_inject_is_welcome(WORDS(W("python"), W("-W"), W("-E"))));
	assert_true(isc_inject_is_welcome(WORDS(W("python"), W("-XISE"))));
	assert_true(isc_inject_is_welcome(WORDS(W("python"), W("-X"))));
	assert_true(isc_inject_is_welcome(WORDS(W("gdb"), W("-E"))));
}

/* Made in memory of exactly the size that was asked for, so that a sanitizer sees
 * every byte too many; joined with '|'. */
static const char *made(char *const env[])
{
	static char result[4096];
	size_t needs, again;
	char **out;
	void *at;

	assert_null(isc_inject_environment(env, "/i", NULL, 0, &needs));
	at = malloc(needs);
	assert_null(isc_inject_environment(env, "/i", at, needs - 1, &again));
	out = isc_inject_environment(env, "/i", at, needs, &again);
	assert_non_null(out);
	assert_int_equal(needs, again);
	result[0] = '\0';
	for (size_t i = 0; out[i] != NULL; i++) {
		strcat(result, i > 0 ? "|" : "");
		strcat(result, out[i]);
	}
	free(at);
	return result;
}

static void ours_comes_in_front_and_theirs_is_remembered(void **state)
{
	(void)state;
	assert_string_equal(made(WORDS(W("A=1"))), "A=1|PYTHONPATH=/i|INFERSCOPE_PYTHONPATH=");
	assert_string_equal(made(WORDS(W("PYTHONPATH=/a:"), W("Z=1"))),
			    "PYTHONPATH=/i:/a:|Z=1|INFERSCOPE_PYTHONPATH==/a:");
	/* An empty entry would be the working folder. */
	assert_string_equal(made(WORDS(W("PYTHONPATH="))), "PYTHONPATH=/i|INFERSCOPE_PYTHONPATH==");
	assert_string_equal(made(WORDS(W("PYTHONPATHS=/a"))), "PYTHONPATHS=/a|PYTHONPATH=/i|INFERSCOPE_PYTHONPATH=");
	assert_string_equal(made(((char *const[]){NULL})), "PYTHONPATH=/i|INFERSCOPE_PYTHONPATH=");
}

static void what_was_remembered_before_is_forgotten(void **state)
{
	(void)state;
	assert_string_equal(made(WORDS(W("INFERSCOPE_PYTHONPATH==/old"), W("PYTHONPATH=/new"))),
			    "PYTHONPATH=/i:/new|INFERSCOPE_PYTHONPATH==/new");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(options_that_leave_the_environment_or_site_out_turn_us_away),
		cmocka_unit_test(what_only_looks_like_one_of_them_does_not),
		cmocka_unit_test(ours_comes_in_front_and_theirs_is_remembered),
		cmocka_unit_test(what_was_remembered_before_is_forgotten),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
