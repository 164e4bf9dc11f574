/*
 * sample.h - what a sample tells beside its stack.
 */
#ifndef ISC_TRACE_SAMPLE_H
#define ISC_TRACE_SAMPLE_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/record.h"

/*
 * Stacks of samples that no definition stands for.  Readers and totals put these in the place of the id, so that whoever
 * walks a stack meets a named frame (isc_trace_frame()).  Definitions never have ids that high: a process has room for
 * 64 MiB of them.
 */
#define ISC_STACK_LEAF_CUT (1u << 31) /* | id of the known root side: deeper frames were not recorded */
#define ISC_STACK_NONE (1u << 30)     /* alone: | enum isc_stack_none; with the above: the innermost was native */
#define ISC_STACK_TAGS (ISC_STACK_LEAF_CUT | ISC_STACK_NONE)

/* Why a sample has no stack. */
enum isc_stack_none {
	ISC_STACK_NONE_UNKNOWN = 1, /* nothing says why */
	ISC_STACK_NONE_TABLE,	    /* the table of stacks was full */
	ISC_STACK_NONE_FAULT,	    /* the walk met memory that it could not read */
	ISC_STACK_NONE_BLIND,	    /* Python frames cannot be read in this process */
	ISC_STACK_NONE_GONE,	    /* the thread ended before the signal came */
	ISC_STACK_NONE_PYTHON	    /* the thread has no Python, and no native frames were asked for or found */
};

/* False for 0 too. */
static inline bool isc_stack_is_none(uint32_t stack)
{
	return (stack & ISC_STACK_TAGS) == ISC_STACK_NONE;
}

static inline bool isc_stack_is_cut(uint32_t stack)
{
	return (stack & ISC_STACK_LEAF_CUT) != 0;
}

/* The stack of a sample as readers have it; one that is tagged already stays. */
static inline uint32_t isc_trace_sample_stack(uint32_t id, uint32_t flags)
{
	enum isc_stack_none why = flags & (ISC_SAMPLE_OTHER | ISC_SAMPLE_LEAF_CUT) ? ISC_STACK_NONE_TABLE
				  : flags & ISC_SAMPLE_FAULT			   ? ISC_STACK_NONE_FAULT
				  : flags & ISC_SAMPLE_BLIND			   ? ISC_STACK_NONE_BLIND
				  : flags & ISC_SAMPLE_GONE			   ? ISC_STACK_NONE_GONE
				  : flags & ISC_SAMPLE_NO_PYTHON		   ? ISC_STACK_NONE_PYTHON
										   : ISC_STACK_NONE_UNKNOWN;

	if (id == 0)
		return ISC_STACK_NONE | (uint32_t)why;
	if ((id & ISC_STACK_TAGS) != 0 || (flags & ISC_SAMPLE_LEAF_CUT) == 0)
		return id;
	return id | ISC_STACK_LEAF_CUT | (flags & ISC_SAMPLE_LEAF_NATIVE ? ISC_STACK_NONE : 0);
}

/* What stands behind the body of a sample; false: nothing does. */
static inline bool isc_trace_sample_counts(const void *extra, uint32_t extra_len, isc_sample_counts *out)
{
	if (extra_len < sizeof(isc_sample) + sizeof(*out))
		return false;
	memcpy(out, (const char *)extra + sizeof(isc_sample), sizeof(*out));
	return true;
}

/* The same of sums, as earlier files have them: one row for all samples without a stack, with the flags of any. */
static inline uint32_t isc_trace_total_stack(uint32_t id, uint32_t flags)
{
	uint32_t tagged = isc_trace_sample_stack(id, flags);

	return id != 0 || tagged == (ISC_STACK_NONE | ISC_STACK_NONE_UNKNOWN) ? id : tagged;
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
