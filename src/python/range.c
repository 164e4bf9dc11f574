#include "python/range.h"

#include "python/scope.h"

#define MODULE "torch.autograd.profiler"
#define CLASS "record_function"

/* Called in place of the function that it watches. */
struct watch {
	PyFunctionObject *function; /* borrowed: it outlives the pointer in it */
	vectorcallfunc before;
};

static struct watch importing, entering, leaving;

#if PY_VERSION_HEX >= 0x030b0000 && PY_VERSION_HEX < 0x030c0000
/*
 * 3.11 runs a Python function without a look at its pointer, where it calls one that
 * is exactly of the type `function`.  So a watched one is of a type of the same name,
 * derived from it, that adds nothing.
 */
static PyTypeObject watched_type = {
	PyVarObject_HEAD_INIT(NULL, 0).tp_name = "function",
	.tp_basicsize = sizeof(PyFunctionObject),
	.tp_flags = Py_TPFLAGS_DEFAULT,
};

static bool set_type(PyFunctionObject *function, bool watched)
{
	if (watched_type.tp_base == NULL) {
		watched_type.tp_base = &PyFunction_Type;
		if (PyType_Ready(&watched_type) < 0)
			return false;
	}
	Py_SET_TYPE(function, watched ? &watched_type : &PyFunction_Type);
	return true;
}
#else
static bool set_type(PyFunctionObject *function, bool watched)
{
	(void)function;
	(void)watched;
	return true;
}
#endif

static void set_pointer(PyFunctionObject *function, vectorcallfunc to)
{
#if PY_VERSION_HEX >= 0x030c0000
	PyFunction_SetVectorcall(function, to); /* and forgets what call sites know of it */
#else
	function->vectorcall = to;
#endif
}

static bool begin_watch(struct watch *w, PyObject *function, vectorcallfunc by)
{
	if (!PyFunction_Check(function) || !set_type((PyFunctionObject *)function, true))
		return false;
	w->function = (PyFunctionObject *)function;
	w->before = w->function->vectorcall;
	set_pointer(w->function, by);
	/* Does a call get there? */
	if (w->before != NULL && PyVectorcall_Function(function) == by)
		return true;
	set_pointer(w->function, w->before);
	set_type(w->function, false);
	w->function = NULL;
	return false;
}

static void end_watch(struct watch *w, vectorcallfunc by)
{
	/* Somebody may have come after us: he calls us, and we go on. */
	if (w->function == NULL || w->function->vectorcall != by)
		return;
	set_pointer(w->function, w->before);
	set_type(w->function, false);
}

/* ---- record_function ---- */

/* The time in the methods themselves is not the program's. */
static PyObject *enter(PyObject *function, PyObject *const *args, size_t flags, PyObject *names)
{
	PyObject *result = entering.before(function, args, flags, names);

	if (result != NULL && PyVectorcall_NARGS(flags) > 0)
		isc_scope_range_enter(args[0]);
	return result;
}

static PyObject *leave(PyObject *function, PyObject *const *args, size_t flags, PyObject *names)
{
	if (PyVectorcall_NARGS(flags) > 0)
		isc_scope_range_exit(args[0]);
	return leaving.before(function, args, flags, names);
}

/* ---- finding it ---- */

/* Borrowed; NULL while it is not there.  Never imports, and runs no code of the program. */
static PyObject *find_class(void)
{
	static PyObject *module_name, *class_name;
	PyObject *modules = PyImport_GetModuleDict(), *module;

	if (module_name == NULL)
		module_name = PyUnicode_InternFromString(MODULE);
	if (class_name == NULL)
		class_name = PyUnicode_InternFromString(CLASS);
	if (module_name == NULL || class_name == NULL || modules == NULL || !PyDict_CheckExact(modules))
		return NULL;
	module = PyDict_GetItemWithError(modules, module_name);
	if (module == NULL || !PyModule_Check(module))
		return NULL;
	return PyDict_GetItemWithError(PyModule_GetDict(module), class_name);
}

static void watch_class(PyObject *class)
{
	PyObject *first = PyType_Check(class) ? PyObject_GetAttrString(class, "__enter__") : NULL;
	PyObject *second = first != NULL ? PyObject_GetAttrString(class, "__exit__") : NULL;

	/* Without the exits, enters are no use. */
	if (second != NULL && begin_watch(&leaving, second, leave))
		begin_watch(&entering, first, enter);
	Py_XDECREF(first);
	Py_XDECREF(second);
}

/* Has it come?  Then whether or not it can be watched, there is no more to wait for. */
static bool look(void)
{
	PyObject *type, *value, *traceback, *class;

	PyErr_Fetch(&type, &value, &traceback);
	class = find_class();
	if (class != NULL)
		watch_class(class);
	PyErr_Clear();
	PyErr_Restore(type, value, traceback);
	return class != NULL;
}

static PyObject *import(PyObject *function, PyObject *const *args, size_t flags, PyObject *names)
{
	static bool found;
	PyObject *module = importing.before(function, args, flags, names);

	if (module != NULL && !found && look()) {
		found = true;
		end_watch(&importing, import);
	}
	return module;
}

void isc_range_begin(void)
{
	static bool begun;
	PyObject *type, *value, *traceback, *importlib, *function = NULL;

	if (begun || PyInterpreterState_Get() != PyInterpreterState_Main())
		return;
	begun = true;
	if (look())
		return;
	PyErr_Fetch(&type, &value, &traceback);
	importlib = PyImport_ImportModule("_frozen_importlib");
	if (importlib != NULL)
		function = PyObject_GetAttrString(importlib, "_find_and_load");
	if (function != NULL)
		begin_watch(&importing, function, import);
	PyErr_Clear();
	Py_XDECREF(function);
	Py_XDECREF(importlib);
	PyErr_Restore(type, value, traceback);
}
