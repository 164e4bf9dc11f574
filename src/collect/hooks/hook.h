/*
 * hook.h - the functions of libc that the agent stands in front of.
 *
 * A preloaded library comes before libc in every lookup, so a function that it
 * exports under libc's name is the one that the program calls.  Each hook finds
 * the function it hides (the real one: libc's, or that of another preloaded
 * library behind us) in a table and calls it.  Return value, errno, cancellation
 * and unwinding are the real function's own.
 *
 * One table names them all; docs/agent.md says why each is there.
 */
#ifndef ISC_COLLECT_HOOKS_HOOK_H
#define ISC_COLLECT_HOOKS_HOOK_H

/* With this set the headers give mmap and its like the symbol of mmap64, and the
 * hook would be defined twice.  So this header comes first in its files. */
#undef _FILE_OFFSET_BITS

#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <time.h>

#ifdef __USE_FILE_OFFSET64
#error "include hook.h before any header of libc"
#endif

/* HOOK(group, how it says that it failed, name, version or NULL)
 *
 * A version is given where libc has an older function of the same name that
 * does something else: before glibc 2.36 a lookup behind us that names none
 * gives the oldest.  musl has one of each and ignores versions.
 */
#define ISC_HOOKS(HOOK) \
	HOOK(ALLOC, POINTER, malloc, NULL) \
	HOOK(ALLOC, POINTER, calloc, NULL) \
	HOOK(ALLOC, POINTER, realloc, NULL) \
	HOOK(ALLOC, POINTER, free, NULL) \
	HOOK(ALLOC, POINTER, reallocarray, NULL) \
	HOOK(ALLOC, CODE, posix_memalign, NULL) \
	HOOK(ALLOC, POINTER, aligned_alloc, NULL) \
	HOOK(ALLOC, POINTER, memalign, NULL) \
	HOOK(ALLOC, POINTER, valloc, NULL) \
	HOOK(ALLOC, POINTER, pvalloc, NULL) \
	HOOK(ALLOC, POINTER, malloc_usable_size, NULL) \
	HOOK(ALLOC, ERRNO, mmap, NULL) \
	HOOK(ALLOC, ERRNO, mmap64, NULL) \
	HOOK(ALLOC, ERRNO, munmap, NULL) \
	HOOK(ALLOC, ERRNO, mremap, NULL) \
	HOOK(LOCK, CODE, pthread_mutex_lock, NULL) \
	HOOK(LOCK, CODE, pthread_mutex_timedlock, NULL) \
	HOOK(LOCK, CODE, pthread_mutex_clocklock, NULL) \
	HOOK(LOCK, CODE, pthread_rwlock_rdlock, NULL) \
	HOOK(LOCK, CODE, pthread_rwlock_timedrdlock, NULL) \
	HOOK(LOCK, CODE, pthread_rwlock_clockrdlock, NULL) \
	HOOK(LOCK, CODE, pthread_rwlock_wrlock, NULL) \
	HOOK(LOCK, CODE, pthread_rwlock_timedwrlock, NULL) \
	HOOK(LOCK, CODE, pthread_rwlock_clockwrlock, NULL) \
	HOOK(LOCK, CODE, pthread_cond_wait, "GLIBC_2.3.2") \
	HOOK(LOCK, CODE, pthread_cond_timedwait, "GLIBC_2.3.2") \
	HOOK(LOCK, CODE, pthread_cond_clockwait, NULL) \
	HOOK(LOCK, CODE, pthread_cond_signal, "GLIBC_2.3.2") \
	HOOK(LOCK, CODE, pthread_cond_broadcast, "GLIBC_2.3.2") \
	HOOK(LOCK, CODE, pthread_barrier_wait, NULL) \
	HOOK(LOCK, CODE, pthread_join, NULL) \
	HOOK(LOCK, ERRNO, sem_wait, NULL) \
	HOOK(LOCK, ERRNO, sem_trywait, NULL) \
	HOOK(LOCK, ERRNO, sem_timedwait, NULL) \
	HOOK(LOCK, ERRNO, sem_clockwait, NULL) \
	HOOK(LOCK, ERRNO, sem_post, NULL) \
	HOOK(TRANSFER, ERRNO, open, NULL) \
	HOOK(TRANSFER, ERRNO, open64, NULL) \
	HOOK(TRANSFER, ERRNO, openat, NULL) \
	HOOK(TRANSFER, ERRNO, openat64, NULL) \
	HOOK(TRANSFER, ERRNO, close, NULL) \
	HOOK(TRANSFER, ERRNO, close_range, NULL) \
	HOOK(TRANSFER, ERRNO, dup2, NULL) \
	HOOK(TRANSFER, ERRNO, dup3, NULL) \
	HOOK(TRANSFER, ERRNO, read, NULL) \
	HOOK(TRANSFER, ERRNO, readv, NULL) \
	HOOK(TRANSFER, ERRNO, pread, NULL) \
	HOOK(TRANSFER, ERRNO, pread64, NULL) \
	HOOK(TRANSFER, ERRNO, preadv, NULL) \
	HOOK(TRANSFER, ERRNO, preadv64, NULL) \
	HOOK(TRANSFER, ERRNO, preadv2, NULL) \
	HOOK(TRANSFER, ERRNO, preadv64v2, NULL) \
	HOOK(TRANSFER, ERRNO, write, NULL) \
	HOOK(TRANSFER, ERRNO, writev, NULL) \
	HOOK(TRANSFER, ERRNO, pwrite, NULL) \
	HOOK(TRANSFER, ERRNO, pwrite64, NULL) \
	HOOK(TRANSFER, ERRNO, pwritev, NULL) \
	HOOK(TRANSFER, ERRNO, pwritev64, NULL) \
	HOOK(TRANSFER, ERRNO, pwritev2, NULL) \
	HOOK(TRANSFER, ERRNO, pwritev64v2, NULL) \
	HOOK(TRANSFER, ERRNO, sendfile, NULL) \
	HOOK(TRANSFER, ERRNO, sendfile64, NULL) \
	HOOK(TRANSFER, ERRNO, splice, NULL) \
	HOOK(TRANSFER, ERRNO, fsync, NULL) \
	HOOK(TRANSFER, ERRNO, fdatasync, NULL) \
	HOOK(TRANSFER, ERRNO, flock, NULL) \
	HOOK(TRANSFER, ERRNO, recv, NULL) \
	HOOK(TRANSFER, ERRNO, recvfrom, NULL) \
	HOOK(TRANSFER, ERRNO, recvmsg, NULL) \
	HOOK(TRANSFER, ERRNO, recvmmsg, NULL) \
	HOOK(TRANSFER, ERRNO, send, NULL) \
	HOOK(TRANSFER, ERRNO, sendto, NULL) \
	HOOK(TRANSFER, ERRNO, sendmsg, NULL) \
	HOOK(TRANSFER, ERRNO, sendmmsg, NULL) \
	HOOK(TRANSFER, ERRNO, accept, NULL) \
	HOOK(TRANSFER, ERRNO, accept4, NULL) \
	HOOK(TRANSFER, ERRNO, connect, NULL) \
	HOOK(TRANSFER, ERRNO, socketpair, NULL) \
	HOOK(TRANSFER, ERRNO, __open_2, NULL) \
	HOOK(TRANSFER, ERRNO, __open64_2, NULL) \
	HOOK(TRANSFER, ERRNO, __openat_2, NULL) \
	HOOK(TRANSFER, ERRNO, __openat64_2, NULL) \
	HOOK(TRANSFER, ERRNO, __read_chk, NULL) \
	HOOK(TRANSFER, ERRNO, __pread_chk, NULL) \
	HOOK(TRANSFER, ERRNO, __pread64_chk, NULL) \
	HOOK(TRANSFER, ERRNO, __recv_chk, NULL) \
	HOOK(TRANSFER, ERRNO, __recvfrom_chk, NULL) \
	HOOK(WAIT, ERRNO, poll, NULL) \
	HOOK(WAIT, ERRNO, ppoll, NULL) \
	HOOK(WAIT, ERRNO, __poll_chk, NULL) \
	HOOK(WAIT, ERRNO, __ppoll_chk, NULL) \
	HOOK(WAIT, ERRNO, select, NULL) \
	HOOK(WAIT, ERRNO, pselect, NULL) \
	HOOK(WAIT, ERRNO, epoll_wait, NULL) \
	HOOK(WAIT, ERRNO, epoll_pwait, NULL) \
	HOOK(WAIT, ERRNO, epoll_pwait2, NULL) \
	HOOK(WAIT, ERRNO, nanosleep, NULL) \
	HOOK(WAIT, CODE, clock_nanosleep, NULL) \
	HOOK(WAIT, ERRNO, usleep, NULL) \
	HOOK(WAIT, POINTER, sleep, NULL) \
	HOOK(WAIT, ERRNO, pause, NULL) \
	HOOK(WAIT, ERRNO, sched_yield, NULL) \
	HOOK(WAIT, ERRNO, wait, NULL) \
	HOOK(WAIT, ERRNO, waitpid, NULL) \
	HOOK(WAIT, ERRNO, wait4, NULL) \
	HOOK(WAIT, ERRNO, waitid, NULL) \
	HOOK(SIGNAL, ERRNO, sigaction, NULL) \
	HOOK(SIGNAL, ERRNO, signal, NULL) \
	HOOK(SIGNAL, ERRNO, ssignal, NULL) \
	HOOK(SIGNAL, ERRNO, bsd_signal, NULL) \
	HOOK(SIGNAL, ERRNO, sysv_signal, NULL) \
	HOOK(SIGNAL, ERRNO, __sysv_signal, NULL) \
	HOOK(SIGNAL, ERRNO, sigset, NULL) \
	HOOK(SIGNAL, ERRNO, sigprocmask, NULL) \
	HOOK(SIGNAL, CODE, pthread_sigmask, NULL) \
	HOOK(SIGNAL, ERRNO, sigsetmask, NULL) \
	HOOK(SIGNAL, ERRNO, sigblock, NULL) \
	HOOK(SIGNAL, ERRNO, sighold, NULL) \
	HOOK(SIGNAL, ERRNO, sigrelse, NULL) \
	HOOK(SIGNAL, ERRNO, sigsuspend, NULL) \
	HOOK(SIGNAL, CODE, sigwait, NULL) \
	HOOK(SIGNAL, ERRNO, sigwaitinfo, NULL) \
	HOOK(SIGNAL, ERRNO, sigtimedwait, NULL) \
	HOOK(SIGNAL, ERRNO, signalfd, NULL) \
	HOOK(SIGNAL, ERRNO, sigpending, NULL) \
	HOOK(BIRTH, ERRNO, fork, NULL) \
	HOOK(BIRTH, ERRNO, daemon, NULL) \
	HOOK(BIRTH, CODE, pthread_create, NULL) \
	HOOK(BIRTH, CODE, _exit, NULL) \
	HOOK(BIRTH, CODE, _Exit, NULL) \
	HOOK(EXEC, ERRNO, execve, NULL) \
	HOOK(EXEC, ERRNO, execv, NULL) \
	HOOK(EXEC, ERRNO, execvp, NULL) \
	HOOK(EXEC, ERRNO, execvpe, NULL) \
	HOOK(EXEC, ERRNO, execl, NULL) \
	HOOK(EXEC, ERRNO, execlp, NULL) \
	HOOK(EXEC, ERRNO, execle, NULL) \
	HOOK(EXEC, ERRNO, execveat, NULL) \
	HOOK(EXEC, ERRNO, fexecve, NULL) \
	HOOK(EXEC, CODE, posix_spawn, "GLIBC_2.15") \
	HOOK(EXEC, CODE, posix_spawnp, "GLIBC_2.15") \
	HOOK(EXEC, ERRNO, system, NULL) \
	HOOK(EXEC, POINTER, popen, NULL) \
	HOOK(EXEC, CODE, wordexp, NULL) \
	HOOK(ENVIRONMENT, POINTER, getenv, NULL) \
	HOOK(ENVIRONMENT, POINTER, secure_getenv, NULL) \
	HOOK(RIGHTS, ERRNO, prctl, NULL)

