/*
 * log.h - lines for the person who runs the command.
 *
 * Every line starts with "inferscope: " and reaches its sink in one piece, so
 * that it cannot be torn apart by what the program writes.  Names from outside
 * are data: control bytes, broken UTF-8 and marks that reorder text come out as
 * escapes.  Libraries never print; the command owns the sink.
 */
#ifndef ISC_BASE_LOG_H
#define ISC_BASE_LOG_H

#include <stddef.h>

#include "base/status.h"

enum isc_log_level { ISC_LOG_DEBUG = 0, ISC_LOG_INFO, ISC_LOG_WARN, ISC_LOG_ERROR, ISC_LOG_NOTHING };

/* A longer line is cut; one below PIPE_BUF is written whole to a pipe. */
#define ISC_LOG_LINE_MAX 2048

typedef struct isc_log {
	int level; /* lower ones are dropped */
	/* line ends with a newline; it is not NUL-terminated */
	void (*sink)(void *self, int level, const char *line, size_t len);
	void *self;
} isc_log;

void isc_log_write(const isc_log *log, int level, const char *format, ...) __attribute__((format(printf, 3, 4)));

/* "inferscope: WHAT: WHY; WHAT to do". */
void isc_log_error(const isc_log *log, int level, const isc_error *err);

/* A sink: self points to an int, the descriptor.  One write(2) per line. */
void isc_log_to_fd(void *self, int level, const char *line, size_t len);

#endif
