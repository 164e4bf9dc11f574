/*
 * unit_words.h - the program's units of work and how much of them was recorded, in words and a table.
 */
#ifndef ISC_REPORT_TEXT_UNIT_WORDS_H
#define ISC_REPORT_TEXT_UNIT_WORDS_H

#include "analyze/analysis.h"
#include "base/buffer.h"

/* The part of the Markdown report; nothing when no family counts. */
void isc_unit_markdown(const isc_analysis *a, isc_buffer *out);

#endif
