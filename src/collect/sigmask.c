/*
 * sigmask.c - hooks on signal handlers, on masks and on fetching signals by hand.
 *
 * The sampler needs one signal to stay its own.  Everything by which a program
 * could install a handler for it, block it or fetch it goes through here.
 */
#include "collect/hook.h"

#include <signal.h>
#include <sys/signalfd.h>

ISC_HOOK int sigaction(int number, const struct sigaction *__restrict action, struct sigaction *__restrict old)
{
	return ISC_REAL(sigaction)(number, action, old);
}

ISC_HOOK __sighandler_t signal(int number, __sighandler_t handler)
{
	return ISC_REAL(signal)(number, handler);
}

ISC_HOOK __sighandler_t ssignal(int number, __sighandler_t handler)
{
	return ISC_REAL(ssignal)(number, handler);
}

ISC_HOOK __sighandler_t bsd_signal(int number, __sighandler_t handler)
{
	return ISC_REAL(bsd_signal)(number, handler);
}

ISC_HOOK __sighandler_t sysv_signal(int number, __sighandler_t handler)
{
	return ISC_REAL(sysv_signal)(number, handler);
}

ISC_HOOK __sighandler_t __sysv_signal(int number, __sighandler_t handler)
{
	return ISC_REAL(__sysv_signal)(number, handler);
}

/* Old programs still call it. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
ISC_HOOK __sighandler_t sigset(int number, __sighandler_t handler)
{
	return ISC_REAL(sigset)(number, handler);
}
#pragma GCC diagnostic pop

ISC_HOOK int sigprocmask(int how, const sigset_t *__restrict set, sigset_t *__restrict old)
{
	return ISC_REAL(sigprocmask)(how, set, old);
}

ISC_HOOK int pthread_sigmask(int how, const sigset_t *__restrict set, sigset_t *__restrict old)
{
	return ISC_REAL(pthread_sigmask)(how, set, old);
}

ISC_HOOK int sigsuspend(const sigset_t *mask)
{
	return ISC_REAL(sigsuspend)(mask);
}

ISC_HOOK int sigwait(const sigset_t *__restrict set, int *__restrict number)
{
	return ISC_REAL(sigwait)(set, number);
}

ISC_HOOK int sigwaitinfo(const sigset_t *__restrict set, siginfo_t *__restrict info)
{
	return ISC_REAL(sigwaitinfo)(set, info);
}

ISC_HOOK int sigtimedwait(const sigset_t *__restrict set, siginfo_t *__restrict info,
			  const struct timespec *__restrict timeout)
{
	return ISC_REAL(sigtimedwait)(set, info, timeout);
}

ISC_HOOK int signalfd(int fd, const sigset_t *mask, int flags)
{
	return ISC_REAL(signalfd)(fd, mask, flags);
}
