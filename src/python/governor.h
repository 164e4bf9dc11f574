/*
 * governor.h - keeps what tracing costs inside the budget.
 *
 * One bucket of ticks for the process.  It fills with the budget's share of the
 * time that the program works and every event takes what one was measured to cost.
 * Full, it holds the budget of 70 ms.  What happens when it is empty is the
 * mechanism's business: isc_hook_settle().
 */
#ifndef ISC_PYTHON_GOVERNOR_H
#define ISC_PYTHON_GOVERNOR_H

#include "python/code.h"
#include "runtime/budget.h"

/* Events between two looks at the bucket. */
#define ISC_GOVERNOR_STRIDE 64

typedef struct isc_governor {
	int32_t countdown; /* events to the next look */
	bool on;	   /* there is a budget */
	bool watching;	   /* the bucket is not half full: who costs what? */
	bool empty;
	double share; /* of the time; for events, what windows leave */
	double ticks_per_ns;
	int64_t cost; /* of one event, in ticks */
	int64_t most;
	uint64_t worked; /* isc_budget_worked() at the last look */
} isc_governor;

ISC_OWN extern isc_governor isc_governor_self;

/* The Python functions to measure with.  Before the hooks: what a call costs without. */
bool isc_governor_prepare(void);
/* And with them, the first time; the bucket is full. */
void isc_governor_begin(bool first, double budget_pct);

/* A look at the bucket: fills it, and lets the mechanism act. */
void isc_governor_look(uint64_t ticks);

/* What is not an event but costs. */
static inline void isc_governor_spend(uint64_t ticks)
{
	isc_budget_take((int64_t)ticks);
}

static inline void isc_governor_count(uint64_t ticks)
{
	if (ISC_UNLIKELY(--isc_governor_self.countdown <= 0))
		isc_governor_look(ticks);
}

/* Nothing to do with the next event but to count it? */
static inline bool isc_governor_is_quiet(void)
{
	return ISC_LIKELY(isc_governor_self.countdown > 1) && ISC_LIKELY(!isc_governor_self.watching);
}

/* By the mechanism, after each look; may be called in any callback. */
void isc_hook_settle(uint64_t ticks);

/* Asks for the events of a code object that has not started yet. */
void isc_hook_arm(isc_code *entry);

/* The code of this entry dies, or is to be traced again. */
void isc_governor_forget(isc_code *entry);

/* Calls of this entry are not traced but counted in windows: what does that cost? */
void isc_hook_count(isc_code *entry);

#endif
