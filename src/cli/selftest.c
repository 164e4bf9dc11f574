#include "cli/selftest.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "analyze/analysis.h"
#include "base/buffer.h"
#include "base/output.h"
#include "base/temporary.h"
#include "base/text.h"
#include "base/units.h"
#include "cli/commands.h"
#include "session/session.h"
#include "session/settings/settings.h"
#include "trace/format.h"

static void say(void *self, int level, const char *what, const char *hint)
{
	(void)self;
	if (hint != NULL && hint[0] != 0)
		isc_log_write(&isc_cli_log, level, "%s; %s", what, hint);
	else
		isc_log_write(&isc_cli_log, level, "%s", what);
}

static void print_line(const char *state, const char *text)
{
	isc_buffer safe = {0};

	isc_text_terminal(&safe, text, strlen(text), 0);
	printf("%-8s %-17s %s\n", state, "gpu selftest", safe.data ? safe.data : "");
	isc_buffer_fini(&safe);
}

static bool judge_device(const isc_analysis *a, const isc_facts_gpu *g)
{
	uint64_t kernels = 0, copies = g->copies;
	bool good;
	char text[600];
	isc_units bound;

	for (size_t i = 0; i < a->timeline->kernel_count; i++) {
		const isc_facts_kernel *k = &a->timeline->kernels[i];

		if (&a->timeline->gpus[k->gpu] == g && k->name.len == strlen(ISC_SELFTEST_NAME) &&
		    memcmp(k->name.at, ISC_SELFTEST_NAME, k->name.len) == 0)
			kernels = k->count;
	}
	good = kernels == ISC_SELFTEST_KERNELS && copies == 2 * ISC_SELFTEST_KERNELS && g->unlinked == 0 &&
	       g->unstamped == 0 && g->bounded;
	snprintf(text, sizeof(text),
		 "GPU %u, %.*s: %llu of %u kernels and %llu of %u copies recorded, %llu without their call, %llu "
		 "without times; its clock is off by at most %s (%s)",
		 g->number, (int)(g->name.len < 200 ? g->name.len : 200), g->name.at, (unsigned long long)kernels,
		 ISC_SELFTEST_KERNELS, (unsigned long long)copies, 2 * ISC_SELFTEST_KERNELS,
		 (unsigned long long)g->unlinked, (unsigned long long)g->unstamped,
		 isc_units_time(&bound, (double)g->error_ns / 1e3),
		 g->bounded ? "found from calls and waits" : "assumed");
	print_line(good ? "ok" : "missing", text);
	return good;
}

static int judge(const char *trace)
{
	isc_trace *opened = NULL;
	isc_analysis *a = NULL;
	isc_analysis_options options = {0};
	isc_error err;
	bool good;
	size_t seen = 0;

	if (isc_trace_open(trace, &opened, &err) != ISC_OK || isc_analysis_new(opened, &options, &a, &err) != ISC_OK) {
		isc_trace_close(opened);
		return isc_cli_fail(&err, ISC_EXIT_FAILED);
	}
	good = a->timeline != NULL;
	for (size_t i = 0; a->timeline != NULL && i < a->timeline->gpu_count; i++) {
		seen++;
		good = judge_device(a, &a->timeline->gpus[i]) && good;
	}
	if (seen == 0) {
		good = false;
		print_line("missing", "the program ran, and nothing of its GPU was recorded");
	}
	/* What the report would say of it. */
	for (size_t i = 0; i < a->warning_count; i++)
		if (strncmp(a->warnings[i].id, "gpu_", 4) == 0)
			print_line("", a->warnings[i].text);
	isc_analysis_free(a);
	isc_trace_close(opened);
	return good ? ISC_EXIT_OK : ISC_EXIT_FAILED;
}

/* The exit code of the program, or ISC_EXIT_FAILED when it did not run; what went wrong is said. */
static int record(const isc_settings *settings, const char *trace)
{
	isc_session_options session = {.settings = settings, .trace_fd = -1, .trace_path = trace, .say = say};
	isc_session_result result = {.exit_code = ISC_EXIT_FAILED};
	char self[PATH_MAX];
	char *argv[] = {self, (char *)"doctor", (char *)ISC_SELFTEST_WORK, NULL};
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	isc_error err;
	isc_status st;

	if (n < 0)
		return ISC_EXIT_FAILED;
	self[n] = 0;
	st = isc_output_create_trace(trace, true, isc_trace_is_ours, &session.trace_fd, &err);
	if (st == ISC_OK)
		st = isc_session_run(&session, argv, &result, &err);
	isc_launch_free(result.launch);
	if (st != ISC_OK)
		return isc_cli_fail(&err, ISC_EXIT_FAILED);
	return WIFEXITED(result.wait_status) ? WEXITSTATUS(result.wait_status) : ISC_EXIT_FAILED;
}

/* A recorder leaves standard output to its program, for good: so it is another process. */
static int record_apart(const isc_settings *settings, const char *trace)
{
	int status = 0;
	pid_t child = fork();

	if (child == 0)
		_exit(record(settings, trace));
	while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
		;
	return child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : ISC_EXIT_FAILED;
}

int isc_selftest_run(void)
{
	static const char *const made[] = {"trace.isc", NULL};
	char trace[PATH_MAX + 16];
	isc_temporary folder;
	isc_settings settings;
	isc_error err;
	int code;

	if (isc_settings_init(&settings, &err) != ISC_OK)
		return isc_cli_fail(&err, ISC_EXIT_FAILED);
	if (isc_temporary_make(&folder, "inferscope-selftest", &err) != ISC_OK) {
		isc_settings_fini(&settings);
		return isc_cli_fail(&err, ISC_EXIT_FAILED);
	}
	snprintf(trace, sizeof(trace), "%s/trace.isc", folder.path);
	code = record_apart(&settings, trace);
	if (code == ISC_EXIT_OK)
		code = judge(trace);
	else
		print_line("missing", "no CUDA device could be used");
	isc_temporary_remove(&folder, made);
	isc_settings_fini(&settings);
	return code;
}