#define ISC_HOOK_ID_(group, fails, name, version) ISC_HOOK_##name,
enum isc_hook_id { ISC_HOOKS(ISC_HOOK_ID_) ISC_HOOK_COUNT };

/* The real functions; NULL until looked up.  Written before any thread of the
 * program runs, or again with the same value. */
extern void *isc_hook_real[ISC_HOOK_COUNT];

/* Looks one up; never NULL.  Keeps errno.  Not signal-safe, and needed only by
 * calls that come before isc_agent_init(). */
__attribute__((cold)) void *isc_hook_resolve(enum isc_hook_id id);

static inline void *isc_hook_find(enum isc_hook_id id)
{
	void *real = __atomic_load_n(&isc_hook_real[id], __ATOMIC_RELAXED);

	return __builtin_expect(real != NULL, 1) ? real : isc_hook_resolve(id);
}

/* The function that the hook of this name hides, with its type. */
#define ISC_REAL(name) ((__typeof__(&name))isc_hook_find(ISC_HOOK_##name))

/* The same, or NULL when it has not been looked up. */
#define ISC_KNOWN(name) ((__typeof__(&name))__atomic_load_n(&isc_hook_real[ISC_HOOK_##name], __ATOMIC_RELAXED))

/* In front of a hook's definition: seen by the program. */
#define ISC_HOOK __attribute__((visibility("default")))

