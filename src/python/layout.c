#include "python/calls.h"

#include <stddef.h>
#include <string.h>

#define Py_BUILD_CORE 1
#undef _PyGC_FINALIZED
#if PY_VERSION_HEX >= 0x030b0000
#include <internal/pycore_frame.h>
#else
#include <frameobject.h>
#endif
#include <internal/pycore_gil.h>
#include <internal/pycore_runtime.h>
#undef Py_BUILD_CORE

#pragma weak isc_rt_python
#pragma weak isc_rt_python_walk
#pragma weak isc_rt_python_name

#include "python/layout.h"

#include "python/glue.h"
#include "runtime/python.h"

#define CHECKED 128 /* frames that are compared; deeper ones are of the same kind */

static void *thread_state(void)
{
	return PyGILState_GetThisThreadState();
}

/* Bit fields have no offset: what a state looks like with the one field set tells its bits. */
static void fill_text(isc_python_layout *l)
{
	PyASCIIObject probe;

	l->str_length = offsetof(PyASCIIObject, length);
	l->str_state = offsetof(PyASCIIObject, state);
	l->str_ascii = sizeof(PyASCIIObject);
	l->str_compact = sizeof(PyCompactUnicodeObject);
	memset(&probe, 0, sizeof(probe));
	probe.state.compact = 1;
	memcpy(&l->str_is_compact, &probe.state, sizeof(uint32_t));
	memset(&probe, 0, sizeof(probe));
	probe.state.ascii = 1;
	memcpy(&l->str_is_ascii, &probe.state, sizeof(uint32_t));
	memset(&probe, 0, sizeof(probe));
	probe.state.kind = 7;
	memcpy(&l->str_kind, &probe.state, sizeof(uint32_t));
	l->str_kind_shift = (uint32_t)__builtin_ctz(l->str_kind);
}

static void fill_code(isc_python_layout *l)
{
	l->code_type = &PyCode_Type;
	l->code_name = offsetof(PyCodeObject, co_name);
	l->code_file = offsetof(PyCodeObject, co_filename);
	l->code_line = offsetof(PyCodeObject, co_firstlineno);
	l->code_flags = offsetof(PyCodeObject, co_flags);
#if PY_VERSION_HEX >= 0x030b0000
	l->code_qualified = offsetof(PyCodeObject, co_qualname);
	l->code_start = offsetof(PyCodeObject, co_code_adaptive);
#else
	l->code_qualified = l->code_name;
	l->code_start = ISC_PYTHON_NONE;
#endif
#if PY_VERSION_HEX >= 0x030a0000
	l->code_lines = offsetof(PyCodeObject, co_linetable);
#else
	l->code_lines = offsetof(PyCodeObject, co_lnotab);
#endif
}

static void fill_frames(isc_python_layout *l)
{
	l->ts_root = l->ts_activation = l->activation_frame = l->activation_previous = ISC_PYTHON_NONE;
	l->frame_mark = l->frame_mark_value = ISC_PYTHON_NONE;
#if PY_VERSION_HEX >= 0x030d0000
	l->chain = ISC_PYTHON_CURRENT;
	l->ts_frame = offsetof(PyThreadState, current_frame);
	l->frame_code = offsetof(_PyInterpreterFrame, f_executable);
	l->frame_instruction = offsetof(_PyInterpreterFrame, instr_ptr);
#elif PY_VERSION_HEX >= 0x030b0000
	l->ts_frame = offsetof(PyThreadState, cframe);
	l->ts_root = offsetof(PyThreadState, root_cframe);
	l->activation_frame = offsetof(_PyCFrame, current_frame);
	l->activation_previous = offsetof(_PyCFrame, previous);
	l->frame_code = offsetof(_PyInterpreterFrame, f_code);
	l->frame_instruction = offsetof(_PyInterpreterFrame, prev_instr);
#else
	l->chain = ISC_PYTHON_OBJECTS;
	l->ts_frame = offsetof(PyThreadState, frame);
	l->frame_code = offsetof(PyFrameObject, f_code);
	l->frame_previous = offsetof(PyFrameObject, f_back);
	l->frame_instruction = offsetof(PyFrameObject, f_lasti);
	l->unit = PY_VERSION_HEX >= 0x030a0000 ? 2 : 1;
#endif
#if PY_VERSION_HEX >= 0x030a0000 && PY_VERSION_HEX < 0x030b0000
	l->ts_activation = offsetof(PyThreadState, cframe);
	l->ts_root = offsetof(PyThreadState, root_cframe);
	l->activation_previous = offsetof(CFrame, previous);
#endif
#if PY_VERSION_HEX >= 0x030c0000
	l->frame_mark = offsetof(_PyInterpreterFrame, owner);
	l->frame_mark_value = FRAME_OWNED_BY_CSTACK;
#elif PY_VERSION_HEX >= 0x030b0000
	l->frame_mark = offsetof(_PyInterpreterFrame, is_entry);
	l->frame_mark_value = true;
#endif
#if PY_VERSION_HEX >= 0x030b0000
	l->frame_previous = offsetof(_PyInterpreterFrame, previous);
#endif
#if PY_VERSION_HEX >= 0x030b0000 && PY_VERSION_HEX < 0x030d0000
	l->chain = PY_VERSION_HEX >= 0x030c0000 ? ISC_PYTHON_SHIMS : ISC_PYTHON_ENTRIES;
#endif
}

