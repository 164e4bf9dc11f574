#include <string.h>

#include "base/syscall.h"
#include "python/offline/offline.h"
#include "trace/kinds.h"

/* The newest frame that has a line: the call itself is native. */
static PyObject *place_of(PyObject *stack)
{
	for (Py_ssize_t i = PyList_Size(stack); i-- > 0;) {
		PyObject *frame = PyList_GetItem(stack, i), *line = PyDict_GetItemString(frame, "line");

		if (line != NULL && line != Py_None)
			return frame;
	}
	return NULL;
}

static bool set(PyObject *event, const char *key, PyObject *value)
{
	bool good = value != NULL && PyDict_SetItemString(event, key, value) == 0;

	Py_XDECREF(value);
	return good;
}

static bool take_over(PyObject *event, PyObject *frame, const char *key)
{
	PyObject *value = frame != NULL ? PyDict_GetItemString(frame, key) : NULL;

	return value == NULL || PyDict_SetItemString(event, key, value) == 0;
}

bool isc_event_add_syscall(isc_event_maker *m, const isc_excerpt *spans, const isc_piece *span, PyObject *event)
{
	PyObject *stack = isc_event_stack(m, span->process, span->id), *place;
	const char *name = isc_syscall_name(span->arg);
	isc_syscall_slow slow = {0};

	if (stack == NULL)
		return false;
	if (span->extra_len >= sizeof(slow))
		memcpy(&slow, spans->extra.data + span->extra, sizeof(slow));
	place = place_of(stack);
	return set(event, "name", PyUnicode_FromString(name != NULL ? name : "?")) &&
	       PyDict_SetItemString(event, "stack", stack) == 0 && take_over(event, place, "file") &&
	       take_over(event, place, "line") && set(event, "bytes", PyLong_FromUnsignedLongLong(slow.bytes)) &&
	       (slow.error != 0 ? set(event, "errno", PyLong_FromUnsignedLong(slow.error))
				: PyDict_SetItemString(event, "errno", Py_None) == 0);
}
