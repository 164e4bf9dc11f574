/*
 * offline_memory.c - what only memory has that was taken or given back, for its dictionary.
 */
#include <string.h>

#include "python/offline/offline.h"
#include "timeline/node_moves.h"
#include "trace/memory.h"

/* Takes the value, of NULL too. */
static bool put(PyObject *event, const char *key, PyObject *value)
{
	bool good = value != NULL && PyDict_SetItemString(event, key, value) == 0;

	Py_XDECREF(value);
	return good;
}

PyObject *isc_event_node(uint32_t node)
{
	if (node != ISC_NODE_UNKNOWN)
		return PyLong_FromUnsignedLong(node);
	Py_INCREF(Py_None);
	return Py_None;
}

bool isc_event_add_memory(isc_event_maker *m, const isc_excerpt *spans, const isc_piece *span, PyObject *event)
{
	PyObject *stack = isc_event_stack(m, span->process, span->id);
	isc_memory body = {0};
	double times;

	if (stack == NULL)
		return false;
	if (span->extra_len >= sizeof(body))
		memcpy(&body, spans->extra.data + span->extra, sizeof(body));
	times = isc_trace_memory_times(&body);
	return PyDict_SetItemString(event, "stack", stack) == 0 &&
	       put(event, "address", PyLong_FromUnsignedLongLong(body.address)) &&
	       put(event, "bytes", PyLong_FromUnsignedLongLong(body.bytes)) &&
	       put(event, "numa_node", isc_event_node(body.node)) &&
	       put(event, "weight", PyFloat_FromDouble((double)body.bytes * times)) &&
	       put(event, "metadata", Py_BuildValue("{sd}", "count", times));
}

bool isc_event_add_move(const isc_excerpt *spans, const isc_piece *span, PyObject *event)
{
	isc_node_move move = {0};

	if (span->extra_len >= sizeof(move))
		memcpy(&move, spans->extra.data + span->extra, sizeof(move));
	return put(event, "from_node", PyLong_FromUnsignedLong(move.from)) &&
	       put(event, "to_node", PyLong_FromUnsignedLong(move.to)) &&
	       put(event, "pages", PyLong_FromUnsignedLongLong(move.pages));
}
