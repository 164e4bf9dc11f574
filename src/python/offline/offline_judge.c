/*
 * offline_judge.c - judge(path, rules): the report on a trace of ours or of another tool, as JSON.
 */
#include <string.h>

#include "analyze/imported.h"
#include "analyze/rules/rules_file.h"
#include "import/import.h"
#include "python/offline/offline.h"
#include "report/report.h"

static isc_status analyse(const char *path, const isc_rules *rules, isc_analysis **a, isc_error *err)
{
	enum isc_import_format format = ISC_IMPORT_UNKNOWN;
	isc_status st = isc_import_sniff(path, &format, err);
	isc_trace *trace = NULL;
	bool read;

	if (st != ISC_OK)
		return st;
	if (format != ISC_IMPORT_ISC && format != ISC_IMPORT_UNKNOWN) {
		char *const paths[] = {(char *)(uintptr_t)path};

		return isc_imported_new(paths, 1, &(isc_imported_options){.rules = rules}, a, &read, err);
	}
	st = isc_trace_open(path, &trace, err);
	if (st == ISC_OK)
		st = isc_analysis_new(trace, &(isc_analysis_options){.rules = rules}, a, err);
	isc_trace_close(trace);
	return st;
}

static isc_status judge(const char *path, const char *text, size_t len, isc_buffer *out, isc_error *err)
{
	isc_analysis *a = NULL;
	isc_rules rules;
	isc_status st = ISC_OK;

	isc_rules_init(&rules);
	if (text != NULL)
		st = isc_rules_parse(&rules, text, len, "rules", err);
	if (st == ISC_OK)
		st = analyse(path, &rules, &a, err);
	if (st == ISC_OK)
		st = isc_report_write(a, ISC_REPORT_JSON, out, err);
	isc_analysis_free(a);
	isc_rules_fini(&rules);
	return st;
}

PyObject *isc_offline_judge(PyObject *module, PyObject *args)
{
	PyObject *path = NULL, *result;
	isc_buffer out = {0};
	const char *rules;
	Py_ssize_t len = 0;
	isc_error err;
	isc_status st;

	(void)module;
	if (!PyArg_ParseTuple(args, "O&z#:judge", PyUnicode_FSConverter, &path, &rules, &len))
		return NULL;
	Py_BEGIN_ALLOW_THREADS st = judge(PyBytes_AsString(path), rules, (size_t)len, &out, &err);
	Py_END_ALLOW_THREADS result =
		st == ISC_OK ? PyUnicode_DecodeUTF8(out.data, (Py_ssize_t)out.len, "replace") : isc_offline_raise(&err);
	isc_buffer_fini(&out);
	Py_DECREF(path);
	return result;
}
