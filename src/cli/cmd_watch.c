/*
 * cmd_watch.c - inferscope watch --pid PID: the recorder of a program that was
 * started without the command (INFERSCOPE_ENABLED=1), or that looks at a part of
 * itself (--scratch: the trace goes when the program has ended).
 *
 * Started by the Python package.  Prints four lines, the session folder, the runtime
 * to preload, and what the CUDA driver and the OpenCL loader are to load (empty:
 * nothing), and goes on by itself: no terminal, no descriptor of the program, no word
 * on its stderr.
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
#include "session/launch/gpu_parts.h"
#include "session/folder/scratch.h"
#include "session/session.h"
#include "session/launch/signals.h"
#include "trace/format.h"

#define PATH_ROOM 4096

typedef struct watch_args {
	pid_t pid;
	bool scratch;
	unsigned size_mb; /* 0: as the settings say */
} watch_args;

static isc_status take_option(void *self, const isc_option *option, const char *value, isc_error *err)
{
	watch_args *args = self;
	char *end;
	long number;

	if (strcmp(option->name, "scratch") == 0) {
		args->scratch = true;
		return ISC_OK;
	}
	number = strtol(value, &end, 10);
	if (*end != 0 || number <= 0 || number > INT32_MAX) {
		isc_fail(err, ISC_ERR_INVALID, "--%s wants a whole number above 0, not %.60s", option->name, value);
		isc_hint(err, "the package starts this command; users need inferscope run");
		return ISC_ERR_INVALID;
	}
	if (strcmp(option->name, "pid") == 0)
		args->pid = (pid_t)number;
	else
		args->size_mb = (unsigned)number;
	return ISC_OK;
}

static void be_ready(void *self, const char *folder, const char *runtime)
{
	const isc_settings *settings = self;
	char cuda[PATH_ROOM], layer[PATH_ROOM];

	isc_gpu_parts_find(settings, cuda, layer, PATH_ROOM);
	dprintf(STDOUT_FILENO, "%s\n%s\n%s\n%s\n", folder, runtime, cuda, layer);
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

static isc_status make_trace(const watch_args *args, const isc_settings *s, char *trace, size_t room, int *fd,
			     isc_output_made *made, isc_error *err)
{
	if (args->scratch)
		return isc_scratch_make(trace, room, fd, made, err);
	return isc_output_make_trace(trace, s->force, isc_trace_is_ours, fd, made, err);
}

/* Of what was asked for by name. */
static isc_status write_reports(const isc_settings *s, const char *trace, isc_error *err)
{
	isc_report_request reports = isc_report_request_of(s, trace);
	bool damaged, opened;
	isc_status st;

	reports.quiet = true;
	st = isc_report_request_open(&reports, err);
	if (st == ISC_OK)
		st = isc_report_request_write(&reports, &damaged, &opened, err);
	isc_report_request_close(&reports);
	return st;
}

int cmd_watch(int argc, char **argv)
{
	static const isc_option table[] = {
		{.name = "pid", .argument = "PID", .help = "the process to record"},
		{.name = "scratch", .help = "remove the trace when the process has ended; no report"},
		{.name = "size-mb", .argument = "N", .help = "the largest trace"}};
	const isc_options options = {.command = "watch",
				     .arguments = "--pid PID",
				     .about = "Record a running process that joins the session printed on stdout.",
				     .table = table,
				     .count = sizeof(table) / sizeof(table[0]),
				     .option = take_option};
	isc_session_options session = {.trace_fd = -1};
	char trace[PATH_ROOM];
	isc_output_made made = {.dir_fd = -1};
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
	if (args.size_mb != 0)
		settings.trace_size_mb = args.size_mb;
	if (args.scratch) {
		settings.agent = false; /* it is too late for that */
		settings.delay_s = settings.duration_s = 0;
	}
	detach();
	isc_signals_shield();
	isc_session_salvage(args.scratch ? NULL : trace, NULL, NULL);
	st = make_trace(&args, &settings, trace, sizeof(trace), &session.trace_fd, &made, &err);
	if (st == ISC_OK) {
		session.settings = &settings;
		session.trace_path = trace;
		session.scratch = args.scratch;
		st = isc_session_watch(&session, args.pid, be_ready, &settings, &err);
		isc_output_made_release(&made, args.scratch);
	}
	if (st == ISC_OK && !args.scratch && settings.report &&
	    settings.origin[isc_settings_find("report")].kind != ISC_ORIGIN_DEFAULT)
		st = write_reports(&settings, trace, &err);
	isc_settings_fini(&settings);
	if (st == ISC_OK)
		return ISC_EXIT_OK;
	/* Who asked for a scratch trace reads our words; elsewhere stderr is the program's. */
	return args.scratch ? isc_cli_fail(&err, ISC_EXIT_FAILED) : ISC_EXIT_FAILED;
}
