/* json.h - the report for machines: schema/report-1.json describes it. */
#ifndef ISC_REPORT_JSON_JSON_H
#define ISC_REPORT_JSON_JSON_H

#include "analyze/analysis.h"
#include "base/buffer.h"

#define ISC_JSON_SCHEMA "inferscope-report-1"

void isc_json_write(const isc_analysis *a, isc_buffer *out); /* out->failed: no memory */

#endif