/* Where the global lock is, and who has it. */
static void fill_lock(isc_python_layout *l)
{
	l->runtime_from = (uintptr_t)&_PyRuntime;
	l->runtime_size = sizeof(_PyRuntime);
	l->gil_cond = offsetof(struct _gil_runtime_state, cond);
	l->gil_holder = offsetof(struct _gil_runtime_state, last_holder);
#if PY_VERSION_HEX >= 0x030b0000
	l->ts_native = offsetof(PyThreadState, native_thread_id);
#else
	l->ts_native = ISC_PYTHON_NONE;
#endif
}

/* The frames that lead here, as the interpreter tells them and as samples would read them. */
static bool agrees(const isc_python_layout *l)
{
	isc_python_frame frames[CHECKED];
	PyFrameObject *frame = PyThreadState_GetFrame(PyThreadState_Get());
	int n = isc_rt_python_walk(l, frames, CHECKED), at = 0;
	bool same = n > 0 && frame != NULL;
	char name[512];

	while (same && frame != NULL) {
		PyCodeObject *code = PyFrame_GetCode(frame);
		PyFrameObject *back = PyFrame_GetBack(frame);
#if PY_VERSION_HEX >= 0x030b0000
		PyObject *text = code->co_qualname;
		int offset = PyFrame_GetLasti(frame);
#else
		PyObject *text = code->co_name;
		int offset = frame->f_lasti * (int)l->unit;
#endif
		Py_ssize_t len;
		const char *says = PyUnicode_AsUTF8AndSize(text, &len);

		same = at < n && frames[at].code == (uintptr_t)code && frames[at].offset == (uint32_t)offset &&
		       (says == NULL || len > (Py_ssize_t)sizeof(name) ||
			(isc_rt_python_name(l, code, name, sizeof(name)) == len &&
			 memcmp(name, says, (size_t)len) == 0));
		at++;
		Py_DECREF(code);
		Py_DECREF(frame);
		frame = back;
	}
	Py_XDECREF(frame);
	PyErr_Clear();
	return same && at == n;
}

bool isc_layout_tell(void)
{
	isc_python_layout l = {.size = sizeof(l), .version = PY_VERSION_HEX >> 16, .thread_state = thread_state};
	PyObject *type, *value, *traceback;
	bool known;

	/* What was compiled against another minor version would not have been loaded; one
	 * with other options may have been, so a stack that is known is read first. */
	l.object_type = offsetof(PyObject, ob_type);
	l.object_size = offsetof(PyVarObject, ob_size);
	l.bytes_data = offsetof(PyBytesObject, ob_sval);
	l.own = (const void *)(uintptr_t)isc_layout_tell;
	l.eval = (const void *)(uintptr_t)_PyEval_EvalFrameDefault;
	fill_text(&l);
	fill_code(&l);
	fill_frames(&l);
	fill_lock(&l);
	PyErr_Fetch(&type, &value, &traceback);
	known = agrees(&l);
	if (known)
		isc_rt_python(&l);
	PyErr_Restore(type, value, traceback);
	return known;
}

void isc_layout_begin(void)
{
	const isc_control *control = isc_rt_control();

	if (control == NULL || (control->flags & (ISC_CONTROL_SAMPLE | ISC_CONTROL_WAITS)) == 0 || !isc_layout_tell())
		return;
	/* Where calls are traced, that is learned with what they add.  At the start of a program nobody watches. */
	if ((control->flags & (ISC_CONTROL_CALLS | ISC_CONTROL_SCRATCH)) == 0)
		isc_glue_learn(false);
}
