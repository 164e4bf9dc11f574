/*
 * frame.h - one frame of a sampled stack, whatever it is of.
 *
 * A stack is the id of its newest frame; every definition that is a frame names
 * the frame that called it.  Texts are borrowed until the trace is closed.
 */
#ifndef ISC_TRACE_FRAME_H
#define ISC_TRACE_FRAME_H

#include <stdbool.h>
#include <stdint.h>

#include "base/text.h"
#include "trace/reader.h"

enum isc_frame_kind {
	ISC_FRAME_UNKNOWN = 0, /* a definition that this build does not know: "?" */
	ISC_FRAME_PYTHON = 1,
	ISC_FRAME_NATIVE = 2
};

typedef struct isc_frame {
	uint32_t parent; /* id of its caller's; 0: this is the root */
	uint8_t kind;	 /* enum isc_frame_kind */
	uint32_t code;	 /* of Python: its definition, 0: "?" */
	uint32_t lines;	 /* of Python: the line table, and where in it */
	uint32_t offset;
	uint32_t first_line; /* of the function; 0: not known */
	uint32_t line;	     /* of native code; that of Python is asked for apart, for it costs a search */
	isc_text name;	     /* "?" when not known */
	isc_text file;	     /* of the source; empty: not known */
	isc_text module;     /* of native code: the program or library; empty: not known */
	bool stand_in;	     /* no frame of the program: a word for frames, or a whole stack, that are not known */
} isc_frame;

/* False: there is no such definition.  Also of stacks that no definition stands for (trace/sample.h).  A parent is always lower than its child:
 * whoever goes up comes to an end. */
bool isc_trace_frame(const isc_trace *tr, uint32_t process, uint32_t id, isc_frame *out);

/* Fills in name, file and first line of a code object; false: it is none, nothing changes. */
bool isc_trace_code(const isc_trace *tr, uint32_t process, uint32_t code, isc_frame *out);

/* The line that a frame stood on, or 0; adds the bytes that were searched for it. */
uint32_t isc_trace_frame_line(const isc_trace *tr, uint32_t process, const isc_frame *frame, uint64_t *searched);

#endif
