/*
 * signal.c - SIGURG, shared with the program.
 *
 * In the kernel the handler is ours.  What the program sets is kept here, called
 * for signals that are not ours and told when it asks.  Ours has the program's
 * flags, so that its handler finds the stack and the restarted calls it expects.
 * A set that blocks nearly everything leaves SIGURG out, and the program does not
 * see that; one that names it on purpose blocks it.
 */
#include "collect/hooks/hook.h"

#include "collect/sample/sample.h"
#include "collect/fault.h"
#include "collect/sample/signal.h"

#include <string.h>
#include <ucontext.h>

#include "runtime/image.h"
#include "runtime/kernel.h"

#define FULL_SET 16 /* signals up to 31: a set of that many was not made for SIGURG */
#define COPIES 8u

static struct sigaction copies[COPIES]; /* of what the program set; the newest counts */
static _Atomic uint32_t newest;
static _Atomic uint32_t lock;
static bool begun;

static struct sigaction theirs_now(void)
{
	return copies[atomic_load_explicit(&newest, memory_order_acquire) % COPIES];
}

static void keep(const struct sigaction *action)
{
	uint32_t next = atomic_load_explicit(&newest, memory_order_relaxed) + 1;

	copies[next % COPIES] = *action;
	atomic_store_explicit(&newest, next, memory_order_release);
}

/* Neither ignored nor the default, which ignores it as well. */
static bool is_handler(const struct sigaction *action)
{
	return action->sa_handler != SIG_DFL && action->sa_handler != SIG_IGN;
}

static bool is_ours(const struct sigaction *action)
{
	return (action->sa_flags & SA_SIGINFO) != 0 && action->sa_sigaction == isc_sample_handle;
}

static int install(const struct sigaction *theirs)
{
	struct sigaction mine = {.sa_sigaction = isc_sample_handle, .sa_flags = SA_SIGINFO | SA_RESTART | SA_ONSTACK};

	if (is_handler(theirs))
		mine.sa_flags = SA_SIGINFO | (theirs->sa_flags & (SA_RESTART | SA_ONSTACK));
	sigfillset(&mine.sa_mask);
	sigdelset(&mine.sa_mask, SIGSEGV);
	sigdelset(&mine.sa_mask, SIGBUS);
	sigdelset(&mine.sa_mask, SIGFPE);
	sigdelset(&mine.sa_mask, SIGILL);
	sigdelset(&mine.sa_mask, SIGTRAP);
	sigdelset(&mine.sa_mask, SIGSYS);
	sigdelset(&mine.sa_mask, SIGABRT);
	return ISC_REAL(sigaction)(SIGURG, &mine, NULL);
}

void isc_sample_signal_forked(void)
{
	atomic_store(&lock, 0);
	/* A child begins with nothing pending. */
	isc_sample_fetch_forked();
	if (isc_sampled_self != NULL)
		isc_sampled_self->held = false;
}

bool isc_sample_signal_begin(bool hooked)
{
	struct sigaction now;

	if (ISC_REAL(sigaction)(SIGURG, NULL, &now) != 0)
		return false;
	/* Ours stayed for a handler of the program's. */
	if (is_ours(&now))
		return true;
	if (!hooked && is_handler(&now))
		return false;
	keep(&now);
	begun = install(&now) == 0;
	return begun;
}

bool isc_sample_signal_end(void)
{
	struct sigaction now, theirs = theirs_now();

	if (ISC_REAL(sigaction)(SIGURG, NULL, &now) != 0 || !is_ours(&now))
		return false;
	/* A signal of ours that is still pending would come to the program's handler. */
	if (is_handler(&theirs))
		return true;
	begun = false;
	ISC_REAL(sigaction)(SIGURG, &theirs, NULL);
	return true;
}

bool isc_sample_signal_action(int number, const struct sigaction *action, struct sigaction *old, int *result)
{
	struct sigaction before, wanted;
	uint32_t none = 0;
	isc_guard guard;

	/* Also when sampling has ended: to put the default back would discard a pending one.  A vfork
	 * child has handlers of its own, and our memory. */
	if (number != SIGURG || !begun || isc_kernel_pid() != isc_image_self.pid)
		return false;
	if (action != NULL)
		wanted = *action;
	isc_guard_enter(&guard);
	while (!atomic_compare_exchange_strong(&lock, &none, 1)) {
		none = 0;
		isc_kernel_yield();
	}
	before = theirs_now();
	*result = 0;
	if (action != NULL) {
		keep(&wanted);
		*result = install(&wanted);
	}
	/* Of one that is ignored from now on nothing stays pending. */
	if (action != NULL && !is_handler(&wanted)) {
		isc_sample_kept_drop();
		if (isc_sampled_self != NULL && isc_sample_is_own(isc_sampled_self))
			isc_sampled_self->held = false;
	}
	atomic_store(&lock, 0);
	isc_guard_leave(&guard);
	if (old != NULL)
		*old = before;
	return true;
}

/* As the kernel would: its mask for as long as it runs. */
static void call(const struct sigaction *theirs, int number, siginfo_t *info, ucontext_t *context)
{
	uint64_t mask, during, before;

	memcpy(&mask, &context->uc_sigmask, sizeof(mask));
	memcpy(&during, &theirs->sa_mask, sizeof(during));
	during |= mask;
	if ((theirs->sa_flags & SA_NODEFER) == 0)
		during |= 1ull << (SIGURG - 1);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &during, &before, sizeof(during));
	if (theirs->sa_flags & SA_SIGINFO)
		theirs->sa_sigaction(number, info, context);
	else
		theirs->sa_handler(number);
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, sizeof(before));
}

