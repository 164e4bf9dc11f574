/*
 * from_json.h - a report in another format from the JSON report alone: for those
 * who have kept that, or made it with other rules, and not the trace.
 */
#ifndef ISC_REPORT_FROM_JSON_H
#define ISC_REPORT_FROM_JSON_H

#include "report/html/html.h"
#include "report/report.h"

/* format: ISC_REPORT_MARKDOWN or ISC_REPORT_HTML; more may be NULL, and is of pages.  ISC_ERR_INVALID: it is
 * no report, or another format. */
isc_status isc_report_from_json(const char *json, size_t len, int format, const isc_html_more *more, isc_buffer *out,
				isc_error *err);

#endif
