/*
 * recall.h - an analysis from its JSON report, for every other writer: so that
 * a report which was kept, or made elsewhere, reads as one of the trace itself.
 *
 * What the JSON report cuts or does not hold is not there: the timeline, the tree
 * of a flame graph, and names that are no UTF-8 as they were.
 */
#ifndef ISC_REPORT_JSON_RECALL_H
#define ISC_REPORT_JSON_RECALL_H

#include <yyjson.h>

#include "analyze/analysis.h"

/* On success *out is the caller's, for isc_analysis_free(), and has nothing of report any more. */
isc_status isc_recall(yyjson_val *report, isc_analysis **out, isc_error *err);

/* Its parts. */
void isc_recall_scopes(yyjson_val *list, isc_analysis *a);
void isc_recall_gpus(yyjson_val *report, isc_analysis *a);
void isc_recall_memory(yyjson_val *report, isc_analysis *a);
void isc_recall_syscalls(yyjson_val *list, isc_analysis *a);

/* Why time of a breakdown has no stack: enum isc_unattributed. */
uint8_t isc_recall_why(yyjson_val *o);

/* Of a breakdown: a negative share is not known. */
void isc_recall_states(yyjson_val *o, double values[ISC_STATES], uint8_t sources[ISC_STATES]);

#endif