void isc_sample_signal_pass(int number, siginfo_t *info, void *context)
{
	struct sigaction theirs = theirs_now();

	/* As blocked signals are, also those that nobody handles: they may be fetched. */
	if (isc_sample_kept_back(info, context) || !is_handler(&theirs))
		return;
	if (theirs.sa_flags & SA_RESETHAND) {
		struct sigaction none = {.sa_handler = SIG_DFL};

		isc_sample_signal_action(SIGURG, &none, NULL, &(int){0});
	}
	call(&theirs, number, info, context);
}

/* ---- masks ------------------------------------------------------------- */

bool isc_sample_is_full(const sigset_t *set)
{
	int n = 0;

	for (int i = 1; i < 32; i++)
		n += sigismember(set, i) == 1;
	return n >= FULL_SET;
}

bool isc_sample_is_own(const isc_sampled *t)
{
	return atomic_load_explicit(ISC_SAMPLED_TID(t), memory_order_relaxed) == isc_kernel_tid();
}

/*
 * A child of vfork(), or one that is not sampled, begins with the mask of the thread
 * that made it, where SIGURG may be let in for our sake.  Nothing of ours comes here:
 * before the first change the mask is made the one that the program believes in.
 */
static void make_true(isc_sampled *t)
{
	const uint64_t urgent = 1ull << (SIGURG - 1);
	uint32_t tid = isc_kernel_tid();

	if (t->child == tid)
		return;
	t->child = tid;
	if (t->holds)
		syscall(SYS_rt_sigprocmask, SIG_BLOCK, &urgent, NULL, sizeof(urgent));
}

int isc_sample_signal_mask(isc_sample_mask *real, int how, const sigset_t *set, sigset_t *old)
{
	isc_sampled *t = isc_sampled_self;
	bool held, holds, named = false, full = false;
	sigset_t wanted;
	int result;

	isc_sample_come_true();
	if (t == NULL || !isc_sample_on())
		return real(how, set, old);
	if (!isc_sample_is_own(t)) {
		make_true(t);
		return real(how, set, old);
	}
	t->child = 0; /* the number may be another's by now */
	held = holds = t->holds;
	if (set != NULL) {
		wanted = *set;
		named = sigismember(&wanted, SIGURG) == 1;
		full = isc_sample_is_full(&wanted);
		if (named && full && how != SIG_UNBLOCK)
			sigdelset(&wanted, SIGURG);
		if (how == SIG_SETMASK)
			holds = named && full;
		else if (named)
			holds = how == SIG_BLOCK ? full || holds : false;
	}
	if (set != NULL && named && !full && how != SIG_UNBLOCK)
		isc_sample_pause(t, true);
	result = real(how, set != NULL ? &wanted : NULL, old);
	if (result != 0)
		return result;
	if (set != NULL && (how == SIG_SETMASK ? !named || full : how == SIG_UNBLOCK && named))
		isc_sample_pause(t, false);
	if (old != NULL && held)
		sigaddset(old, SIGURG);
	t->holds = holds;
	if (!holds)
		isc_sample_kept_give(t, !t->paused);
	return result;
}

bool isc_sample_signal_lend(const sigset_t *mask)
{
	const uint64_t urgent = 1ull << (SIGURG - 1);
	isc_sampled *t = isc_sampled_self;

	if (mask == NULL || t == NULL || !t->holds || sigismember(mask, SIGURG) == 1 || !isc_sample_on() ||
	    !isc_sample_is_own(t))
		return false;
	/* Signals of ours that are under way arrive now, so that none ends the wait. */
	isc_sample_pause(t, true);
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &urgent, NULL, sizeof(urgent));
	t->holds = false;
	isc_sample_kept_give(t, true);
	return true;
}

void isc_sample_signal_take_back(void)
{
	const uint64_t urgent = 1ull << (SIGURG - 1);
	isc_sampled *t = isc_sampled_self;
	int error = errno;

	if (t == NULL)
		return;
	t->holds = true;
	syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &urgent, NULL, sizeof(urgent));
	isc_sample_pause(t, false);
	errno = error;
}

isc_sample_handed isc_sample_signal_hand_over(bool in_place)
{
	const uint64_t urgent = 1ull << (SIGURG - 1);
	isc_sampled *t = isc_sampled_self;
	isc_sample_handed handed = {false, false, 0};
	int error = errno;

	if (!isc_sample_on())
		return handed;
	handed.blocked = t != NULL && t->holds && t->child != isc_kernel_tid() &&
			 syscall(SYS_rt_sigprocmask, SIG_BLOCK, &urgent, NULL, sizeof(urgent)) == 0;
	if (in_place) {
		struct sigaction theirs = theirs_now();

		/* What is pending goes with it. */
		if (handed.blocked && isc_sample_is_own(t))
			isc_sample_kept_give(t, true);
		handed.ignored = theirs.sa_handler == SIG_IGN && ISC_REAL(sigaction)(SIGURG, &theirs, NULL) == 0;
		handed.faults = isc_fault_ignore();
	}
	errno = error;
	return handed;
}

void isc_sample_signal_handed_back(isc_sample_handed handed)
{
	const uint64_t urgent = 1ull << (SIGURG - 1);
	isc_sampled *t = isc_sampled_self;
	int error = errno;

	if (handed.faults != 0)
		isc_fault_catch(handed.faults);
	if (handed.ignored) {
		struct sigaction theirs = theirs_now();

		install(&theirs);
		/* One of ours may have been ignored. */
		if (t != NULL && !t->paused && isc_sample_is_own(t)) {
			isc_sample_pause(t, true);
			isc_sample_pause(t, false);
		}
	}
	if (handed.blocked)
		syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &urgent, NULL, sizeof(urgent));
	errno = error;
}
