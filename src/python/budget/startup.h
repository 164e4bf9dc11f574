/*
 * startup.h - while the program starts.
 *
 * Importing makes more calls in a few seconds than serving does in minutes.  So start-up has a bucket of
 * its own, and neither what it owes nor what it saved crosses into serving, which begins with a full
 * bucket and with every function traced.  Start-up ends with the first scope or asyncio task that begins while nothing is
 * being imported, or when a second has passed without an import.  Then an ISC_KIND_STARTUP record says what it cost.
 *
 * A program may import again later: inside a scope of that name, or in the first request that needs a module.  That
 * is start-up again, until the import is over, with the same bucket; serving finds its own as it left it, and those
 * functions traced that only the import was too dear for.
 */
#ifndef ISC_PYTHON_BUDGET_STARTUP_H
#define ISC_PYTHON_BUDGET_STARTUP_H

#include "python/code.h"

ISC_OWN extern bool isc_startup_on;

/* With the budget of serving, and how much time's worth of it its bucket holds.  Not again in a process that has
 * started, and not where a part of a program is looked at. */
void isc_startup_begin(bool session, double budget_pct, double bucket_ns);

/* With the GIL. */
void isc_startup_look(uint64_t ticks);
void isc_startup_finish(enum isc_startup_end why);
void isc_startup_forked(void);

static inline void isc_startup_over(enum isc_startup_end why)
{
	if (ISC_UNLIKELY(isc_startup_on))
		isc_startup_finish(why);
}

/* Modules are being imported right now: what is left out now would leave some of them out. */
bool isc_startup_imports(uint64_t ticks);

/* The code of a module begins, called by whatever is the current frame of the thread (before 3.12), or itself the
 * current one; and ends. */
void isc_startup_module(isc_code *entry, PyThreadState *ts);
void isc_startup_module_done(isc_code *entry);

#endif
