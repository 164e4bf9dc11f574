/*
 * cmd_run.c - inferscope run: record a program, then write the report.
 *
 * Everything that can be refused is refused before the program starts; from
 * then on its exit code, or its signal, is ours.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/output.h"
#include "base/path.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/report_files.h"
#include "cli/under_nsys.h"
#include "session/launch/interpreter.h"
#include "session/launch/parts.h"
#include "session/session.h"
#include "session/launch/shebang.h"
#include "session/launch/signals.h"
#include "session/launch/target.h"
#include "trace/format.h"

#define PATH_ROOM 4096

static void say(void *self, int level, const char *what, const char *hint)
{
	(void)self;
	if (hint != NULL && hint[0] != 0)
		isc_log_write(&isc_cli_log, level, "%s; %s", what, hint);
	else
		isc_log_write(&isc_cli_log, level, "%s", what);
}

static void say_salvaged(void *self, const isc_remains *r)
{
	(void)self;
	if (r->state == ISC_REMAINS_SALVAGED)
		isc_log_write(&isc_cli_log, ISC_LOG_INFO,
			      "an earlier recorder was killed: the rest of its session is now in %s", r->trace);
	else if (r->state > ISC_REMAINS_RUNNING || r->left > 0) /* not this run's affair, and there at every run */
		isc_log_write(&isc_cli_log, ISC_LOG_DEBUG, "%s is left as it is; inferscope doctor says why",
			      r->folder);
}

typedef struct plan {
	char **argv;		/* the program's whole command line; borrows python */
	char python[PATH_ROOM]; /* that runs it; "" when none does, as far as can be seen */
	bool lacks_package;	/* that Python does not load us by itself */
} plan;

static isc_status prepare(const isc_settings *settings, const isc_target *target, plan *p, isc_error *err)
{
	char what[40];
	isc_parts parts;
	isc_status st;

	if (target->kind == ISC_TARGET_SCRIPT && isc_shebang_foreign(target->argv[0], what, sizeof(what))) {
		isc_fail(err, ISC_ERR_INVALID, "cannot run %.100s with Python: it is %s", target->argv[0], what);
		isc_hint(err, "write inferscope run -- %.100s", target->argv[0]);
		return ISC_ERR_INVALID;
	}
	if (target->kind != ISC_TARGET_COMMAND) {
		st = isc_parts_python(settings->python, isc_cli_called_as, p->python, sizeof(p->python), err);
		if (st != ISC_OK)
			return st;
	} else {
		isc_shebang_python(target->argv[0], p->python, sizeof(p->python));
	}
	p->lacks_package = p->python[0] != 0 && isc_parts_find(&parts, NULL) == ISC_OK &&
			   !isc_parts_python_has_package(p->python, &parts);
	if (p->lacks_package && !isc_parts_python_has_core(p->python, &parts))
		isc_log_write(&isc_cli_log, ISC_LOG_WARN,
			      "%s has no InferScope: its Python code is not seen; %s -m pip install inferscope",
			      p->python, p->python);
	return isc_target_argv(target->kind, target->argv, p->python, &p->argv, err);
}

/* A trace is written in place, which only a file can be. */
static isc_status refuse_stdout(isc_error *err)
{
	isc_fail(err, ISC_ERR_INVALID, "cannot write the trace to -: it is no stream");
	isc_hint(err, "give a path; ./- is a file of that name");
	return ISC_ERR_INVALID;
}

/* Everything that would be an error after the program has run is one now. */
static isc_status open_outputs(const isc_settings *settings, const char *trace, isc_report_request *reports,
			       int *trace_fd, isc_output_made *made, isc_error *err)
{
	isc_status st;

	*reports = isc_report_request_of(settings, trace);
	st = isc_report_request_open(reports, err);
	if (st == ISC_OK)
		st = isc_output_make_trace(trace, settings->force, isc_trace_is_ours, trace_fd, made, err);
	return st;
}

