/*
 * phase_words.h - phases and the start of a process in words.
 */
#ifndef ISC_REPORT_TEXT_PHASE_WORDS_H
#define ISC_REPORT_TEXT_PHASE_WORDS_H

#include "analyze/analysis.h"
#include "base/buffer.h"

/* "The program serves after 3.2 s: 2.1 s of imports (1.8 s torch) and 1.0 s of loading."  Names are as they are: whoever prints
 * them escapes them.  Nothing: how it started is not known. */
void isc_phase_words_startup(const isc_analysis_startup *s, isc_buffer *out);

/* Whether its start is long enough to be told of beside the verdict. */
bool isc_phase_words_is_long(const isc_analysis *a);

/* "startup 31 ms, imports 2.1 s, serving 10.2 s, shutdown 40 ms": of the process whose time is judged.  Nothing: not
 * known. */
void isc_phase_words_phases(const isc_analysis *a, isc_buffer *out);

#endif
