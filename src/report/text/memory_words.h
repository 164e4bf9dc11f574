/*
 * memory_words.h - who took memory, in words and tables.
 */
#ifndef ISC_REPORT_TEXT_MEMORY_WORDS_H
#define ISC_REPORT_TEXT_MEMORY_WORDS_H

#include "analyze/analysis.h"
#include "base/buffer.h"

/* "load (app/model.py:12)"; raw. */
void isc_memory_words_where(isc_buffer *out, const isc_analysis_frame *at);

/* "1.5 GB"; raw, of ours. */
void isc_memory_words_bytes(isc_buffer *out, double bytes);

/* The bytes of a site are off by more once in twenty times. */
double isc_memory_words_error(const isc_analysis_site *s);

/* The part of the Markdown report; nothing when no memory was recorded. */
void isc_memory_words_markdown(const isc_analysis *a, isc_buffer *out);

/* The lines of the summary. */
void isc_memory_words_summary(const isc_analysis *a, const char *prefix, isc_buffer *out);

#endif
