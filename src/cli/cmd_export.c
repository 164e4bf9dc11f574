/*
 * cmd_export.c - inferscope export: a trace for the tools of others.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/output.h"
#include "base/path.h"
#include "cli/commands.h"
#include "cli/ending.h"
#include "cli/moment.h"
#include "cli/progress.h"
#include "export/export.h"
#include "import/import.h"

struct export_arguments {
	const char *trace;
	const char *output; /* NULL: beside the trace, by the format */
	bool chosen, force, quiet;
	isc_export_options options;
};

/* No time at all is not the whole, which 0 stands for in the options of an export. */
static isc_status take_end(struct export_arguments *args, const isc_option *option, const char *value, isc_error *err)
{
	isc_status st = isc_moment_parse(option, value, &args->options.to_us, err);

	if (st != ISC_OK || args->options.to_us > 0)
		return st;
	isc_fail(err, ISC_ERR_INVALID, "the time asked for ends before it begins");
	isc_hint(err, "give --to-time a later time than the start");
	return ISC_ERR_INVALID;
}

static isc_status take_option(void *self, const isc_option *option, const char *value, isc_error *err)
{
	struct export_arguments *args = self;

	if (strcmp(option->name, "to") == 0) {
		args->chosen = true;
		return isc_export_choose(value, &args->options.format, err);
	}
	if (strcmp(option->name, "from") == 0)
		return isc_moment_parse(option, value, &args->options.from_us, err);
	if (strcmp(option->name, "to-time") == 0)
		return take_end(args, option, value, err);
	if (strcmp(option->name, "output") == 0)
		args->output = value;
	else if (strcmp(option->name, "scope") == 0)
		args->options.scope = value;
	else if (strcmp(option->name, "force") == 0)
		args->force = true;
	else
		args->quiet = true;
	return ISC_OK;
}

static isc_status take_argument(void *self, const char *value, isc_error *err)
{
	struct export_arguments *args = self;

	if (args->trace != NULL) {
		isc_fail(err, ISC_ERR_INVALID, "export: one trace at a time, and %.80s is the second", value);
		isc_hint(err, "export each on its own");
		return ISC_ERR_INVALID;
	}
	args->trace = value;
	return ISC_OK;
}

static isc_status to_stdout(void *self, const void *data, size_t len, isc_error *err)
{
	(void)self;
	return fwrite(data, 1, len, stdout) == len && fflush(stdout) == 0 ? ISC_OK
									  : isc_fail_errno(err, "cannot print");
}

static isc_status to_file(void *self, const void *data, size_t len, isc_error *err)
{
	return isc_output_write(self, data, len, err);
}

static void step_bar(void *self, uint64_t done, uint64_t total)
{
	isc_bar_step(self, done, total);
}

/* model.isc becomes model.chrome.json. */
static void default_path(const struct export_arguments *args, isc_buffer *path)
{
	size_t len = strlen(args->trace);

	isc_buffer_add(path, args->trace, len > 4 && strcmp(args->trace + len - 4, ".isc") == 0 ? len - 4 : len);
	isc_buffer_text(path, isc_export_ending(args->options.format));
}

static void tell(const struct export_arguments *args, const char *path, const isc_export_result *r)
{
	if (args->quiet)
		return;
	isc_log_write(&isc_cli_log, ISC_LOG_INFO, "%llu slices, %llu marks and %llu samples are in %s (%.1f MB)",
		      (unsigned long long)r->slices, (unsigned long long)r->marks, (unsigned long long)r->samples, path,
		      (double)r->bytes / 1e6);
	if (r->unfinished > 0)
		isc_log_write(&isc_cli_log, ISC_LOG_INFO, "the end of %llu was not seen: they last as long as is known",
			      (unsigned long long)r->unfinished);
}

/* Of ours, or of another tool: then there is no trace, but files to be read. */
struct input {
	isc_trace *trace;
	isc_import import;
	char *path;
	bool asked, read; /* to read it, and it could be */
};

static isc_status fill(void *self, isc_timeline *timeline, isc_error *err)
{
	struct input *in = self;
	isc_status st;

	in->asked = true;
	st = isc_import_read(&in->import, &in->path, 1, timeline, err);

	in->read = st == ISC_OK;
	return st;
}

static isc_status export_input(struct export_arguments *args, struct input *in, isc_export_write_fn write, void *self,
			       isc_export_result *result, isc_error *err)
{
	if (in->trace != NULL)
		return isc_export_run(in->trace, &args->options, write, self, result, err);
	in->import.progress = args->options.progress;
	in->import.progress_self = args->options.progress_self;
	return isc_export_imported(fill, in, &args->options, write, self, result, err);
}

