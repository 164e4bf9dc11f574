/* gpu_json.h - what GPUs did, for the JSON report. */
#ifndef ISC_REPORT_JSON_GPU_JSON_H
#define ISC_REPORT_JSON_GPU_JSON_H

#include <yyjson.h>

#include "analyze/analysis.h"

struct json;

/* The files of another tool, or null. */
void isc_gpu_json_input(struct json *j, yyjson_mut_val *program, const isc_analysis *a);

/* Each adds its list to root, an empty one when no GPU was seen. */
void isc_gpu_json_gpus(struct json *j, yyjson_mut_val *root, const isc_analysis *a);
void isc_gpu_json_kernels(struct json *j, yyjson_mut_val *root, const isc_analysis *a);
void isc_gpu_json_copies(struct json *j, yyjson_mut_val *root, const isc_analysis *a);

#endif
