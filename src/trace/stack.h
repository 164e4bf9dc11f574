/*
 * stack.h - the frames of a sampled stack.
 */
#ifndef ISC_TRACE_STACK_H
#define ISC_TRACE_STACK_H

#include <stdint.h>

#include "trace/reader.h"

typedef struct isc_stack_frame {
	uint32_t code; /* definition; 0: "?" */
	uint32_t line; /* 0: not known */
} isc_stack_frame;

/*
 * Fills frames, root first, and returns how many there are; 0 when the stack is not
 * known.  Of one that is deeper than max, which ISC_STACK_FRAMES_MAX never is in a
 * file of ours, the root side is left out.
 */
int isc_trace_stack(const isc_trace *tr, uint32_t process, uint32_t id, isc_stack_frame *frames, int max);

#endif
