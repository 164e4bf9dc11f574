/*
 * scope.h - inferscope.scope, mark_event and counter, for core.c.
 *
 * A scope belongs to the context (contextvars) that it is entered in: tasks and
 * functions run by asyncio.to_thread() know the scope they were started in, and
 * tasks that take turns on one thread do not see each other's.  Everything here
 * runs with the GIL held.  What the program may notice is a TypeError for wrong
 * arguments, and that alike whether or not a session records.
 */
#ifndef ISC_PYTHON_SCOPE_H
#define ISC_PYTHON_SCOPE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>
#include <stdint.h>

#include "runtime/runtime.h"

/* A runtime of another version may lack them; the module is inert then. */
#pragma weak isc_rt_mark_api
#pragma weak isc_rt_is_rest
#pragma weak isc_rt_label
#pragma weak isc_rt_span_enter
#pragma weak isc_rt_span_exit
#pragma weak isc_rt_thread_label
#pragma weak isc_rt_ticks
#pragma weak isc_rt_write1

/* Adds the type `scope` to the module: the one of this interpreter, however often
 * the module is initialised.  -1: an exception is set. */
int isc_scope_add(PyObject *module);

/* A scope that another context manager stands for: entered with its attribute `name`,
 * left by the same object, in whatever context.  For the main interpreter.  Leave no
 * exception behind; nothing happens when no session records. */
void isc_scope_range_enter(PyObject *owner);
void isc_scope_range_exit(PyObject *owner);

/* mark_event(name, metadata=None) and counter(name, value). */
PyObject *isc_mark_event(PyObject *module, PyObject *const *args, Py_ssize_t n, PyObject *names);
PyObject *isc_mark_counter(PyObject *module, PyObject *const *args, Py_ssize_t n, PyObject *names);

extern const char isc_mark_event_doc[], isc_mark_counter_doc[];

/* The definition of a str; 0: none, and no exception is left behind. */
uint32_t isc_scope_name(PyObject *str);
uint32_t isc_scope_thread_name(PyObject *str); /* likewise, of a thread */

#endif
