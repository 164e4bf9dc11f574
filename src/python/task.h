/*
 * task.h - which asyncio task runs.
 *
 * A step of a task is a coroutine that begins or goes on and whose caller is no
 * coroutine; the task is asked for its name once per step.
 */
#ifndef ISC_PYTHON_TASK_H
#define ISC_PYTHON_TASK_H

#include "python/calls.h"

/* Does the coroutine that comes (before 3.12) or runs (after) stand at the bottom? */
bool isc_task_is_step(PyThreadState *ts);

/* Before the event of a coroutine: writes TASK if a step of a task begins. */
bool isc_task_enter(PyThreadState *ts);

/* After the last event of a step: the thread's next events belong to no task. */
void isc_task_exit(uint64_t ticks);

#endif
