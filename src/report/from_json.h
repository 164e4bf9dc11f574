/*
 * from_json.h - a report in another format from the JSON report alone: for those
 * who have kept that, or made it with other rules, and not the trace.
 */
#ifndef ISC_REPORT_FROM_JSON_H
#define ISC_REPORT_FROM_JSON_H

#include <yyjson.h>

#include "report/html.h"
#include "report/report.h"

/* format: ISC_REPORT_MARKDOWN or ISC_REPORT_HTML; more may be NULL, and is of pages.  ISC_ERR_INVALID: it is
 * no report, or another format. */
isc_status isc_report_from_json(const char *json, size_t len, int format, const isc_html_more *more, isc_buffer *out,
				isc_error *err);

/* The Markdown of it; what is missing or of another type is left out. */
void isc_markdown_from_json(yyjson_val *report, isc_buffer *out);

#endif
