/*
 * cmd_analyze.c - inferscope analyze: read a trace, write its report.
 */
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analyze/rules/rules_file.h"
#include "cli/commands.h"
#include "cli/ending.h"
#include "cli/moment.h"
#include "cli/options.h"
#include "cli/report_files.h"
#include "import/import.h"
#include "report/report.h"

/* Ranks of a large run, one file each; more go into a folder. */
#define INPUTS_MAX 1024u

struct analyze_arguments {
	char *path;
	char *inputs[INPUTS_MAX];
	size_t input_count;
	isc_report_request request;
	const char *rules_path; /* NULL: the built-in rules */
	isc_rules rules;
};

static isc_status take_option(void *self, const isc_option *option, const char *value, isc_error *err)
{
	struct analyze_arguments *args = self;
	isc_report_request *r = &args->request;

	if (strcmp(option->name, "output") == 0)
		args->path = (char *)(uintptr_t)value;
	else if (strcmp(option->name, "format") == 0)
		r->format = value;
	else if (strcmp(option->name, "scope") == 0)
		r->options.scope = value;
	else if (strcmp(option->name, "from") == 0)
		return isc_moment_parse(option, value, &r->options.from_us, err);
	else if (strcmp(option->name, "to") == 0)
		return isc_moment_parse(option, value, &r->options.to_us, err);
	else if (strcmp(option->name, "rules-file") == 0)
		args->rules_path = value;
	else if (strcmp(option->name, "symbols") == 0)
		r->symbols = value;
	else if (strcmp(option->name, "force") == 0)
		r->force = true;
	else
		r->quiet = true;
	return ISC_OK;
}

static isc_status take_argument(void *self, const char *value, isc_error *err)
{
	struct analyze_arguments *args = self;

	if (args->input_count == INPUTS_MAX) {
		isc_fail(err, ISC_ERR_INVALID, "analyze: more than %u traces", INPUTS_MAX);
		isc_hint(err, "put them into a folder, and give that");
		return ISC_ERR_INVALID;
	}
	args->inputs[args->input_count++] = (char *)(uintptr_t)value;
	args->request.trace = args->inputs[0];
	return ISC_OK;
}

static void choose_path(struct analyze_arguments *args)
{
	isc_report_request *r = &args->request;

	if (args->path == NULL)
		args->path = isc_report_default_path(r->format);
	r->stdout_ours = true;
	r->inputs = args->inputs;
	r->input_count = args->input_count;
	r->paths = &args->path;
	r->count = 1;
}

/* Settings that an analysis has: how far off the clock of a GPU is, when nothing tells. */
static isc_status read_settings(isc_report_request *r, isc_error *err)
{
	isc_settings settings;
	isc_status st = isc_settings_init(&settings, err);

	if (st != ISC_OK)
		return st;
	st = isc_settings_load(&settings, NULL, environ, err);
	r->margin_us = settings.sync_error_margin_us;
	isc_settings_fini(&settings);
	return st;
}

static int analyze(struct analyze_arguments *args)
{
	isc_report_request *r = &args->request;
	bool damaged, opened;
	isc_error err;
	isc_status st;

	isc_ending_tidies_up();
	isc_rules_init(&args->rules);
	st = read_settings(r, &err);
	if (st == ISC_OK && args->rules_path != NULL) {
		st = isc_rules_read(&args->rules, args->rules_path, &err);
		if (st != ISC_OK)
			return isc_cli_fail(&err, st == ISC_ERR_NOMEM ? ISC_EXIT_FAILED : ISC_EXIT_USAGE);
		r->options.rules = &args->rules;
	}
	if (st == ISC_OK)
		st = isc_report_request_open(r, &err);
	if (st != ISC_OK)
		return isc_cli_fail(&err, st == ISC_ERR_INVALID ? ISC_EXIT_USAGE : ISC_EXIT_FAILED);
	st = isc_report_request_write(r, &damaged, &opened, &err);
	isc_report_request_close(r);
	if (st == ISC_OK)
		return damaged ? ISC_EXIT_INPUT : ISC_EXIT_OK;
	if (!opened && st != ISC_ERR_NOMEM)
		return isc_cli_fail(&err, ISC_EXIT_INPUT);
	/* The scope or the time that was asked for is not there. */
	return isc_cli_fail(&err, st == ISC_ERR_INVALID ? ISC_EXIT_USAGE : ISC_EXIT_FAILED);
}

/* Traces of ours are one run each; of other tools' files several may be the ranks of one. */
static isc_status refuse_several(const struct analyze_arguments *args, isc_error *err)
{
	if (isc_report_request_pair(args->inputs, args->input_count))
		return ISC_OK;
	for (size_t i = 0; args->input_count > 1 && i < args->input_count; i++) {
		enum isc_import_format format = ISC_IMPORT_UNKNOWN;
		struct stat sb;

		if (stat(args->inputs[i], &sb) < 0 || !S_ISREG(sb.st_mode) ||
		    isc_import_sniff(args->inputs[i], &format, NULL) != ISC_OK || format != ISC_IMPORT_ISC)
			continue;
		isc_fail(err, ISC_ERR_INVALID, "analyze: one trace at a time, and %.80s is not the only one",
			 args->inputs[i]);
		isc_hint(err, "analyse each on its own; only traces of other tools are read together");
		return ISC_ERR_INVALID;
	}
	return ISC_OK;
}

int cmd_analyze(int argc, char **argv)
{
	static const isc_option table[] = {
		{"output", "PATH", "where the report goes; -: to stdout (default: report.md)", 0, false},
		{"format", "FORMAT", "markdown, html or json (default: by the ending of PATH)", 0, false},
		{"scope", "NAME", "look only inside this scope", 0, false},
		{"from", "T", "look only from this time on: seconds, or 200ms, or 1500us", 0, false},
		{"to", "T", "look only up to this time", 0, false},
		{"rules-file", "RULES.yaml", "change, add and switch off rules of the verdict", 0, false},
		{"symbols", "DIR", "name native functions by the debug files in this folder", 0, false},
		{"force", NULL, "replace a file that is not a report of ours", 0, false},
		{"quiet", NULL, "print no summary", 0, false},
	};
	const isc_options options = {
		.command = "analyze",
		.arguments = "TRACE...",
		.about = "Read a trace, also one that is still being written, and write its report. Traces of "
			 "torch.profiler (Kineto JSON), Nsight Systems (.sqlite), Chrome and VizTracer, speedscope, "
			 "collapsed stacks and event JSON are read too; several files, or a folder of them, are the "
			 "ranks of one run. A trace of ours and a .sqlite of Nsight Systems are one run that both "
			 "recorded."
			 "\v  inferscope analyze inferscope.isc --scope request --output slow.html\n"
			 "  inferscope analyze trace.json.gz\n",
		.table = table,
		.count = sizeof(table) / sizeof(table[0]),
		.option = take_option,
		.argument = take_argument};
	static struct analyze_arguments args;
	bool helped = false;
	isc_error err;

	if (isc_options_parse(&options, argc, argv, &args, &helped, &err) != ISC_OK)
		return isc_cli_fail(&err, ISC_EXIT_USAGE);
	if (helped)
		return ISC_EXIT_OK;
	if (args.request.trace == NULL) {
		isc_fail(&err, ISC_ERR_INVALID, "analyze: which trace is missing");
		isc_hint(&err, "write inferscope analyze TRACE");
		return isc_cli_fail(&err, ISC_EXIT_USAGE);
	}
	if (refuse_several(&args, &err) != ISC_OK)
		return isc_cli_fail(&err, ISC_EXIT_USAGE);
	choose_path(&args);
	return analyze(&args);
}
