/*
 * over_time_words.h - what recording saw, missed and cost over time, in words and as a table.
 */
#ifndef ISC_REPORT_TEXT_OVER_TIME_WORDS_H
#define ISC_REPORT_TEXT_OVER_TIME_WORDS_H

#include <yyjson.h>

#include "analyze/analysis.h"
#include "base/buffer.h"

/* A line when some period is bad, else nothing. */
void isc_over_time_markdown(const isc_analysis *a, isc_buffer *out);

/* A table, folded; nothing when there are no rows. */
void isc_over_time_html(isc_buffer *out, yyjson_val *report);

#endif
