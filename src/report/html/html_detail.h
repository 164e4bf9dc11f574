/* html_detail.h - see html_detail.c. */
#ifndef ISC_REPORT_HTML_HTML_DETAIL_H
#define ISC_REPORT_HTML_HTML_DETAIL_H

#include <yyjson.h>

#include "analyze/analysis.h"
#include "base/buffer.h"

struct json;

/* JSON; out->failed: no memory. */
void isc_html_detail(const isc_analysis *a, isc_buffer *out);

/* All stacks as columns of one tree: what a flame graph is drawn from. */
yyjson_mut_val *isc_html_tree(struct json *j, const isc_analysis *a);

#endif
