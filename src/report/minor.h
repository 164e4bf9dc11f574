/*
 * minor.h - processes and threads that a reader need not see one by one: the
 * dozens of short helpers that a shell or a launcher starts.  Reports for people
 * count them; the JSON report has them all.
 */
#ifndef ISC_REPORT_MINOR_H
#define ISC_REPORT_MINOR_H

#include "analyze/analysis.h"

/* Not traced, short, and it ended as programs do; never the root, and never in a short list. */
bool isc_minor_process(const isc_analysis *a, const isc_analysis_process *p);

/* Of another process than the root, hardly on a CPU, and without an event; never in a short list. */
bool isc_minor_thread(const isc_analysis *a, const isc_analysis_thread *t);

#endif
