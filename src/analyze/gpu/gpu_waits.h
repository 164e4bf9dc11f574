/*
 * gpu_waits.h - how long threads waited for GPUs, and who asked most of them.
 *
 * A call that waits for a device waits in a lock, a system call or a loop of the
 * driver.  What the hooks told of that counts as waiting for the GPU, and no longer as
 * what it was.  Internal to analyze/.
 */
#ifndef ISC_ANALYZE_GPU_GPU_WAITS_H
#define ISC_ANALYZE_GPU_GPU_WAITS_H

#include "analyze/build.h"

/* Waits of a thread that may lie in the call that it is in. */
#define ISC_GPU_WAITS_RECENT 64u

typedef struct isc_gpu_waiting {
	uint32_t thread; /* index */
	uint64_t calls;	 /* that ask for work */
	double us;	 /* in calls that return when a device is done */
	double inside_us[ISC_STATES];
	struct {
		uint64_t from_ns, to_ns;
		uint8_t state;
	} recent[ISC_GPU_WAITS_RECENT]; /* a ring, while events are read */
	unsigned recent_count, recent_next;
} isc_gpu_waiting;

typedef struct isc_gpu_waits {
	isc_gpu_waiting *thread;
	size_t count, room;
} isc_gpu_waits;

/* Of the window; empty when the trace says nothing of GPUs.  Says in b->gpu_calls whether calls are told of
 * at all, and makes b->recorded.  False: no memory. */
bool isc_gpu_waits_find(isc_build *b, isc_gpu_waits *out);

/* A call that returned when a device was done. */
typedef struct isc_gpu_wait {
	uint64_t from_ns, to_ns;
	uint32_t thread; /* that made it */
	uint32_t stack;	 /* 0: not known */
} isc_gpu_wait;

/* Of all threads, in the order of the file.  Those after the first million are counted and not in it. */
typedef struct isc_gpu_wait_list {
	isc_gpu_wait *at;
	size_t count, room;
} isc_gpu_wait_list;

#endif
