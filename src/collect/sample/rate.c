/*
 * rate.c - what samples cost, and how long the steps of a thread are, inside the budget.
 *
 * Samples take what they cost from the bucket of the process: the time of the handler and what a signal
 * costs around it.  When the bucket is empty and they are a good part of the reason, steps become
 * longer, of threads that have little of the CPU time first (pace.h); when it has filled again,
 * shorter.  While a process starts they stay as they are.
 */
#include <stddef.h>
#include <time.h>

#include "collect/sample/pace.h"
#include "collect/sample/sample.h"
#include "runtime/budget.h"
#include "runtime/kernel.h"
#include "runtime/write.h"

/* Of a signal, there and back: what no handler can see.  A timer looks when the kernel's clock ticks anyway (a gap of
 * 19.1 us against 11.6 for the tick alone); perf takes an interrupt of its own, which is dear in a virtual machine. */
#define TIMER_NS 7.5e3
#define PERF_NS 60e3
#define CHANGE_NS 100000000.0 /* between two changes of the level */
#define CHOICE_NS 1000000000u /* between two looks at who has the CPU time, and what counts for half by then */
#define BUCKET_NS 70e6	      /* as in tracing of calls */
#define LOST_NS 50e3	      /* longer ones are looked at: was it a handler without a CPU? */
#define LOOKED_NS 20e6	      /* who fills the bucket often, did so in this time */

static uint32_t asked_ns = 5000000;
static _Atomic uint32_t level;
static double budget; /* in percent of the time; negative: none */
static uint64_t begun_ticks, begun_ns;
static _Atomic uint64_t changed_ticks, chosen_ticks;
static _Atomic int64_t left_then;     /* of the budget, when the level was last looked at */
static _Atomic uint64_t taken_ticks;  /* by samples, since then */
static _Atomic uint64_t untold_ticks; /* spent since the last sample that told */
static _Atomic uint32_t cut = 1;      /* isc_pace_cut() of the threads, lately */

uint32_t isc_sample_asked_ns(void)
{
	return asked_ns;
}

uint32_t isc_sample_period_ns(void)
{
	return isc_pace_step_ns(asked_ns, atomic_load_explicit(&level, memory_order_relaxed), false);
}

static uint64_t now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

void isc_sample_rate_begin(uint32_t step_ns, double budget_pct)
{
	asked_ns = step_ns;
	atomic_store(&level, 0);
	budget = budget_pct;
	begun_ticks = isc_ticks();
	begun_ns = now_ns();
}

/* Better the longer the program runs; at first it is off by what a clock read takes.  Of all threads, now and then. */
static double ticks_per_ns(uint64_t now)
{
	static _Atomic double kept = 1;
	static _Atomic uint64_t kept_ticks;
	uint64_t before = atomic_load_explicit(&kept_ticks, memory_order_relaxed);
	double ns;

	if (isc_image_self.clock_source != ISC_CLOCK_TSC)
		return 1;
	/* Each time the program has run for an eighth longer. */
	if (before >= begun_ticks && before != 0 && now - before < (before - begun_ticks) / 8)
		return atomic_load_explicit(&kept, memory_order_relaxed);
	ns = (double)(now_ns() - begun_ns);
	ns = ns > 0 ? (double)(now - begun_ticks) / ns : 1;
	atomic_store_explicit(&kept, ns, memory_order_relaxed);
	atomic_store_explicit(&kept_ticks, now, memory_order_relaxed);
	return ns;
}

/* ---- what they cost ----------------------------------------------------- */

void isc_sample_cost_add(uint64_t ticks)
{
	atomic_fetch_add_explicit(&untold_ticks, ticks, memory_order_relaxed);
}

uint32_t isc_sample_cost_take(void)
{
	uint64_t now = isc_ticks();
	double ns = (double)atomic_exchange_explicit(&untold_ticks, 0, memory_order_relaxed) / ticks_per_ns(now);

	return ns < (double)UINT32_MAX ? (uint32_t)ns : UINT32_MAX;
}

/* What a handler took that began then.  Where other threads had the CPU in between, that is not ours: on a busy machine
 * it would look as if samples cost milliseconds.  The thread's clock was read at its begin or not long before: then
 * what the thread ran until the begin is at most the time in between, and what is left is no more than the handler's. */
static uint64_t without_waits(const isc_sampled *t, uint64_t ticks, uint64_t begun, double per_ns)
{
	double most = LOST_NS * per_ns, used;

	if ((double)ticks < most || t->clock_ticks == 0)
		return ticks;
	used = (double)(isc_sample_cpu_ns() - t->clock_ns) * per_ns - (double)(begun - t->clock_ticks);
	used = used > most ? used : most;
	return used < (double)ticks ? (uint64_t)used : ticks;
}

/* ---- who has the CPU time ------------------------------------------------ */

