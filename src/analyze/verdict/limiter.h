/*
 * limiter.h - which thread limits the program, where no scope says whose time counts.
 *
 * A thread that waits for work, sleeps, spins or waits for an answer leaves the limit to somebody else; one that runs, or
 * waits for a lock or the interpreter, is the limit.  The survey adds up what each thread of each process was occupied
 * with, in slices of the session, so that the part that is to be judged may be known later.
 */
#ifndef ISC_ANALYZE_VERDICT_LIMITER_H
#define ISC_ANALYZE_VERDICT_LIMITER_H

#include "analyze/build.h"
#include "timeline/states.h"
#include "timeline/walk.h"

/* Joins the survey; false: no memory. */
bool isc_limiter_join(isc_build *b, isc_states *states, isc_walk *walk);

/* When a process does what is to be judged; false: it is not known. */
typedef bool (*isc_limiter_span)(const isc_build *b, uint32_t process, uint64_t *from_ns, uint64_t *to_ns);

/* The thread that was occupied most in the time to be judged of its process, by its index in the trace: the one that is
 * given, if it was for half as long.  0: nobody was. */
uint32_t isc_limiter_choose(const isc_build *b, uint32_t given, isc_limiter_span span);

/* Nothing is fine. */
void isc_limiter_drop(isc_build *b);

#endif
