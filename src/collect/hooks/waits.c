/*
 * waits.c - hooks on waiting for an event, for a child or for time to pass.
 *
 * All are cancellation points: a hook holds nothing that would have to be given
 * back when its thread is cancelled inside.
 */
#include "collect/hooks/hook.h"

#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collect/sample/signal.h"
#include "collect/hooks/syscall.h"

/* The caller's own variables lie behind the hook's frame, well within this. */
#define CALLERS_FRAME 4096u

/*
 * Polling nothing is a way to sleep.  One descriptor in a variable of the caller is a call that waits for its own
 * answer, as Python's sockets with a timeout do; a list that is kept is a loop that waits for whoever comes first,
 * and that is what select() is for.
 */
static inline __attribute__((always_inline)) enum isc_wait_call waits_for(const struct pollfd *fds, nfds_t n)
{
	if (n == 0)
		return ISC_WAIT_SLEEP;
	return n == 1 && (uintptr_t)fds - (uintptr_t)__builtin_frame_address(0) < CALLERS_FRAME ? ISC_WAIT_POLL
												: ISC_WAIT_SELECT;
}

ISC_HOOK int poll(struct pollfd *fds, nfds_t n, int timeout)
{
	enum isc_wait_call wait = timeout != 0 ? waits_for(fds, n) : ISC_SYSCALL_NO_WAIT;

	ISC_SYSCALL(poll, wait, int, ISC_REAL(poll)(fds, n, timeout), ISC_OF_NONE);
}

ISC_HOOK int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask)
{
	ISC_SYSCALL(ppoll, waits_for(fds, n), int, ISC_MASKED(mask, ISC_REAL(ppoll)(fds, n, timeout, mask)),
		    ISC_OF_NONE);
}

ISC_HOOK int __poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t room)
{
	ISC_SYSCALL(poll, waits_for(fds, n), int, ISC_REAL(__poll_chk)(fds, n, timeout, room), ISC_OF_NONE);
}

ISC_HOOK int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask,
			 size_t room)
{
	ISC_SYSCALL(ppoll, waits_for(fds, n), int, ISC_MASKED(mask, ISC_REAL(__ppoll_chk)(fds, n, timeout, mask, room)),
		    ISC_OF_NONE);
}

ISC_HOOK int select(int n, fd_set *__restrict in, fd_set *__restrict out, fd_set *__restrict except,
		    struct timeval *__restrict timeout)
{
	ISC_SYSCALL(select, n > 0 ? ISC_WAIT_SELECT : ISC_WAIT_SLEEP, int,
		    ISC_REAL(select)(n, in, out, except, timeout), ISC_OF_NONE);
}

ISC_HOOK int pselect(int n, fd_set *__restrict in, fd_set *__restrict out, fd_set *__restrict except,
		     const struct timespec *__restrict timeout, const sigset_t *__restrict mask)
{
	ISC_SYSCALL(pselect6, n > 0 ? ISC_WAIT_SELECT : ISC_WAIT_SLEEP, int,
		    ISC_MASKED(mask, ISC_REAL(pselect)(n, in, out, except, timeout, mask)), ISC_OF_NONE);
}

ISC_HOOK int epoll_wait(int ep, struct epoll_event *events, int max, int timeout)
{
	enum isc_wait_call wait = timeout != 0 ? ISC_WAIT_EPOLL : ISC_SYSCALL_NO_WAIT;

	ISC_SYSCALL(epoll_wait, wait, int, ISC_REAL(epoll_wait)(ep, events, max, timeout), ISC_OF_NONE);
}

ISC_HOOK int epoll_pwait(int ep, struct epoll_event *events, int max, int timeout, const sigset_t *mask)
{
	ISC_SYSCALL(epoll_pwait, ISC_WAIT_EPOLL, int,
		    ISC_MASKED(mask, ISC_REAL(epoll_pwait)(ep, events, max, timeout, mask)), ISC_OF_NONE);
}

ISC_HOOK int epoll_pwait2(int ep, struct epoll_event *events, int max, const struct timespec *timeout,
			  const sigset_t *mask)
{
	ISC_SYSCALL(epoll_pwait2, ISC_WAIT_EPOLL, int,
		    ISC_MASKED(mask, ISC_REAL(epoll_pwait2)(ep, events, max, timeout, mask)), ISC_OF_NONE);
}

ISC_HOOK int nanosleep(const struct timespec *time, struct timespec *left)
{
	ISC_SYSCALL(clock_nanosleep, ISC_WAIT_SLEEP, int, ISC_REAL(nanosleep)(time, left), ISC_OF_NONE);
}

ISC_HOOK int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time, struct timespec *left)
{
	ISC_SYSCALL_CODE(clock_nanosleep, ISC_WAIT_SLEEP, ISC_REAL(clock_nanosleep)(clock, flags, time, left));
}

ISC_HOOK int usleep(useconds_t time_us)
{
	ISC_SYSCALL(clock_nanosleep, ISC_WAIT_SLEEP, int, ISC_REAL(usleep)(time_us), ISC_OF_NONE);
}

ISC_HOOK unsigned int sleep(unsigned int time_s)
{
	ISC_SYSCALL(clock_nanosleep, ISC_WAIT_SLEEP, unsigned int, ISC_REAL(sleep)(time_s), ISC_OF_NONE);
}

ISC_HOOK int pause(void)
{
	ISC_SYSCALL(pause, ISC_WAIT_SIGNAL, int, ISC_REAL(pause)(), ISC_OF_NONE);
}

ISC_HOOK int sched_yield(void)
{
	isc_blocked_yield();
	ISC_SYSCALL(sched_yield, ISC_SYSCALL_NO_WAIT, int, ISC_REAL(sched_yield)(), ISC_OF_NONE);
}

ISC_HOOK pid_t wait(int *status)
{
	ISC_SYSCALL(wait4, ISC_WAIT_CHILD, pid_t, ISC_REAL(wait)(status), ISC_OF_NONE);
}

ISC_HOOK pid_t waitpid(pid_t pid, int *status, int options)
{
	ISC_SYSCALL(wait4, ISC_WAIT_CHILD, pid_t, ISC_REAL(waitpid)(pid, status, options), ISC_OF_NONE);
}

ISC_HOOK pid_t wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
	ISC_SYSCALL(wait4, ISC_WAIT_CHILD, pid_t, ISC_REAL(wait4)(pid, status, options, usage), ISC_OF_NONE);
}

ISC_HOOK int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
	ISC_SYSCALL(waitid, ISC_WAIT_CHILD, int, ISC_REAL(waitid)(type, id, info, options), ISC_OF_NONE);
}
