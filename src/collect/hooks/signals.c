/*
 * signals.c - hooks on signal handlers, on masks and on fetching signals by hand.
 *
 * The sampler needs one signal to stay its own.  Everything by which a program
 * could install a handler for it, block it or fetch it goes through here.
 */
#include "collect/hooks/hook.h"

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/signalfd.h>

#include "collect/hooks/blocked.h"
#include "collect/fault.h"
#include "collect/sample/signal.h"

/* The signals that the sampler shares with the program; false: none of them, or not now. */
static bool shared(int number, const struct sigaction *action, struct sigaction *old, int *result)
{
	return isc_sample_signal_action(number, action, old, result) || isc_fault_action(number, action, old, result);
}

/* The same for the older ways to set a handler, which differ in the flags they give it. */
static bool shared_handler(int number, __sighandler_t handler, int flags, __sighandler_t *before)
{
	struct sigaction action = {.sa_handler = handler, .sa_flags = flags}, old;
	int result;

	if (number != SIGURG && number != SIGSEGV && number != SIGBUS)
		return false;
	sigemptyset(&action.sa_mask);
	if (!shared(number, &action, &old, &result))
		return false;
	*before = result == 0 ? old.sa_handler : SIG_ERR;
	return true;
}

ISC_HOOK int sigaction(int number, const struct sigaction *__restrict action, struct sigaction *__restrict old)
{
	int result;

	if (shared(number, action, old, &result))
		return result;
	return ISC_REAL(sigaction)(number, action, old);
}

ISC_HOOK __sighandler_t signal(int number, __sighandler_t handler)
{
	__sighandler_t before;

	if (shared_handler(number, handler, SA_RESTART, &before))
		return before;
	return ISC_REAL(signal)(number, handler);
}

ISC_HOOK __sighandler_t ssignal(int number, __sighandler_t handler)
{
	__sighandler_t before;

	if (shared_handler(number, handler, SA_RESTART, &before))
		return before;
	return ISC_REAL(ssignal)(number, handler);
}

ISC_HOOK __sighandler_t bsd_signal(int number, __sighandler_t handler)
{
	__sighandler_t before;

	if (shared_handler(number, handler, SA_RESTART, &before))
		return before;
	return ISC_REAL(bsd_signal)(number, handler);
}

ISC_HOOK __sighandler_t sysv_signal(int number, __sighandler_t handler)
{
	__sighandler_t before;

	if (shared_handler(number, handler, (int)(SA_RESETHAND | SA_NODEFER), &before))
		return before;
	return ISC_REAL(sysv_signal)(number, handler);
}

ISC_HOOK __sighandler_t __sysv_signal(int number, __sighandler_t handler)
{
	__sighandler_t before;

	if (shared_handler(number, handler, (int)(SA_RESETHAND | SA_NODEFER), &before))
		return before;
	return ISC_REAL(__sysv_signal)(number, handler);
}

/* Old programs still call it. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
ISC_HOOK __sighandler_t sigset(int number, __sighandler_t handler)
{
	__sighandler_t before;

	/* SIG_HOLD blocks and sets no handler. */
	if (handler != SIG_HOLD && shared_handler(number, handler, 0, &before))
		return before;
	return ISC_REAL(sigset)(number, handler);
}

/* The older ways to change a mask know the first 32 signals, or one at a time.  Shells use them between vfork and exec. */

static sigset_t set_of(uint64_t bits)
{
	sigset_t set;

	sigemptyset(&set);
	memcpy(&set, &bits, sizeof(bits));
	return set;
}

static uint64_t bits_of(const sigset_t *set)
{
	uint64_t bits;

	memcpy(&bits, set, sizeof(bits));
	return bits;
}

static int real_setmask(int how, const sigset_t *set, sigset_t *old)
{
	(void)how;
	*old = set_of((uint32_t)ISC_REAL(sigsetmask)((int)(uint32_t)bits_of(set)));
	return 0;
}

