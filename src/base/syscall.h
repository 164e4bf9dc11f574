/*
 * syscall.h - the system calls that hooks count, and how they are told of.
 *
 * Named as the kernel names them, so that they can be compared with what other tools
 * say; docs/syscalls.md has which function of libc makes which.
 */
#ifndef ISC_BASE_SYSCALL_H
#define ISC_BASE_SYSCALL_H

#include <stdint.h>

/* Numbers are in traces: new ones go to the end. */
#define ISC_SYSCALLS(CALL) \
	CALL(openat) \
	CALL(close) \
	CALL(read) \
	CALL(readv) \
	CALL(pread64) \
	CALL(preadv) \
	CALL(preadv2) \
	CALL(write) \
	CALL(writev) \
	CALL(pwrite64) \
	CALL(pwritev) \
	CALL(pwritev2) \
	CALL(sendfile) \
	CALL(splice) \
	CALL(fsync) \
	CALL(fdatasync) \
	CALL(recvfrom) \
	CALL(recvmsg) \
	CALL(recvmmsg) \
	CALL(sendto) \
	CALL(sendmsg) \
	CALL(sendmmsg) \
	CALL(accept) \
	CALL(accept4) \
	CALL(connect) \
	CALL(poll) \
	CALL(ppoll) \
	CALL(select) \
	CALL(pselect6) \
	CALL(epoll_wait) \
	CALL(epoll_pwait) \
	CALL(epoll_pwait2) \
	CALL(clock_nanosleep) \
	CALL(pause) \
	CALL(sched_yield) \
	CALL(wait4) \
	CALL(waitid) \
	CALL(mmap) \
	CALL(munmap) \
	CALL(mremap) \
	CALL(clone) \
	CALL(execve) \
	CALL(execveat) \
	CALL(flock)

#define ISC_SYSCALL_ID_(name) ISC_SYSCALL_##name,
enum isc_syscall { ISC_SYSCALL_NONE, ISC_SYSCALLS(ISC_SYSCALL_ID_) ISC_SYSCALL_COUNT };
_Static_assert(ISC_SYSCALL_COUNT <= 64, "system calls in six bits");

/* Behind a sum: calls of the thread since the last one. */
typedef struct isc_syscall_sum {
	uint64_t count;
	uint64_t ticks; /* in all of them */
	uint64_t bytes; /* that they moved */
	uint32_t errors;
	uint32_t slow; /* of these: took longer than ISC_SYSCALL_SLOW_US */
} isc_syscall_sum;
_Static_assert(sizeof(isc_syscall_sum) == 32, "sum of system calls");

#define ISC_SYSCALL_SLOW_US 50u

/* Behind errors of one kind, whose number is the record's id. */
typedef struct isc_syscall_errors {
	uint64_t count;
	uint64_t zero;
} isc_syscall_errors;
_Static_assert(sizeof(isc_syscall_errors) == 16, "errors of system calls");

/* Behind one slow call, which is in the sums as well. */
typedef struct isc_syscall_slow {
	uint64_t ticks;
	uint64_t bytes;
	uint32_t error;	 /* errno; 0: none */
	uint32_t detail; /* name of the file or address, where that is wanted; 0: not known */
	uint64_t zero;
} isc_syscall_slow;
_Static_assert(sizeof(isc_syscall_slow) == 32, "slow system call");

/* Behind one of so many calls, not told by itself, which are in the sums as well. */
typedef struct isc_syscall_sample {
	uint64_t ticks;
	uint64_t bytes;
	uint64_t count; /* calls that it stands for */
	uint64_t zero;
} isc_syscall_sample;
_Static_assert(sizeof(isc_syscall_sample) == 32, "sample of system calls");

#endif
