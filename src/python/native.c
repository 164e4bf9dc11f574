#include "python/native.h"

#include <stdio.h>
#include <string.h>

#include "python/budget/gate.h"
#include "python/budget/governor.h"

#define CACHE 1024u /* a power of two */
#define NAME_MAX_BYTES 512

/* By what the name is made of.  Tables of methods that die and come again elsewhere
 * are rare, and their names are looked at. */
static struct {
	const PyMethodDef *method;
	const void *owner;
	const char *name;
	uint32_t id;
} cache[CACHE];

static const char *module_of(const PyCFunctionObject *f)
{
	const char *name = NULL;

	if (f->m_module != NULL && PyUnicode_Check(f->m_module))
		name = PyUnicode_IS_COMPACT_ASCII(f->m_module) ? (const char *)PyUnicode_1BYTE_DATA(f->m_module) : NULL;
	else if (f->m_self != NULL && PyModule_Check(f->m_self))
		name = PyModule_GetName(f->m_self);
	if (name == NULL)
		PyErr_Clear();
	return name != NULL ? name : "?";
}

uint32_t isc_native_name(PyObject *callable)
{
	const PyMethodDef *method;
	const PyTypeObject *type = NULL;
	const void *owner;
	char text[NAME_MAX_BYTES];
	uintptr_t hash;
	int len;

	if (PyCFunction_Check(callable)) {
		const PyCFunctionObject *f = (const PyCFunctionObject *)callable;

		method = f->m_ml;
		if (f->m_self != NULL && !PyModule_Check(f->m_self))
			type = PyType_Check(f->m_self) ? (const PyTypeObject *)f->m_self : Py_TYPE(f->m_self);
		owner = type != NULL ? (const void *)type : (const void *)f->m_module;
	} else if (Py_TYPE(callable) == &PyMethodDescr_Type) {
		method = ((PyMethodDescrObject *)callable)->d_method;
		type = PyDescr_TYPE(callable);
		owner = type;
	} else {
		return 0;
	}
	hash = ((uintptr_t)method / 16 ^ (uintptr_t)owner / 64) & (CACHE - 1);
	if (cache[hash].method == method && cache[hash].owner == owner && cache[hash].name == method->ml_name)
		return cache[hash].id;
	len = snprintf(text, sizeof(text), "%s.%s",
		       type != NULL ? type->tp_name : module_of((const PyCFunctionObject *)callable), method->ml_name);
	if (len < 0)
		return 0;
	cache[hash].method = method;
	cache[hash].owner = owner;
	cache[hash].name = method->ml_name;
	cache[hash].id = isc_rt_name(text, (size_t)len < sizeof(text) ? (size_t)len : sizeof(text) - 1);
	if (cache[hash].id == 0) {
		cache[hash].method = NULL; /* there may be room the next time */
		return isc_rt_rest(ISC_DEF_STRING);
	}
	return cache[hash].id;
}

#if PY_VERSION_HEX < 0x030c0000

static __thread Py_tracefunc below; /* the program's, or NULL */

static int profile(PyObject *self, PyFrameObject *frame, int what, PyObject *arg)
{
	Py_tracefunc theirs = below;
	int result = theirs != NULL ? theirs(self, frame, what, arg) : 0;
	PyCodeObject *code;
	const isc_code *entry;
	uint64_t ticks;
	uint32_t id;

	if (isc_calls_over()) {
		PyThreadState *ts = PyThreadState_Get();

		/* The interpreter looks at it again when we return. */
		if (ts->c_profilefunc == profile)
			ts->c_profilefunc = theirs;
		return result;
	}
	if (what != PyTrace_C_CALL && what != PyTrace_C_RETURN && what != PyTrace_C_EXCEPTION)
		return result;
	code = PyFrame_GetCode(frame);
	entry = isc_code_get(code);
	Py_DECREF(code);
	if (entry == NULL || !isc_code_is_traced(entry) || !isc_calls_live() || arg == NULL || isc_gate_skips(entry))
		return result;
	id = isc_native_name(arg);
	if (id == 0)
		return result;
	ticks = isc_calls_ticks();
	if (what == PyTrace_C_CALL)
		isc_calls_write(ticks, id, ISC_KIND_C_ENTER, 0);
	else
		isc_calls_write(ticks, id, ISC_KIND_C_EXIT,
				what == PyTrace_C_RETURN ? ISC_CALL_RETURNED : ISC_CALL_RAISED);
	isc_governor_count(ticks);
	return result;
}

/* Not through PyEval_SetProfile(): sys.getprofile() goes on to answer what the program set. */
void isc_native_watch(PyThreadState *ts)
{
	if (ts->c_profilefunc == profile)
		return;
	below = ts->c_profilefunc;
	ts->c_profilefunc = profile;
#if PY_VERSION_HEX >= 0x030b0000
	ts->cframe->use_tracing = 255;
#elif PY_VERSION_HEX >= 0x030a0000
	ts->cframe->use_tracing = 1;
#else
	ts->use_tracing = 1;
#endif
}

#else

/* code, offset, callable, ... */
void isc_native_event(PyObject *const *args, size_t n, uint32_t kind, uint32_t arg)
{
	const isc_code *entry = isc_code_seen(args[0]);
	uint64_t ticks;
	uint32_t id;

	if (PyVectorcall_NARGS(n) < 3 || entry == NULL || !isc_code_is_traced(entry) || !isc_calls_live() ||
	    isc_gate_skips(entry))
		return;
	id = isc_native_name(args[2]);
	if (id == 0)
		return;
	ticks = isc_calls_ticks();
	isc_calls_write(ticks, id, kind, arg);
	isc_governor_count(ticks);
}

#endif
