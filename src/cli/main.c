#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <unistd.h>

#include "base/suggest.h"
#include "cli/commands.h"
#include "session/launch/launch.h"

static int stderr_fd = STDERR_FILENO;

isc_log isc_cli_log = {ISC_LOG_INFO, isc_log_to_fd, &stderr_fd};
const char *isc_cli_called_as;

/* A subcommand is one cmd_<name>.c and one row.  Without a text it is not shown. */
static const struct subcommand {
	const char *name;
	const char *text;
	int (*main)(int argc, char **argv);
} commands[] = {
	{"run", "record a program and say where its time went", cmd_run},
	{"analyze", "report on a trace, also one still being written", cmd_analyze},
	{"export", "turn a trace into a file of another tool", cmd_export},
	{"diff", "say what got slower between two traces, or two sets", cmd_diff},
	{"dump", "print a trace as text", cmd_dump},
	{"config", "show every setting and where it came from", cmd_config},
	{"doctor", "say what can be recorded here, and what is missing", cmd_doctor},
	{"watch", NULL, cmd_watch},
};

#define COMMANDS (sizeof(commands) / sizeof(commands[0]))

/* What to do, when nobody nearer to the failure knew better. */
static const char *remedy_of(isc_status status)
{
	switch (status) {
	case ISC_ERR_NOMEM:
	case ISC_ERR_LIMIT:
		return "raise the limits (ulimit -a), or ask for less";
	case ISC_ERR_CORRUPT:
		return "record it again; inferscope doctor saves what a killed recorder left";
	case ISC_ERR_INVALID:
		return "see inferscope --help";
	default:
		return "inferscope doctor says what can work here";
	}
}

int isc_cli_fail(const isc_error *err, int code)
{
	isc_error told = *err;

	if (told.hint[0] == 0)
		isc_hint(&told, "%s", remedy_of(told.status));
	isc_log_error(&isc_cli_log, ISC_LOG_ERROR, &told);
	return code;
}

static void help(void)
{
	puts("Usage: inferscope COMMAND [OPTION...]\n"
	     "\n"
	     "Why is this inference slow, and what should I change?\n");
	for (size_t i = 0; i < COMMANDS; i++)
		if (commands[i].text != NULL)
			printf("  %-10s %s\n", commands[i].name, commands[i].text);
	puts("\n"
	     "  --help     show this text; inferscope COMMAND --help tells more\n"
	     "  --version  show the version\n"
	     "\n"
	     "A first look:  inferscope run SCRIPT  writes report.md and says what is slow;\n"
	     "inferscope run --report report.html SCRIPT  makes a page for the browser.");
}

static int unknown(const char *word)
{
	const char *names[COMMANDS + 2], *nearest;
	isc_error err;

	for (size_t i = 0; i < COMMANDS; i++)
		names[i] = commands[i].text ? commands[i].name : NULL;
	names[COMMANDS] = "--help";
	names[COMMANDS + 1] = "--version";
	nearest = isc_suggest(word, names, COMMANDS + 2);
	isc_fail(&err, ISC_ERR_INVALID, "unknown %s %.80s", word[0] == '-' ? "option" : "command", word);
	if (nearest != NULL)
		isc_hint(&err, "did you mean %s?", nearest);
	else
		isc_hint(&err, "see inferscope --help");
	return isc_cli_fail(&err, ISC_EXIT_USAGE);
}

/* With rights that the caller does not have, the caller's files, variables and
 * programs must not be believed; and nothing here needs more rights. */
static int refuse_raised_rights(int code)
{
	isc_error err;

	isc_fail(&err, ISC_ERR_DENIED,
		 "refusing to work with raised rights (set-user-ID, set-group-ID or file capabilities)");
	isc_hint(&err, "take them away from the file; inferscope needs none");
	return isc_cli_fail(&err, code);
}

int main(int argc, char **argv)
{
	bool is_run = argc > 1 && strcmp(argv[1], "run") == 0;

	/* Before anything is opened: no file of ours becomes the program's stdin. */
	isc_launch_hold_standard();
	isc_cli_called_as = argc > 0 ? argv[0] : "inferscope";
	if (getauxval(AT_SECURE))
		return refuse_raised_rights(is_run ? ISC_EXIT_RUN_FAILED : ISC_EXIT_FAILED);
	if (argc < 2) {
		help();
		return ISC_EXIT_USAGE;
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 || strcmp(argv[1], "help") == 0) {
		help();
		return ISC_EXIT_OK;
	}
	if (strcmp(argv[1], "--version") == 0) {
		puts("inferscope " ISC_VERSION);
		return ISC_EXIT_OK;
	}
	for (size_t i = 0; i < COMMANDS; i++)
		if (strcmp(commands[i].name, argv[1]) == 0)
			return commands[i].main(argc - 1, argv + 1);
	return unknown(argv[1]);
}
