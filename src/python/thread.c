#include "python/thread.h"

#include <string.h>

#include "python/budget/governor.h"
#include "python/pointer.h"
#include "python/scope.h"

#define LOOK_NS 10e6 /* between two looks of a thread: nobody renames them often */

/* Of this thread, in the process of that pool: a fork child begins anew. */
static __thread struct {
	uint64_t gen;
	uint64_t looked; /* ticks; 0: not yet */
	uint32_t name;	 /* what was told last; 0: nothing */
} self;

static void arrive(void)
{
	uint64_t gen = atomic_load_explicit(&isc_wiped_page->gen, memory_order_relaxed);

	if (self.gen == gen)
		return;
	self.gen = gen;
	self.looked = 0;
	self.name = 0;
}

static bool is_text(PyObject *str, const char *text)
{
	return str != NULL && PyUnicode_Check(str) && PyUnicode_CompareWithASCIIString(str, text) == 0;
}

static bool is_of_threading(PyObject *file)
{
	static const char name[] = "threading.py";
	Py_ssize_t len = (Py_ssize_t)sizeof(name) - 1, before;

	if (file == NULL || !PyUnicode_Check(file) || !PyUnicode_IS_COMPACT_ASCII(file))
		return false;
	before = PyUnicode_GET_LENGTH(file) - len;
	return before >= 0 && memcmp(PyUnicode_1BYTE_DATA(file) + before, name, (size_t)len) == 0 &&
	       (before == 0 || PyUnicode_1BYTE_DATA(file)[before - 1] == '/');
}

uint8_t isc_thread_naming_of(PyCodeObject *code)
{
	if (!is_of_threading(code->co_filename))
		return ISC_CODE_NAMES_NONE;
	if (code->co_argcount == 1 && is_text(code->co_name, "_bootstrap"))
		return ISC_CODE_NAMES_NEW;
	if (code->co_argcount == 2 && is_text(code->co_name, "name"))
		return ISC_CODE_NAMES_AGAIN;
	return ISC_CODE_NAMES_NONE;
}

/* A new reference or NULL.  What the object itself has: nothing of the program's runs. */
static PyObject *own(PyObject *object, const char *name)
{
	PyObject *key = PyUnicode_InternFromString(name), *value = NULL;

	if (key != NULL && _PyType_Lookup(Py_TYPE(object), key) == NULL)
		value = PyObject_GenericGetAttr(object, key);
	Py_XDECREF(key);
	PyErr_Clear();
	return value;
}

/* Names that the module threading makes up where nobody gave one and the kernel's says more. */
static bool is_made_up(PyObject *thread, PyObject *name)
{
	return is_text(name, "MainThread") ||
	       (strcmp(Py_TYPE(thread)->tp_name, "_DummyThread") == 0 && PyUnicode_IS_COMPACT_ASCII(name) &&
		strncmp((const char *)PyUnicode_1BYTE_DATA(name), "Dummy-", 6) == 0);
}

static void tell(PyObject *thread, PyObject *name)
{
	uint32_t id;

	arrive();
	if (name == NULL || !PyUnicode_Check(name) || PyUnicode_GET_LENGTH(name) == 0 ||
	    (is_made_up(thread, name) && self.name == 0))
		return;
	id = isc_scope_thread_name(name);
	if (id == 0 || id == self.name)
		return;
	isc_calls_write(isc_calls_ticks(), id, ISC_KIND_THREAD_NAME, 0);
	self.name = id;
}

/* Is this the thread that runs? */
static bool is_self(PyObject *thread)
{
	PyObject *ident = own(thread, "_ident");
	bool same = ident != NULL && PyLong_Check(ident) && PyLong_AsUnsignedLong(ident) == PyThread_get_thread_ident();

	PyErr_Clear();
	Py_XDECREF(ident);
	return same;
}

/* Asked on any thread that makes another one; of Python's, Thread.start() does. */
static uint32_t name_of_birth(void)
{
	PyThreadState *ts = PyGILState_GetThisThreadState();
	PyObject *type, *value, *traceback, *name;
	const isc_frame *f;
	PyCodeObject *code;
	uint32_t id = 0;

	/* Not without the interpreter. */
	if (ts == NULL || ts != _PyThreadState_UncheckedGet())
		return 0;
	f = isc_frame_current(ts);
	code = f != NULL ? isc_frame_code(f) : NULL;
	if (code == NULL || !PyCode_Check(code) || code->co_argcount != 1 || !is_text(code->co_name, "start") ||
	    !is_of_threading(code->co_filename) || isc_frame_locals(f)[0] == NULL)
		return 0;
	PyErr_Fetch(&type, &value, &traceback);
	name = own(isc_frame_locals(f)[0], "_name");
	if (name != NULL && PyUnicode_Check(name) && PyUnicode_GET_LENGTH(name) > 0)
		id = isc_scope_thread_name(name);
	Py_XDECREF(name);
	PyErr_Restore(type, value, traceback);
	return id;
}

void isc_thread_begin(void)
{
	if (isc_rt_birth_namer != NULL && PyInterpreterState_Get() == PyInterpreterState_Main())
		isc_rt_birth_namer(name_of_birth);
}

void isc_thread_named(const isc_code *entry, PyObject *const *arguments)
{
	PyObject *type, *value, *traceback, *thread = arguments[0], *name;

	if (thread == NULL)
		return;
	PyErr_Fetch(&type, &value, &traceback);
	if (entry->naming == ISC_CODE_NAMES_NEW) {
		name = own(thread, "_name");
		tell(thread, name);
		Py_XDECREF(name);
	} else if (is_self(thread)) {
		tell(thread, arguments[1]);
	}
	PyErr_Restore(type, value, traceback);
}

/* A new reference; NULL: Python does not know this thread, or the program knows no threading. */
static PyObject *find_self(void)
{
	PyObject *modules = PySys_GetObject("modules"), *all = NULL, *thread = NULL;
	PyObject *module = modules != NULL && PyDict_Check(modules) ? PyDict_GetItemString(modules, "threading") : NULL;
	PyObject *ident = PyLong_FromUnsignedLong(PyThread_get_thread_ident());

	/* At the very end there are no modules any more, and calls still. */
	if (module != NULL && PyModule_Check(module))
		all = PyDict_GetItemString(PyModule_GetDict(module), "_active");
	if (all != NULL && PyDict_CheckExact(all) && ident != NULL)
		thread = PyDict_GetItemWithError(all, ident);
	Py_XINCREF(thread);
	Py_XDECREF(ident);
	return thread;
}

void isc_thread_look(uint64_t ticks)
{
	PyObject *type, *value, *traceback, *thread, *name;
	double per_ns = isc_governor_self.ticks_per_ns;

	arrive();
	/* While the governor measures, ticks have no length yet and nothing gets into the trace. */
	if (per_ns <= 0 || (self.looked != 0 && (double)(ticks - self.looked) < LOOK_NS * per_ns))
		return;
	self.looked = ticks;
	PyErr_Fetch(&type, &value, &traceback);
	thread = find_self();
	if (thread != NULL) {
		name = own(thread, "_name");
		tell(thread, name);
		Py_XDECREF(name);
		Py_DECREF(thread);
	}
	PyErr_Clear();
	PyErr_Restore(type, value, traceback);
}
