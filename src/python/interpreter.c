#define PY_SSIZE_T_CLEAN
#include "python/interpreter.h"

#include <Python.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "runtime/runtime.h"

/* A runtime of another version may lack it. */
#pragma weak isc_rt_define

#define VERSION_MAX 64u

static char text[VERSION_MAX + PATH_MAX]; /* "3.11.7", NUL, the path */
static size_t text_len;
static atomic_bool told;
static _Atomic int64_t last_number; /* of a subinterpreter that was told of */

/* sys.executable, which a program may set to anything. */
static void look_at_program(void)
{
	PyObject *type, *value, *traceback, *program, *bytes;

	PyErr_Fetch(&type, &value, &traceback);
	program = PySys_GetObject("executable");
	bytes = program != NULL && PyUnicode_Check(program) ? PyUnicode_EncodeFSDefault(program) : NULL;
	if (bytes != NULL && (size_t)PyBytes_GET_SIZE(bytes) < PATH_MAX) {
		memcpy(text + text_len, PyBytes_AS_STRING(bytes), (size_t)PyBytes_GET_SIZE(bytes));
		text_len += (size_t)PyBytes_GET_SIZE(bytes);
	}
	Py_XDECREF(bytes);
	PyErr_Restore(type, value, traceback);
}

void isc_interpreter_look(void)
{
	/* "3.11.7 (main, ...) [GCC ...]" */
	const char *version = Py_GetVersion();
	size_t len = strcspn(version, " ");

	if (text_len > 0 || len >= VERSION_MAX)
		return;
	memcpy(text, version, len);
	text_len = len + 1;
	look_at_program();
}

void isc_interpreter_tell(void)
{
	if (atomic_load_explicit(&told, memory_order_relaxed) || text_len == 0)
		return;
	if (isc_rt_define(ISC_DEF_PYTHON, text, text_len) != 0)
		atomic_store_explicit(&told, true, memory_order_relaxed);
}

/* Subinterpreters may have a GIL each.  Numbers only grow, so each one is told of once. */
void isc_interpreter_tell_of_another(void)
{
	PyInterpreterState *self = PyInterpreterState_Get();
	int64_t number = PyInterpreterState_GetID(self), last = atomic_load(&last_number);
	char name[24];

	if (self == PyInterpreterState_Main())
		return;
	do {
		if (number <= last)
			return;
	} while (!atomic_compare_exchange_weak(&last_number, &last, number));
	isc_rt_define(ISC_DEF_SUBINTERPRETER, name, (size_t)snprintf(name, sizeof(name), "%lld", (long long)number));
}
