/* target: what the user asked for becomes a command line. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "session/launch/target.h"

static const char *line(int kind, char *const *argv, const char *python)
{
	static char text[256];
	char **made;

	text[0] = 0;
	if (isc_target_argv(kind, argv, python, &made, NULL) != ISC_OK)
		return "refused";
	for (size_t i = 0; made[i] != NULL; i++) {
		strcat(text, i > 0 ? " " : "");
		strcat(text, made[i]);
	}
	free(made);
	return text;
}

static void each_kind_becomes_its_command_line(void **state)
{
	char *argv[] = {"thing", "-m", "--x", "", NULL};

	(void)state;
	assert_string_equal(line(ISC_TARGET_SCRIPT, argv, "/p"), "/p thing -m --x ");
	assert_string_equal(line(ISC_TARGET_MODULE, argv, "/p"), "/p -m thing -m --x ");
	assert_string_equal(line(ISC_TARGET_CODE, argv, "/p"), "/p -c thing -m --x ");
	assert_string_equal(line(ISC_TARGET_COMMAND, argv, "/p"), "thing -m --x ");
	assert_string_equal(line(ISC_TARGET_COMMAND, argv, NULL), "thing -m --x ");
}

static void nothing_to_run_is_refused(void **state)
{
	char *none[] = {NULL}, *script[] = {"x.py", NULL};

	(void)state;
	assert_string_equal(line(ISC_TARGET_SCRIPT, none, "/p"), "refused");
	assert_string_equal(line(ISC_TARGET_COMMAND, NULL, "/p"), "refused");
	assert_string_equal(line(ISC_TARGET_SCRIPT, script, ""), "refused");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(each_kind_becomes_its_command_line),
		cmocka_unit_test(nothing_to_run_is_refused),
	};

	return cmocka_run_group_tests_name("target", tests, NULL, NULL);
}
