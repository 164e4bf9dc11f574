/*
 * trace.h - the events of a recorded trace, for C and C++ programs: link with libinferscope.
 *
 *	static int each(void *self, const inferscope_event *event)
 *	{
 *		printf("%s %s %llu ns\n", event->type, event->name,
 *		       (unsigned long long)(event->end_ns - event->start_ns));
 *		return 0;
 *	}
 *	...
 *	inferscope_trace_read("inferscope.isc", NULL, each, NULL, &damaged, &error);
 *
 * The file is read once, in bounded memory.  It is not trusted, and neither are the
 * names in it: they are the program's, so escape them for where you put them.  A file
 * cut short by a crash, or still being written, gives what it holds.
 */
#ifndef INFERSCOPE_TRACE_H
#define INFERSCOPE_TRACE_H

#include <stdint.h>

#include "inferscope/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What happened.  Texts are borrowed until the function that got them returns. */
typedef struct inferscope_event {
	uint32_t size; /* of this struct: members are only ever added at the end */
	const char
		*type; /* "cpu_call", "scope", "instant", "counter", "cpu_sample", "gpu_kernel", ...: see docs/ICD.md */
	const char *name; /* up to its first NUL byte */
	const char *file; /* NULL: not known */
	uint32_t line;	  /* 0: not known */
	uint32_t process_id;
	uint32_t thread_id;
	int32_t cpu_id;	   /* -1: not known */
	int64_t device_id; /* of work of a GPU; else -1 */
	uint64_t start_ns; /* CLOCK_MONOTONIC; of a moment both are the same */
	uint64_t end_ns;
	uint64_t bytes; /* of copies and of memory; else 0 */
	double value;	/* of a counter; of a sample the CPU time in ns that it stands for; else 0 */
} inferscope_event;

/* 0: go on; anything else ends the reading, which is no error. */
typedef int (*inferscope_event_fn)(void *self, const inferscope_event *event);

/* 0 in a member means all of it; NULL for the struct too. */
typedef struct inferscope_read_options {
	uint32_t size;	   /* sizeof(inferscope_read_options) */
	const char *scope; /* only while a scope of this name was open */
	double from_us;	   /* since the start of the session */
	double to_us;
} inferscope_read_options;

/* Events of one thread come in the order in which they ended; threads are not merged.  *damaged (which may be
 * NULL) is 1 when a part of the file could not be read. */
ISC_API isc_status inferscope_trace_read(const char *path, const inferscope_read_options *options,
					 inferscope_event_fn each, void *self, int *damaged, isc_error *err);

#ifdef __cplusplus
}
#endif
#endif
