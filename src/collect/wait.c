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

ISC_HOOK int poll(struct pollfd *fds, nfds_t n, int timeout)
{
	return ISC_REAL(poll)(fds, n, timeout);
}

ISC_HOOK int ppoll(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask)
{
	return ISC_REAL(ppoll)(fds, n, timeout, mask);
}

ISC_HOOK int __poll_chk(struct pollfd *fds, nfds_t n, int timeout, size_t room)
{
	return ISC_REAL(__poll_chk)(fds, n, timeout, room);
}

ISC_HOOK int __ppoll_chk(struct pollfd *fds, nfds_t n, const struct timespec *timeout, const sigset_t *mask,
			 size_t room)
{
	return ISC_REAL(__ppoll_chk)(fds, n, timeout, mask, room);
}

ISC_HOOK int select(int n, fd_set *__restrict in, fd_set *__restrict out, fd_set *__restrict except,
		    struct timeval *__restrict timeout)
{
	return ISC_REAL(select)(n, in, out, except, timeout);
}

ISC_HOOK int pselect(int n, fd_set *__restrict in, fd_set *__restrict out, fd_set *__restrict except,
		     const struct timespec *__restrict timeout, const sigset_t *__restrict mask)
{
	return ISC_REAL(pselect)(n, in, out, except, timeout, mask);
}

ISC_HOOK int epoll_wait(int ep, struct epoll_event *events, int max, int timeout)
{
	return ISC_REAL(epoll_wait)(ep, events, max, timeout);
}

ISC_HOOK int epoll_pwait(int ep, struct epoll_event *events, int max, int timeout, const sigset_t *mask)
{
	return ISC_REAL(epoll_pwait)(ep, events, max, timeout, mask);
}

ISC_HOOK int epoll_pwait2(int ep, struct epoll_event *events, int max, const struct timespec *timeout,
			  const sigset_t *mask)
{
	return ISC_REAL(epoll_pwait2)(ep, events, max, timeout, mask);
}

ISC_HOOK int nanosleep(const struct timespec *time, struct timespec *left)
{
	return ISC_REAL(nanosleep)(time, left);
}

ISC_HOOK int clock_nanosleep(clockid_t clock, int flags, const struct timespec *time, struct timespec *left)
{
	return ISC_REAL(clock_nanosleep)(clock, flags, time, left);
}

ISC_HOOK int usleep(useconds_t time_us)
{
	return ISC_REAL(usleep)(time_us);
}

ISC_HOOK unsigned int sleep(unsigned int time_s)
{
	return ISC_REAL(sleep)(time_s);
}

ISC_HOOK int pause(void)
{
	return ISC_REAL(pause)();
}

ISC_HOOK int sched_yield(void)
{
	return ISC_REAL(sched_yield)();
}

ISC_HOOK pid_t wait(int *status)
{
	return ISC_REAL(wait)(status);
}

ISC_HOOK pid_t waitpid(pid_t pid, int *status, int options)
{
	return ISC_REAL(waitpid)(pid, status, options);
}

ISC_HOOK pid_t wait4(pid_t pid, int *status, int options, struct rusage *usage)
{
	return ISC_REAL(wait4)(pid, status, options, usage);
}

ISC_HOOK int waitid(idtype_t type, id_t id, siginfo_t *info, int options)
{
	return ISC_REAL(waitid)(type, id, info, options);
}
