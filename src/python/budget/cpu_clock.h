/*
 * cpu_clock.h - the CPU time that the program has used, as of now.
 *
 * The kernel's clock of a process counts a thread that runs on another CPU up to its
 * last tick only, some milliseconds ago, while windows (window.h) last a tenth of one.
 * Asking for the clock of that thread brings it up to date, so the threads that make
 * Python calls are asked first.  Of threads that nobody knows of the time comes late
 * and in lumps: no more is taken than has passed on the wall since the last mark, which
 * for the one thread that has the GIL is no loss.
 *
 * The helper thread (waker.h) is no part of the program.
 */
#ifndef ISC_PYTHON_BUDGET_CPU_CLOCK_H
#define ISC_PYTHON_BUDGET_CPU_CLOCK_H

#include "python/calls.h"

/* On any thread, without the GIL.  Never goes back. */
uint64_t isc_cpu_clock_ns(void);

/* The same, and from here on it is compared with the wall. */
uint64_t isc_cpu_clock_mark(void);

/* In a fork child: it begins anew. */
void isc_cpu_clock_forked(void);

/* With the GIL: this thread makes calls. */
ISC_OWN extern const void *isc_cpu_clock_caller;
void isc_cpu_clock_change_caller(void);

static inline void isc_cpu_clock_meet(void)
{
	if (ISC_UNLIKELY(isc_cpu_clock_caller != &isc_producer_self))
		isc_cpu_clock_change_caller();
}

#endif
