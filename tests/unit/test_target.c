/* target: what the user asked for becomes a command line. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
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

TEST(each_kind_becomes_its_command_line)
{
	char *argv[] = {"thing", "-m", "--x", "", NULL};

	CHECK_TEXT(line(ISC_TARGET_SCRIPT, argv, "/p"), "/p thing -m --x ");
	CHECK_TEXT(line(ISC_TARGET_MODULE, argv, "/p"), "/p -m thing -m --x ");
	CHECK_TEXT(line(ISC_TARGET_CODE, argv, "/p"), "/p -c thing -m --x ");
	CHECK_TEXT(line(ISC_TARGET_COMMAND, argv, "/p"), "thing -m --x ");
	CHECK_TEXT(line(ISC_TARGET_COMMAND, argv, NULL), "thing -m --x ");
}

TEST(nothing_to_run_is_refused)
{
	char *none[] = {NULL}, *script[] = {"x.py", NULL};

	CHECK_TEXT(line(ISC_TARGET_SCRIPT, none, "/p"), "refused");
	CHECK_TEXT(line(ISC_TARGET_COMMAND, NULL, "/p"), "refused");
	CHECK_TEXT(line(ISC_TARGET_SCRIPT, script, ""), "refused");
}
