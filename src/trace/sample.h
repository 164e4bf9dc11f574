/*
 * sample.h - what a sample tells beside its stack.
 */
#ifndef ISC_TRACE_SAMPLE_H
#define ISC_TRACE_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/record.h"

/* What stands behind the body of a sample; false: nothing does. */
static inline bool isc_trace_sample_counts(const void *extra, uint32_t extra_len, isc_sample_counts *out)
{
	if (extra_len < sizeof(isc_sample) + sizeof(*out))
		return false;
	memcpy(out, (const char *)extra + sizeof(isc_sample), sizeof(*out));
	return true;
}

#define ISC_SAMPLE_TICKS_NS 20000000u

/*
 * CPU time of a sample in the kernel, for page faults: all but what it had in system calls.  Nobody else goes there.
 * Kernels that count by ticks say of each whether it was there, others how long.  Ticks and steps have not the same
 * length: a sample may have some more of it than it stands for, and others less, which evens out in sums.
 */
static inline uint64_t isc_trace_sample_fault_ns(const isc_sample *s, const isc_sample_counts *c, uint32_t steps)
{
	uint64_t most = (uint64_t)steps * s->period_ns + ISC_SAMPLE_TICKS_NS, kernel = (uint64_t)c->kernel_us * 1000;

	if (c->faults == 0 || (s->flags & ISC_SAMPLE_SYSCALL) != 0)
		return 0;
	return kernel < most ? kernel : most;
}

#endif
