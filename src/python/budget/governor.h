/*
 * governor.h - keeps what tracing costs inside the budget.
 *
 *	calibration.c	what hooks cost on this machine, at the start
 *	governor.c	what they cost from then on, and the bucket
 *	startup.c	while the program starts: a bucket of its own
 *	thinning.c	which functions are not traced any more, and since when again
 *
 * One bucket of ticks for the process (runtime/budget.h).  It fills with the budget's share of the
 * time that the program works, and every event takes what events lately cost: one in about 64,
 * drawn by lot, is timed, with the caches as it finds them.  Full, it holds the budget of 70 ms.  When it
 * is empty functions are left out (thinning.h), and where even that costs too much, everything for a
 * while: isc_hook_settle().
 */
#ifndef ISC_PYTHON_BUDGET_GOVERNOR_H
#define ISC_PYTHON_BUDGET_GOVERNOR_H

#include "python/code.h"
#include "runtime/budget.h"

typedef struct isc_governor {
	int32_t countdown; /* events to the next look */
	int32_t skips;	   /* and calls that are not traced, where they come to us all the same */
	int32_t stride;	   /* what countdown began with: another one each time, so that no loop keeps time with it */
	bool on;	   /* there is a budget */
	bool empty;
	bool bursting;	   /* the hook comes and goes, and events cost more for that */
	double budget_pct; /* of the time */
	double ticks_per_ns;
	double hook;	  /* ticks in the hook, of an event lately */
	double around;	  /* and in the interpreter to get there */
	double skip;	  /* of a call that is not traced and comes to us all the same */
	int64_t cost;	  /* of one event: the first two */
	int64_t quickest; /* ever in the hook */
	int64_t most;
	uint64_t worked;     /* isc_budget_worked() at the last look */
	double hooks_share;  /* of the time lately that hooks would take which do nothing */
	double calls;	     /* since then, traced or not */
	uint64_t calls_from; /* what `worked` was then */
	double untold;	     /* ticks of calls that the trace does not know of */
	uint64_t told;	     /* ticks when it was last told */
	double windows;	     /* share of the budget that counting takes for itself */
} isc_governor;

ISC_OWN extern isc_governor isc_governor_self;

/* What hooks cost: calibration.c. */
typedef struct isc_calibration {
	double event_ns;  /* in a loop of nothing else, all in all ... */
	double inside_ns; /* ... and of that in the hook itself */
	double skip_ns;	  /* a call of a function that is not traced */
	double count_ns;  /* a call that is counted in a window */
	double plain_ns;  /* a call without hooks */
	double ticks_per_ns;
} isc_calibration;

/* The Python functions to measure with.  Before the hooks: what a call costs without. */
bool isc_calibration_prepare(void);
isc_calibration isc_calibration_measure(void);

/* The hooks are there.  The first time they are measured; the bucket is full. */
void isc_governor_begin(bool first, double budget_pct, bool session);

/* The bucket of another budget, full. */
void isc_governor_refill(double budget_pct, double bucket_ns);

/* Takes what events since the last look cost. */
void isc_governor_charge(void);

/* A look at the bucket: fills it, and lets the mechanism act. */
void isc_governor_look(uint64_t ticks);

/* So many ticks were in the hook, at an event that was drawn by lot. */
void isc_governor_timed(uint64_t ticks);

/* What is not told of yet, at the end. */
void isc_governor_tell(uint64_t ticks);

/* What is not an event but costs. */
static inline void isc_governor_spend(uint64_t ticks)
{
	isc_budget_take((int64_t)ticks);
	isc_governor_self.untold += (double)ticks;
}

static inline void isc_governor_count(uint64_t ticks)
{
	if (ISC_UNLIKELY(--isc_governor_self.countdown <= 0))
		isc_governor_look(ticks);
}

/* Is the next event one that is drawn? */
static inline bool isc_governor_draws(void)
{
	return ISC_UNLIKELY(isc_governor_self.countdown <= 1);
}

/* ---- by the mechanism ---------------------------------------------------- */

/* After each look; may be called in any callback. */
void isc_hook_settle(uint64_t ticks);

/* Asks for the events of a code object that has not started yet, and for none any more. */
void isc_hook_arm(isc_code *entry);
void isc_hook_mute(isc_code *entry);

/* It is traced again from its next call on: between begin and end of several. */
void isc_hook_unmute_begin(void);
void isc_hook_unmute(isc_code *entry);
void isc_hook_unmute_end(void);

/* The first function is not traced any more, or the last one is again. */
void isc_hook_thinned(bool thinned);

/* How calls of a governed function are known: enum isc_governed. */
uint32_t isc_hook_governed_as(const isc_code *entry);

#endif
