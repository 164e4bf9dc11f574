/*
 * core.c - inferscope._core, the binding to the runtime inside this process.
 *
 * The loader matches libraries by name, so this module may meet the runtime of
 * another installation that was preloaded.  It compares the ABI number before
 * anything else and stays inert when that differs.
 *
 * The runtime is one per process and thread-safe; the module object keeps no
 * state, and may go as soon as it has attached.  It may be initialised again: scopes
 * keep what they need with their interpreter.
 */
#include "python/calls.h"

#include "python/allocator.h"
#include "python/collection.h"
#include "python/cuda.h"
#include "python/interpreter.h"
#include "python/layout.h"
#include "python/range.h"
#include "python/scope.h"
#include "python/thread.h"

#include <string.h>

#pragma weak isc_rt_memory_leaving
#pragma weak isc_rt_started

static bool fits(void)
{
	return isc_rt_abi() == ISC_RT_ABI;
}

static PyObject *leaving(PyObject *self, PyObject *unused)
{
	isc_record r = {.ticks = isc_rt_ticks(), .kind = ISC_KIND_LEAVING, .slots = 1};

	(void)self;
	(void)unused;
	isc_rt_write(&r, 1);
	isc_rt_memory_leaving();
	Py_RETURN_NONE;
}

/* Told before the interpreter takes its modules apart, behind what the program asks to be called then: its
 * callbacks come in the order of the last first.  The program sees no module that it did not import. */
static void watch_leaving(void)
{
	static PyMethodDef method = {"leaving", leaving, METH_NOARGS, NULL};
	PyObject *modules = PyImport_GetModuleDict(), *atexit, *callback, *result;
	bool there = modules != NULL && PyDict_GetItemString(modules, "atexit") != NULL;

	atexit = PyImport_ImportModule("atexit");
	callback = atexit != NULL ? PyCFunction_New(&method, NULL) : NULL;
	result = callback != NULL ? PyObject_CallMethod(atexit, "register", "O", callback) : NULL;
	if (!there && atexit != NULL && PyDict_DelItemString(modules, "atexit") < 0)
		PyErr_Clear();
	if (result == NULL)
		PyErr_Clear();
	Py_XDECREF(result);
	Py_XDECREF(callback);
	/* Before 3.10 what is registered lies in the module, which the interpreter calls at the end and does not hold. */
	if (PY_VERSION_HEX >= 0x030a0000)
		Py_XDECREF(atexit);
}

/* By the session: with a scratch trace the end of the interpreter is none of what the program asked for.  Of another
 * interpreter it is not the end of the process. */
static bool leaving_is_wanted(void)
{
	static bool watched;

	if (watched || (isc_rt_control()->flags & ISC_CONTROL_SCRATCH) != 0 ||
	    PyInterpreterState_Get() != PyInterpreterState_Main())
		return false;
	watched = true;
	return true;
}

static bool allocated_for_session;

/* Samples alone would call a collection Python code of whoever it interrupted. */
static bool collections_are_wanted(void)
{
	uint32_t flags = isc_rt_control()->flags;

	return (flags & ISC_CONTROL_CALLS) != 0 ||
	       (flags & (ISC_CONTROL_SAMPLE | ISC_CONTROL_SCRATCH)) == ISC_CONTROL_SAMPLE;
}

/* By the session itself: with a scratch trace the program says when. */
static bool memory_is_wanted(void)
{
	return (isc_rt_control()->flags & (ISC_CONTROL_MEMORY | ISC_CONTROL_SCRATCH)) == ISC_CONTROL_MEMORY;
}

static PyObject *core_memory(PyObject *module, PyObject *on)
{
	int yes = PyObject_IsTrue(on);
	bool told = false;

	(void)module;
	if (yes < 0)
		return NULL;
	if (fits() && yes)
		told = isc_allocator_begin();
	else if (fits())
		isc_allocator_end();
	return PyBool_FromLong(told);
}

