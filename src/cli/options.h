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
#include "session/session.h"
#include "session/settings.h"

typedef struct isc_option {
	const char *name;	/* without dashes */
	const char *argument;	/* "PATH" when it takes a value, else NULL */
	const char *help;	/* one line; NULL hides it from --help */
	char letter;		/* 'm' for -m; 0: none */
} isc_option;

typedef struct isc_options {
	const char *command;	/* "analyze" */
	const char *arguments;	/* "TRACE..." */
	const char *about;	/* a sentence for --help */
	const isc_option *table;
	size_t count;
	/* value is NULL for an option without one */
	isc_status (*option)(void *self, const isc_option *option, const char *value, isc_error *err);
	/* NULL: the command takes no arguments */
	isc_status (*argument)(void *self, const char *value, isc_error *err);
} isc_options;

/* *helped: --help was asked for and is printed; the command ends with 0. */
isc_status isc_options_parse(const isc_options *o, int argc, char **argv, void *self, bool *helped, isc_error *err);

/* The options of `run`, straight into settings, up to the program: SCRIPT, -m
 * MODULE, -c CODE or -- COMMAND.  What follows belongs to the program.  target
 * borrows from argv, which is changed in place. */
isc_status isc_options_run(int argc, char **argv, isc_settings *settings, isc_target *target, bool *helped,
			   isc_error *err);

#endif
