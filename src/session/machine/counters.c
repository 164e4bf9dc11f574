#include "session/machine/counters.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* For tests on machines that count nothing: CPU time for instructions, page faults for cycles.  In
 * the environment alone: a configuration file must not make a report say something else. */
#define STAND_IN_VARIABLE "INFERSCOPE_TEST_COUNTERS"

isc_status isc_counters_find(isc_counters *out, isc_error *err)
{
	const char *stand_in = getenv(STAND_IN_VARIABLE);
	struct perf_event_attr attr = {.size = sizeof(attr), .exclude_kernel = 1, .exclude_hv = 1};
	isc_status st;
	int fd;

	*out = (isc_counters){PERF_TYPE_HARDWARE, {PERF_COUNT_HW_INSTRUCTIONS, PERF_COUNT_HW_CPU_CYCLES}, false};
	if (stand_in != NULL && strcmp(stand_in, "software") == 0)
		*out = (isc_counters){PERF_TYPE_SOFTWARE, {PERF_COUNT_SW_TASK_CLOCK, PERF_COUNT_SW_PAGE_FAULTS}, true};
	attr.type = out->type;
	attr.config = out->config[0];
	fd = (int)syscall(SYS_perf_event_open, &attr, 0, -1, -1, (unsigned long)PERF_FLAG_FD_CLOEXEC);
	if (fd >= 0) {
		close(fd);
		return ISC_OK;
	}
	switch (errno) {
	case ENOENT:
	case EOPNOTSUPP:
	case ENODEV:
		return isc_fail(
			err, ISC_ERR_UNSUPPORTED,
			"the processor does not count instructions for programs here, as in most virtual machines");
	case EACCES:
	case EPERM:
		st = isc_fail_errno(err, "counting instructions is refused");
		isc_hint(err, "sysctl kernel.perf_event_paranoid=2, or give the command CAP_PERFMON");
		return st;
	default:
		return isc_fail_errno(err, "instructions cannot be counted");
	}
}
