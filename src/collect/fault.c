#include "collect/hooks/hook.h"

#include "collect/fault.h"

#include <errno.h>
#include <string.h>
#include <ucontext.h>

#include "collect/sample/sample.h"
#include "runtime/image.h"
#include "runtime/kernel.h"

enum { SEGV, BUS, FAULTS };

static const int number_of[FAULTS] = {SIGSEGV, SIGBUS};

static _Atomic bool begun;
static bool seen; /* the program's own changes come through our hooks */

/* What the program has, as far as we know; under the lock. */
static struct sigaction theirs[FAULTS];
static bool aside[FAULTS]; /* theirs is in the kernel until the next sample */
static _Atomic uint32_t lock;

static bool try_lock(void)
{
	uint32_t none = 0;

	return atomic_compare_exchange_strong_explicit(&lock, &none, 1, memory_order_acquire, memory_order_relaxed);
}

static void unlock(void)
{
	atomic_store_explicit(&lock, 0, memory_order_release);
}

void isc_fault_forked(void)
{
	atomic_store(&lock, 0);
}

static int kernel_action(int number, const struct sigaction *action, struct sigaction *old)
{
	return ISC_REAL(sigaction)(number, action, old);
}

static void on_fault(int number, siginfo_t *info, void *context);

static struct sigaction ours(void)
{
	struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK};

	sigemptyset(&action.sa_mask);
	return action;
}

static bool is_ours(const struct sigaction *action)
{
	return (action->sa_flags & SA_SIGINFO) != 0 && action->sa_sigaction == on_fault;
}

/* Will the instruction fault again when we return? */
static bool repeats(int number, const siginfo_t *info)
{
	return info->si_code > 0 && !(number == SIGBUS && info->si_code == BUS_MCEERR_AO);
}

/* The program's turn. */
static void step_aside(int number, siginfo_t *info)
{
	int which = number == SIGBUS ? BUS : SEGV;
	isc_guard guard;
	uint32_t tries = 0;

	isc_guard_enter(&guard);
	/* Whoever holds it has its signals blocked, and faults by no means: it is not us. */
	while (!try_lock() && tries++ < 1000000)
		isc_kernel_yield();
	if (!aside[which])
		kernel_action(number, &theirs[which], NULL);
	aside[which] = true;
	unlock();
	if (!repeats(number, info))
		syscall(SYS_rt_tgsigqueueinfo, isc_kernel_pid(), isc_kernel_tid(), number, info);
	isc_guard_leave(&guard);
}

/* The kernel lets nobody change the alternate stack who is on it, which it tells by the stack pointer. */
static void leave_stack(const stack_t *none, void *elsewhere)
{
#if defined(__x86_64__)
	long result = SYS_sigaltstack;

	__asm__ volatile("xchg %%rsp, %[sp]\n\tsyscall\n\txchg %%rsp, %[sp]"
			 : "+a"(result), [sp] "+r"(elsewhere)
			 : "D"(none), "S"(NULL)
			 : "rcx", "r11", "memory");
#else
	(void)none;
	(void)elsewhere;
#endif
}

/* A handler of the program's must not find a stack that the program did not give it: at the end of its own
 * it is not called, and the program ends.  The next sample gives ours back. */
static void take_stack_back(isc_sampled *t, ucontext_t *context)
{
	const stack_t none = {.ss_flags = SS_DISABLE};
	uint64_t all = ~0ull;

	if (t == NULL || context->uc_stack.ss_sp != t->stack)
		return;
	/* Until this handler returns: a sample would give it back. */
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &all, NULL, sizeof(all));
	leave_stack(&none, t);
	context->uc_stack = none;
}

static void on_fault(int number, siginfo_t *info, void *context)
{
	isc_sampled *t = isc_sampled_self;
	int error = errno;

	if (t != NULL && t->fault.armed && repeats(number, info) &&
	    atomic_load_explicit(ISC_SAMPLED_TID(t), memory_order_relaxed) == isc_kernel_tid()) {
		t->fault.armed = 0;
		siglongjmp(t->fault.escape, 1);
	}
	take_stack_back(t, context);
	step_aside(number, info);
	errno = error;
}

void isc_fault_begin(bool hooked)
{
	struct sigaction mine = ours();

	if (atomic_exchange(&begun, true))
		return;
	seen = hooked;
	for (int i = 0; i < FAULTS; i++)
		kernel_action(number_of[i], &mine, &theirs[i]);
}

