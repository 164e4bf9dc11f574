/*
 * offline.c - inferscope._offline: events, reports and copies of a trace that
 * is there or is being written.
 *
 * The GIL is released while a trace is read: nothing of Python is touched there.
 */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "analyze/analysis.h"
#include "base/output.h"
#include "python/offline/offline.h"
#include "report/report.h"
#include "trace/format.h"

#define COPY_BYTES (1u << 20)

PyObject *isc_offline_raise(const isc_error *err)
{
	PyObject *module, *type = NULL;

	if (err->status == ISC_ERR_NOMEM)
		return PyErr_NoMemory();
	module = PyImport_ImportModule("inferscope._errors");
	if (module != NULL)
		type = PyObject_GetAttrString(module, "Error");
	Py_XDECREF(module);
	if (type == NULL)
		return NULL;
	if (err->hint[0] != 0)
		PyErr_Format(type, "%s; %s", err->what, err->hint);
	else
		PyErr_SetString(type, err->what);
	Py_DECREF(type);
	return NULL;
}

/* ---- events ----------------------------------------------------------- */

static isc_status read_spans(const char *path, const isc_excerpt_options *options, isc_trace **trace,
			     isc_excerpt *spans, isc_error *err)
{
	isc_status st = isc_trace_open(path, trace, err);

	return st == ISC_OK ? isc_excerpt_read(*trace, options, spans, err) : st;
}

/* Gives each to take(event); its false answers are counted. */
static bool give(isc_trace *trace, const isc_excerpt *spans, PyObject *take, unsigned long long *refused)
{
	isc_event_maker maker;
	bool good = isc_event_maker_init(&maker, trace);

	if (!good)
		return false;
	for (size_t i = 0; good && i < spans->count; i++) {
		PyObject *event = isc_event_make(&maker, spans, &spans->span[i]);
		PyObject *taken = event != NULL ? PyObject_CallFunctionObjArgs(take, event, NULL) : NULL;

		good = taken != NULL;
		/* What is no bool, such as the None of list.append(), is no refusal. */
		*refused += taken == Py_False;
		Py_XDECREF(taken);
		Py_XDECREF(event);
	}
	isc_event_maker_fini(&maker);
	return good;
}

static PyObject *offline_read(PyObject *module, PyObject *args)
{
	isc_excerpt_options options = {.cpu = true};
	int cpu, gpu;
	unsigned long long from, to, refused = 0, most;
	PyObject *path = NULL, *take, *result = NULL;
	isc_trace *trace = NULL;
	isc_excerpt spans = {0};
	isc_error err;
	isc_status st;

	(void)module;
	if (!PyArg_ParseTuple(args, "O&KKIIKOpp:read", PyUnicode_FSConverter, &path, &from, &to, &options.pid,
			      &options.tid, &most, &take, &cpu, &gpu))
		return NULL;
	options.cpu = cpu != 0;
	options.gpu = gpu != 0;
	options.from_ticks = from;
	options.to_ticks = to;
	options.most = (size_t)most;
	Py_BEGIN_ALLOW_THREADS st = read_spans(PyBytes_AsString(path), &options, &trace, &spans, &err);
	Py_END_ALLOW_THREADS if (st != ISC_OK) isc_offline_raise(&err);
	else if (take == Py_None || give(trace, &spans, take, &refused)) result =
		Py_BuildValue("{sK sK sK sK sK sI}", "events", (unsigned long long)spans.count, "lost",
			      (unsigned long long)(spans.lost + spans.dropped), "refused", refused, "skipped",
			      (unsigned long long)spans.skipped, "unmatched", (unsigned long long)spans.unmatched,
			      "threads", spans.threads);
	isc_excerpt_fini(&spans);
	isc_trace_close(trace);
	Py_DECREF(path);
	return result;
}

/* ---- reports ---------------------------------------------------------- */

