/* memory_json.h - who took memory, for the JSON report. */
#ifndef ISC_REPORT_JSON_MEMORY_JSON_H
#define ISC_REPORT_JSON_MEMORY_JSON_H

#include <yyjson.h>

#include "analyze/analysis.h"

struct json;

/* Adds to the object "memory": totals, sites, the peak and what grows; null where nothing was recorded. */
void isc_memory_json(struct json *j, yyjson_mut_val *memory, const isc_analysis *a);

#endif
