#include "python/calls.h"

#define Py_BUILD_CORE 1
#undef _PyGC_FINALIZED
#if PY_VERSION_HEX >= 0x030b0000
#include <internal/pycore_frame.h>
#else
#include <frameobject.h>
#endif
#undef Py_BUILD_CORE

#include <string.h>

#include "python/budget/gate.h"
#include "python/budget/startup.h"
#include "python/task.h"

#define ASYNCHRONOUS (CO_COROUTINE | CO_ASYNC_GENERATOR)

static PyObject *tasks;	       /* _asyncio._current_tasks, loop to task; NULL: not imported yet */
static PyObject *running_loop; /* _asyncio._get_running_loop */
static PyObject *name_of;      /* _asyncio.Task.get_name */
static PyTypeObject *task_type;

static __thread uint32_t current; /* what TASK said last on this thread */

/* Without importing it: a program without asyncio keeps to be one. */
static bool find_asyncio(void)
{
	static PyObject *key;
	static bool unfit;
	PyObject *module;

	if (tasks != NULL || unfit)
		return tasks != NULL;
	if (key == NULL)
		key = PyUnicode_InternFromString("_asyncio");
	module = key != NULL ? PyDict_GetItemWithError(PyImport_GetModuleDict(), key) : NULL;
	if (module == NULL)
		return false;
	task_type = (PyTypeObject *)PyObject_GetAttrString(module, "Task");
	running_loop = PyObject_GetAttrString(module, "_get_running_loop");
	name_of = task_type != NULL ? PyObject_GetAttrString((PyObject *)task_type, "get_name") : NULL;
	tasks = PyObject_GetAttrString(module, "_current_tasks");
	unfit = running_loop == NULL || name_of == NULL || tasks == NULL || !PyDict_CheckExact(tasks) ||
		!PyType_Check((PyObject *)task_type);
	if (unfit)
		Py_CLEAR(tasks);
	return !unfit;
}

/* Borrowed; NULL: none. */
static PyObject *find_task(void)
{
	PyObject *loop, *task = NULL;
	Py_ssize_t at = 0;

	if (PyDict_GET_SIZE(tasks) == 0)
		return NULL;
	if (PyDict_GET_SIZE(tasks) == 1)
		return PyDict_Next(tasks, &at, &loop, &task) ? task : NULL;
	loop = PyObject_CallObject(running_loop, NULL);
	if (loop != NULL)
		task = PyDict_GetItemWithError(tasks, loop);
	Py_XDECREF(loop);
	return task;
}

/* The number of a name that asyncio made up; 0: the program gave it.  Such a name is not defined: a server has
 * one for every request. */
static uint32_t number_of(const char *name, size_t len)
{
	static const char made_up[] = "Task-";
	const size_t from = sizeof(made_up) - 1;
	uint64_t n = 0;

	if (len <= from || len > from + 10 || memcmp(name, made_up, from) != 0 || name[from] == '0')
		return 0;
	for (size_t i = from; i < len; i++) {
		if (name[i] < '0' || name[i] > '9')
			return 0;
		n = n * 10 + (uint64_t)(name[i] - '0');
	}
	return n < ISC_TASK_NUMBERED ? ISC_TASK_NUMBERED | (uint32_t)n : 0;
}

static uint32_t id_of_name(const char *name, size_t len)
{
	uint32_t number = number_of(name, len);

	return number != 0 ? number : isc_rt_label(name, len);
}

/* Tells tasks apart that the program gave the same name: no two that live at once lie at the same place. */
static uint32_t mark_of(const PyObject *task)
{
	return (uint32_t)((uintptr_t)task >> 4 ^ (uintptr_t)task >> 20) & 0xffff;
}

static uint32_t id_of(PyObject *task)
{
	PyObject *name;
	uint32_t id = 0;

	/* Another type's get_name() may be Python code: it is the program's, not ours to run. */
	if (Py_TYPE(task) != task_type)
		return isc_rt_name("task", 4);
	name = PyObject_CallFunctionObjArgs(name_of, task, NULL);
	if (name != NULL && PyUnicode_Check(name)) {
		if (PyUnicode_IS_COMPACT_ASCII(name)) {
			id = id_of_name((const char *)PyUnicode_1BYTE_DATA(name), (size_t)PyUnicode_GET_LENGTH(name));
		} else {
			PyObject *bytes = PyUnicode_AsEncodedString(name, "utf-8", "backslashreplace");

			if (bytes != NULL)
				id = isc_rt_label(PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes));
			Py_XDECREF(bytes);
		}
	}
	Py_XDECREF(name);
	return id;
}

#if PY_VERSION_HEX >= 0x030d0000
#define CURRENT(ts) ((ts)->current_frame)
#define FLAGS(f) (((PyCodeObject *)(f)->f_executable)->co_flags)
#elif PY_VERSION_HEX >= 0x030b0000
#define CURRENT(ts) ((ts)->cframe->current_frame)
#define FLAGS(f) ((f)->f_code->co_flags)
#else
#define CURRENT(ts) ((ts)->frame)
#define FLAGS(f) ((f)->f_code->co_flags)
#endif

bool isc_task_is_step(PyThreadState *ts)
{
#if PY_VERSION_HEX >= 0x030c0000
	/* Between a frame and its caller stands one for each C function that evaluates. */
	const _PyInterpreterFrame *f = CURRENT(ts) != NULL ? CURRENT(ts)->previous : NULL;

	while (f != NULL && f->owner == FRAME_OWNED_BY_CSTACK)
		f = f->previous;
	return f == NULL || (FLAGS(f) & ASYNCHRONOUS) == 0;
#else
	return CURRENT(ts) == NULL || (FLAGS(CURRENT(ts)) & ASYNCHRONOUS) == 0;
#endif
}

/* Samples carry it too.  A thread that has written has a producer. */
static void tell_sampler(uint32_t id)
{
	if (isc_producer_self != NULL)
		isc_producer_self->task = id;
}

bool isc_task_enter(PyThreadState *ts)
{
	PyObject *type, *value, *traceback, *task;
	uint32_t id = 0, mark = 0;

	if (!isc_task_is_step(ts))
		return false;
	PyErr_Fetch(&type, &value, &traceback);
	task = find_asyncio() ? find_task() : NULL;
	if (task != NULL) {
		Py_INCREF(task);
		id = id_of(task);
		mark = mark_of(task);
		Py_DECREF(task);
	}
	PyErr_Restore(type, value, traceback);
	if (id == 0)
		return false;
	isc_startup_over(ISC_STARTUP_TASK);
	isc_gate_unit(ISC_GATE_TASK);
	if (id != current)
		isc_calls_write(isc_calls_ticks(), id, ISC_KIND_TASK, mark);
	current = id;
	tell_sampler(id);
	return true;
}

void isc_task_exit(uint64_t ticks)
{
	if (current == 0)
		return;
	current = 0;
	tell_sampler(0);
	isc_calls_write(ticks, 0, ISC_KIND_TASK, 0);
}