static PyObject *core_attach(PyObject *module, PyObject *args)
{
	PyObject *path = NULL;
	unsigned long long since = 0;
	int failed = -1;

	if (!PyArg_ParseTuple(args, "O&|K:attach", PyUnicode_FSConverter, &path, &since))
		return NULL;
	if (fits()) {
		failed = isc_rt_attach(PyBytes_AS_STRING(path));
		if (!failed) {
			isc_rt_is_python();
			isc_interpreter_look();
			isc_interpreter_tell();
			isc_interpreter_tell_of_another();
			isc_layout_begin();
			isc_thread_begin();
			isc_calls_begin(module);
			if (collections_are_wanted())
				isc_collection_begin();
			if (leaving_is_wanted())
				watch_leaving();
			if (memory_is_wanted() && !allocated_for_session)
				allocated_for_session = isc_allocator_begin();
			isc_range_begin();
			isc_rt_started(since);
		}
	}
	Py_DECREF(path);
	return PyBool_FromLong(!failed);
}

static PyObject *core_active(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	return PyBool_FromLong(fits() && isc_rt_active());
}

static PyObject *core_is_python(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	if (fits())
		isc_rt_is_python();
	Py_RETURN_NONE;
}

static PyObject *core_start(PyObject *module, PyObject *args)
{
	isc_calls_wish wish;
	const char *reason = "the runtime in this process is of another version";
	int all_frames, c_calls;

	if (!PyArg_ParseTuple(args, "ppd:start", &all_frames, &c_calls, &wish.budget_pct))
		return NULL;
	wish.all_frames = all_frames;
	wish.c_calls = c_calls;
	if (fits())
		reason = isc_calls_start(module, &wish);
	if (reason == NULL)
		Py_RETURN_NONE;
	return PyUnicode_FromString(reason);
}

static PyObject *core_stop(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	if (fits())
		isc_calls_stop();
	Py_RETURN_NONE;
}

/* Above 0: watch CUDA if it is in use here; 0: tell what devices have done; below: that, and no more. */
static PyObject *core_cuda(PyObject *module, PyObject *what)
{
	long n = PyLong_AsLong(what);
	int state = 0;

	(void)module;
	if (n == -1 && PyErr_Occurred())
		return NULL;
	if (fits()) {
		/* The driver may wait for a thread that wants the interpreter. */
		Py_BEGIN_ALLOW_THREADS if (n > 0) state = isc_cuda_part_start();
		else if (n == 0) isc_cuda_part_flush();
		else isc_cuda_part_stop();
		Py_END_ALLOW_THREADS
	}
	return PyLong_FromLong(state);
}

static PyObject *core_forked(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	if (fits()) {
		isc_calls_forked();
		isc_allocator_forked(allocated_for_session);
	}
	Py_RETURN_NONE;
}

static PyObject *core_layout(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	return PyBool_FromLong(fits() && isc_layout_tell());
}

static PyObject *core_ticks(PyObject *module, PyObject *unused)
{
	(void)module;
	(void)unused;
	return PyLong_FromUnsignedLongLong(fits() ? isc_rt_ticks() : 0);
}

static PyObject *core_window(PyObject *module, PyObject *open)
{
	int yes = PyObject_IsTrue(open);

	(void)module;
	if (yes < 0)
		return NULL;
	if (fits())
		isc_rt_window(yes);
	Py_RETURN_NONE;
}

static PyObject *core_flush(PyObject *module, PyObject *args)
{
	unsigned int ms;
	int forget = 0;
	bool done = false;

	(void)module;
	if (!PyArg_ParseTuple(args, "I|p:flush", &ms, &forget))
		return NULL;
	if (fits() && isc_rt_control() != NULL) {
		Py_BEGIN_ALLOW_THREADS done = isc_rt_flush_wait(isc_rt_flush_ask(forget), ms < 60000 ? ms : 60000);
		Py_END_ALLOW_THREADS
	}
	return PyBool_FromLong(done);
}

