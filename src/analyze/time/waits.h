/*
 * waits.h - which state a wait is, from the call and the Python functions that led
 * to it.  Decided when a trace is read, so that a better rule needs no new recording.
 */
#ifndef ISC_ANALYZE_TIME_WAITS_H
#define ISC_ANALYZE_TIME_WAITS_H

#include "analyze/analysis.h"

/* One function of a stack; file and name are raw. */
typedef struct isc_waits_frame {
	isc_text name;
	isc_text file;
} isc_waits_frame;

/*
 * The state of a wait in this call, from these functions, newest first.  holder: the
 * thread that had what was waited for; 0: not known; self: the thread that waited.
 */
enum isc_state isc_waits_state(uint32_t call, const isc_waits_frame *frames, size_t n, uint32_t holder, uint32_t self);

/* The same for a row of totals. */
enum isc_state isc_waits_of(const isc_trace *trace, const isc_total_wait *w);

#endif
