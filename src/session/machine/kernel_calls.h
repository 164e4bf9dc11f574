/*
 * kernel_calls.h - how many system calls a program makes, counted by the kernel.
 *
 * The agent counts what goes through libc; this counts all of them, those that go past it
 * included.  The kernel's trace event for the entry of a system call is counted for the
 * program, its threads and its children.  It makes every call on the machine dearer while
 * it is counted, so it is only done where it was asked for.
 */
#ifndef ISC_SESSION_MACHINE_KERNEL_CALLS_H
#define ISC_SESSION_MACHINE_KERNEL_CALLS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/status.h"

typedef struct isc_kernel_calls {
	int fd;	       /* -1: they are not counted */
	bool stand_in; /* tests asked for another event, which every kernel counts */
} isc_kernel_calls;

/* From now on, for this process and what it makes.  On failure fd is -1, and err says why they cannot be counted. */
isc_status isc_kernel_calls_open(isc_kernel_calls *k, pid_t pid, isc_error *err);

/* Up to now. */
uint64_t isc_kernel_calls_count(const isc_kernel_calls *k);

void isc_kernel_calls_close(isc_kernel_calls *k);

#endif