/* (path of the trace, is it scratch, budget, times that it forgot), or None without a session. */
static PyObject *core_session(PyObject *module, PyObject *unused)
{
	const isc_control *control = fits() ? isc_rt_control() : NULL;

	(void)module;
	(void)unused;
	if (control == NULL)
		Py_RETURN_NONE;
	return Py_BuildValue(
		"(NOdI)",
		PyUnicode_DecodeFSDefaultAndSize(control->trace_path,
						 (Py_ssize_t)strnlen(control->trace_path, sizeof(control->trace_path))),
		(control->flags & ISC_CONTROL_SCRATCH) != 0 ? Py_True : Py_False, (double)control->budget_pct,
		(unsigned)atomic_load_explicit(&control->forgotten, memory_order_acquire));
}

/* Takes the reference to value, which may be NULL after a failure. */
static int add_member(PyObject *module, const char *name, PyObject *value)
{
	if (value == NULL)
		return -1;
	if (PyModule_AddObject(module, name, value) < 0) {
		Py_DECREF(value);
		return -1;
	}
	return 0;
}

static PyObject *why_inert(void)
{
	if (fits())
		Py_RETURN_NONE;
	return PyUnicode_FromFormat("the runtime in this process has ABI %u, this module needs %u",
				    (unsigned)isc_rt_abi(), (unsigned)ISC_RT_ABI);
}

static PyMethodDef mark_methods[] = {
	{"mark_event", (PyCFunction)(void (*)(void))isc_mark_event, METH_FASTCALL | METH_KEYWORDS, isc_mark_event_doc},
	{"counter", (PyCFunction)(void (*)(void))isc_mark_counter, METH_FASTCALL | METH_KEYWORDS, isc_mark_counter_doc},
	{NULL, NULL, 0, NULL},
};

static int core_exec(PyObject *module)
{
	if (add_member(module, "inert", PyBool_FromLong(!fits())) < 0)
		return -1;
	/* Without these the package takes those that do nothing. */
	if (fits() && (isc_scope_add(module) < 0 || PyModule_AddFunctions(module, mark_methods) < 0))
		return -1;
	return add_member(module, "reason", why_inert());
}

static PyMethodDef core_methods[] = {
	{"attach", core_attach, METH_VARARGS,
	 PyDoc_STR("Join the session in this folder, which began at this CPU time of the thread.")},
	{"active", core_active, METH_NOARGS, PyDoc_STR("Is a session recording this process now?")},
	{"start", core_start, METH_VARARGS, PyDoc_STR("Trace calls from now on; None, or why that cannot be.")},
	{"stop", core_stop, METH_NOARGS, PyDoc_STR("One start() less.")},
	{"cuda", core_cuda, METH_O, PyDoc_STR("Watch CUDA (1), tell what it did (0), or both and no more (-1).")},
	{"memory", core_memory, METH_O, PyDoc_STR("Let Python's allocators tell of memory; False: they do not.")},
	{"forked", core_forked, METH_NOARGS, PyDoc_STR("In a fork child: take back every start().")},
	{"layout", core_layout, METH_NOARGS, PyDoc_STR("Let samples read Python frames; False: they cannot.")},
	{"ticks", core_ticks, METH_NOARGS, PyDoc_STR("Time now, as events have it.")},
	{"window", core_window, METH_O, PyDoc_STR("One window more, or less.")},
	{"flush", core_flush, METH_VARARGS,
	 PyDoc_STR("Wait until all events so far are in the trace, so many ms at most.")},
	{"session", core_session, METH_NOARGS, PyDoc_STR("The trace of this process, and what is known of it.")},
	{"is_python", core_is_python, METH_NOARGS, PyDoc_STR("Tell the session that this process runs Python.")},
	{NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot core_slots[] = {
	{Py_mod_exec, core_exec},
#ifdef Py_mod_multiple_interpreters
	{Py_mod_multiple_interpreters, Py_MOD_PER_INTERPRETER_GIL_SUPPORTED},
#endif
	{0, NULL},
};

static struct PyModuleDef core_module = {
	PyModuleDef_HEAD_INIT,
	.m_name = "inferscope._core",
	.m_doc = PyDoc_STR("The binding to the runtime inside this process."),
	.m_methods = core_methods,
	.m_slots = core_slots,
};

PyMODINIT_FUNC PyInit__core(void); /* called by the interpreter alone */

PyMODINIT_FUNC PyInit__core(void)
{
	return PyModuleDef_Init(&core_module);
}
