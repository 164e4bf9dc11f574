/*
 * hot_path.h - the one subtree of the judged thread's calls that a person would change.
 *
 * Share alone is never a reason: a healthy model spends most of its time in its own forward pass.  A subtree is a
 * cause if the interpreter runs the user's own functions there for long (a tokeniser of small functions), or
 * if it makes again and again, in nearly every unit of work, what a program makes once (setup_calls.h).
 *
 * The function is found from the root downwards: to the child with the most time of the cause, as long as that keeps
 * nearly all of it.  Functions that hold nearly all of the judged time are the work itself; they are passed through as
 * long as one child alone is still enough of a cause.
 */
#ifndef ISC_ANALYZE_VERDICT_HOT_PATH_H
#define ISC_ANALYZE_VERDICT_HOT_PATH_H

#include "analyze/verdict/evidence.h"
#include "analyze/verdict/observed.h"

/* Fills j->path from the samples and waits of the judged thread; stretch: of CPU time, to what it took with the waits for
 * a CPU.  False: no memory. */
bool isc_hot_path_find(isc_evidence *j, const isc_observed *d, double stretch);

#endif
