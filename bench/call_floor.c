/*
 * call_floor.c - what no tracer of calls can go below: hooks that do nothing, and hooks
 * that read the clock twice a call.  A Python module, for bench/call_cost.py.
 *
 * start(clocks): frame evaluation before 3.12, sys.monitoring from there on.
 */
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

static volatile uint64_t last; /* so that the clock is read */

static inline uint64_t ticks(void)
{
#ifdef __x86_64__
	return __builtin_ia32_rdtsc();
#else
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
#endif
}

#if PY_VERSION_HEX < 0x030c0000

#define Py_BUILD_CORE 1
#undef _PyGC_FINALIZED
#include <internal/pycore_interp.h>
#undef Py_BUILD_CORE

#if PY_VERSION_HEX >= 0x030b0000
typedef struct _PyInterpreterFrame frame;
#else
typedef PyFrameObject frame;
#endif

static PyObject *empty(PyThreadState *ts, frame *f, int thrown)
{
	return _PyEval_EvalFrameDefault(ts, f, thrown);
}

static PyObject *timed(PyThreadState *ts, frame *f, int thrown)
{
	PyObject *result;

	last = ticks();
	result = _PyEval_EvalFrameDefault(ts, f, thrown);
	last = ticks();
	return result;
}

static bool begin(bool clocks)
{
	_PyInterpreterState_SetEvalFrameFunc(PyInterpreterState_Get(), clocks ? timed : empty);
	return true;
}

#else

typedef struct callback {
	PyObject_HEAD vectorcallfunc call;
} callback;

static PyObject *empty(PyObject *self, PyObject *const *args, size_t n, PyObject *names)
{
	(void)self, (void)args, (void)n, (void)names;
	return Py_NewRef(Py_None);
}

static PyObject *timed(PyObject *self, PyObject *const *args, size_t n, PyObject *names)
{
	(void)self, (void)args, (void)n, (void)names;
	last = ticks();
	return Py_NewRef(Py_None);
}

static PyTypeObject callback_type = {
	PyVarObject_HEAD_INIT(NULL, 0).tp_name = "call_floor.callback",
	.tp_basicsize = sizeof(callback),
	.tp_flags = Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_DISALLOW_INSTANTIATION,
	.tp_call = PyVectorcall_Call,
	.tp_vectorcall_offset = offsetof(callback, call),
};

static bool done(PyObject *result)
{
	Py_XDECREF(result);
	return result != NULL;
}

static bool begin(bool clocks)
{
	PyObject *monitoring = PySys_GetObject("monitoring"); /* borrowed */
	const int tool = 5, start = 1, leave = 4;	      /* PY_START and PY_RETURN */
	callback *hook;

	if (monitoring == NULL || PyType_Ready(&callback_type) < 0)
		return false;
	hook = PyObject_New(callback, &callback_type);
	if (hook == NULL)
		return false;
	hook->call = clocks ? timed : empty;
	return done(PyObject_CallMethod(monitoring, "use_tool_id", "is", tool, "floor")) &&
	       done(PyObject_CallMethod(monitoring, "register_callback", "iiO", tool, start, hook)) &&
	       done(PyObject_CallMethod(monitoring, "register_callback", "iiO", tool, leave, hook)) &&
	       done(PyObject_CallMethod(monitoring, "set_events", "ii", tool, start | leave));
}

#endif

static PyObject *floor_start(PyObject *module, PyObject *clocks)
{
	int yes = PyObject_IsTrue(clocks);

	(void)module;
	if (yes < 0 || !begin(yes))
		return NULL;
	Py_RETURN_NONE;
}

static PyMethodDef methods[] = {
	{"start", floor_start, METH_O, PyDoc_STR("Hook every call; read the clock twice in each?")},
	{NULL, NULL, 0, NULL},
};

static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, .m_name = "call_floor", .m_size = -1, .m_methods = methods};

PyMODINIT_FUNC PyInit_call_floor(void); /* called by the interpreter alone */

PyMODINIT_FUNC PyInit_call_floor(void)
{
	return PyModule_Create(&module);
}
