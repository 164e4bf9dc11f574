/*
 * profiler.h - the CPU profiler on its own, for C and C++ programs: link with libinferscope.
 *
 *	profiler_start();
 *	work();
 *	profiler_stop();
 *	profiler_write_json("work.json");
 *
 * Every thread is interrupted at even steps of its own CPU time, and its stack is
 * counted inside the process: no other program, no file, no thread of ours.  It
 * may be started and stopped any number of times.  Each start forgets the profile
 * before it; until then that can be written, as often as you like, also while it
 * runs.  A fork child does not go on, and may start its own.
 *
 * All functions may be called by any thread; none of them in a signal handler.
 */
#ifndef INFERSCOPE_PROFILER_H
#define INFERSCOPE_PROFILER_H

#include <stdint.h>

#include "inferscope/status.h"

#ifdef __cplusplus
extern "C" {
#endif

enum profiler_native {
	PROFILER_NATIVE_ALL = 0,  /* all native frames, in order with those of Python */
	PROFILER_NATIVE_LEAF = 1, /* the newest frame alone */
	PROFILER_NATIVE_OFF = 2	  /* Python frames alone */
};

enum profiler_counter {
	PROFILER_COUNT_INSTRUCTIONS = 0, /* where the hardware counts them */
	PROFILER_COUNT_NOTHING = 1,
	PROFILER_COUNT_TASK_CLOCK = 2 /* nanoseconds of perf's clock instead: there where no hardware counts */
};

/* 0 in a member means what profiler_start() does. */
typedef struct profiler_options {
	uint32_t size;	      /* sizeof(profiler_options): members are only ever added at the end */
	uint32_t interval_us; /* 1000; 100 to 1000000 */
	uint32_t max_frames;  /* 128; 2 to 128.  Of deeper stacks the newest frames are kept */
	uint32_t native;      /* enum profiler_native */
	uint32_t counter;     /* enum profiler_counter */
} profiler_options;

typedef struct profiler_state {
	uint32_t size;
	int running;
	int shared;		  /* 1: a session records this process, and its steps are used */
	uint32_t interval_us;	  /* of a sample */
	uint64_t elapsed_us;	  /* since the start, or from start to stop */
	uint64_t samples;	  /* steps of CPU time that were counted */
	uint64_t signals;	  /* interruptions that it took: one may stand for several steps */
	uint32_t stacks;	  /* unique ones */
	uint32_t refused_threads; /* threads that could not be sampled */
	uint64_t other;		  /* samples under "(other)": there was no room for their stacks */
	uint64_t unknown;	  /* samples under "(unknown)": no stack could be read */
	uint64_t spent_us;	  /* CPU time in handlers, all threads together */
	const char *instructions; /* NULL: they are counted; else why not */
	const char *memory;	  /* NULL: changes of memory are known; else why not */
	const char *note;	  /* NULL, or why samples may be missing */
} profiler_state;

/* 0, or -1 with errno set: EBUSY the program keeps SIGURG for itself, EPROTO another version of
 * InferScope is in this process, EINVAL options.  Already running: 0, and nothing changes. */
ISC_API int profiler_start(void);
ISC_API int profiler_start_opts(const profiler_options *options); /* NULL: as profiler_start() */

/* 0, or -1 with errno set.  Not running: 0. */
ISC_API int profiler_stop(void);

/* 0, or -1 with errno set: ENODATA nothing was profiled yet.  A file that is there is replaced; a
 * link, a pipe or a folder is not (EEXIST).  What cannot be written can be written elsewhere. */
ISC_API int profiler_write_json(const char *path);
ISC_API int profiler_write_summary(const char *path);

/* Never NULL.  Good until the next call by the same thread. */
ISC_API const profiler_state *profiler_get_state(void);

#ifdef __cplusplus
}
#endif
#endif