static int real_block(int how, const sigset_t *set, sigset_t *old)
{
	(void)how;
	*old = set_of((uint32_t)ISC_REAL(sigblock)((int)(uint32_t)bits_of(set)));
	return 0;
}

static int real_hold(int how, const sigset_t *set, sigset_t *old)
{
	(void)how;
	(void)old;
	return ISC_REAL(sighold)(__builtin_ctzll(bits_of(set)) + 1);
}

static int real_release(int how, const sigset_t *set, sigset_t *old)
{
	(void)how;
	(void)old;
	return ISC_REAL(sigrelse)(__builtin_ctzll(bits_of(set)) + 1);
}

ISC_HOOK int sigsetmask(int mask)
{
	sigset_t set = set_of((uint32_t)mask), old;

	isc_sample_signal_mask(real_setmask, SIG_SETMASK, &set, &old);
	return (int)(uint32_t)bits_of(&old);
}

ISC_HOOK int sigblock(int mask)
{
	sigset_t set = set_of((uint32_t)mask), old;

	isc_sample_signal_mask(real_block, SIG_BLOCK, &set, &old);
	return (int)(uint32_t)bits_of(&old);
}

ISC_HOOK int sighold(int number)
{
	sigset_t set;

	if (number != SIGURG)
		return ISC_REAL(sighold)(number);
	set = set_of(1ull << (SIGURG - 1));
	return isc_sample_signal_mask(real_hold, SIG_BLOCK, &set, NULL);
}

ISC_HOOK int sigrelse(int number)
{
	sigset_t set;

	if (number != SIGURG)
		return ISC_REAL(sigrelse)(number);
	set = set_of(1ull << (SIGURG - 1));
	return isc_sample_signal_mask(real_release, SIG_UNBLOCK, &set, NULL);
}
#pragma GCC diagnostic pop

ISC_HOOK int sigprocmask(int how, const sigset_t *__restrict set, sigset_t *__restrict old)
{
	return isc_sample_signal_mask(ISC_REAL(sigprocmask), how, set, old);
}

ISC_HOOK int pthread_sigmask(int how, const sigset_t *__restrict set, sigset_t *__restrict old)
{
	return isc_sample_signal_mask(ISC_REAL(pthread_sigmask), how, set, old);
}

ISC_HOOK int sigsuspend(const sigset_t *mask)
{
	ISC_BLOCKED(ISC_WAIT_SIGNAL, int, ISC_MASKED(mask, ISC_REAL(sigsuspend)(mask)));
}

ISC_HOOK int sigwait(const sigset_t *__restrict set, int *__restrict number)
{
	ISC_BLOCKED(ISC_WAIT_SIGNAL, int, ISC_FETCHED(set, ISC_REAL(sigwait)(set, number)));
}

ISC_HOOK int sigwaitinfo(const sigset_t *__restrict set, siginfo_t *__restrict info)
{
	ISC_BLOCKED(ISC_WAIT_SIGNAL, int, ISC_FETCHED(set, ISC_REAL(sigwaitinfo)(set, info)));
}

ISC_HOOK int sigtimedwait(const sigset_t *__restrict set, siginfo_t *__restrict info,
			  const struct timespec *__restrict timeout)
{
	ISC_BLOCKED(ISC_WAIT_SIGNAL, int, ISC_FETCHED(set, ISC_REAL(sigtimedwait)(set, info, timeout)));
}

ISC_HOOK int sigpending(sigset_t *set)
{
	int result = ISC_REAL(sigpending)(set);

	if (result == 0 && isc_sample_is_kept())
		sigaddset(set, SIGURG);
	return result;
}

ISC_HOOK int signalfd(int fd, const sigset_t *mask, int flags)
{
	isc_sample_fetch_by_descriptor(mask);
	return ISC_REAL(signalfd)(fd, mask, flags);
}
