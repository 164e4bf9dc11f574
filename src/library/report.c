/* report.c - inferscope/report.h over what the command uses itself. */
#include "inferscope/report.h"

#include <stdlib.h>

#include "base/output.h"
#include "export/export.h"
#include "library/library.h"
#include "report/report.h"

ISC_API isc_status inferscope_report_text(const inferscope_analysis *analysis, const char *format, char **text,
					  size_t *len, isc_error *err)
{
	isc_buffer out = {0};
	int chosen;
	isc_status st = isc_report_choose("", format, &chosen, err);

	*text = NULL;
	if (st == ISC_OK)
		st = isc_report_write(analysis->found, chosen, &out, err);
	if (st == ISC_OK) {
		isc_buffer_add(&out, "", 1);
		if (out.failed)
			st = isc_fail(err, ISC_ERR_NOMEM, "no memory for the report");
	}
	if (st != ISC_OK) {
		isc_buffer_fini(&out);
		return st;
	}
	if (len != NULL)
		*len = out.len - 1;
	*text = out.data;
	return ISC_OK;
}

ISC_API isc_status inferscope_report_save(const inferscope_analysis *analysis, const char *path, const char *format,
					  isc_error *err)
{
	isc_buffer out = {0};
	int chosen;
	isc_status st = isc_report_choose(path, format, &chosen, err);

	if (st == ISC_OK)
		st = isc_report_write(analysis->found, chosen, &out, err);
	if (st == ISC_OK)
		st = isc_output_save(path, false, isc_report_is_ours, out.data, out.len, err);
	isc_buffer_fini(&out);
	return st;
}

static isc_status to_file(void *self, const void *data, size_t len, isc_error *err)
{
	return isc_output_write(self, data, len, err);
}

ISC_API isc_status inferscope_export(const char *trace, const char *format, const char *path, isc_error *err)
{
	isc_export_options options = {0};
	isc_export_result result;
	isc_output *file = NULL;
	isc_trace *opened = NULL;
	isc_status st = isc_export_choose(format, &options.format, err);

	if (st == ISC_OK)
		st = isc_trace_open(trace, &opened, err);
	if (st == ISC_OK)
		st = isc_output_open(path, false, isc_export_is_ours, &file, err);
	if (st == ISC_OK)
		st = isc_export_run(opened, &options, to_file, file, &result, err);
	if (st == ISC_OK)
		st = isc_output_commit(file, err);
	isc_output_close(file);
	isc_trace_close(opened);
	return st;
}
