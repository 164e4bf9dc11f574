/*
 * verdict_words.h - the verdict for people: a sentence, then what to change.
 */
#ifndef ISC_REPORT_TEXT_VERDICT_WORDS_H
#define ISC_REPORT_TEXT_VERDICT_WORDS_H

#include "analyze/analysis.h"
#include "base/buffer.h"

/* The first lines of a Markdown report: the sentence, how sure it is, the suggestions, the evidence. */
void isc_verdict_markdown(const isc_analysis *a, isc_buffer *out);

/* One or two lines on a terminal, each behind the prefix. */
void isc_verdict_summary(const isc_analysis *a, const char *prefix, isc_buffer *out);

#endif
