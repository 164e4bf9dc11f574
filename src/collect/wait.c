/*
 * wait.c - hooks on waiting for an event, for a child or for time to pass.
 *
 * All are cancellation points: a hook holds nothing that would have to be given
 * back when its thread is cancelled inside.
 */
#include "collect/hook.h"

#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "collect/blocked.h"
#include "collect/sample_signal.h"

/* Polling nothing is a way to sleep. */
static enum isc_wait_call waits_for(nfds_t n)
{
	return n > 0 ? ISC_WAIT_POLL : ISC_WAIT_SLEEP;
}

ISC_HOOK int poll(struct pollfd *fds, nfds_t n, int timeout)
{
	if (timeout == 0)
		return ISC_REAL(poll)(fds, n, timeout);
	ISC_BLOCKED(waits_for(n), int, ISC_REAL(poll)(fds, n, timeout));
}

ISC_HOOK int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask)
{
	ISC_BLOCKED(waits_for(n), int, ISC_MASKED(mask, ISC_REAL(ppoll)(fds, n, timeout, mask)));
}

ISC_HOOK int __poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t room)
{
	ISC_BLOCKED(waits_for(n), int, ISC_REAL(__poll_chk)(fds, n, timeout, room));
}

ISC_HOOK int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask,
			 size_t room)
{
	ISC_BLOCKED(waits_for(n), int, ISC_MASKED(mask, ISC_REAL(__ppoll_chk)(fds, n, timeout, mask, room)));
}

ISC_HOOK int select(int n, fd_set *__restrict in, fd_set *__restrict out, fd_set *__restrict except,
		    struct timeval *__restrict timeout)
{
	ISC_BLOCKED(n > 0 ? ISC_WAIT_SELECT : ISC_WAIT_SLEEP, int, ISC_REAL(select)(n, in, out, except, timeout));
}

ISC_HOOK int pselect(int n, fd_set *__restrict in, fd_set *__restrict out, fd_set *__restrict except,
		     const struct timespec *__restrict timeout, const sigset_t *__restrict mask)
{
	ISC_BLOCKED(n > 0 ? ISC_WAIT_SELECT : ISC_WAIT_SLEEP, int,
		    ISC_MASKED(mask, ISC_REAL(pselect)(n, in, out, except, timeout, mask)));
}

ISC_HOOK int epoll_wait(int ep, struct epoll_event *events, int max, int timeout)
{
	if (timeout == 0)
		return ISC_REAL(epoll_wait)(ep, events, max, timeout);
	ISC_BLOCKED(ISC_WAIT_EPOLL, int, ISC_REAL(epoll_wait)(ep, events, max, timeout));
}

ISC_HOOK int epoll_pwait(int ep, struct epoll_event *events, int max, int timeout, const sigset_t *mask)
{
	ISC_BLOCKED(ISC_WAIT_EPOLL, int, ISC_MASKED(mask, ISC_REAL(epoll_pwait)(ep, events, max, timeout, mask)));
}

ISC_HOOK int epoll_pwait2(int ep, struct epoll_event *events, int max, const struct timespec *timeout,
			  const sigset_t *mask)
{
	ISC_BLOCKED(ISC_WAIT_EPOLL, int, ISC_MASKED(mask, ISC_REAL(epoll_pwait2)(ep, events, max, timeout, mask)));
}

ISC_HOOK int nanosleep(const struct timespec *time, struct timespec *left)
{
	ISC_BLOCKED(ISC_WAIT_SLEEP, int, ISC_REAL(nanosleep)(time, left));
}

ISC_HOOK int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time, struct timespec *left)
{
	ISC_BLOCKED(ISC_WAIT_SLEEP, int, ISC_REAL(clock_nanosleep)(clock, flags, time, left));
}

ISC_HOOK int usleep(useconds_t time_us)
{
	ISC_BLOCKED(ISC_WAIT_SLEEP, int, ISC_REAL(usleep)(time_us));
}

ISC_HOOK unsigned int sleep(unsigned int time_s)
{
	ISC_BLOCKED(ISC_WAIT_SLEEP, unsigned int, ISC_REAL(sleep)(time_s));
}

ISC_HOOK int pause(void)
{
	ISC_BLOCKED(ISC_WAIT_SIGNAL, int, ISC_REAL(pause)());
}

ISC_HOOK int sched_yield(void)
{
	isc_blocked_yield();
	return ISC_REAL(sched_yield)();
}

ISC_HOOK pid_t wait(int *status)
{
	ISC_BLOCKED(ISC_WAIT_CHILD, pid_t, ISC_REAL(wait)(status));
}

ISC_HOOK pid_t waitpid(pid_t pid, int *status, int options)
{
	ISC_BLOCKED(ISC_WAIT_CHILD, pid_t, ISC_REAL(waitpid)(pid, status, options));
}

ISC_HOOK pid_t wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
	ISC_BLOCKED(ISC_WAIT_CHILD, pid_t, ISC_REAL(wait4)(pid, status, options, usage));
}

ISC_HOOK int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
	ISC_BLOCKED(ISC_WAIT_CHILD, int, ISC_REAL(waitid)(type, id, info, options));
}