/* The types of socket addresses, which glibc's headers make unions for C. */
#ifndef __SOCKADDR_ARG
#define __SOCKADDR_ARG struct sockaddr *
#endif
#ifndef __CONST_SOCKADDR_ARG
#define __CONST_SOCKADDR_ARG const struct sockaddr *
#endif

/* Functions that headers leave out, or that older ones lack. */
int __open_2(const char *path, int flags);
int __open64_2(const char *path, int flags);
int __openat_2(int dir, const char *path, int flags);
int __openat64_2(int dir, const char *path, int flags);
ssize_t __read_chk(int fd, void *buf, size_t len, size_t room);
ssize_t __pread_chk(int fd, void *buf, size_t len, off_t at, size_t room);
ssize_t __pread64_chk(int fd, void *buf, size_t len, off64_t at, size_t room);
ssize_t __recv_chk(int fd, void *buf, size_t len, size_t room, int flags);
ssize_t __recvfrom_chk(int fd, void *__restrict buf, size_t len, size_t room, int flags, __SOCKADDR_ARG from,
		       socklen_t *__restrict from_len);
int close_range(unsigned int first, unsigned int last, int flags);
int dup2(int from, int to);
int dup3(int from, int to, int flags);
int __poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t room);
int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask, size_t room);
int epoll_pwait2(int ep, struct epoll_event *events, int max, const struct timespec *timeout, const sigset_t *mask);
int pthread_mutex_clocklock(pthread_mutex_t *mutex, clockid_t clock, const struct timespec *until);
int pthread_rwlock_clockrdlock(pthread_rwlock_t *lock, clockid_t clock, const struct timespec *until);
int pthread_rwlock_clockwrlock(pthread_rwlock_t *lock, clockid_t clock, const struct timespec *until);
int pthread_cond_clockwait(pthread_cond_t *cond, pthread_mutex_t *mutex, clockid_t clock, const struct timespec *until);
int sem_clockwait(sem_t *sem, clockid_t clock, const struct timespec *until);
char *secure_getenv(const char *name);
void (*bsd_signal(int number, void (*handler)(int)))(int);

#endif
