/*
 * sample_trace.h - a small trace with one of everything, the same bytes of
 * content every time, and helpers to make and read such files.
 */
#ifndef ISC_TESTS_SAMPLE_TRACE_H
#define ISC_TESTS_SAMPLE_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include "trace/reader.h"
#include "trace/writer.h"

/* An open, empty, already unlinked file; its path for isc_trace_open() in path[64]. */
int sample_file(char *path);

/* Writes the sample to fd, which is taken over.  scale: how many requests. */
isc_status sample_write(int fd, uint64_t limit_bytes, unsigned scale, bool ended);

/* Adds one thread's run of plain one-slot events; aborts on failure. */
void sample_scopes(isc_writer *w, uint32_t process, uint32_t thread, uint64_t first, uint32_t pairs, uint64_t ticks,
		   uint32_t id);

/* The whole dump as text, to be freed. */
char *sample_dump(const char *path, bool definitions);

/* Follows from the seed alone. */
uint64_t sample_draw(uint64_t *state);

#endif
