/*
 * cmd_watch.c - inferscope watch --pid PID: the recorder of a program that was
 * started without the command (INFERSCOPE_ENABLED=1).
 *
 * Started by the Python package at the first moment of the program.  Prints two
 * lines, the session folder and the runtime to preload, and goes on by itself:
 * no terminal, no descriptor of the program, no word on its stderr.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/output.h"
#include "base/path.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/report_files.h"
#include "session/session.h"
#include "session/signals.h"
#include "trace/format.h"

#define PATH_ROOM 4096

typedef struct watch_args {
	pid_t pid;
} watch_args;

static isc_status take_option(void *self, const isc_option *option, const char *value, isc_error *err)
{
	watch_args *args = self;
	char *end;
	long pid = strtol(value, &end, 10);

	(void)option;
	if (*end != 0 || pid <= 0 || pid > INT32_MAX) {
		isc_fail(err, ISC_ERR_INVALID, "--pid wants a process id, not %.60s", value);
		isc_hint(err, "the package starts this command; users need inferscope run");
		return ISC_ERR_INVALID;
	}
	args->pid = (pid_t)pid;
	return ISC_OK;
}

static void be_ready(void *self, const char *folder, const char *runtime)
{
	(void)self;
	dprintf(STDOUT_FILENO, "%s\n%s\n", folder, runtime);
	/* The program waits for the end of this file and never hears from us again. */
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	if (null >= 0) {
		dup2(null, STDOUT_FILENO);
		dup2(null, STDERR_FILENO);
		close(null);
	}
}

static void close_from(int first)
{
	struct rlimit limit;

#ifdef SYS_close_range
	if (syscall(SYS_close_range, (unsigned)first, ~0u, 0) == 0)
		return;
#endif
	if (getrlimit(RLIMIT_NOFILE, &limit) < 0 || limit.rlim_cur > 65536)
		limit.rlim_cur = 65536;
	for (int fd = first; fd < (int)limit.rlim_cur; fd++)
		close(fd);
}

/* Two forks and a session of our own: the program is not our parent's business
 * any more, and neither ^C nor a hang-up of its terminal reaches us. */
static bool detach(void)
{
	pid_t pid = fork();

	if (pid != 0)
		_exit(pid < 0 ? ISC_EXIT_FAILED : ISC_EXIT_OK);
	setsid();
	pid = fork();
	if (pid != 0)
		_exit(pid < 0 ? ISC_EXIT_FAILED : ISC_EXIT_OK);
	int null = open("/dev/null", O_RDONLY | O_CLOEXEC);

	if (null >= 0) {
		dup2(null, STDIN_FILENO);
		close(null);
	}
	/* Only the answer goes back: anything else the program had open would
	 * never end for whoever reads it. */
	close_from(3);
	return true;
}

static isc_status trace_name(const isc_settings *s, pid_t pid, char *out, size_t room, isc_error *err)
{
	struct utsname host;
	char name[PATH_ROOM];

	if (s->origin[isc_settings_find("trace")].kind != ISC_ORIGIN_DEFAULT)
		return isc_path_absolute(s->trace, out, room, err);
	if (uname(&host) < 0)
		snprintf(host.nodename, sizeof(host.nodename), "host");
	snprintf(name, sizeof(name), "inferscope-%s-%d.isc", host.nodename, (int)pid);
	return isc_path_absolute(name, out, room, err);
}

int cmd_watch(int argc, char **argv)
{
	static const isc_option table[] = {{.name = "pid", .argument = "PID", .help = "the process to record"}};
	const isc_options options = {.command = "watch",
				     .arguments = "--pid PID",
				     .about = "Record a running process that joins the session printed on stdout.",
				     .table = table,
				     .count = 1,
				     .option = take_option};
	isc_session_options session = {.trace_fd = -1};
	char trace[PATH_ROOM];
	watch_args args = {0};
	isc_settings settings;
	isc_error err;
	bool helped;
	isc_status st;

	st = isc_options_parse(&options, argc, argv, &args, &helped, &err);
	if (st != ISC_OK)
		return isc_cli_fail(&err, ISC_EXIT_USAGE);
	if (helped)
		return ISC_EXIT_OK;
	if (args.pid == 0) {
		isc_fail(&err, ISC_ERR_INVALID, "watch wants --pid PID");
		isc_hint(&err, "the package starts this command; users need inferscope run");
		return isc_cli_fail(&err, ISC_EXIT_USAGE);
	}
	if (isc_settings_init(&settings, &err) != ISC_OK)
		return isc_cli_fail(&err, ISC_EXIT_FAILED);
	if (isc_settings_load(&settings, NULL, environ, &err) != ISC_OK ||
	    trace_name(&settings, args.pid, trace, sizeof(trace), &err) != ISC_OK) {
		isc_settings_fini(&settings);
		return isc_cli_fail(&err, ISC_EXIT_FAILED);
	}
	detach();
	isc_signals_shield();
	isc_session_salvage(trace, NULL, NULL);
	st = isc_output_create_trace(trace, settings.force, isc_trace_is_ours, &session.trace_fd, &err);
	if (st == ISC_OK) {
		session.settings = &settings;
		session.trace_path = trace;
		st = isc_session_watch(&session, args.pid, be_ready, NULL, &err);
	}
	if (st == ISC_OK && settings.report &&
	    settings.origin[isc_settings_find("report")].kind != ISC_ORIGIN_DEFAULT) {
		isc_report_request reports = isc_report_request_of(&settings, trace);
		bool damaged, opened;

		reports.quiet = true;
		st = isc_report_request_open(&reports, &err);
		if (st == ISC_OK)
			st = isc_report_request_write(&reports, &damaged, &opened, &err);
		isc_report_request_close(&reports);
	}
	isc_settings_fini(&settings);
	return st == ISC_OK ? ISC_EXIT_OK : ISC_EXIT_FAILED;
}