/* The report, while ^C means: leave at once with the program's code. */
static void report(isc_report_request *reports, const isc_settings *settings, const isc_session_result *result)
{
	bool damaged, opened;
	isc_error err;

	if (!result->running)
		isc_launch_restore_signals(result->launch);
	if (settings->report && isc_report_request_write(reports, &damaged, &opened, &err) != ISC_OK)
		isc_log_error(&isc_cli_log, ISC_LOG_ERROR, &err);
	isc_report_request_close(reports);
}

static int run(const isc_settings *settings, const isc_target *target, bool inside, int argc, char **arguments)
{
	isc_session_options session = {.settings = settings, .trace_fd = -1, .say = say, .cuda_elsewhere = inside};
	isc_session_result result = {.exit_code = ISC_EXIT_RUN_FAILED};
	isc_report_request reports = {0};
	char trace[PATH_ROOM], nsys[PATH_ROOM];
	isc_output_made made = {.dir_fd = -1};
	plan p = {0};
	isc_error err;
	isc_status st;

	st = strcmp(settings->trace, "-") == 0 ? refuse_stdout(&err) : prepare(settings, target, &p, &err);
	if (st == ISC_OK)
		st = isc_path_absolute(settings->trace, trace, sizeof(trace), &err);
	if (st == ISC_OK)
		st = isc_launch_check(p.argv[0], &result.exit_code, &err);
	if (st == ISC_OK && !inside && isc_nsys_wanted(settings, p.python, nsys, sizeof(nsys))) {
		free(p.argv);
		return isc_nsys_run(settings, nsys, trace, argc, arguments);
	}
	if (st == ISC_OK)
		st = open_outputs(settings, trace, &reports, &session.trace_fd, &made, &err);
	if (st != ISC_OK) {
		isc_report_request_close(&reports);
		free(p.argv);
		return isc_cli_fail(&err, result.exit_code);
	}
	isc_session_salvage(trace, say_salvaged, NULL);
	session.trace_path = trace;
	session.lacks_package = p.lacks_package;
	st = isc_session_run(&session, p.argv, &result, &err);
	free(p.argv);
	if (result.launch == NULL) { /* it never ran: no trace either */
		isc_output_made_release(&made, true);
		isc_report_request_close(&reports);
		return isc_cli_fail(&err, result.exit_code);
	}
	isc_output_made_release(&made, false);
	if (st != ISC_OK)
		isc_log_error(&isc_cli_log, ISC_LOG_ERROR, &err);
	report(&reports, settings, &result);
	if (result.running)
		result.wait_status = isc_launch_wait(result.launch);
	isc_launch_free(result.launch);
	isc_launch_exit_like(result.wait_status);
}

int cmd_run(int argc, char **argv)
{
	isc_settings settings;
	isc_target target = {0};
	isc_error err;
	bool helped = false, inside = isc_nsys_inside();
	int code;

	isc_signals_shield();
	if (isc_settings_init(&settings, &err) != ISC_OK)
		return isc_cli_fail(&err, ISC_EXIT_RUN_FAILED);
	if (isc_settings_load(&settings, NULL, environ, &err) != ISC_OK ||
	    isc_options_run(argc, argv, &settings, &target, &helped, &err) != ISC_OK)
		code = isc_cli_fail(&err, ISC_EXIT_RUN_FAILED);
	else if (helped)
		code = ISC_EXIT_OK;
	else {
		isc_cli_log.level = settings.quiet ? ISC_LOG_ERROR : settings.log_level;
		for (size_t i = 0; i < settings.notes.count; i++)
			isc_log_write(&isc_cli_log, ISC_LOG_WARN, "%s", settings.notes.item[i]);
		/* The report is the business of the command that started nsys. */
		settings.report = settings.report && !inside;
		code = run(&settings, &target, inside, argc, argv);
	}
	isc_settings_fini(&settings);
	return code;
}