typedef struct question {
	const char *path;
	uint64_t from_ticks, to_ticks; /* 0 and UINT64_MAX: all of it */
	bool live;
	int format;
	isc_analysis_file *files;
	size_t file_count;
} question;

static double us_of(const isc_trace *trace, uint64_t ticks)
{
	uint64_t start = isc_trace_header(trace)->start_ns, ns = isc_trace_ticks_to_ns(trace, ticks);

	return ns > start ? (double)(ns - start) / 1e3 : 0;
}

static isc_status write_report(const question *q, isc_buffer *out, isc_error *err)
{
	isc_analysis_options options = {
		.live = q->live, .lanes = q->format == ISC_REPORT_HTML, .files = q->files, .file_count = q->file_count};
	isc_analysis *a = NULL;
	isc_trace *trace = NULL;
	isc_status st = isc_trace_open(q->path, &trace, err);

	if (st == ISC_OK && (q->from_ticks != 0 || q->to_ticks != UINT64_MAX)) {
		options.alone = true;
		options.from_us = us_of(trace, q->from_ticks);
		options.to_us = q->to_ticks != UINT64_MAX ? us_of(trace, q->to_ticks) : 0;
	}
	if (st == ISC_OK)
		st = isc_analysis_new(trace, &options, &a, err);
	if (st == ISC_OK)
		st = isc_report_write(a, q->format, out, err);
	isc_analysis_free(a);
	isc_trace_close(trace);
	return st;
}

/* Borrowed from the strings, which the caller holds. */
static bool read_files(PyObject *dict, question *q)
{
	PyObject *key, *value;
	Py_ssize_t at = 0;

	if (dict == Py_None)
		return true;
	if (!PyDict_Check(dict)) {
		PyErr_SetString(PyExc_TypeError, "files is a dict of paths and names, as bytes");
		return false;
	}
	q->files = PyMem_Calloc((size_t)PyDict_Size(dict) + 1, sizeof(*q->files));
	if (q->files == NULL) {
		PyErr_NoMemory();
		return false;
	}
	while (PyDict_Next(dict, &at, &key, &value)) {
		isc_analysis_file *file = &q->files[q->file_count++];
		Py_ssize_t len, name_len;
		char *path, *name;

		if (PyBytes_AsStringAndSize(key, &path, &len) < 0 ||
		    PyBytes_AsStringAndSize(value, &name, &name_len) < 0)
			return false;
		file->file = (isc_text){path, (size_t)len};
		file->name = (isc_text){name, (size_t)name_len};
	}
	return true;
}

static PyObject *offline_report(PyObject *module, PyObject *args)
{
	unsigned long long from, to;
	PyObject *path = NULL, *files, *result = NULL;
	const char *format;
	isc_buffer text = {0};
	isc_error err;
	isc_status st;
	question q;
	int live;

	(void)module;
	if (!PyArg_ParseTuple(args, "O&KKpsO:report", PyUnicode_FSConverter, &path, &from, &to, &live, &format, &files))
		return NULL;
	q = (question){.path = PyBytes_AsString(path),
		       .from_ticks = from,
		       .to_ticks = to,
		       .live = live,
		       .format = isc_report_format_named(format)};
	if (q.format == ISC_REPORT_UNKNOWN) {
		PyErr_Format(PyExc_ValueError, "a report is markdown, html or json, not %s", format);
	} else if (read_files(files, &q)) {
		Py_BEGIN_ALLOW_THREADS st = write_report(&q, &text, &err);
		Py_END_ALLOW_THREADS result =
			st == ISC_OK ? PyUnicode_DecodeUTF8(text.data, (Py_ssize_t)text.len, "backslashreplace")
				     : isc_offline_raise(&err);
	}
	PyMem_Free(q.files);
	isc_buffer_fini(&text);
	Py_DECREF(path);
	return result;
}

/* ---- copies ----------------------------------------------------------- */

