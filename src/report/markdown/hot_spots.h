/* hot_spots.h - the part of the Markdown report that samples tell: hot paths and hot lines. */
#ifndef ISC_REPORT_MARKDOWN_HOT_SPOTS_H
#define ISC_REPORT_MARKDOWN_HOT_SPOTS_H

#include "analyze/analysis.h"
#include "base/buffer.h"

void isc_hot_spots_write(const isc_analysis *a, isc_buffer *out); /* out->failed: no memory */

#endif
