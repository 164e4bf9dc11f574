/*
 * offline.h - inferscope._offline: reading a trace, and what the Python classes
 * keep.  Apart from _core, so that a traced program that asks for nothing of it
 * does not load it.
 *
 *	offline.c	the module: events, reports and copies of a trace
 *	offline_event.c	an event as a dictionary
 *	offline_align.c	events of GPUs on the clock of the CPU
 *	offline_gpu.c	what a GPU did as one
 *	offline_judge.c	the verdict on any trace
 *	offline_memory.c	memory that was taken or given back as one
 *	offline_sample.c	a sample as one
 *	trace_buffer.c	TraceBuffer
 *
 * Built once for all versions: only what the limited API of 3.9 has.
 */
#ifndef ISC_PYTHON_OFFLINE_OFFLINE_H
#define ISC_PYTHON_OFFLINE_OFFLINE_H

#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <stdbool.h>

#include "analyze/picture/excerpt.h"
#include "base/status.h"
#include "trace/reader.h"

/* Raises inferscope.Error with the words that the command prints; NULL. */
PyObject *isc_offline_raise(const isc_error *err);

/* Makes dictionaries of the events of one trace. */
typedef struct isc_event_maker {
	const isc_trace *trace;
	PyObject *names;  /* dict: (process, id, kind of id) -> (name, file, line) */
	PyObject *loads;  /* json.loads */
	PyObject *stacks; /* dict: (process, id) -> its frames */
} isc_event_maker;

bool isc_event_maker_init(isc_event_maker *m, const isc_trace *trace); /* false: an exception is set */
void isc_event_maker_fini(isc_event_maker *m);

/* A new dictionary, or NULL with an exception. */
PyObject *isc_event_make(isc_event_maker *m, const isc_excerpt *spans, const isc_piece *span);

/* align(events, readings, margin_us): the events, and what is known of the clock. */
PyObject *isc_offline_align(PyObject *module, PyObject *args);

/* judge(path, rules): the JSON report on a trace, with rules as YAML text or None. */
PyObject *isc_offline_judge(PyObject *module, PyObject *args);

/* render(json, format, events): a report from the text of a JSON report. */
PyObject *isc_offline_render(PyObject *module, PyObject *args);

/* Frames of a stack, root first, as the report has them.  Borrowed: events of one stack share it. */
PyObject *isc_event_stack(isc_event_maker *m, uint32_t process, uint32_t id);

/* Adds what only a sample has to its dictionary; false: an exception is set. */
bool isc_event_add_sample(isc_event_maker *m, const isc_excerpt *spans, const isc_piece *span, PyObject *event);

/* The same of memory that was taken or given back. */
bool isc_event_add_memory(isc_event_maker *m, const isc_excerpt *spans, const isc_piece *span, PyObject *event);

/* The same of memory that went from node to node. */
bool isc_event_add_move(const isc_excerpt *spans, const isc_piece *span, PyObject *event);

/* A memory node, or None. */
PyObject *isc_event_node(uint32_t node);

/* The same of a system call. */
bool isc_event_add_syscall(isc_event_maker *m, const isc_excerpt *spans, const isc_piece *span, PyObject *event);

/* The same of what a GPU did, or was asked for. */
bool isc_event_add_gpu(const isc_excerpt *spans, const isc_piece *span, PyObject *event);

/* inferscope._offline.TraceBuffer; NULL with an exception. */
PyObject *isc_trace_buffer_type(void);

#endif
