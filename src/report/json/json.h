/*
 * json.h - the report for machines, and an analysis back from it: so that a report which was kept, or made elsewhere,
 * reads as one of the trace itself.  schema/report-1.json describes it.
 *
 * What the JSON report cuts or does not hold is not there when it is read: the timeline, the tree of a flame graph,
 * and names that are no UTF-8 as they were.
 */
#ifndef ISC_REPORT_JSON_JSON_H
#define ISC_REPORT_JSON_JSON_H

#include <yyjson.h>

#include "analyze/analysis.h"
#include "base/buffer.h"

#define ISC_JSON_SCHEMA "inferscope-report-1"

/* The caller's, for yyjson_mut_doc_free(); NULL: no memory. */
yyjson_mut_doc *isc_json_tree(const isc_analysis *a);

void isc_json_write(const isc_analysis *a, isc_buffer *out); /* out->failed: no memory */

/* On success *out is the caller's, for isc_analysis_free(), and has nothing of report any more. */
isc_status isc_json_read(yyjson_val *report, isc_analysis **out, isc_error *err);

#endif
