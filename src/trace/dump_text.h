/*
 * dump_text.h - pieces of the lines of a dump.
 */
#ifndef ISC_TRACE_DUMP_TEXT_H
#define ISC_TRACE_DUMP_TEXT_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

/* In quotes; quotes and backslashes inside are escaped, so that a line can be taken apart again. */
void isc_dump_quoted(isc_buffer *line, const char *text, size_t len);

/* The words for enum isc_sample_flag, each behind a blank. */
void isc_dump_sample_flags(isc_buffer *line, uint32_t flags);

/* "path" bias 0x... build ...; data: an isc_def_module and what follows it. */
void isc_dump_module(isc_buffer *line, const void *data, uint32_t len);

#endif
