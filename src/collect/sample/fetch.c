/*
 * fetch.c - SIGURG of a program that blocks all signals and fetches them by hand.
 *
 * Such a program keeps its signals pending until sigwait() and its like take them.
 * We let SIGURG into its threads for our samples, so one for the program comes to
 * our handler instead.  It is kept as the kernel would have: one that was sent to
 * a thread with that thread, one that was sent to the process in one place for all
 * threads.  A thread that fetches blocks SIGURG in earnest and gets no sample of
 * ours meanwhile: what was kept becomes pending again before it waits, and what
 * comes to our handler in another thread is sent on to it.
 */
#include "collect/hooks/hook.h"

#include "collect/sample/sample.h"
#include "collect/sample/signal.h"

#include <string.h>
#include <ucontext.h>

#include "runtime/image.h"
#include "runtime/kernel.h"

#define SEATS 16u /* threads that fetch at once; more share what these get */
#define URGENT (1ull << (SIGURG - 1))

/* The one that is pending for the process.  As of any signal that does not queue, one at most. */
enum { EMPTY = 0, WRITING = 1, FULL = 2, STATE = 3, TURN = 4 };

static siginfo_t kept;
static _Atomic uint32_t kept_state;   /* and which turn it is, so that a reader knows what it has read */
static _Atomic uint32_t seats[SEATS]; /* ids of the threads that fetch */
static _Atomic bool confined;	      /* a filter of system calls may be set */

static bool keep(const siginfo_t *info)
{
	uint32_t state = atomic_load(&kept_state);

	if ((state & STATE) != EMPTY ||
	    !atomic_compare_exchange_strong(&kept_state, &state, (state & ~(uint32_t)STATE) | WRITING))
		return false;
	kept = *info;
	atomic_store(&kept_state, (state & ~(uint32_t)STATE) | FULL);
	return true;
}

static bool take_kept(siginfo_t *info)
{
	uint32_t state = atomic_load(&kept_state);

	if ((state & STATE) != FULL)
		return false;
	*info = kept;
	atomic_thread_fence(memory_order_acquire);
	return atomic_compare_exchange_strong(&kept_state, &state, (state & ~(uint32_t)STATE) + TURN);
}

bool isc_sample_is_kept(void)
{
	const isc_sampled *t = isc_sampled_self;

	return t != NULL && t->holds && isc_sample_on() && isc_sample_is_own(t) &&
	       (t->held || (atomic_load(&kept_state) & STATE) != EMPTY);
}

void isc_sample_kept_drop(void)
{
	siginfo_t info;

	take_kept(&info);
}

void isc_sample_fetch_forked(void)
{
	atomic_store(&kept_state, EMPTY);
	for (uint32_t i = 0; i < SEATS; i++)
		atomic_store(&seats[i], 0);
}

/* Only a thread itself may send what the kernel or kill() would have. */
static bool queue_to(uint32_t tid, siginfo_t *info)
{
	if (syscall(SYS_rt_tgsigqueueinfo, isc_kernel_pid(), tid, SIGURG, info) == 0)
		return true;
	if (errno != EPERM)
		return false;
	info->si_code = SI_QUEUE;
	return syscall(SYS_rt_tgsigqueueinfo, isc_kernel_pid(), tid, SIGURG, info) == 0;
}

/* To whichever thread lets it in. */
static void queue_to_all(siginfo_t *info)
{
	uint32_t pid = isc_kernel_pid();

	if (syscall(SYS_rt_sigqueueinfo, pid, SIGURG, info) != 0 && errno == EPERM) {
		info->si_code = SI_QUEUE;
		syscall(SYS_rt_sigqueueinfo, pid, SIGURG, info);
	}
}

static void give_own(isc_sampled *t)
{
	siginfo_t info;

	if (!t->held)
		return;
	info = t->held_info;
	t->held = false;
	queue_to(isc_kernel_tid(), &info);
}

void isc_sample_kept_give(isc_sampled *t, bool all)
{
	siginfo_t info;

	if (t != NULL)
		give_own(t);
	if (all && take_kept(&info))
		queue_to(isc_kernel_tid(), &info);
}

/* To a thread that fetches; a seat of one that has gone is free. */
static bool send_on(siginfo_t *info)
{
	uint32_t self = isc_kernel_tid();

	for (uint32_t i = 0; i < SEATS; i++) {
		uint32_t tid = atomic_load(&seats[i]);

		if (tid == 0)
			continue;
		/* In a handler nobody waits: it was cancelled, or the id is another's now. */
		if (tid != self && queue_to(tid, info))
			return true;
		atomic_compare_exchange_strong(&seats[i], &tid, 0);
	}
	return false;
}

