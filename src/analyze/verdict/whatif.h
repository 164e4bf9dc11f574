/*
 * whatif.h - what the absence of something can save at most.
 *
 * A scope is as long as the path through it: what its thread or task did, and while
 * that waited for others of the program what those did, the holder of a lock, of the
 * interpreter or of the event loop, a scope inside it on another thread.  Without one of these
 * things it is shorter by their time on that path at most.  What ran beside the path counts
 * as long as it was waited for: how much of it would be left is not known, so that it may be
 * less, never more.
 */
#ifndef ISC_ANALYZE_VERDICT_WHATIF_H
#define ISC_ANALYZE_VERDICT_WHATIF_H

#include "analyze/analysis.h"

/*
 * What one scope of this name would be shorter by, at most and on average, without this
 * state: at this function and line, or with what it waits for held there; where NULL, or without a
 * name: anywhere.  A line of 0 is any line of the function.  Negative: not known.
 */
double isc_whatif_bound(const isc_analysis *a, const isc_text *scope, enum isc_state state,
			const isc_analysis_frame *where);

/* States of a thread that has a CPU: bounds do not tell them apart. */
bool isc_whatif_runs(enum isc_state state);

/* How long one scope of this name takes, on average.  Negative: not known. */
double isc_whatif_mean(const isc_analysis *a, const isc_text *scope);

/* What one scope waits for its event loop while others have it, on average.  Negative: not known. */
double isc_whatif_loop(const isc_analysis *a, const isc_text *scope);

/* What scopes of another name that were entered inside one of these take of it, on average.  Negative: not known. */
double isc_whatif_nested(const isc_analysis *a, const isc_text *scope, const isc_text *inside);

/* The same for a function, whatever it did: its own work, its waits, and those of others for what it held.  What
 * it calls is not in it. */
double isc_whatif_function(const isc_analysis *a, const isc_text *scope, const isc_analysis_frame *function);

#endif
