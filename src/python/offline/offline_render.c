/*
 * offline_render.c - a report from what analyze() returned, and the events that it was made from.
 */
#include "python/offline/offline.h"

#include "analyze/imported.h"
#include "report/from_json.h"
#include "report/html/html_detail.h"
#include "report/html/html_lanes.h"

/* The timeline of a page; without one the page says nothing of it. */
static void read_lanes(const char *path, isc_html_more *more)
{
	const isc_imported_options options = {.lanes = true};
	char *const paths[] = {(char *)(uintptr_t)path};
	isc_analysis *a = NULL;
	bool read;

	if (isc_imported_new(paths, 1, &options, &a, &read, NULL) == ISC_OK) {
		isc_html_detail(a, &more->detail);
		isc_html_pieces(a->lanes, &more->pieces);
	}
	isc_analysis_free(a);
}

PyObject *isc_offline_render(PyObject *module, PyObject *args)
{
	PyObject *result = NULL, *path = NULL, *where;
	isc_html_more more = {0};
	isc_buffer text = {0};
	const char *json, *format;
	Py_ssize_t len;
	isc_error err;
	isc_status st;
	int to;

	(void)module;
	if (!PyArg_ParseTuple(args, "s#sO:render", &json, &len, &format, &where) ||
	    (where != Py_None && !PyUnicode_FSConverter(where, &path)))
		return NULL;
	to = isc_report_format_named(format);
	Py_BEGIN_ALLOW_THREADS;
	if (path != NULL && to == ISC_REPORT_HTML)
		read_lanes(PyBytes_AsString(path), &more);
	st = isc_report_from_json(json, (size_t)len, to, &more, &text, &err);
	Py_END_ALLOW_THREADS;
	result = st == ISC_OK		 ? PyUnicode_DecodeUTF8(text.data, (Py_ssize_t)text.len, "backslashreplace")
		 : st == ISC_ERR_INVALID ? (PyErr_Format(PyExc_ValueError, "%s", err.what), NULL)
					 : isc_offline_raise(&err);
	isc_buffer_fini(&more.detail);
	isc_buffer_fini(&more.pieces);
	isc_buffer_fini(&text);
	Py_XDECREF(path);
	return result;
}