/* Sampling has ended, or this is a child that only shares our memory: SIGURG is blocked from here on, as the program
 * believes.  Signals to the process go on until they meet no thread that lets them in for our sake. */
static void block_and_return(isc_sampled *t, siginfo_t *info, ucontext_t *context)
{
	uint32_t tid = isc_kernel_tid();
	uint64_t mask;

	memcpy(&mask, &context->uc_sigmask, sizeof(mask));
	mask |= URGENT;
	memcpy(&context->uc_sigmask, &mask, sizeof(mask));
	if (atomic_load_explicit(ISC_SAMPLED_TID(t), memory_order_relaxed) == tid)
		t->holds = false;
	if (info->si_code == SI_TKILL)
		queue_to(tid, info);
	else
		queue_to_all(info);
}

bool isc_sample_kept_back(siginfo_t *info, void *context)
{
	isc_sampled *t = isc_sampled_self;

	if (t == NULL || !t->holds)
		return false;
	/* To send it on might be the program's end. */
	if (atomic_load_explicit(&confined, memory_order_relaxed))
		return true;
	if (!isc_sample_on() || !isc_sample_is_own(t)) {
		block_and_return(t, info, context);
		return true;
	}
	if (info->si_code == SI_TKILL) {
		t->held_info = *info;
		t->held = true;
		return true;
	}
	keep(info);
	/* Who sits down later finds it there. */
	atomic_thread_fence(memory_order_seq_cst);
	for (uint32_t i = 0; i < SEATS; i++) {
		if (atomic_load(&seats[i]) == 0)
			continue;
		if (take_kept(info) && !send_on(info))
			keep(info);
		break;
	}
	if (!isc_sample_on() && take_kept(info))
		block_and_return(t, info, context);
	return true;
}

void isc_sample_come_true(void)
{
	const uint64_t urgent = URGENT;
	isc_sampled *t = isc_sampled_self;
	siginfo_t info;

	if (t == NULL || !t->holds || isc_sample_on() || atomic_load_explicit(&confined, memory_order_relaxed) ||
	    !isc_sample_is_own(t))
		return;
	syscall(SYS_rt_sigprocmask, SIG_BLOCK, &urgent, NULL, sizeof(urgent));
	t->holds = false;
	give_own(t);
	if (take_kept(&info))
		queue_to_all(&info);
}

void isc_sample_fetch_by_descriptor(const sigset_t *set)
{
	if (set != NULL && isc_sample_on() && sigismember(set, SIGURG) == 1)
		isc_sample_give_way();
	isc_sample_come_true();
}

void isc_sample_confine(void)
{
	isc_sample_come_true();
	atomic_store(&confined, true);
}

static uint32_t sit_down(void)
{
	uint32_t tid = isc_kernel_tid();

	for (uint32_t i = 0; i < SEATS; i++) {
		uint32_t none = 0;

		if (atomic_compare_exchange_strong(&seats[i], &none, tid))
			return i + 1;
	}
	return 0;
}

/* Unless another has it already, because one that was sent on could not be. */
static void get_up(uint32_t seat)
{
	uint32_t tid = isc_kernel_tid();

	atomic_compare_exchange_strong(&seats[seat], &tid, 0);
}

isc_sample_fetching isc_sample_fetch_begin(const sigset_t *set)
{
	const uint64_t urgent = URGENT;
	isc_sampled *t = isc_sampled_self;
	isc_sample_fetching f = {false, false, false, 0};
	uint64_t before = 0;

	isc_sample_come_true();
	if (set == NULL || !isc_sample_on() || sigismember(set, SIGURG) != 1)
		return f;
	if (!isc_sample_is_full(set)) {
		isc_sample_give_way();
		isc_sample_come_true();
		return f;
	}
	t = t != NULL && isc_sample_is_own(t) ? t : NULL;
	f.on = true;
	f.paused = t != NULL && !t->paused;
	/* Signals of ours that are under way arrive now. */
	if (f.paused)
		isc_sample_pause(t, true);
	f.blocked =
		syscall(SYS_rt_sigprocmask, SIG_BLOCK, &urgent, &before, sizeof(urgent)) == 0 && (before & URGENT) == 0;
	f.seat = sit_down();
	atomic_thread_fence(memory_order_seq_cst);
	isc_sample_kept_give(t, true);
	return f;
}

void isc_sample_fetch_end(const isc_sample_fetching *f)
{
	const uint64_t urgent = URGENT;
	int error = errno;

	if (!f->on)
		return;
	if (f->seat != 0)
		get_up(f->seat - 1);
	/* What is still pending comes to our handler, and is kept again. */
	if (f->blocked)
		syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &urgent, NULL, sizeof(urgent));
	if (f->paused && isc_sampled_self != NULL)
		isc_sample_pause(isc_sampled_self, false);
	errno = error;
}
