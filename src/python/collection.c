#define PY_SSIZE_T_CLEAN
#include <Python.h>

#define Py_BUILD_CORE 1
#undef _PyGC_FINALIZED
#include <internal/pycore_interp.h>
#undef Py_BUILD_CORE

#pragma weak isc_rt_active
#pragma weak isc_rt_ticks
#pragma weak isc_rt_write

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "python/collection.h"
#include "runtime/runtime.h"

/* A collection begins and ends on one thread, and none begins inside another. */
static __thread uint64_t began; /* ticks; 0: nobody wants to know */
/* Interpreters are going through our list, and calling the program's own callbacks.  They may have a lock each. */
static _Atomic int inside;

static uint32_t number_of(PyObject *value)
{
	long n = PyLong_Check(value) ? PyLong_AsLong(value) : 0;

	if (n < 0)
		PyErr_Clear();
	return n < 0 ? 0 : n < (long)UINT32_MAX ? (uint32_t)n : UINT32_MAX;
}

/* Nothing from now on means that there is none. */
static void tell_begin(void)
{
	struct {
		isc_record head;
		isc_gc body;
	} record = {.head = {.ticks = isc_rt_ticks(), .kind = ISC_KIND_GC, .slots = 2, .arg = ISC_GC_WATCHED}};

	if (isc_rt_active())
		isc_rt_write((const isc_record *)&record, 2);
}

/* The interpreter has made the dictionary for this one call, and nobody had it before us. */
static void tell_end(uint64_t now, PyObject *info)
{
	struct {
		isc_record head;
		isc_gc body;
	} record = {.head = {.ticks = now, .kind = ISC_KIND_GC, .slots = 2}, .body = {.ticks = now - began}};
	PyObject *key, *value;
	Py_ssize_t at = 0;

	while (PyDict_Check(info) && PyDict_Next(info, &at, &key, &value)) {
		if (PyUnicode_CompareWithASCIIString(key, "generation") == 0)
			record.head.arg = (uint16_t)number_of(value);
		else if (PyUnicode_CompareWithASCIIString(key, "collected") == 0)
			record.body.collected = number_of(value);
	}
	isc_rt_write((const isc_record *)&record, 2);
}

/* As the interpreter does it, which looks at the list anew each time. */
static void call_theirs(PyObject *theirs, PyObject *const *args)
{
	atomic_fetch_add(&inside, 1);
	for (Py_ssize_t i = 0; i < PyList_GET_SIZE(theirs); i++) {
		PyObject *one = PyList_GET_ITEM(theirs, i), *result;

		Py_INCREF(one);
		result = PyObject_Vectorcall(one, args, 2, NULL);
		if (result != NULL)
			Py_DECREF(result);
		else
			PyErr_WriteUnraisable(one);
		Py_DECREF(one);
	}
	atomic_fetch_sub(&inside, 1);
}

/* What the program's callbacks do is not part of the collection. */
static PyObject *told(PyObject *theirs, PyObject *const *args, Py_ssize_t n)
{
	bool begins = n == 2 && PyUnicode_Check(args[0]) && PyUnicode_CompareWithASCIIString(args[0], "start") == 0;

	if (n == 2 && !begins && began != 0 && isc_rt_active())
		tell_end(isc_rt_ticks(), args[1]);
	began = 0;
	if (n == 2)
		call_theirs(theirs, args);
	if (begins && isc_rt_active())
		began = isc_rt_ticks();
	Py_RETURN_NONE;
}

static PyMethodDef method = {"collection", (PyCFunction)(void (*)(void))told, METH_FASTCALL, NULL};

/* Borrowed: the program's list behind ours; NULL: this is none of ours. */
static PyObject *theirs_behind(PyObject *list)
{
	PyObject *first =
		list != NULL && PyList_CheckExact(list) && PyList_GET_SIZE(list) > 0 ? PyList_GET_ITEM(list, 0) : NULL;

	return first != NULL && PyCFunction_CheckExact(first) && PyCFunction_GET_FUNCTION(first) == method.ml_meth
		       ? PyCFunction_GET_SELF(first)
		       : NULL;
}

/* New; nothing of it is to be found by gc.get_objects() or gc.get_referrers(). */
static PyObject *make_list(PyObject *theirs)
{
	PyObject *function = PyCFunction_New(&method, theirs);
	PyObject *list = function != NULL ? PyList_New(1) : NULL;

	if (list == NULL) {
		Py_XDECREF(function);
		return NULL;
	}
	PyList_SET_ITEM(list, 0, function);
	PyObject_GC_UnTrack(function);
	PyObject_GC_UnTrack(list);
	return list;
}

/* The module gc shows the list that the interpreter uses: where it is not where our headers say, this is
 * another build of the interpreter, and we keep our hands off. */
static bool is_shown(PyObject *list)
{
	PyObject *modules = PyImport_GetModuleDict();
	bool theirs = PyDict_GetItemString(modules, "gc") != NULL, same;
	PyObject *gc = PyImport_ImportModule("gc"), *shown = NULL;

	if (gc != NULL)
		shown = PyObject_GetAttrString(gc, "callbacks");
	/* From 3.10 on a second import would show our list: there it stays. */
	if (gc != NULL && !theirs && PY_VERSION_HEX < 0x030a0000)
		PyDict_DelItemString(modules, "gc");
	same = list != NULL && shown == list && PyList_CheckExact(list);
	Py_XDECREF(shown);
	Py_XDECREF(gc);
	return same;
}

void isc_collection_begin(void)
{
	PyObject **callbacks = &PyInterpreterState_Get()->gc.callbacks;
	PyObject *type, *value, *traceback, *ours;

	if (atomic_load(&inside) != 0)
		return;
	PyErr_Fetch(&type, &value, &traceback);
	if (is_shown(*callbacks)) {
		ours = make_list(*callbacks);
		if (ours != NULL) {
			Py_DECREF(*callbacks); /* ours keeps it now */
			*callbacks = ours;
			tell_begin();
		}
	}
	PyErr_Clear();
	PyErr_Restore(type, value, traceback);
}

void isc_collection_end(void)
{
	PyObject **callbacks = &PyInterpreterState_Get()->gc.callbacks;
	PyObject *ours = *callbacks, *theirs;

	if (atomic_load(&inside) != 0)
		return;
	theirs = theirs_behind(ours);
	if (theirs == NULL || PyList_GET_SIZE(ours) != 1)
		return;
	Py_INCREF(theirs);
	*callbacks = theirs;
	Py_DECREF(ours);
}
