/*
 * task.h - which asyncio task runs.  Once per step of a task: when a coroutine
 * begins or goes on whose caller is no coroutine.
 */
#ifndef ISC_PYTHON_TASK_H
#define ISC_PYTHON_TASK_H

#include "python/calls.h"

/* Writes TASK if code with these flags begins a step; the name's id or 0, for
 * isc_task_exit().  The frame is not linked yet before 3.12, and is after. */
uint32_t isc_task_enter(PyThreadState *ts, int flags);
void isc_task_exit(uint32_t task);

#endif
