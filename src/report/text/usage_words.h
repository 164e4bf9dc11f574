/*
 * usage_words.h - memory over time and the nodes of the machine: JSON and Markdown.
 */
#ifndef ISC_REPORT_TEXT_USAGE_WORDS_H
#define ISC_REPORT_TEXT_USAGE_WORDS_H

#include "report/json/json_tree.h"

/* Into the object of the memory. */
void isc_usage_json(struct json *j, val *memory, const isc_analysis *a);
void isc_numa_json(struct json *j, val *root, const isc_analysis *a);
void isc_usage_markdown(const isc_analysis *a, isc_buffer *out);

#endif
