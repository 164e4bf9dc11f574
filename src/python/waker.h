/*
 * waker.h - a thread that switches tracing on again, before Python 3.12.
 *
 * It is started when it is first needed, blocks every signal and sleeps without
 * the GIL.  From 3.12 on there is none: os.fork() warns of threads there.
 */
#ifndef ISC_PYTHON_WAKER_H
#define ISC_PYTHON_WAKER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/* Looks after forks. */
void isc_waker_begin(void);

/* Sets *asleep, and calls wake on its own thread when the program has run for so
 * many nanoseconds, or has waited for long; in a fork child at once.  False: no thread can be had, and nothing was done. */
bool isc_waker_ask(uint64_t after_ns, void (*wake)(void), _Atomic uint32_t *asleep);

#endif
