/* scope_json.h - scopes, and why the slow ones are slow, for the JSON report. */
#ifndef ISC_REPORT_JSON_SCOPE_JSON_H
#define ISC_REPORT_JSON_SCOPE_JSON_H

#include <yyjson.h>

#include "analyze/analysis.h"

struct json;

/* Why time has no stack, if there is any. */
void isc_scope_json_why(struct json *j, yyjson_mut_val *o, double unattributed, uint8_t why);

/* Adds the list to root. */
void isc_scope_json_write(struct json *j, yyjson_mut_val *root, const isc_analysis *a);

#endif
