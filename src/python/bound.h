/*
 * bound.h - methods of a C type that are cheap to bind.
 *
 * `with` looks its two methods up and binds each to the object before it calls it.
 * For the methods of a PyMethodDef that makes an object which the garbage collector
 * counts, twice per `with` and dearer than all else of a scope when nothing records.
 * These come from a few that are kept, and are no business of the collector: they hold
 * the object that they are bound to and nothing else.
 */
#ifndef ISC_PYTHON_BOUND_H
#define ISC_PYTHON_BOUND_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdint.h>

#define ISC_BOUND_SPARES 8 /* as deep as with statements usually stand in each other */

/* Of one interpreter; the caller's memory, which has to outlive it. */
typedef struct isc_bound_kit {
	PyTypeObject *method, *bound;
	PyObject *spare[ISC_BOUND_SPARES];
	uint32_t spares;
	int ended; /* no more are kept */
} isc_bound_kit;

typedef PyObject *(*isc_bound_run)(PyObject *self, PyObject *const *args, Py_ssize_t n);

/* -1: an exception is set. */
int isc_bound_init(isc_bound_kit *kit);
void isc_bound_fini(isc_bound_kit *kit); /* those that are about live on */

/* Gives the type a method.  name and doc are kept as they are; keywords are a TypeError. -1: an exception is set. */
int isc_bound_add(isc_bound_kit *kit, PyTypeObject *type, const char *name, const char *doc, isc_bound_run run);

#endif