static isc_status copy_bytes(int fd, const char *path, isc_output *output, isc_error *err)
{
	isc_buffer bytes = {0};
	char *room = isc_buffer_room(&bytes, COPY_BYTES);
	isc_status st = room != NULL ? ISC_OK : isc_fail(err, ISC_ERR_NOMEM, "no memory to copy %s", path);
	off_t at = 0;
	ssize_t n = 1;

	while (st == ISC_OK && n > 0) {
		n = pread(fd, room, COPY_BYTES, at);
		if (n < 0 && errno != EINTR)
			st = isc_fail_errno(err, "cannot read %s", path);
		else if (n > 0)
			st = isc_output_write(output, room, (size_t)n, err);
		at += n > 0 ? n : 0;
		n = n < 0 ? 1 : n;
	}
	isc_buffer_fini(&bytes);
	return st;
}

static isc_status copy_trace(const char *from, const char *to, bool force, isc_error *err)
{
	isc_output *output = NULL;
	int fd = open(from, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	isc_status st;

	if (fd < 0)
		return isc_fail_errno(err, "cannot open trace %s", from);
	st = isc_output_open(to, force, isc_trace_is_ours, &output, err);
	if (st == ISC_OK)
		st = copy_bytes(fd, from, output, err);
	if (st == ISC_OK)
		st = isc_output_commit(output, err);
	isc_output_close(output);
	close(fd);
	return st;
}

static PyObject *offline_copy(PyObject *module, PyObject *args)
{
	PyObject *from = NULL, *to = NULL;
	isc_error err;
	isc_status st;
	int force;

	(void)module;
	if (!PyArg_ParseTuple(args, "O&O&p:copy", PyUnicode_FSConverter, &from, PyUnicode_FSConverter, &to, &force)) {
		Py_XDECREF(from);
		return NULL;
	}
	Py_BEGIN_ALLOW_THREADS st = copy_trace(PyBytes_AsString(from), PyBytes_AsString(to), force, &err);
	Py_END_ALLOW_THREADS Py_DECREF(from);
	Py_DECREF(to);
	if (st != ISC_OK)
		return isc_offline_raise(&err);
	Py_RETURN_NONE;
}

/* ---- the module ------------------------------------------------------- */

static int offline_exec(PyObject *module)
{
	PyObject *type = isc_trace_buffer_type();

	if (type == NULL)
		return -1;
	if (PyModule_AddObject(module, "TraceBuffer", type) < 0) {
		Py_DECREF(type);
		return -1;
	}
	return 0;
}

static PyMethodDef methods[] = {
	{"read", offline_read, METH_VARARGS,
	 PyDoc_STR("read(path, from_ticks, to_ticks, pid, tid, most, take)\n--\n\nGive events to take().")},
	{"report", offline_report, METH_VARARGS,
	 PyDoc_STR("report(path, from_ticks, to_ticks, live, format, files)\n--\n\nA report as text.")},
	{"render", isc_offline_render, METH_VARARGS,
	 PyDoc_STR("render(json, format, events)\n--\n\nA report from the text of a JSON report.")},
	{"copy", offline_copy, METH_VARARGS, PyDoc_STR("copy(path, to, force)\n--\n\nA copy of a trace.")},
	{"align", isc_offline_align, METH_VARARGS,
	 PyDoc_STR("align(events, readings, margin_us)\n--\n\nEvents of GPUs on the clock of the CPU.")},
	{"judge", isc_offline_judge, METH_VARARGS,
	 PyDoc_STR("judge(path, rules)\n--\n\nThe JSON report on a trace of ours or of another tool.")},
	{NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void *)offline_exec}, {0, NULL}};

static struct PyModuleDef definition = {
	PyModuleDef_HEAD_INIT,
	.m_name = "inferscope._offline",
	.m_doc = PyDoc_STR("Traces read and reported."),
	.m_methods = methods,
	.m_slots = slots,
};

PyMODINIT_FUNC PyInit__offline(void); /* called by the interpreter alone */

PyMODINIT_FUNC PyInit__offline(void)
{
	return PyModuleDef_Init(&definition);
}
