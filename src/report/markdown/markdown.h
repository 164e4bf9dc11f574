/* markdown.h - the report for a pull request, or a pager. */
#ifndef ISC_REPORT_MARKDOWN_MARKDOWN_H
#define ISC_REPORT_MARKDOWN_MARKDOWN_H

#include "analyze/analysis.h"
#include "base/buffer.h"

#define ISC_MARKDOWN_MARK "<!-- inferscope-report-"

void isc_markdown_write(const isc_analysis *a, isc_buffer *out); /* out->failed: no memory */

#endif
