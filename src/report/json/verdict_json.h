/*
 * verdict_json.h - the verdict and the suggestions, for machines.
 */
#ifndef ISC_REPORT_JSON_VERDICT_JSON_H
#define ISC_REPORT_JSON_VERDICT_JSON_H

#include "analyze/analysis.h"

struct json;
struct yyjson_mut_val;

void isc_verdict_json(struct json *j, struct yyjson_mut_val *root, const isc_analysis *a);

#endif
