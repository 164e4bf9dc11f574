/*
 * window.h - counts calls for a moment, while they are not traced.
 *
 * What the governor left out is estimated from windows: at times that have nothing to
 * do with what the program does, and for a time that has not either, calls are counted and
 * nothing else, through frame evaluation (pointer.h) on every Python.  How often each
 * function was called in how much CPU time (cpu_clock.h) goes into the trace as one
 * ISC_KIND_BURST event.
 *
 *	TRACED -----------------> OFF ------> COUNTING -----> TRACED (before 3.12)
 *	  isc_window_close()         (helper)             `-> OFF    (from 3.12 on)
 *
 * Counting ends with the GIL held, by the first call of a stride after the time is over,
 * or without it by the helper thread; meanwhile it is ENDING and nobody else's.
 */
#ifndef ISC_PYTHON_BUDGET_WINDOW_H
#define ISC_PYTHON_BUDGET_WINDOW_H

#include <stdatomic.h>

#include "python/code.h"

enum isc_window_mode { ISC_WINDOW_TRACED, ISC_WINDOW_COUNTING, ISC_WINDOW_ENDING, ISC_WINDOW_OFF };

ISC_OWN extern _Atomic uint32_t isc_window_mode;

/* What one window costs, in ticks: switching, and its calls. */
uint64_t isc_window_cost(void);

/* Looks after forks and the end, now that the pointer was found. */
void isc_window_begin(void);

/* Not everything is traced from here on: calls are counted now and then, each time after
 * about so much CPU time.  False: there is no thread to be had for
 * that, and nothing has changed. */
bool isc_window_close(uint64_t pause_ns);

/* With the GIL: a pause before 3.12 ends now.  From 3.12 on calls do not pause, functions are left out. */
void isc_window_open(uint64_t ticks);

/* Tracing is switched off: nothing is counted, until isc_window_close(). */
void isc_window_stop(void);

/* What counting a call was found to cost, and what a call takes without. */
void isc_window_calibrate(double counted_ns, double plain_ns);

/* For the calibration, which ends with TRACED. */
void isc_window_try(enum isc_window_mode mode);

/* The code of this entry dies. */
void isc_window_forget(isc_code *entry);

/* By the mechanism, before 3.12: everything is traced again. */
void isc_hook_resume(uint64_t ticks);

#endif
