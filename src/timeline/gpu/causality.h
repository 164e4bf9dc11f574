/*
 * causality.h - how far times of a device are off the host's, when its clock cannot
 * be read: no work begins before the call that asked for it, and none ends after
 * the call that waited for it.
 *
 * CUPTI turns times of devices into the host's by itself and does not say how well.
 * Every piece of work bounds its error from one side or both; the error changes
 * slowly, so neighbours bound each other too.  No line is assumed: a clock may
 * wander.  Where bounds contradict each other, it has jumped, and none reaches over.
 *
 * Times of the host are counted from one moment; what is kept does not grow.
 */
#ifndef ISC_TIMELINE_GPU_CAUSALITY_H
#define ISC_TIMELINE_GPU_CAUSALITY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct isc_causality isc_causality;

isc_causality *isc_causality_new(int64_t begin_ns); /* NULL: no memory */
void isc_causality_free(isc_causality *c);	    /* NULL is fine */

#define ISC_CAUSALITY_NEVER INT64_MAX

/* Work from start_ns to end_ns of the device was asked for at called_ns of the host, and waited for until waited_ns
 * or ISC_CAUSALITY_NEVER. */
void isc_causality_add(isc_causality *c, int64_t called_ns, int64_t waited_ns, int64_t start_ns, int64_t end_ns);

typedef struct isc_causality_stats {
	bool bounded;	  /* from both sides, everywhere */
	bool off;	  /* the times cannot be right as they are */
	int64_t error_ns; /* the worst bound, of times that are moved by isc_causality_off() */
	size_t jumps;
} isc_causality_stats;

/* Once, when all is added. */
const isc_causality_stats *isc_causality_fit(isc_causality *c);

/* What the device's clock is ahead of the host's at this time of the host; and by how much that may be wrong.
 * 0 as long as nothing speaks against it. */
int64_t isc_causality_off(const isc_causality *c, int64_t host_ns, int64_t *error_ns);

/* When work that was asked for then began, on the host.  The call says about when, and that says when; where the clock
 * jumps in between, the bound covers both. */
int64_t isc_causality_place(const isc_causality *c, int64_t called_ns, int64_t start_ns, int64_t *error_ns);

#endif