/* CPU time of the last seconds: what is a second old counts half. */
static uint64_t lately(const isc_sampled *t, uint64_t now, uint64_t second)
{
	uint64_t at = atomic_load_explicit(&t->lately_ticks, memory_order_relaxed);
	uint64_t age = now > at && second > 0 ? (now - at) / second : 0;

	return age < 64 ? atomic_load_explicit(&t->lately_ns, memory_order_relaxed) >> age : 0;
}

static void add_lately(isc_sampled *t, uint64_t now, uint64_t second, uint64_t ran_ns)
{
	uint64_t before = lately(t, now, second);

	if (now - atomic_load_explicit(&t->lately_ticks, memory_order_relaxed) >= second)
		atomic_store_explicit(&t->lately_ticks, now, memory_order_relaxed);
	atomic_store_explicit(&t->lately_ns, before + ran_ns, memory_order_relaxed);
}

/* By one thread at a time. */
static void choose(uint64_t now, uint64_t second)
{
	uint64_t before = atomic_load_explicit(&chosen_ticks, memory_order_relaxed);
	isc_pace_sums sums = {0};
	const isc_sampled *t;

	if (now - before < second || !atomic_compare_exchange_strong(&chosen_ticks, &before, now))
		return;
	for (uint32_t i = 0; isc_sample_at(i, &t); i++) {
		uint64_t ns = t != NULL ? lately(t, now, second) : 0;

		sums.ns[isc_pace_size(ns)] += ns;
	}
	atomic_store_explicit(&cut, isc_pace_cut(&sums), memory_order_relaxed);
}

uint32_t isc_sample_step_ns(const isc_sampled *t)
{
	bool kept = isc_pace_size(atomic_load_explicit(&t->lately_ns, memory_order_relaxed)) >=
		    atomic_load_explicit(&cut, memory_order_relaxed);

	return isc_pace_step_ns(asked_ns, atomic_load_explicit(&level, memory_order_relaxed), kept);
}

/* ---- inside the budget --------------------------------------------------- */

static void look(uint64_t now, double per_ns, double share)
{
	uint64_t changed = atomic_load_explicit(&changed_ticks, memory_order_relaxed);
	uint32_t from = atomic_load_explicit(&level, memory_order_relaxed);
	isc_pace_look found = {.left = isc_budget_left(), .share = share};

	if (now - changed < (uint64_t)(CHANGE_NS * per_ns) ||
	    !atomic_compare_exchange_strong(&changed_ticks, &changed, now))
		return;
	found.most = atomic_load_explicit(&isc_budget_self.most, memory_order_relaxed);
	found.then = atomic_exchange_explicit(&left_then, found.left, memory_order_relaxed);
	found.samples = (double)atomic_exchange_explicit(&taken_ticks, 0, memory_order_relaxed) /
			(double)(now - (changed != 0 ? changed : begun_ticks));
	if (!atomic_load_explicit(&isc_budget_self.starting, memory_order_relaxed))
		atomic_store_explicit(&level, isc_pace_next(asked_ns, from, &found), memory_order_relaxed);
}

/* What the thread goes on with, where that is something else than before. */
static void tell_step(const isc_sampled *t, uint64_t now)
{
	uint32_t to = isc_sample_step_ns(t);

	if (to != t->period_ns)
		isc_write1(now, ISC_RECORD_WORD(to, ISC_KIND_SAMPLE_RATE,
						to <= asked_ns ? ISC_SAMPLE_RATE_ASKED : ISC_SAMPLE_RATE_GOVERNED));
}

void isc_sample_spent(isc_sampled *t, uint64_t now, uint64_t begun, uint64_t ran_ns)
{
	double per_ns = ticks_per_ns(now), share = isc_budget_share(budget);
	uint64_t second = (uint64_t)(CHOICE_NS * per_ns), ticks;

	ticks = without_waits(t, now - begun, begun, per_ns) + (uint64_t)((t->perf >= 0 ? PERF_NS : TIMER_NS) * per_ns);
	/* Asking for the next one comes after this: what it took the last time, unless others had the CPU. */
	ticks += (double)t->arm_ticks < LOST_NS * per_ns ? t->arm_ticks : 0;
	isc_sample_cost_add(ticks);
	add_lately(t, now, second, ran_ns);
	isc_budget_take((int64_t)ticks);
	if (share < 0)
		return;
	atomic_fetch_add_explicit(&taken_ticks, ticks, memory_order_relaxed);
	if (atomic_load_explicit(&isc_budget_self.most, memory_order_relaxed) == 0)
		isc_budget_set((int64_t)(BUCKET_NS * per_ns * share));
	isc_budget_pay_late(now, (uint64_t)(LOOKED_NS * per_ns), (uint64_t)((double)ran_ns * per_ns), share);
	choose(now, second);
	look(now, per_ns, share);
	tell_step(t, now);
}