void isc_fault_end(void)
{
	struct sigaction now;
	bool out = true;
	isc_guard guard;

	if (!atomic_load(&begun))
		return;
	isc_guard_enter(&guard);
	while (!try_lock())
		isc_kernel_yield();
	for (int i = 0; i < FAULTS; i++) {
		if (kernel_action(number_of[i], NULL, &now) != 0)
			out = false;
		else if (is_ours(&now))
			kernel_action(number_of[i], &theirs[i], NULL);
		else
			out = out && aside[i] && now.sa_handler == theirs[i].sa_handler;
	}
	/* One that was put over ours calls ours when it is done: next time ours must not go over it. */
	if (out) {
		aside[SEGV] = aside[BUS] = false;
		atomic_store(&begun, false);
	}
	unlock();
	isc_guard_leave(&guard);
}

/* The answer that every sample gets, from the kernel itself: libc's structure is five times as long, and what fills it
 * in is far away by then. */
static bool is_in_kernel(int number)
{
	struct {
		void (*handler)(int, siginfo_t *, void *);
		unsigned long flags;
		uint64_t rest[4]; /* its restorer, where there is one, and its mask */
	} now = {0};

	return syscall(SYS_rt_sigaction, number, NULL, &now, sizeof(uint64_t)) == 0 && now.handler == on_fault &&
	       (now.flags & SA_SIGINFO) != 0;
}

bool isc_fault_caught(void)
{
	struct sigaction mine = ours(), now;

	if (is_in_kernel(SIGSEGV))
		return true;
	if (kernel_action(SIGSEGV, NULL, &now) != 0)
		return false;
	if (is_ours(&now))
		return true;
	/* Replaced behind our back: it may call ours when it is done, and then ours must
	 * not call it.  Only what we put there ourselves is taken out again. */
	if (!try_lock())
		return false;
	for (int i = 0; i < FAULTS; i++) {
		if (!aside[i] || kernel_action(number_of[i], NULL, &now) != 0)
			continue;
		if (!seen && now.sa_handler != theirs[i].sa_handler && now.sa_handler != SIG_DFL)
			continue;
		/* A handler for one signal only has gone meanwhile: theirs is what is there. */
		if (kernel_action(number_of[i], &mine, &theirs[i]) == 0)
			aside[i] = false;
	}
	unlock();
	return kernel_action(SIGSEGV, NULL, &now) == 0 && is_ours(&now);
}

bool isc_fault_action(int number, const struct sigaction *action, struct sigaction *old, int *result)
{
	int which = number == SIGBUS ? BUS : SEGV;
	struct sigaction wanted, before, now;
	isc_guard guard;

	/* A vfork child has handlers of its own, and our memory. */
	if ((number != SIGSEGV && number != SIGBUS) || !atomic_load_explicit(&begun, memory_order_acquire) ||
	    isc_kernel_pid() != isc_image_self.pid)
		return false;
	if (action != NULL)
		wanted = *action;
	isc_guard_enter(&guard);
	while (!try_lock())
		isc_kernel_yield();
	*result = kernel_action(number, NULL, &now);
	if (*result == 0 && is_ours(&now)) {
		before = theirs[which];
		if (action != NULL)
			theirs[which] = wanted;
	} else if (*result == 0) {
		before = now;
		if (action != NULL) {
			*result = kernel_action(number, &wanted, NULL);
			theirs[which] = wanted;
		}
	}
	unlock();
	isc_guard_leave(&guard);
	if (*result == 0 && old != NULL)
		*old = before;
	return true;
}

uint32_t isc_fault_ignore(void)
{
	uint32_t ignored = 0;
	struct sigaction now;

	if (!atomic_load_explicit(&begun, memory_order_acquire))
		return 0;
	for (int i = 0; i < FAULTS; i++) {
		struct sigaction wanted = theirs[i];

		if (wanted.sa_handler == SIG_IGN && kernel_action(number_of[i], NULL, &now) == 0 && is_ours(&now) &&
		    kernel_action(number_of[i], &wanted, NULL) == 0)
			ignored |= 1u << i;
	}
	return ignored;
}

void isc_fault_catch(uint32_t ignored)
{
	struct sigaction mine = ours();

	for (int i = 0; i < FAULTS; i++)
		if (ignored & 1u << i)
			kernel_action(number_of[i], &mine, NULL);
}
