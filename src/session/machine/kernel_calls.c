#include "session/machine/kernel_calls.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

/* For tests where trace events cannot be read: a folder in place of the kernel's, whose number is that of a software
 * event.  In the environment alone: a configuration file must not make a report say something else. */
#define STAND_IN_VARIABLE "INFERSCOPE_TEST_TRACEFS"
#define EVENT "events/raw_syscalls/sys_enter/id"

/* The number of the trace event in a folder; 0: it cannot be read. */
static uint64_t read_id(const char *folder)
{
	char path[PATH_MAX], text[32] = "";
	int fd;

	if (snprintf(path, sizeof(path), "%s/" EVENT, folder) >= (int)sizeof(path))
		return 0;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return 0;
	if (read(fd, text, sizeof(text) - 1) <= 0)
		text[0] = 0;
	close(fd);
	return strtoull(text, NULL, 10);
}

isc_status isc_kernel_calls_open(isc_kernel_calls *k, pid_t pid, isc_error *err)
{
	static const char *const folders[] = {"/sys/kernel/tracing", "/sys/kernel/debug/tracing"};
	const char *stand_in = getenv(STAND_IN_VARIABLE);
	struct perf_event_attr attr = {.size = sizeof(attr), .type = PERF_TYPE_TRACEPOINT, .inherit = 1};
	isc_status st;

	*k = (isc_kernel_calls){.fd = -1, .stand_in = stand_in != NULL};
	if (stand_in != NULL) {
		attr.type = PERF_TYPE_SOFTWARE;
		attr.exclude_kernel = 1;
		attr.config = read_id(stand_in);
	}
	for (size_t i = 0; stand_in == NULL && attr.config == 0 && i < sizeof(folders) / sizeof(folders[0]); i++)
		attr.config = read_id(folders[i]);
	if (attr.config == 0) {
		st = isc_fail(err, ISC_ERR_DENIED, "the kernel's trace events cannot be read");
		isc_hint(err, "mount -t tracefs tracefs /sys/kernel/tracing, and let the user read " EVENT " there");
		return st;
	}
	k->fd = (int)syscall(SYS_perf_event_open, &attr, pid, -1, -1, (unsigned long)PERF_FLAG_FD_CLOEXEC);
	if (k->fd >= 0)
		return ISC_OK;
	st = isc_fail_errno(err, "the kernel does not count system calls for us");
	isc_hint(err, "sysctl kernel.perf_event_paranoid=1, or give the command CAP_PERFMON");
	return st;
}

uint64_t isc_kernel_calls_count(const isc_kernel_calls *k)
{
	uint64_t count = 0;

	return k->fd >= 0 && read(k->fd, &count, sizeof(count)) == (ssize_t)sizeof(count) ? count : 0;
}

void isc_kernel_calls_close(isc_kernel_calls *k)
{
	if (k->fd >= 0)
		close(k->fd);
	k->fd = -1;
}
