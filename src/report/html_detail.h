/* html_detail.h - see html_detail.c. */
#ifndef ISC_REPORT_HTML_DETAIL_H
#define ISC_REPORT_HTML_DETAIL_H

#include "analyze/analysis.h"
#include "base/buffer.h"

/* JSON; out->failed: no memory. */
void isc_html_detail(const isc_analysis *a, isc_buffer *out);

#endif
