/*
 * dump_line.h - the line that a dump is writing.  Internal to trace/.
 */
#ifndef ISC_TRACE_DUMP_LINE_H
#define ISC_TRACE_DUMP_LINE_H

#include "base/buffer.h"
#include "trace/dump.h"
#include "trace/reader.h"

struct dump {
	isc_trace *trace;
	const isc_dump_options *options;
	isc_buffer line;
	FILE *out;
};

/* Ends the line. */
void isc_dump_finish(struct dump *d);

/* " stack" and its frames, root first. */
void isc_dump_stack(struct dump *d, uint32_t process, uint32_t id);

/* dump_waits.c: what a wait or a collection says, and the totals of them. */
void isc_dump_wait(struct dump *d, const isc_event *ev);
void isc_dump_waits(struct dump *d, const isc_totals *totals);

#endif