static isc_status write_export(struct export_arguments *args, struct input *in, const char *path,
			       isc_export_result *result, isc_error *err)
{
	isc_output *file = NULL;
	isc_status st;
	isc_bar bar;

	if (strcmp(path, "-") == 0)
		return export_input(args, in, to_stdout, NULL, result, err);
	if (isc_path_same(path, args->trace)) {
		st = isc_fail(err, ISC_ERR_INVALID, "the export and the trace are both to be %.150s", path);
		isc_hint(err, "choose another --output");
		return st;
	}
	st = isc_output_open(path, args->force, isc_export_is_ours, &file, err);
	if (st != ISC_OK)
		return st;
	isc_bar_start(&bar, STDERR_FILENO, !args->quiet, "exporting");
	args->options.progress = step_bar;
	args->options.progress_self = &bar;
	st = export_input(args, in, to_file, file, result, err);
	isc_bar_end(&bar);
	if (st == ISC_OK)
		st = isc_output_commit(file, err);
	isc_output_close(file);
	if (st == ISC_OK)
		tell(args, path, result);
	return st;
}

/* What a file is, is found from its first bytes; what nobody knows is a trace of ours that cannot be read. */
static isc_status open_input(struct export_arguments *args, struct input *in, isc_error *err)
{
	enum isc_import_format format = ISC_IMPORT_UNKNOWN;

	in->path = (char *)(uintptr_t)args->trace;
	if (isc_import_sniff(args->trace, &format, NULL) == ISC_OK && format != ISC_IMPORT_UNKNOWN &&
	    format != ISC_IMPORT_ISC)
		return ISC_OK;
	return isc_trace_open(args->trace, &in->trace, err);
}

static void close_input(const struct export_arguments *args, struct input *in, isc_export_result *result)
{
	uint64_t malformed = 0;

	for (size_t i = 0; i < in->import.file_count; i++) {
		result->damaged |= in->import.files[i].damaged;
		malformed += in->import.files[i].malformed;
	}
	if (malformed > 0 && !args->quiet)
		isc_log_write(&isc_cli_log, ISC_LOG_WARN, "events without a name or a time: %llu; they are left out",
			      (unsigned long long)malformed);
	if (result->folded > 0 && !args->quiet)
		isc_log_write(
			&isc_cli_log, ISC_LOG_WARN,
			"there are more different stacks than are told apart: %llu samples, of the rarest, stand as "
			"(other stacks) below their callers",
			(unsigned long long)result->folded);
	isc_import_fini(&in->import);
	isc_trace_close(in->trace);
}

static int export(struct export_arguments *args)
{
	isc_export_result result = {0};
	isc_buffer path = {0};
	struct input in = {0};
	isc_error err = {0};
	isc_status st;

	isc_ending_tidies_up();
	if (args->output != NULL)
		isc_buffer_text(&path, args->output);
	else
		default_path(args, &path);
	st = open_input(args, &in, &err);
	if (st != ISC_OK) {
		isc_buffer_fini(&path);
		return isc_cli_fail(&err, st == ISC_ERR_NOMEM ? ISC_EXIT_FAILED : ISC_EXIT_INPUT);
	}
	st = write_export(args, &in, path.data, &result, &err);
	close_input(args, &in, &result);
	isc_buffer_fini(&path);
	if (st == ISC_OK)
		return result.damaged ? ISC_EXIT_INPUT : ISC_EXIT_OK;
	/* Whoever closed the pipe has seen enough. */
	if (err.sys == EPIPE)
		return ISC_EXIT_OK;
	if (in.asked && !in.read && st != ISC_ERR_NOMEM)
		return isc_cli_fail(&err, ISC_EXIT_INPUT);
	return isc_cli_fail(&err, st == ISC_ERR_INVALID ? ISC_EXIT_USAGE : ISC_EXIT_FAILED);
}

int cmd_export(int argc, char **argv)
{
	static const isc_option table[] = {
		{"to", "FORMAT", "chrome, perfetto, speedscope, collapsed, pprof or events", 0, false},
		{"output", "PATH", "where it goes; -: to stdout (default: beside the trace)", 0, false},
		{"scope", "NAME", "only while a scope of this name was open", 0, false},
		{"from", "T", "only from this time on: seconds, or 200ms, or 1500us", 0, false},
		{"to-time", "T", "only up to this time", 0, false},
		{"force", NULL, "replace a file that is not an export of ours", 0, false},
		{"quiet", NULL, "say nothing when all went well", 0, false},
	};
	const isc_options options = {
		.command = "export",
		.arguments = "TRACE",
		.about = "Turn a trace, ours or another tool's, or a piece of it, into a file that another tool opens."
			 "\v  inferscope export inferscope.isc --to perfetto\n"
			 "  inferscope export inferscope.isc --to speedscope --scope request\n",
		.table = table,
		.count = sizeof(table) / sizeof(table[0]),
		.option = take_option,
		.argument = take_argument};
	struct export_arguments args = {0};
	bool helped = false;
	isc_error err;

	if (isc_options_parse(&options, argc, argv, &args, &helped, &err) != ISC_OK)
		return isc_cli_fail(&err, ISC_EXIT_USAGE);
	if (helped)
		return ISC_EXIT_OK;
	if (args.trace == NULL || !args.chosen) {
		isc_fail(&err, ISC_ERR_INVALID, "export: %s is missing",
			 args.trace == NULL ? "which trace" : "which format");
		isc_hint(&err, "write inferscope export TRACE --to chrome");
		return isc_cli_fail(&err, ISC_EXIT_USAGE);
	}
	return export(&args);
}
