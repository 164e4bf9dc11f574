/*
 * native.h - calls of C functions, when they are asked for.
 */
#ifndef ISC_PYTHON_NATIVE_H
#define ISC_PYTHON_NATIVE_H

#include "python/calls.h"

/* The id of the name of a C function or method, "module.name" or "type.name";
 * 0: this is something else, which no profiler counts. */
uint32_t isc_native_name(PyObject *callable);

/* Before 3.12: sees to it that this thread's profile function is ours, with the
 * program's behind it. */
void isc_native_watch(PyThreadState *ts);

#if PY_VERSION_HEX >= 0x030c0000
/* An event of a C function, from 3.12 on: as sys.monitoring calls back. */
void isc_native_event(PyObject *const *args, size_t n, uint32_t kind, uint32_t arg);
#endif

#endif
