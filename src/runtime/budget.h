/*
 * budget.h - the one bucket of the process, from which everything that costs takes.
 *
 * In ticks.  It fills with the budget's share of the time that the program works and
 * every source takes what it costs: nothing is set apart for any of them.  Tracing of calls
 * looks at it often and fills it; where that is not at work, the sampler does.  Signal-safe.
 */
#ifndef ISC_RUNTIME_BUDGET_H
#define ISC_RUNTIME_BUDGET_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "runtime/image.h"

typedef struct isc_budget {
	_Atomic int64_t tokens;	   /* below 0: more was spent than there was */
	_Atomic int64_t most;	   /* it holds no more; 0: there is no budget, or nobody set it yet */
	_Atomic uint64_t filled;   /* ticks when it was last filled by who looks often */
	_Atomic uint64_t paid;	   /* ticks of work that others have paid in for since then */
	_Atomic uint64_t spent;	   /* ticks that were ever taken */
	_Atomic uint32_t starting; /* the process starts: samples stay as many as asked for */
	/* Of isc_budget_worked(): */
	_Atomic uint64_t worked; /* ticks */
	_Atomic uint64_t asked;	 /* ticks when that was last asked for; 0: never */
	_Atomic uint64_t brief;	 /* ticks of gaps that were counted as they are, since ... */
	_Atomic uint64_t cpu_ns; /* ... the process had used so much CPU time */
	_Atomic uint64_t owed;	 /* ticks of such gaps that were no work */
} isc_budget;

ISC_SHARED extern isc_budget isc_budget_self;

static inline void isc_budget_take(int64_t ticks)
{
	atomic_fetch_sub_explicit(&isc_budget_self.tokens, ticks, memory_order_relaxed);
	atomic_fetch_add_explicit(&isc_budget_self.spent, (uint64_t)ticks, memory_order_relaxed);
}

/* What is in it now. */
static inline int64_t isc_budget_left(void)
{
	return atomic_load_explicit(&isc_budget_self.tokens, memory_order_relaxed);
}

/* The share of the time that may be spent inside the program: this budget, less what watching it from
 * outside costs at the moment.  Negative: there is no budget. */
ISC_SHARED double isc_budget_share(double budget_pct);

/* Full, with room for this much. */
ISC_SHARED void isc_budget_set(int64_t most);

/* Adds, as far as there is room; what is in it now. */
ISC_SHARED int64_t isc_budget_fill(int64_t ticks);

/* By who looks often: the share of so many ticks of work up to now, but for what others have paid in for meanwhile. */
ISC_SHARED int64_t isc_budget_pay(uint64_t now, uint64_t worked, double share);

/* By others: the share of what a thread ran, if nobody who looks often has filled it for `late` ticks. */
ISC_SHARED void isc_budget_pay_late(uint64_t now, uint64_t late, uint64_t ran, double share);

/*
 * For how many ticks the program has worked up to now, since somebody first asked: time that
 * passes, less what it waited in, be it for a CPU or for the next request.  What is a share of
 * this is never saved up while there is nothing to do, to slow the next request by all of it.
 */
ISC_SHARED uint64_t isc_budget_worked(uint64_t now);

#endif
