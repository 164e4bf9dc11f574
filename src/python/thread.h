/*
 * thread.h - what the threads of threading.Thread are called.
 *
 * To the kernel they all bear the name of the program.  Who starts one names it, where the hook on
 * pthread_create() is there; else it tells its own name when it begins.  It tells it again when it
 * takes another one.  Who was there before tracing, or is renamed by somebody else, is looked up
 * now and then, without importing anything.  The main thread keeps the program's name until it is
 * given one.
 */
#ifndef ISC_PYTHON_THREAD_H
#define ISC_PYTHON_THREAD_H

#include "python/code.h"

/* From now on a thread has its name when it begins, whether calls are traced or not. */
void isc_thread_begin(void);

/* What the code does with names of threads; enum isc_code_naming. */
uint8_t isc_thread_naming_of(PyCodeObject *code);

/* Such code begins to run, with these arguments. */
void isc_thread_named(const isc_code *entry, PyObject *const *arguments);

/* On any thread that is traced, as often as one likes; acts once in a while. */
void isc_thread_look(uint64_t ticks);

#endif
