/*
 * html.h - the report as one page for a browser: page/ holds its looks and its
 * script.
 *
 * The page is made from the JSON report alone, so both say the same.  What a
 * reader needs first (the verdict, what to change, what to doubt) is plain HTML;
 * the charts are drawn by the page's script from the JSON inside it.  Names are
 * escaped for where they stand, and the page's policy lets nothing else run or load.
 */
#ifndef ISC_REPORT_HTML_HTML_H
#define ISC_REPORT_HTML_HTML_H

#include "analyze/analysis.h"
#include "base/buffer.h"
#include "base/status.h"

/* What every page of ours begins with. */
#define ISC_HTML_MARK "<!doctype html>\n<!-- inferscope-report-1 -->"

void isc_html_write(const isc_analysis *a, isc_buffer *out); /* out->failed: no memory */

/* What a page has beyond the JSON report, see html_detail.c and html_lanes.c. */
typedef struct isc_html_more {
	isc_buffer detail, pieces;
} isc_html_more;

/* From the text of a JSON report; more may be NULL.  ISC_ERR_INVALID: it is none. */
isc_status isc_html_write_json(const char *json, size_t len, const isc_html_more *more, isc_buffer *out,
			       isc_error *err);

#endif
