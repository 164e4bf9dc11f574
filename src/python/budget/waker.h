/*
 * waker.h - a thread that looks after windows.
 *
 * It is started when it is first needed, blocks every signal, sleeps without the
 * GIL and never takes it.  From 3.12 on os.fork() warns of other threads, so there
 * it ends before each fork and is asked for again later.
 */
#ifndef ISC_PYTHON_BUDGET_WAKER_H
#define ISC_PYTHON_BUDGET_WAKER_H

#include <stdbool.h>
#include <stdint.h>

/* Says after how much CPU time of the process it wants to be called again, or
 * after so much time on the wall if that is set; 0: when asked. */
typedef uint64_t isc_waker_work(uint64_t *wall_ns);

/* Looks after forks: gone() is called where the thread is no more. */
void isc_waker_begin(void (*gone)(bool child));

/* Is there a thread, or can one be started? */
bool isc_waker_can(void);

/* CPU time of all threads there were. */
uint64_t isc_waker_cpu_ns(void);

/* Calls work on the thread, now and whenever it says; the thread is started if there is none. */
void isc_waker_ask(isc_waker_work *work);

#endif
