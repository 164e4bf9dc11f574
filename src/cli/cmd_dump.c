/*
 * cmd_dump.c - inferscope dump: a trace as text.
 */
#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "cli/commands.h"
#include "cli/options.h"
#include "trace/dump/dump.h"

struct dump_arguments {
	const char *trace;
	isc_dump_options options;
};

static const isc_option table[] = {
	{.name = "from", .argument = "SECONDS", .help = "events and switches from here on, counted from the start"},
	{.name = "to", .argument = "SECONDS", .help = "and only before this"},
	{.name = "defs", .help = "also every definition"},
};

static isc_status take_option(void *self, const isc_option *option, const char *value, isc_error *err)
{
	struct dump_arguments *args = self;
	char *end;
	double seconds;

	if (value == NULL) {
		args->options.definitions = true;
		return ISC_OK;
	}
	seconds = strtod(value, &end);
	if (end == value || *end != 0 || !isfinite(seconds) || seconds < 0) {
		isc_fail(err, ISC_ERR_INVALID, "--%s %.60s is not a time", option->name, value);
		isc_hint(err, "give seconds from the start, such as 1.5");
		return ISC_ERR_INVALID;
	}
	*(strcmp(option->name, "from") == 0 ? &args->options.from_s : &args->options.to_s) = seconds;
	return ISC_OK;
}

static isc_status take_argument(void *self, const char *value, isc_error *err)
{
	struct dump_arguments *args = self;

	if (args->trace != NULL) {
		isc_fail(err, ISC_ERR_INVALID, "dump: one trace at a time, and %.80s is the second", value);
		isc_hint(err, "print each on its own");
		return ISC_ERR_INVALID;
	}
	args->trace = value;
	return ISC_OK;
}

int cmd_dump(int argc, char **argv)
{
	struct dump_arguments args = {0};
	const isc_options options = {.command = "dump",
				     .arguments = "TRACE",
				     .about = "Print a trace as text, one fact a line.",
				     .table = table,
				     .count = sizeof(table) / sizeof(table[0]),
				     .option = take_option,
				     .argument = take_argument};
	bool helped = false, printed, damaged;
	isc_trace *tr = NULL;
	isc_error err = {0};

	if (isc_options_parse(&options, argc, argv, &args, &helped, &err) != ISC_OK)
		return isc_cli_fail(&err, ISC_EXIT_USAGE);
	if (helped)
		return ISC_EXIT_OK;
	if (args.trace == NULL) {
		isc_fail(&err, ISC_ERR_INVALID, "dump: which trace?");
		isc_hint(&err, "inferscope dump inferscope.isc");
		return isc_cli_fail(&err, ISC_EXIT_USAGE);
	}
	if (isc_trace_open(args.trace, &tr, &err) != ISC_OK)
		return isc_cli_fail(&err, err.status == ISC_ERR_NOMEM ? ISC_EXIT_FAILED : ISC_EXIT_INPUT);
	printed = isc_dump_write(tr, &args.options, stdout, &err);
	damaged = isc_trace_is_damaged(tr);
	isc_trace_close(tr);
	if (!printed) {
		/* Whoever closed the pipe has seen enough. */
		if (err.sys == EPIPE)
			return ISC_EXIT_OK;
		return isc_cli_fail(&err, ISC_EXIT_FAILED);
	}
	return damaged ? ISC_EXIT_INPUT : ISC_EXIT_OK;
}
