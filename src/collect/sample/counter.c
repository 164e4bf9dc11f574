#include "collect/sample/counter.h"

#include <linux/perf_event.h>
#include <stddef.h>

#include "runtime/kernel.h"
#include "runtime/profile.h"

int isc_counter_open(uint32_t counter, uint32_t tid)
{
	struct perf_event_attr attr = {.size = sizeof(attr),
				       .type = PERF_TYPE_HARDWARE,
				       .config = PERF_COUNT_HW_INSTRUCTIONS,
				       .exclude_kernel = 1,
				       .exclude_hv = 1};
	int error = errno, fd, high;

	if (counter == ISC_PROFILE_TASK_CLOCK) {
		attr.type = PERF_TYPE_SOFTWARE;
		attr.config = PERF_COUNT_SW_TASK_CLOCK;
	}
	fd = (int)syscall(SYS_perf_event_open, &attr, tid, -1, -1, (unsigned long)PERF_FLAG_FD_CLOEXEC);
	if (fd < 0) {
		fd = -errno;
	} else {
		/* Out of the way of those that programs count on. */
		high = (int)syscall(SYS_fcntl, fd, F_DUPFD_CLOEXEC, 200);
		if (high >= 0) {
			isc_kernel_close(fd);
			fd = high;
		}
	}
	errno = error;
	return fd;
}

bool isc_counter_read(int fd, uint64_t *value)
{
	return syscall(SYS_read, fd, value, sizeof(*value)) == (long)sizeof(*value);
}
