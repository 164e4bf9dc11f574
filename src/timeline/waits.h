/*
 * waits.h - which state a wait is, from the call and the Python functions that led
 * to it.  Decided when a trace is read, so that a better rule needs no new recording.
 */
#ifndef ISC_TIMELINE_WAITS_H
#define ISC_TIMELINE_WAITS_H

#include "base/hashmap.h"
#include "timeline/thread_state.h"
#include "trace/frame.h"
#include "trace/reader.h"

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

/* What was found out about the waits of a trace, once for everybody who asks. */
typedef struct isc_waits {
	const isc_trace *trace;
	/* By call: process and stack -> a byte for each kind of holder, a state + 1. */
	isc_hashmap known[ISC_WAIT_CALLS];
} isc_waits;

void isc_waits_init(isc_waits *w, const isc_trace *trace);
void isc_waits_fini(isc_waits *w); /* a zeroed struct is fine */

/* The state of a row of totals, or of one wait that is written as such. */
enum isc_state isc_waits_of(isc_waits *w, const isc_total_wait *row);

/* The same of so many brief waits that took so long together: where they were is not known.  A transfer that took no time
 * to speak of was a system call that did not wait. */
enum isc_state isc_waits_brief(uint32_t call, double ns, uint64_t count);

#endif
