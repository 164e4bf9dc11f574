/*
 * kernel.h - the few system calls of the runtime, and the guard around them.
 *
 * They go through syscall(): libc's own open, close and so on are cancellation
 * points, and some are hooked by the agent.  Signal-safe, all of it.
 */
#ifndef ISC_RUNTIME_KERNEL_H
#define ISC_RUNTIME_KERNEL_H

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static inline int isc_kernel_open(const char *path, int flags, unsigned mode)
{
	return (int)syscall(SYS_openat, AT_FDCWD, path, flags | O_CLOEXEC, mode);
}

static inline void isc_kernel_close(int fd)
{
	syscall(SYS_close, fd);
}

/* MAP_FAILED as mmap() has it.  Ours are not the program's mappings, and not its system calls. */
static inline void *isc_kernel_map(void *at, size_t len, int prot, int flags, int fd)
{
	return (void *)syscall(SYS_mmap, at, len, prot, flags, fd, 0L);
}

static inline void isc_kernel_unmap(void *at, size_t len)
{
	syscall(SYS_munmap, at, len);
}

static inline void isc_kernel_unlink(const char *path)
{
	syscall(SYS_unlinkat, AT_FDCWD, path, 0);
}

/* On 64-bit systems the kernel's struct is libc's; libc's own function is a
 * different symbol in every generation of libc. */
static inline bool isc_kernel_stat(int fd, struct stat *sb)
{
	return syscall(SYS_fstat, fd, sb) == 0;
}

static inline void isc_kernel_yield(void)
{
	syscall(SYS_sched_yield);
}

static inline uint32_t isc_kernel_pid(void)
{
	return (uint32_t)syscall(SYS_getpid);
}

static inline uint32_t isc_kernel_tid(void)
{
	return (uint32_t)syscall(SYS_gettid);
}

/*
 * Between enter and leave no handler runs on this thread, so nobody forks in
 * the middle of what changes once per process or thread, and errno stays the
 * program's.  Two system calls: never on the hot path.
 */
typedef struct isc_guard {
	uint64_t mask;
	int error;
} isc_guard;

static inline void isc_guard_enter(isc_guard *g)
{
	uint64_t all = ~0ull;

	g->error = errno;
	syscall(SYS_rt_sigprocmask, 0 /* SIG_BLOCK */, &all, &g->mask, sizeof(all));
}

static inline void isc_guard_leave(isc_guard *g)
{
	syscall(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, &g->mask, NULL, sizeof(g->mask));
	errno = g->error;
}

#endif
