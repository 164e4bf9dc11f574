/*
 * births.h - threads that the program makes, told of when they begin.
 *
 * Without the agent nobody tells the sampler of a new thread, and it is found only
 * when a known one has used CPU for a while: not while that waits for the new one.
 * So the slots through which loaded modules call pthread_create() are pointed at
 * ours, which calls the real one.  They stay so: it costs one call more.
 */
#ifndef ISC_PROFILER_BIRTHS_H
#define ISC_PROFILER_BIRTHS_H

/* Of modules that are loaded now; again for those that came later.  How many slots changed. */
int isc_births_watch(void);

#endif
