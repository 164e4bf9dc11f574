/*
 * profile.h - samples of this process, counted inside it: what the profiler on its own has.
 *
 * Handlers of all threads count into one mapping, without waiting for each other
 * and without allocating.  Entries are only ever added, so it can be read at any
 * moment; the next start empties it.
 *
 * A stack is a node of a prefix tree: a frame and the node of who called it.  The
 * id of a node or a frame is its place in its table plus one.
 */
#ifndef ISC_RUNTIME_PROFILE_H
#define ISC_RUNTIME_PROFILE_H

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/record.h"
#include "inferscope/status.h"

#define ISC_PROFILE_FRAMES_MAX 128u   /* of a stack; of deeper ones the newest are kept */
#define ISC_PROFILE_STACKS_MAX 10000u /* then "(other)" */

/* Table sizes, powers of two; together about 4 MB, touched as they fill. */
#define ISC_PROFILE_STACKS 16384u /* also one "(other)" for each of many threads */
#define ISC_PROFILE_NODES 131072u
#define ISC_PROFILE_FRAMES 16384u
#define ISC_PROFILE_PLACES 32768u
#define ISC_PROFILE_TEXTS 8192u
#define ISC_PROFILE_PATHS 16384u
#define ISC_PROFILE_TEXT_BYTES (1u << 20)

/* Nodes that are none. */
#define ISC_PROFILE_OTHER 0xfffffffeu	/* there was no room for the stack */
#define ISC_PROFILE_UNKNOWN 0xffffffffu /* it could not be read, or the thread was gone */
#define ISC_PROFILE_CUT 0xffffffffu	/* a frame: the ones that called it were left out */

enum isc_profile_frame_kind { ISC_PROFILE_PYTHON = 1, ISC_PROFILE_NATIVE = 2 };

typedef struct isc_profile_frame {
	_Atomic uint64_t key;
	uint64_t address; /* native: in the file, or with no file in memory */
	uint32_t text;	  /* an isc_def_code or isc_def_module; 0: none */
	uint32_t line;	  /* Python */
	uint32_t flags;	  /* native: enum isc_native_place */
	uint16_t kind;
	_Atomic uint16_t ready; /* 0: claimed, 1: being filled, 2: all of it is there */
} isc_profile_frame;
_Static_assert(sizeof(isc_profile_frame) == 32, "frame of a profile");

typedef struct isc_profile_stack {
	_Atomic uint64_t key; /* node:32 | thread:32 */
	_Atomic uint64_t ns;  /* CPU time that its samples stand for */
	_Atomic uint64_t counted;
	_Atomic int64_t memory; /* bytes */
} isc_profile_stack;

typedef struct isc_profile_entry {
	_Atomic uint64_t key;
	_Atomic uint64_t value;
} isc_profile_entry;

typedef struct isc_profile {
	_Atomic uint32_t running;
	uint32_t pid;	 /* whose samples these are: a fork child has its parent's until it starts its own */
	uint32_t shared; /* 1: the steps are those of a session that records this process */
	uint32_t max_frames;
	uint32_t interval_ns;
	uint32_t native;	      /* enum isc_profile_native */
	uint64_t start_ns, stop_ns;   /* CLOCK_MONOTONIC */
	_Atomic int32_t count_error;  /* errno: instructions are not counted; 0: they are */
	int32_t memory_error;	      /* errno: memory is not known */
	uint32_t counter;	      /* enum isc_profile_counter */
	_Atomic uint32_t refused;     /* threads that got no timer */
	_Atomic uint64_t samples;     /* signals that were answered */
	_Atomic uint64_t total_ns;    /* CPU time that they stand for */
	_Atomic uint64_t other_ns;    /* of it: for want of room */
	_Atomic uint64_t unknown_ns;  /* of it: no stack could be read */
	_Atomic uint64_t unplaced_ns; /* of it: not even the thread has an entry */
	_Atomic uint64_t spent_ns;    /* CPU time in handlers */
	_Atomic uint64_t rss;	      /* bytes, at the last sample */
	_Atomic uint32_t stacks, nodes, frames, places, texts, paths, text_used;
	_Atomic uint32_t taken; /* 1: the program has put another handler in the place of ours */
	_Alignas(64) isc_profile_stack stack[ISC_PROFILE_STACKS];
	_Atomic uint64_t node[ISC_PROFILE_NODES]; /* parent:32 | frame:32 */
	isc_profile_frame frame[ISC_PROFILE_FRAMES];
	isc_profile_entry place[ISC_PROFILE_PLACES];  /* an instruction of a code object to a frame */
	isc_profile_entry path[ISC_PROFILE_PATHS];    /* all instructions of a stack to its node */
	isc_profile_entry text_at[ISC_PROFILE_TEXTS]; /* a code object or module to its text */
	char text[ISC_PROFILE_TEXT_BYTES];
} isc_profile;
_Static_assert(sizeof(isc_profile) < 9u << 19, "a profile takes about 4 MB");

enum isc_profile_native { ISC_PROFILE_NATIVE_ALL = 0, ISC_PROFILE_NATIVE_LEAF = 1, ISC_PROFILE_NATIVE_OFF = 2 };

enum isc_profile_counter {
	ISC_PROFILE_INSTRUCTIONS = 0,
	ISC_PROFILE_NO_COUNTER = 1,
	ISC_PROFILE_TASK_CLOCK = 2 /* nanoseconds: there where the hardware counts nothing */
};

typedef struct isc_profile_options {
	uint32_t interval_ns;
	uint32_t max_frames;
	uint32_t native;
	uint32_t counter;
} isc_profile_options;

/* Empties the profile and begins; 0 or an errno.  Already running: 0, and nothing
 * changes.  Neither this nor the end is signal-safe, nor for two threads at once. */
ISC_API int isc_rt_profile_start(const isc_profile_options *options);

/* No more samples when it returns; 0 or an errno.  Not running: 0. */
ISC_API int isc_rt_profile_stop(void);

/* In a fork child: it does not go on. */
ISC_API void isc_rt_profile_forked(void);

/* NULL: there has never been one.  Stays where it is. */
ISC_API const isc_profile *isc_rt_profile(void);

/* Do calls of pthread_create() come to us anyway? */
ISC_API bool isc_rt_profile_hooked(void);

/* As pthread_create(), and the thread is sampled from its beginning to its end. */
ISC_API int isc_rt_profile_thread(pthread_t *__restrict thread, const pthread_attr_t *__restrict attr,
				  void *(*start)(void *), void *__restrict arg);

#endif
