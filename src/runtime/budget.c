#include "runtime/budget.h"

#include <time.h>

/* So much time between questions is worth a system call: was it work? */
#define LONG_US 1000u
/* The CPU clock of a process may go by ticks of the kernel. */
#define TICK_NS 10e6

#define DEBT_MOST 16 /* buckets */

isc_budget isc_budget_self;

double isc_budget_share(double budget_pct)
{
	const isc_control *control = atomic_load_explicit(&isc_image_self.control, memory_order_acquire);
	double outside_pct;

	if (budget_pct < 0 || control == NULL)
		return budget_pct < 0 ? -1 : budget_pct / 100;
	outside_pct = atomic_load_explicit(&control->outside_ppm, memory_order_relaxed) / 1e4;
	/* Whatever the recorder writes there, half is left: tracing is what the user asked for. */
	return (outside_pct < budget_pct / 2 ? budget_pct - outside_pct : budget_pct / 2) / 100;
}

void isc_budget_set(int64_t most)
{
	atomic_store(&isc_budget_self.most, most);
	atomic_store(&isc_budget_self.tokens, most);
}

int64_t isc_budget_fill(int64_t ticks)
{
	int64_t most = atomic_load_explicit(&isc_budget_self.most, memory_order_relaxed);
	int64_t now = atomic_load_explicit(&isc_budget_self.tokens, memory_order_relaxed), then;

	do {
		then = now + ticks < most ? now + ticks : most;
		/* What cannot be fewer may cost more than there is for as long as it likes: what comes after is not to pay for
		 * all of it. */
		then = then > -DEBT_MOST * most ? then : -DEBT_MOST * most;
	} while (!atomic_compare_exchange_weak_explicit(&isc_budget_self.tokens, &now, then, memory_order_relaxed,
							memory_order_relaxed));
	return then;
}

int64_t isc_budget_pay(uint64_t now, uint64_t worked, double share)
{
	uint64_t paid = atomic_exchange_explicit(&isc_budget_self.paid, 0, memory_order_relaxed);

	atomic_store_explicit(&isc_budget_self.filled, now, memory_order_relaxed);
	return isc_budget_fill(worked > paid ? (int64_t)((double)(worked - paid) * share) : 0);
}

void isc_budget_pay_late(uint64_t now, uint64_t late, uint64_t ran, double share)
{
	uint64_t filled = atomic_load_explicit(&isc_budget_self.filled, memory_order_relaxed);

	if (now < filled || now - filled <= late)
		return;
	isc_budget_fill((int64_t)((double)ran * share));
	atomic_fetch_add_explicit(&isc_budget_self.paid, ran, memory_order_relaxed);
}

static uint64_t used_ns(void)
{
	struct timespec t;

	return clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t) == 0 ? (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec
								: 0;
}

static uint64_t pay_back(uint64_t most)
{
	_Atomic uint64_t *owed = &isc_budget_self.owed;
	uint64_t there = atomic_load_explicit(owed, memory_order_relaxed), paid;

	do {
		paid = there < most ? there : most;
	} while (paid > 0 && !atomic_compare_exchange_weak_explicit(owed, &there, there - paid, memory_order_relaxed,
								    memory_order_relaxed));
	return paid;
}

/*
 * By the CPU time of the process: of a gap that was not counted yet, what was work.  Brief gaps were counted as they are;
 * what they had too much is owed, and later ones pay it.  Threads that run side by side use more CPU time than passes:
 * that says nothing of later gaps, but for a clock that goes by ticks.  A fork child has used less than its parent:
 * nothing is known of its first gap.
 */
static uint64_t work_in(uint64_t gap)
{
	isc_budget *b = &isc_budget_self;
	double per_ns = 1e-3 * isc_image_self.ticks_per_us, ticks, kept;
	uint64_t used = used_ns(), before = atomic_exchange_explicit(&b->cpu_ns, used, memory_order_relaxed);
	uint64_t known = atomic_exchange_explicit(&b->brief, 0, memory_order_relaxed), found;

	if (before == 0 || used < before)
		return gap;
	ticks = (double)(used - before) * per_ns - (double)known;
	if (ticks < 0) {
		atomic_fetch_add_explicit(&b->owed, (uint64_t)-ticks, memory_order_relaxed);
		return 0;
	}
	found = ticks < (double)gap ? (uint64_t)ticks : gap;
	kept = (ticks - (double)found) / per_ns;
	atomic_store_explicit(&b->cpu_ns, used - (uint64_t)(kept < TICK_NS ? kept : TICK_NS), memory_order_relaxed);
	return found;
}

uint64_t isc_budget_worked(uint64_t now)
{
	const uint64_t long_gap = (uint64_t)LONG_US * isc_image_self.ticks_per_us;
	isc_budget *b = &isc_budget_self;
	uint64_t before = atomic_load_explicit(&b->asked, memory_order_relaxed), gap;

	/* Of two that ask at once one takes the gap. */
	if (now <= before || !atomic_compare_exchange_strong_explicit(&b->asked, &before, now, memory_order_relaxed,
								      memory_order_relaxed))
		return atomic_load_explicit(&b->worked, memory_order_relaxed);
	gap = before != 0 ? now - before : 0;
	if (before == 0)
		atomic_store_explicit(&b->cpu_ns, used_ns(), memory_order_relaxed);
	else if (gap >= long_gap)
		gap = work_in(gap);
	else if (atomic_fetch_add_explicit(&b->brief, gap, memory_order_relaxed) + gap >= long_gap)
		work_in(0);
	gap -= pay_back(gap);
	return atomic_fetch_add_explicit(&b->worked, gap, memory_order_relaxed) + gap;
}
