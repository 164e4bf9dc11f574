/* How a Python is brought to load us: its options, and its environment. */
#include <stdlib.h>
#include <string.h>

#include "check.h"
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

TEST(options_that_leave_the_environment_or_site_out_turn_us_away)
{
	CHECK(!isc_inject_is_welcome(WORDS(W("python"), W("-I"), W("x.py"))));
	CHECK(!isc_inject_is_welcome(WORDS(W("/usr/bin/python3.11"), W("-E"))));
	CHECK(!isc_inject_is_welcome(WORDS(W("python3"), W("-BuS"), W("-c"), W("1"))));
	CHECK(!isc_inject_is_welcome(WORDS(W("python"), W("-X"), W("dev"), W("-I"))));
	CHECK(!isc_inject_is_welcome(WORDS(W("python"), W("-Wignore"), W("-E"))));
	CHECK(!isc_inject_is_welcome(WORDS(W("python"), W("--check-hash-based-pycs"), W("never"), W("-E"))));
}

TEST(what_only_looks_like_one_of_them_does_not)
{
	CHECK(isc_inject_is_welcome(NULL));
	CHECK(isc_inject_is_welcome(WORDS(W("python"))));
	CHECK(isc_inject_is_welcome(WORDS(W("python"), W("-"), W("-I"))));
	CHECK(isc_inject_is_welcome(WORDS(W("python"), W("x.py"), W("-E"))));
	CHECK(isc_inject_is_welcome(WORDS(W("python"), W("-c"), W("-I"))));
	CHECK(isc_inject_is_welcome(WORDS(W("python"), W("-cIS"))));
	CHECK(isc_inject_is_welcome(WORDS(W("python"), W("-m"), W("x"), W("-S"))));
	CHECK(isc_inject_is_welcome(WORDS(W("python"), W("-W"), W("-E"))));
	CHECK(isc_inject_is_welcome(WORDS(W("python"), W("-XISE"))));
	CHECK(isc_inject_is_welcome(WORDS(W("python"), W("-X"))));
	CHECK(isc_inject_is_welcome(WORDS(W("gdb"), W("-E"))));
}

/* Made in memory of exactly the size that was asked for, so that a sanitizer sees
 * every byte too many; joined with '|'. */
static const char *made(char *const env[])
{
	static char result[4096];
	size_t needs, again;
	char **out;
	void *at;

	CHECK_EQ(isc_inject_environment(env, "/i", NULL, 0, &needs), NULL);
	at = malloc(needs);
	CHECK_EQ(isc_inject_environment(env, "/i", at, needs - 1, &again), NULL);
	out = isc_inject_environment(env, "/i", at, needs, &again);
	CHECK(out != NULL);
	CHECK_EQ(needs, again);
	result[0] = '\0';
	for (size_t i = 0; out[i] != NULL; i++) {
		strcat(result, i > 0 ? "|" : "");
		strcat(result, out[i]);
	}
	free(at);
	return result;
}

TEST(ours_comes_in_front_and_theirs_is_remembered)
{
	CHECK_TEXT(made(WORDS(W("A=1"))), "A=1|PYTHONPATH=/i|INFERSCOPE_PYTHONPATH=");
	CHECK_TEXT(made(WORDS(W("PYTHONPATH=/a:"), W("Z=1"))), "PYTHONPATH=/i:/a:|Z=1|INFERSCOPE_PYTHONPATH==/a:");
	/* An empty entry would be the working folder. */
	CHECK_TEXT(made(WORDS(W("PYTHONPATH="))), "PYTHONPATH=/i|INFERSCOPE_PYTHONPATH==");
	CHECK_TEXT(made(WORDS(W("PYTHONPATHS=/a"))), "PYTHONPATHS=/a|PYTHONPATH=/i|INFERSCOPE_PYTHONPATH=");
	CHECK_TEXT(made(((char *const[]){NULL})), "PYTHONPATH=/i|INFERSCOPE_PYTHONPATH=");
}

TEST(what_was_remembered_before_is_forgotten)
{
	CHECK_TEXT(made(WORDS(W("INFERSCOPE_PYTHONPATH==/old"), W("PYTHONPATH=/new"))),
		   "PYTHONPATH=/i:/new|INFERSCOPE_PYTHONPATH==/new");
}
