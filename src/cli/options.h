/*
 * options.h - read a command's options; help and errors look the same everywhere.
 *
 * Long options may be given as --name VALUE or --name=VALUE, in full: a
 * shortened one is an error, because a misspelt --forc must not mean --force.
 */
#ifndef ISC_CLI_OPTIONS_H
#define ISC_CLI_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "session/settings/settings.h"
#include "session/launch/target.h"

typedef struct isc_option {
	const char *name;     /* without dashes; NULL: the letter only */
	const char *argument; /* "PATH" when it takes a value, else NULL */
	const char *help;     /* one line; NULL hides it from --help */
	char letter;	      /* 'm' for -m; 0: none; 'h' is taken */
	bool ends;	      /* its value and all behind it go to rest() */
} isc_option;

typedef struct isc_options {
	const char *command;   /* "analyze" */
	const char *arguments; /* "TRACE..." */
	const char *about;     /* a sentence for --help */
	const isc_option *table;
	size_t count;
	/* value is NULL for an option without one */
	isc_status (*option)(void *self, const isc_option *option, const char *value, isc_error *err);
	/* NULL: the command takes no arguments */
	isc_status (*argument)(void *self, const char *value, isc_error *err);
	/* Instead of argument: the first one and everything behind it.  by: the option
	 * that ended ours, or NULL; dashes: "--" stood before it */
	isc_status (*rest)(void *self, const isc_option *by, char **argv, int argc, bool dashes, isc_error *err);
} isc_options;

/* *helped: --help was asked for and is printed; the command ends with 0. */
isc_status isc_options_parse(const isc_options *o, int argc, char **argv, void *self, bool *helped, isc_error *err);

/* What to run. */
typedef struct isc_target {
	int kind;    /* enum isc_target_kind */
	char **argv; /* script, module, code or command first, then its arguments; NULL at the end */
	int argc;
} isc_target;

/* The options of `run`, straight into settings, up to the program: SCRIPT, -m
 * MODULE, -c CODE or -- COMMAND.  What follows belongs to the program.  target
 * borrows from argv, which is changed in place; NULL: options only, for `config show`. */
isc_status isc_options_run(int argc, char **argv, isc_settings *settings, isc_target *target, bool *helped,
			   isc_error *err);

#endif
