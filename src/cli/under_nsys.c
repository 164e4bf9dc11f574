#include "cli/under_nsys.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/commands.h"
#include "cli/report_files.h"
#include "import/import.h"
#include "session/cuda_driver.h"
#include "session/launch.h"

#define VARIABLE "INFERSCOPE_UNDER_NSYS"
#define OWN_ARGUMENTS 12

static bool on_path(const char *name, char *out, size_t room)
{
	const char *at = getenv("PATH");

	while (at != NULL && *at != 0) {
		size_t len = strcspn(at, ":");
		struct stat sb;

		/* Only whole paths: a folder that one is in by chance has no tools. */
		if (at[0] == '/' && snprintf(out, room, "%.*s/%s", (int)len, at, name) < (int)room &&
		    access(out, X_OK) == 0 && stat(out, &sb) == 0 && S_ISREG(sb.st_mode))
			return true;
		at += len + (at[len] != 0);
	}
	return false;
}

bool isc_nsys_wanted(const isc_settings *settings, const char *python, char *nsys, size_t room)
{
	char driver[300];

	return settings->gpu && !isc_cuda_is_taken() && isc_cuda_driver_find(driver, sizeof(driver)) &&
	       on_path("nsys", nsys, room) && !isc_cuda_cupti_here(python);
}

bool isc_nsys_inside(void)
{
	bool inside = getenv(VARIABLE) != NULL;

	unsetenv(VARIABLE);
	return inside;
}

typedef struct places {
	char folder[PATH_MAX]; /* of our own, beside the trace */
	char made[PATH_MAX];   /* what nsys is to make */
	char kept[PATH_MAX];   /* where that goes */
} places;

static isc_status make_places(const char *trace, places *p, isc_error *err)
{
	if (snprintf(p->folder, sizeof(p->folder), "%s.nsys-XXXXXX", trace) >= (int)sizeof(p->folder) ||
	    snprintf(p->kept, sizeof(p->kept), "%s.sqlite", trace) >= (int)sizeof(p->kept) || strlen(trace) > 3000)
		return isc_fail(err, ISC_ERR_INVALID, "the path %.100s is too long", trace);
	if (mkdtemp(p->folder) == NULL)
		return isc_fail_errno(err, "cannot make a folder beside %.150s", trace);
	snprintf(p->made, sizeof(p->made), "%.3500s/gpu.sqlite", p->folder);
	return ISC_OK;
}

static void remove_places(const places *p)
{
	char report[PATH_MAX];

	snprintf(report, sizeof(report), "%.3500s/gpu.nsys-rep", p->folder);
	unlink(report);
	unlink(p->made);
	rmdir(p->folder);
}

/* Beside the trace, if nothing else is there: an earlier one of these, or what may be replaced by force. */
static const char *keep(const places *p, bool force)
{
	enum isc_import_format format = ISC_IMPORT_UNKNOWN;
	struct stat sb;

	if (lstat(p->kept, &sb) == 0 && !force &&
	    (!S_ISREG(sb.st_mode) || isc_import_sniff(p->kept, &format, NULL) != ISC_OK || format != ISC_IMPORT_SQLITE))
		return p->made;
	return rename(p->made, p->kept) == 0 ? p->kept : p->made;
}

static char **arguments(const char *nsys, const places *p, int argc, char **argv, char *output, size_t room)
{
	static char self[PATH_MAX];
	char **all = calloc((size_t)argc + OWN_ARGUMENTS + 2, sizeof(*all));
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	int n = 0;

	if (all == NULL || len <= 0)
		return all;
	self[len] = 0;
	snprintf(output, room, "--output=%.3500s/gpu", p->folder);
	all[n++] = (char *)(uintptr_t)nsys;
	all[n++] = "profile";
	all[n++] = "--trace=cuda,nvtx";
	all[n++] = "--sample=none";
	all[n++] = "--cpuctxsw=none";
	all[n++] = "--wait=primary";
	all[n++] = "--force-overwrite=true";
	all[n++] = "--export=sqlite";
	all[n++] = output;
	/* By the path that we were called by, if it is one: the Python to run lies beside it, perhaps. */
	all[n++] = strchr(isc_cli_called_as, '/') != NULL ? (char *)(uintptr_t)isc_cli_called_as : self;
	all[n++] = "run";
	for (int i = 1; i < argc; i++)
		all[n++] = argv[i];
	return all;
}

/* Until nsys has ended, with what is sent to us passed on. */
static isc_status launch(char **argv, isc_launch **out, int *exit_code, isc_error *err)
{
	isc_launch_options options = {.argv = argv, .env = environ};
	isc_status st = isc_launch_start(&options, out, err);

	if (st == ISC_OK)
		st = isc_launch_go(*out, exit_code, err);
	if (st == ISC_OK)
		isc_launch_wait(*out);
	return st;
}

static void report(isc_report_request *reports, const char *result, bool wanted)
{
	bool damaged, opened;
	isc_error err;

	if (result == NULL)
		isc_log_write(&isc_cli_log, ISC_LOG_WARN,
			      "Nsight Systems left no result: the report is of the CPU alone");
	reports->options.gpu_file = result;
	if (wanted && isc_report_request_write(reports, &damaged, &opened, &err) != ISC_OK)
		isc_log_error(&isc_cli_log, ISC_LOG_ERROR, &err);
}

static bool is_new(const char *trace, const struct stat *before)
{
	struct stat now;

	return stat(trace, &now) == 0 &&
	       (now.st_ino != before->st_ino || now.st_dev != before->st_dev ||
		now.st_mtim.tv_sec != before->st_mtim.tv_sec || now.st_mtim.tv_nsec != before->st_mtim.tv_nsec);
}

int isc_nsys_run(const isc_settings *settings, const char *nsys, const char *trace, int argc, char **argv)
{
	isc_report_request reports = isc_report_request_of(settings, trace);
	int exit_code = ISC_EXIT_RUN_FAILED;
	isc_launch *child = NULL;
	char output[PATH_MAX];
	char **all = NULL;
	places p = {.folder = ""};
	struct stat before = {.st_ino = 0};
	isc_error err;
	isc_status st = isc_report_request_open(&reports, &err);

	stat(trace, &before);
	if (st == ISC_OK)
		st = make_places(trace, &p, &err);
	if (st == ISC_OK && (all = arguments(nsys, &p, argc, argv, output, sizeof(output))) == NULL)
		st = isc_fail(&err, ISC_ERR_NOMEM, "no memory for the command of Nsight Systems");
	if (st == ISC_OK) {
		isc_log_write(&isc_cli_log, ISC_LOG_WARN,
			      "there is a CUDA driver and no CUPTI: the program runs under Nsight Systems, with less "
			      "detail of GPUs; pip install nvidia-cuda-cupti");
		setenv(VARIABLE, "1", 1);
		st = launch(all, &child, &exit_code, &err);
	}
	free(all);
	if (st != ISC_OK) {
		if (p.made[0] != 0)
			remove_places(&p);
		isc_report_request_close(&reports);
		return isc_cli_fail(&err, exit_code);
	}
	isc_launch_restore_signals(child);
	/* No new trace: it never ran, and the command inside has said why. */
	if (is_new(trace, &before))
		report(&reports, access(p.made, R_OK) == 0 ? keep(&p, settings->force) : NULL, settings->report);
	isc_report_request_close(&reports);
	remove_places(&p);
	exit_code = isc_launch_status(child);
	isc_launch_free(child);
	isc_launch_exit_like(exit_code);
}
