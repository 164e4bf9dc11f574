/*
 * scope_words.h - scopes, and why the slow ones are slow, in words.
 */
#ifndef ISC_REPORT_TEXT_SCOPE_WORDS_H
#define ISC_REPORT_TEXT_SCOPE_WORDS_H

#include "analyze/analysis.h"
#include "base/buffer.h"

/* Raw: "backoff (app/client.py:44)"; nothing when it is not known. */
void isc_scope_words_place(isc_buffer *out, const isc_analysis_frame *at);

/* Where to look: where it happened, of the interpreter's lock where that was held. */
const isc_analysis_frame *isc_scope_words_at(const isc_analysis_cause *cause);

/* The part of the Markdown report, and the lines of the summary. */
void isc_scope_words_markdown(const isc_analysis *a, isc_buffer *out);
void isc_scope_words_summary(const isc_analysis *a, const char *prefix, isc_buffer *out);

#endif
