/*
 * unit_words.h - the program's units of work and how much of them was recorded, for each kind of report.
 */
#ifndef ISC_REPORT_TEXT_UNIT_WORDS_H
#define ISC_REPORT_TEXT_UNIT_WORDS_H

#include <yyjson.h>

#include "analyze/analysis.h"
#include "base/buffer.h"
#include "report/json/json_tree.h"

void isc_unit_json(struct json *j, val *root, const isc_analysis *a);
void isc_recall_units(yyjson_val *units, isc_analysis *a);

/* Nothing when no family counts. */
void isc_unit_markdown(const isc_analysis *a, isc_buffer *out);

#endif
