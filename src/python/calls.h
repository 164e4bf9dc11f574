/*
 * calls.h - tracing of Python calls: what its parts share.
 *
 *	code.c		code objects, their ids and which of them are left out
 *	monitor.c	calls through sys.monitoring, Python 3.12 and later
 *	evaluate.c	calls through frame evaluation (PEP 523), before 3.12
 *	governor.c	keeps the cost of tracing inside the budget, with those that governor.h names
 *	gate.c		records some units of work whole and counts the calls of others
 *	window.c	counts calls that are not traced, now and then
 *	pointer.c	the interpreter's pointer to what evaluates frames
 *	waker.c		the helper thread
 *	cpu_clock.c	the CPU time of the program
 *	task.c		the asyncio task that runs
 *	thread.c	what threads are called
 *	native.c	names of C functions
 *
 * Everything here runs with the GIL held, which is the only lock there is; the
 * exceptions say so.  Only the main interpreter is traced.  Nothing here may
 * leave an exception behind: whatever fails, the program goes on untraced.
 */
#ifndef ISC_PYTHON_CALLS_H
#define ISC_PYTHON_CALLS_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>
#include <stdint.h>

/* Theirs: we are linked to it.  Weak, as all that a runtime of another version may
 * lack: we must get as far as comparing the ABI numbers. */
#define ISC_SHARED __attribute__((visibility("default"), weak))
#pragma weak isc_rt_birth_namer
#pragma weak isc_rt_code
#pragma weak isc_rt_control
#pragma weak isc_rt_flush_ask
#pragma weak isc_rt_flush_wait
#pragma weak isc_rt_intern
#pragma weak isc_rt_label
#pragma weak isc_rt_name
#pragma weak isc_rt_python_glue
#pragma weak isc_rt_rest
#pragma weak isc_rt_ticks
#pragma weak isc_rt_window
#pragma weak isc_rt_write

#include "runtime/runtime.h"
#include "runtime/write.h"

#define ISC_LIKELY(x) __builtin_expect(!!(x), 1)
#define ISC_UNLIKELY(x) __builtin_expect(!!(x), 0)
#define ISC_OWN __attribute__((visibility("hidden"))) /* reached without asking the loader where it is */

typedef struct isc_calls {
	const isc_control *control; /* the session's while calls are traced, else one that is over */
	bool tsc;
	bool all_frames;
	bool c_calls;
	Py_ssize_t extra; /* our index in co_extra */
	uint32_t round;	  /* times that tracing was switched on, from 1 */
	uint32_t ticket;  /* what code has whose calls go the short way: the round, or nobody's */
} isc_calls;

#define ISC_TICKET_NOBODYS UINT32_MAX
#define ISC_TICKET_GATED (UINT32_MAX - 1) /* nobody's for now: gate.h */

/* How calls are to be traced. */
typedef struct isc_calls_wish {
	bool all_frames;
	bool c_calls;
	bool session;	   /* from the start of the program on */
	double budget_pct; /* negative: any */
} isc_calls_wish;

ISC_OWN extern isc_calls isc_calls_self;

/* Begins to trace what the session asks for; once per process. */
void isc_calls_begin(PyObject *module);

/* Somebody more wants calls to be traced; how is said by the first one.  NULL, or why it cannot be. */
const char *isc_calls_start(PyObject *module, const isc_calls_wish *wish);

/* And somebody less.  The last one switches it off, unless the session wants it. */
void isc_calls_stop(void);

/* In a fork child: only what the session wants goes on. */
void isc_calls_forked(void);

/* The mechanism of this Python: made ready, once; false when it cannot be had. */
bool isc_hook_begin(void);

/* Events come from now on, and no more; false: somebody took the mechanism away. */
bool isc_hook_on(void);
void isc_hook_off(void);

/* And is there nothing that would keep all calls from the short way? */
bool isc_hook_is_usual(void);

/* Does anybody else see each call of this thread: a profiler, a debugger, a coverage tool? */
bool isc_hook_is_watched(void);

/* Where the clock is known to be the counter. */
static inline uint64_t isc_calls_tsc(void)
{
#ifdef __x86_64__
	return __builtin_ia32_rdtsc();
#else
	return isc_rt_ticks();
#endif
}

static inline uint64_t isc_calls_ticks(void)
{
#ifdef __x86_64__
	if (ISC_LIKELY(isc_calls_self.tsc))
		return __builtin_ia32_rdtsc();
#endif
	return isc_rt_ticks();
}

/* Is the session not paused?  Enough for who then meets a producer of this very process. */
static inline bool isc_calls_wanted(void)
{
	return ISC_LIKELY(atomic_load_explicit(&isc_calls_self.control->phase, memory_order_relaxed) ==
			  ISC_PHASE_COLLECTING);
}

/* Are events wanted now?  A fork child that is not sure of itself says no until
 * the runtime has looked. */
static inline bool isc_calls_live(void)
{
	return ISC_LIKELY(atomic_load_explicit(&isc_wiped_page->following, memory_order_relaxed) ==
			  ISC_FOLLOWING_YES) &&
	       isc_calls_wanted();
}

/* Will they never be again, here? */
static inline bool isc_calls_over(void)
{
	return atomic_load_explicit(&isc_wiped_page->following, memory_order_relaxed) == ISC_FOLLOWING_NO ||
	       atomic_load_explicit(&isc_calls_self.control->phase, memory_order_relaxed) == ISC_PHASE_DONE;
}

static inline void isc_calls_write(uint64_t ticks, uint32_t id, uint32_t kind, uint32_t arg)
{
	isc_write1(ticks, ISC_RECORD_WORD(id, kind, arg));
}

#endif
