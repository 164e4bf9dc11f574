/*
 * import.h - traces of other tools into a timeline.
 *
 * What a file is, is found from its first bytes, never from its name: Chrome
 * JSON as torch.profiler (Kineto) writes it, InferScope event JSON, both also
 * as gzip, speedscope's files, collapsed stacks, and Nsight Systems SQLite.  A folder stands for the traces in it.
 *
 * Files are not trusted.  What is damaged is stepped over and counted; everything
 * before and behind is used.
 */
#ifndef ISC_IMPORT_IMPORT_H
#define ISC_IMPORT_IMPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "timeline/timeline.h"

enum isc_import_format {
	ISC_IMPORT_UNKNOWN,
	ISC_IMPORT_ISC, /* a trace of ours: not imported, but read */
	ISC_IMPORT_JSON,
	ISC_IMPORT_SQLITE,
	ISC_IMPORT_STACKS, /* collapsed */
	ISC_IMPORT_FOLDER,
	ISC_IMPORT_NSYS_REPORT /* what only nsys can read: refused with how to export it */
};

typedef struct isc_import_file {
	char *path;
	const char
		*format; /* "Kineto", "Chrome JSON", "event JSON", "Nsight Systems", "speedscope", "collapsed stacks" */
	uint64_t bytes;	 /* unpacked */
	uint64_t events; /* objects or rows that could be read */
	uint64_t unused; /* of these, of no kind that is used */
	uint64_t malformed;		   /* of these, without a time or a name */
	uint64_t unmatched;		   /* entered and not left, or the other way round */
	uint64_t arrows;		   /* flows from one event to another, both ends seen */
	uint64_t loose;			   /* ends of flows without the other */
	bool no_unit;			   /* samples are counts, and of what is not said */
	bool damaged;			   /* something could not be read */
	char lost[200];			   /* what, and where */
	bool chrome, dictionaries, kineto; /* seen */
} isc_import_file;

typedef struct isc_import {
	isc_import_file *files;
	size_t file_count, room;
	size_t skipped;						     /* files of a folder that are no traces */
	size_t failed;						     /* files that could not be read at all */
	char first_failed[256];					     /* why */
	void (*progress)(void *self, uint64_t done, uint64_t total); /* may be NULL; set by the caller */
	void *progress_self;
	uint64_t done_bytes, total_bytes;
} isc_import;

/* From the first bytes; ISC_OK with ISC_IMPORT_UNKNOWN when it is nothing that is known. */
isc_status isc_import_sniff(const char *path, enum isc_import_format *format, isc_error *err);

/*
 * Adds files and folders to the timeline.  One that cannot be read at all is
 * counted when others can be; when none can, its error is returned.
 */
isc_status isc_import_read(isc_import *import, char *const *paths, size_t count, isc_timeline *timeline,
			   isc_error *err);

/*
 * Nsight Systems' file of a run that we traced too, into its timeline as a part of source.  The trace began at
 * start_unix_ns (CLOCK_REALTIME); *placed: the file says when it did, so that both have one clock.
 */
isc_status isc_import_beside(isc_import *import, const char *path, uint64_t start_unix_ns, isc_timeline *timeline,
			     uint32_t source, bool *placed, isc_error *err);

/* One descriptor of JSON text, plain or gzip. */
isc_status isc_import_read_fd(isc_import *import, int fd, const char *label, isc_timeline *timeline, isc_error *err);

void isc_import_fini(isc_import *import);

#endif
