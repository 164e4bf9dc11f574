/*
 * profile.h - samples that are counted inside the process, for the profiler on its own.
 *
 *	profile.c	what a sample adds, and from when to when
 *	profile_table.c	the tables it adds to
 *	counter.c	instructions
 */
#ifndef ISC_COLLECT_PROFILE_PROFILE_H
#define ISC_COLLECT_PROFILE_PROFILE_H

#include <stdbool.h>
#include <stdint.h>

#include "collect/sample/sample.h"

/* Are samples counted now?  One load. */
bool isc_profile_on(void);

/* A sample whose frames are in t->merged, newest first, with what its session has counted or
 * ISC_COUNT_UNKNOWN.  In the handler alone. */
void isc_profile_add(isc_sampled *t, const isc_python_layout *l, int frames, uint64_t ns, uint64_t instructions,
		     bool careful);

/* Time of a thread that ends, without a stack. */
void isc_profile_add_unknown(isc_sampled *t, uint64_t ns);

/* A sample took so much CPU time. */
void isc_profile_spent(uint64_t ns);

/* A thread is sampled from now on, or gets no timer. */
void isc_profile_thread(isc_sampled *t, uint32_t tid, bool refused);

/* In a fork child. */
void isc_profile_forked(void);

#endif
