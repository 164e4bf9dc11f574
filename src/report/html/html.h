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

#include <yyjson.h>

#include "analyze/analysis.h"
#include "base/buffer.h"

/* What every page of ours begins with. */
#define ISC_HTML_MARK "<!doctype html>\n<!-- inferscope-report-1 -->"

void isc_html_write(const isc_analysis *a, isc_buffer *out); /* out->failed: no memory */

/* What a page has beyond the JSON report, see html_detail.c and html_lanes.c. */
typedef struct isc_html_more {
	isc_buffer detail, pieces;
} isc_html_more;

/* From a JSON report; more may be NULL. */
void isc_html_write_report(yyjson_doc *report, const isc_html_more *more, isc_buffer *out);

#endif
