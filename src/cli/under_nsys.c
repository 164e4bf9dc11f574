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

#include "base/temporary.h"
#include "cli/commands.h"
#include "cli/report_files.h"
#include "session/launch/cuda_driver.h"
#include "session/launch/launch.h"

#define VARIABLE "INFERSCOPE_UNDER_NSYS"
#define OWN_ARGUMENTS 12
#define RESULT "gpu.sqlite"

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
	isc_temporary folder; /* beside the trace */
	char made[PATH_MAX];  /* what nsys is to make */
	char kept[PATH_MAX];  /* where that goes */
} places;

static isc_status make_places(const char *trace, places *p, isc_error *err)
{
	char stem[PATH_MAX];
	isc_status st;

	if (strlen(trace) > 3000)
		return isc_fail(err, ISC_ERR_INVALID, "the path %.100s is too long", trace);
	snprintf(stem, sizeof(stem), "%s.nsys", trace);
	snprintf(p->kept, sizeof(p->kept), "%s.sqlite", trace);
	st = isc_temporary_make(&p->folder, stem, err);
	if (st == ISC_OK)
		snprintf(p->made, sizeof(p->made), "%.3500s/" RESULT, p->folder.path);
	return st;
}

static void remove_places(places *p)
{
	static const char *const made[] = {"gpu.nsys-rep", RESULT, NULL};

	isc_temporary_remove(&p->folder, made);
}

/* SQLite keeps four bytes in its header for whoever made a file to say so. */
#define APPLICATION_AT 68
#define SQLITE_HEADER 100

static const char sqlite_magic[16] = "SQLite format 3", our_application[4] = {'I', 'S', 'C', '1'};

static bool is_sqlite(int fd, char header[SQLITE_HEADER])
{
	struct stat sb;

	return fd >= 0 && fstat(fd, &sb) == 0 && S_ISREG(sb.st_mode) && sb.st_uid == geteuid() &&
	       pread(fd, header, SQLITE_HEADER, 0) == SQLITE_HEADER &&
	       memcmp(header, sqlite_magic, sizeof(sqlite_magic)) == 0;
}

/* Without it the file is used now and not replaced later. */
static void mark_result(const places *p)
{
	int fd = openat(p->folder.dir, RESULT, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	char header[SQLITE_HEADER];

	if (is_sqlite(fd, header) &&
	    pwrite(fd, our_application, sizeof(our_application), APPLICATION_AT) != (ssize_t)sizeof(our_application))
		isc_log_write(&isc_cli_log, ISC_LOG_WARN, "cannot mark %s as InferScope's", p->made);
	if (fd >= 0)
		close(fd);
}

/* A regular file that an earlier run put there; by force any regular file. */
static bool may_replace(const char *path, bool force)
{
	int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	char header[SQLITE_HEADER];
	struct stat sb;
	bool may;

	if (fd < 0)
		return false;
	may = force ? fstat(fd, &sb) == 0 && S_ISREG(sb.st_mode)
		    : is_sqlite(fd, header) &&
			      memcmp(header + APPLICATION_AT, our_application, sizeof(our_application)) == 0;
	close(fd);
	return may;
}

/* Beside the trace, if nothing else is there. */
static const char *keep(const places *p, bool force)
{
	struct stat sb;

	mark_result(p);
	if (renameat2(p->folder.dir, RESULT, AT_FDCWD, p->kept, RENAME_NOREPLACE) == 0)
		return p->kept;
	if (errno != EEXIST && errno != EINVAL && errno != ENOSYS)
		return p->made;
	if (lstat(p->kept, &sb) == 0 && !may_replace(p->kept, force))
		return p->made;
	return renameat(p->folder.dir, RESULT, AT_FDCWD, p->kept) == 0 ? p->kept : p->made;
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
	snprintf(output, room, "--output=%.3500s/gpu", p->folder.path);
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
	places p = {.folder = {.dir = -1}};
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
