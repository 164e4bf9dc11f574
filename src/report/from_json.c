#include "report/from_json.h"

#include <string.h>

#include "report/json/json.h"
#include "report/markdown/markdown.h"

static isc_status write_markdown(yyjson_val *report, isc_buffer *out, isc_error *err)
{
	isc_analysis *a = NULL;
	isc_status st = isc_json_read(report, &a, err);

	if (st == ISC_OK)
		isc_markdown_write(a, out);
	isc_analysis_free(a);
	return st;
}

static isc_status check_schema(yyjson_doc *doc, const yyjson_read_err *why, isc_error *err)
{
	const char *schema = yyjson_get_str(yyjson_obj_get(yyjson_doc_get_root(doc), "schema"));

	if (doc == NULL && why->code == YYJSON_READ_ERROR_MEMORY_ALLOCATION)
		return isc_fail(err, ISC_ERR_NOMEM, "no memory for the report");
	if (schema != NULL && strcmp(schema, ISC_JSON_SCHEMA) == 0)
		return ISC_OK;
	isc_fail(err, ISC_ERR_INVALID, "this is no report: its schema is not " ISC_JSON_SCHEMA);
	isc_hint(err, "give what analyze() returned");
	return ISC_ERR_INVALID;
}

isc_status isc_report_from_json(const char *json, size_t len, int format, const isc_html_more *more, isc_buffer *out,
				isc_error *err)
{
	yyjson_read_err why = {0};
	yyjson_doc *doc;
	isc_status st;

	if (format != ISC_REPORT_MARKDOWN && format != ISC_REPORT_HTML)
		return isc_fail(err, ISC_ERR_INVALID, "there is no report format %d from JSON", format);
	/* The parser writes into the text only when it is asked to. */
	doc = yyjson_read_opts((char *)(uintptr_t)json, len, YYJSON_READ_NOFLAG, NULL, &why);
	st = check_schema(doc, &why, err);
	if (st == ISC_OK && format == ISC_REPORT_HTML)
		isc_html_write_report(doc, more, out);
	else if (st == ISC_OK)
		st = write_markdown(yyjson_doc_get_root(doc), out, err);
	yyjson_doc_free(doc);
	return st == ISC_OK && out->failed ? isc_fail(err, ISC_ERR_NOMEM, "no memory for the report") : st;
}
