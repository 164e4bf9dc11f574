/*
 * frames.h - every different function, or line of one, gets a number from 0: what
 * formats with a table of frames want.
 */
#ifndef ISC_EXPORT_FRAMES_H
#define ISC_EXPORT_FRAMES_H

#include "base/hashmap.h"
#include "export/format.h"

typedef struct isc_export_frame {
	isc_text name, file, module;
	uint32_t line; /* as it ran, or of the function; 0: not known */
	uint32_t first_line;
	bool native;
} isc_export_frame;

typedef struct isc_frames {
	isc_trace *trace;
	const isc_export_out *out; /* of stacks without a trace */
	isc_export_frame *frame;
	size_t count, room;
	isc_hashmap by_id;	/* what stands for it in the trace -> number + 1 */
	isc_hashmap by_content; /* hash -> number + 1 of the newest of it */
	size_t *next;		/* of the same hash: number + 1 */
	bool by_line;		/* lines of one function differ */
	bool failed;
} isc_frames;

/* A zeroed struct with a trace, or out, is empty. */
void isc_frames_fini(isc_frames *f);

/* The number of a slice's function; of a frame of a stack, and *parent its caller's.  SIZE_MAX: no memory,
 * or there is no such frame. */
size_t isc_frames_of_slice(isc_frames *f, const isc_slice *s);
size_t isc_frames_of_stack(isc_frames *f, uint32_t process, uint32_t id, uint32_t *parent);

/* Numbers of a whole stack, newest first; how many. */
size_t isc_frames_stack(isc_frames *f, uint32_t process, uint32_t id, size_t *numbers, size_t most);

#endif
