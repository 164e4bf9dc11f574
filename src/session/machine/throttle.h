/*
 * throttle.h - for how long the control group of a program had used up its share of
 * CPU time, from the counters of the kernel.
 *
 * A group and all groups around it may have a limit, and each counts for itself.  The
 * kernel adds the time up over all CPUs, so what is taken of it between two looks is
 * at most the time between them: for one thread it is an estimate.
 */
#ifndef ISC_SESSION_MACHINE_THROTTLE_H
#define ISC_SESSION_MACHINE_THROTTLE_H

#include <stdbool.h>
#include <stdint.h>

#include "base/status.h"

#define ISC_THROTTLE_GROUPS 16u /* a group and those around it */

typedef struct isc_throttle {
	int fd[ISC_THROTTLE_GROUPS]; /* of each cpu.stat */
	uint32_t count;
	uint64_t looked_ns;
	uint64_t counted_us, counted_times; /* by the kernel, at the last look */
	uint64_t us;			    /* throttled since the first look, and how often */
	uint64_t times;
} isc_throttle;

/* proc: the folder of a process under /proc.  ISC_ERR_UNSUPPORTED: it is in no group whose
 * counters can be read. */
isc_status isc_throttle_open(isc_throttle *t, const char *proc, uint64_t now_ns, isc_error *err);

/* As often as one likes: tens of microseconds. */
void isc_throttle_look(isc_throttle *t, uint64_t now_ns);

void isc_throttle_close(isc_throttle *t); /* also of zeros */

#endif
