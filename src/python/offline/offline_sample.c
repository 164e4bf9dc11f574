#include <string.h>

#include "analyze/time/spin.h"
#include "python/offline/offline.h"
#include "trace/frame.h"

static PyObject *text_or_none(const isc_text *text)
{
	if (text->len > 0)
		return PyUnicode_DecodeUTF8(text->at, (Py_ssize_t)text->len, "backslashreplace");
	Py_INCREF(Py_None);
	return Py_None;
}

static PyObject *line_or_none(uint32_t line)
{
	if (line > 0)
		return PyLong_FromUnsignedLong(line);
	Py_INCREF(Py_None);
	return Py_None;
}

static const char *kind_of(const isc_frame *frame)
{
	return frame->kind == ISC_FRAME_PYTHON ? "python" : frame->kind == ISC_FRAME_NATIVE ? "native" : NULL;
}

/* Frames of a stack, root first, as the report has them. */
static PyObject *make_stack(const isc_event_maker *m, uint32_t process, uint32_t id)
{
	PyObject *frames = PyList_New(0);
	uint64_t searched = 0;
	isc_frame frame;

	for (int n = 0; frames != NULL && n < (int)ISC_STACK_FRAMES_MAX; n++) {
		PyObject *one;

		if (!isc_trace_frame(m->trace, process, id, &frame))
			break;
		one = Py_BuildValue("{sz sN sN sN sN sN}", "kind", kind_of(&frame), "name", text_or_none(&frame.name),
				    "file", text_or_none(&frame.file), "line",
				    line_or_none(isc_trace_frame_line(m->trace, process, &frame, &searched)),
				    "first_line", line_or_none(frame.first_line), "module",
				    text_or_none(&frame.module));
		if (one == NULL || PyList_Append(frames, one) < 0)
			Py_CLEAR(frames);
		Py_XDECREF(one);
		id = frame.parent;
	}
	if (frames != NULL && PyList_Reverse(frames) < 0)
		Py_CLEAR(frames);
	return frames;
}

PyObject *isc_event_stack(isc_event_maker *m, uint32_t process, uint32_t id)
{
	PyObject *key = PyLong_FromUnsignedLongLong((uint64_t)process << 32 | id);
	PyObject *known = key != NULL ? PyDict_GetItemWithError(m->stacks, key) : NULL;

	if (known == NULL && key != NULL && !PyErr_Occurred()) {
		known = make_stack(m, process, id);
		if (known != NULL) {
			if (PyDict_SetItem(m->stacks, key, known) < 0) {
				Py_CLEAR(known);
			} else {
				Py_DECREF(known); /* the dictionary has it */
			}
		}
	}
	Py_XDECREF(key);
	return known;
}

/* The state of a thread that runs follows from its newest frame. */
static PyObject *state_of(const isc_event_maker *m, const isc_piece *span, PyObject *newest)
{
	PyObject *kind = newest != NULL ? PyDict_GetItemString(newest, "kind") : NULL;
	isc_frame frame;

	if (isc_trace_frame(m->trace, span->process, span->id, &frame) && isc_spin_is(&frame))
		return PyUnicode_FromString("spin");
	if (kind != NULL && kind != Py_None) {
		Py_INCREF(kind);
		return kind;
	}
	return PyUnicode_FromString("unattributed");
}

static PyObject *instructions_of(const isc_excerpt *spans, const isc_piece *span)
{
	isc_sample_counts counts;

	if (span->extra_len >= sizeof(isc_sample) + sizeof(counts)) {
		memcpy(&counts, spans->extra.data + span->extra + sizeof(isc_sample), sizeof(counts));
		if (counts.instructions != ISC_COUNT_UNKNOWN)
			return PyLong_FromUnsignedLongLong(counts.instructions);
	}
	Py_INCREF(Py_None);
	return Py_None;
}

static PyObject *node_of(const isc_excerpt *spans, const isc_piece *span)
{
	isc_sample body = {0};

	if (span->extra_len >= sizeof(body))
		memcpy(&body, spans->extra.data + span->extra, sizeof(body));
	return isc_event_node(ISC_SAMPLE_NODE(body.flags));
}

static bool take_over(PyObject *event, PyObject *frame, const char *key)
{
	PyObject *value = frame != NULL ? PyDict_GetItemString(frame, key) : NULL;

	return value == NULL || PyDict_SetItemString(event, key, value) == 0;
}

bool isc_event_add_sample(isc_event_maker *m, const isc_excerpt *spans, const isc_piece *span, PyObject *event)
{
	PyObject *stack = isc_event_stack(m, span->process, span->id), *newest, *state, *counted, *node;
	bool good;

	if (stack == NULL)
		return false;
	newest = PyList_Size(stack) > 0 ? PyList_GetItem(stack, PyList_Size(stack) - 1) : NULL;
	state = state_of(m, span, newest);
	counted = instructions_of(spans, span);
	node = node_of(spans, span);
	good = state != NULL && counted != NULL && node != NULL &&
	       PyDict_SetItemString(event, "numa_node", node) == 0 &&
	       PyDict_SetItemString(event, "stack", stack) == 0 && PyDict_SetItemString(event, "state", state) == 0 &&
	       PyDict_SetItemString(event, "instructions", counted) == 0 && take_over(event, newest, "name") &&
	       take_over(event, newest, "file") && take_over(event, newest, "line");
	Py_XDECREF(state);
	Py_XDECREF(counted);
	Py_XDECREF(node);
	return good;
}
