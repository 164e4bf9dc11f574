/*
 * dump.h - a trace as text, one fact a line.  docs/dump.md has the lines.
 *
 * Names are escaped: nothing in a trace reaches a terminal as a control.
 */
#ifndef ISC_TRACE_DUMP_DUMP_H
#define ISC_TRACE_DUMP_DUMP_H

#include <stdbool.h>
#include <stdio.h>

#include "base/status.h"
#include "trace/reader.h"

typedef struct isc_dump_options {
	double from_s; /* of events and switches, from the start of the session */
	double to_s;   /* 0: the end */
	bool definitions;
} isc_dump_options;

/* False: writing to the file failed. */
bool isc_dump_write(isc_trace *tr, const isc_dump_options *options, FILE *out, isc_error *err);

#endif
