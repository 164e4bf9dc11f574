/*
 * sample_rate.c - how long a step is, inside the budget.
 *
 * Samples take what they cost from the bucket of the process.  When they take more
 * than their part, or it is empty and they are a good part of the reason, steps become
 * longer, up to ten samples a second; when it has filled again, shorter, down to what
 * was asked for.
 */
#include <stddef.h>
#include <time.h>

#include "collect/sample.h"
#include "runtime/budget.h"
#include "runtime/kernel.h"
#include "runtime/write.h"

#define PERIOD_MOST_NS 100000000u
/* Of a signal, there and back, and what caches lose: what no handler can see.  A timer looks when the kernel's clock
 * ticks anyway; perf takes an interrupt of its own, which is dear in a virtual machine.  As measured in one: elsewhere
 * a little is left of the budget. */
#define TIMER_NS 15e3
#define PERF_NS 60e3
#define USUAL_NS 5000000u     /* steps of this length or longer keep to a part of the budget ... */
#define USUAL_PART 0.6	      /* ... that is theirs, whatever else is spent */
#define USUAL_COST_NS 30e3    /* of a sample, until it is known better */
#define CHANGE_NS 100000000.0 /* between two changes of the step */
#define BUCKET_NS 70e6	      /* as in tracing of calls */
#define LOST_NS 50e3	      /* longer ones are looked at: was it a handler without a CPU? */
#define LOOKED_NS 20e6	      /* who fills the bucket often, did so in this time */

static uint32_t asked_ns = 5000000;
static _Atomic uint32_t period_ns = 5000000;
static double share; /* of the time; negative: no budget */
static uint64_t begun_ticks, begun_ns;
static _Atomic uint64_t changed_ticks;
static _Atomic int64_t left_then;     /* of the budget, when the step was last looked at */
static _Atomic uint64_t cost_ticks;   /* of a sample, lately */
static _Atomic uint64_t untold_ticks; /* spent since the last sample that told */

uint32_t isc_sample_period_ns(void)
{
	return atomic_load_explicit(&period_ns, memory_order_relaxed);
}

uint32_t isc_sample_asked_ns(void)
{
	return asked_ns;
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
	atomic_store(&period_ns, asked_ns);
	share = budget_pct < 0 ? -1 : budget_pct / 100;
	begun_ticks = isc_ticks();
	begun_ns = now_ns();
}

/* Better the longer the program runs; at first it is off by what a clock read takes. */
static double ticks_per_ns(uint64_t now)
{
	double ns = (double)(now_ns() - begun_ns);

	return isc_image_self.clock_source != ISC_CLOCK_TSC || ns <= 0 ? 1 : (double)(now - begun_ticks) / ns;
}

static void change(uint32_t from, uint32_t to, uint64_t now)
{
	if (!atomic_compare_exchange_strong(&period_ns, &from, to))
		return;
	isc_write1(now, ISC_RECORD_WORD(to, ISC_KIND_SAMPLE_RATE,
					to == asked_ns ? ISC_SAMPLE_RATE_ASKED : ISC_SAMPLE_RATE_GOVERNED));
}

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

/* What a handler took, which had its thread's CPU clock there when it began.  Where other threads had the CPU
 * in between, that is not ours: on a busy machine it would look as if samples cost milliseconds. */
static uint64_t without_waits(uint64_t ticks, uint64_t begin_ns, double per_ns)
{
	double used;

	if ((double)ticks < LOST_NS * per_ns)
		return ticks;
	used = (double)(isc_sample_cpu_ns() - begin_ns) * per_ns;
	return used < (double)ticks ? (uint64_t)used : ticks;
}

/* What a sample costs lately.  None counts for more than twice the usual: the first ones of a program, and those that
 * meet a part of it for the first time, define stacks that are known from then on. */
static uint64_t smooth(uint64_t ticks, double per_ns)
{
	uint64_t usual = atomic_load_explicit(&cost_ticks, memory_order_relaxed);

	usual = usual != 0 ? usual : (uint64_t)(USUAL_COST_NS * per_ns);
	ticks = ticks < 2 * usual ? ticks : 2 * usual;
	usual = usual - usual / 16 + ticks / 16;
	atomic_store_explicit(&cost_ticks, usual, memory_order_relaxed);
	return usual;
}

/* Is it worth to go down?  Shorter steps than the usual were asked for: while there is enough for all, they may take it;
 * a debt that shrinks is being paid as it is. */
static bool too_dear(double cost, double period_ticks, int64_t left, int64_t then)
{
	if (asked_ns >= USUAL_NS)
		return cost > period_ticks * share * USUAL_PART;
	return left < 0 && left <= then && cost > period_ticks * share / 2;
}

/* Half the step must still fit. */
static bool cheap(double cost, double period_ticks, int64_t left, double most)
{
	if (asked_ns >= USUAL_NS)
		return cost < period_ticks * share * USUAL_PART / 2.5;
	return left > (int64_t)(most / 2) && cost < period_ticks * share / 3;
}

void isc_sample_spent(const isc_sampled *t, uint64_t now, uint64_t ticks, uint64_t begin_ns, uint64_t ran_ns)
{
	uint64_t changed = atomic_load_explicit(&changed_ticks, memory_order_relaxed), cost;
	uint32_t period = isc_sample_period_ns();
	double per_ns, period_ticks, most;
	int64_t left, then;

	per_ns = ticks_per_ns(now);
	ticks = isc_sample_cold(without_waits(ticks, begin_ns, per_ns)) +
		(uint64_t)((t->perf >= 0 ? PERF_NS : TIMER_NS) * per_ns);
	isc_sample_cost_add(ticks);
	cost = smooth(ticks, per_ns);
	if (share < 0)
		return;
	most = BUCKET_NS * per_ns * share;
	if (atomic_load_explicit(&isc_budget_self.most, memory_order_relaxed) == 0)
		isc_budget_set((int64_t)most);
	isc_budget_take((int64_t)ticks);
	left = isc_budget_left();
	if (now - atomic_load_explicit(&isc_budget_self.filled, memory_order_relaxed) > (uint64_t)(LOOKED_NS * per_ns))
		left = isc_budget_fill((int64_t)((double)ran_ns * per_ns * share));
	if (now - changed < (uint64_t)(CHANGE_NS * per_ns) ||
	    !atomic_compare_exchange_strong(&changed_ticks, &changed, now))
		return;
	then = atomic_exchange_explicit(&left_then, left, memory_order_relaxed);
	period_ticks = (double)period * per_ns;
	if (period < PERIOD_MOST_NS && too_dear((double)cost, period_ticks, left, then))
		change(period, period * 2 < PERIOD_MOST_NS ? period * 2 : PERIOD_MOST_NS, now);
	else if (period > asked_ns && cheap((double)cost, period_ticks, left, most))
		change(period, period / 2 > asked_ns ? period / 2 : asked_ns, now);
}
