/*
 * usage_words.h - memory over time and the nodes of the machine, in words and tables.
 */
#ifndef ISC_REPORT_TEXT_USAGE_WORDS_H
#define ISC_REPORT_TEXT_USAGE_WORDS_H

#include "analyze/analysis.h"
#include "base/buffer.h"

/* The most of a column; negative: no value of it is known. */
double isc_usage_words_most(const double *values, size_t n);

/* The part of the Markdown report. */
void isc_usage_markdown(const isc_analysis *a, isc_buffer *out);

#endif
