/*
 * thread_states.h - what totals and switches know of each thread becomes its account.
 */
#ifndef ISC_ANALYZE_TIME_THREAD_STATES_H
#define ISC_ANALYZE_TIME_THREAD_STATES_H

/* Samples in page faults, that tell what one takes to a quarter of it. */
#define ISC_FAULTS_ENOUGH 16u

#include "analyze/time/tracks.h"

/* Fills the states of all threads; track: beside a->threads, by_index: thread index -> rank + 1 of it.
 * False: no memory. */
bool isc_thread_states_fill(isc_build *b, const isc_track *track, const isc_hashmap *by_index);

#endif
