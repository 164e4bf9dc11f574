/*
 * commands.h - the subcommands, one cmd_<name>.c each, and what they share.
 *
 * A command gets its own name as argv[0] and returns the exit status.  Only the
 * command line prints: results to stdout, everything else through isc_cli_log.
 */
#ifndef ISC_CLI_COMMANDS_H
#define ISC_CLI_COMMANDS_H

#include "base/log.h"
#include "base/status.h"

enum isc_exit {
	ISC_EXIT_OK = 0,
	ISC_EXIT_GATE = 1, /* a --fail-if gate fired */
	ISC_EXIT_USAGE = 2,
	ISC_EXIT_INPUT = 3, /* unreadable or damaged */
	ISC_EXIT_FAILED = 4,
	ISC_EXIT_INCONCLUSIVE = 5,
	ISC_EXIT_RUN_FAILED = 125, /* `run`: ours, also wrong usage, as the other codes are the program's */
	ISC_EXIT_RUN_DENIED = 126,
	ISC_EXIT_RUN_ABSENT = 127
};

/* To stderr, at the level of the settings once they are known. */
extern isc_log isc_cli_log;

/* argv[0] of the process: beside it lies the Python to run, perhaps. */
extern const char *isc_cli_called_as;

/* Prints the error line and returns code. */
int isc_cli_fail(const isc_error *err, int code);

int cmd_config(int argc, char **argv);
int cmd_diff(int argc, char **argv);
int cmd_doctor(int argc, char **argv);
int cmd_run(int argc, char **argv);
int cmd_watch(int argc, char **argv);
int cmd_analyze(int argc, char **argv);
int cmd_dump(int argc, char **argv);
int cmd_export(int argc, char **argv);

#endif
