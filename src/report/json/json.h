/*
 * json.h - the report for machines, and an analysis read back from it.  schema/report-1.json describes the format.
 *
 * An analysis that was read back lacks what the report does not hold: the timeline, the tree of a flame graph, items
 * of lists that were cut, and the original bytes of names that are not UTF-8.
 */
#ifndef ISC_REPORT_JSON_JSON_H
#define ISC_REPORT_JSON_JSON_H

#include <yyjson.h>

#include "analyze/analysis.h"
#include "base/buffer.h"

#define ISC_JSON_SCHEMA "inferscope-report-1"

/* The caller frees it with yyjson_mut_doc_free(); NULL: no memory. */
yyjson_mut_doc *isc_json_tree(const isc_analysis *a);

void isc_json_write(const isc_analysis *a, isc_buffer *out); /* out->failed: no memory */

/* On success *out is the caller's, for isc_analysis_free(), and no longer needs report. */
isc_status isc_json_read(yyjson_val *report, isc_analysis **out, isc_error *err);

#endif
