/*
 * reader.h - what the readers of the formats share: the timeline that they fill,
 * and what they found.
 *
 *	import.c	which format a file has, files and folders
 *	chrome.c	Kineto and other Chrome JSON
 *	chrome_work.c	of it, the records of GPUs
 *	event_json.c	our own event dictionaries
 *	nsys.c		Nsight Systems SQLite
 */
#ifndef ISC_IMPORT_READER_H
#define ISC_IMPORT_READER_H

#include <yyjson.h>

#include "base/hashmap.h"
#include "import/import.h"
#include "timeline/timeline.h"

/* A span that was entered and not left yet. */
typedef struct isc_open_span {
	int64_t start_ns;
	uint32_t thread, name;
	uint32_t kind;
	uint32_t below; /* the one entered before it on this thread, + 1; 0: none */
} isc_open_span;

typedef struct isc_reader {
	isc_timeline *timeline;
	isc_import_file *file;
	uint32_t source;
	uint32_t domain;
	/* Most events are of the thread of the one before. */
	uint64_t last_pid, last_tid;
	uint32_t last_thread;
	bool last_known;
	isc_hashmap top; /* thread -> its newest open span, + 1 */
	isc_open_span *open;
	size_t open_count, open_room;
	uint32_t free; /* open spans that can be used again, + 1 */
	/* Of a file that goes with a trace of ours: when that began (CLOCK_REALTIME; 0: it is alone), what is
	 * added to times for it, and whether the file says when it began itself. */
	uint64_t start_unix_ns;
	int64_t shift_ns;
	bool placed;
} isc_reader;

void isc_reader_fini(isc_reader *r);

/* A text, or 0 when it is none. */
uint32_t isc_reader_name(isc_reader *r, yyjson_val *text);
/* An id that may be a number or a text; false: neither. */
bool isc_reader_id(yyjson_val *value, uint64_t *out);
/* A time in units of 10^shift nanoseconds. */
bool isc_reader_time(yyjson_val *value, unsigned shift, int64_t *out);
bool isc_reader_count(yyjson_val *value, uint64_t *out);
uint32_t isc_reader_thread(isc_reader *r, uint64_t pid, uint64_t tid);

/* Entering and leaving, on one thread in order; leaving what was not entered is counted. */
isc_status isc_reader_enter(isc_reader *r, const isc_open_span *span, isc_error *err);
isc_status isc_reader_leave(isc_reader *r, uint32_t thread, uint32_t name, int64_t end_ns, isc_error *err);

/* One object of a list of events. */
isc_status isc_chrome_event(isc_reader *r, yyjson_val *event, isc_error *err);
isc_status isc_chrome_member(isc_reader *r, const char *key, yyjson_val *value, isc_error *err);
isc_status isc_event_dictionary(isc_reader *r, yyjson_val *event, isc_error *err);
isc_status isc_chrome_work(isc_reader *r, enum isc_gpu_kind kind, yyjson_val *name, uint64_t pid, int64_t start_ns,
			   int64_t end_ns, yyjson_val *args, isc_error *err);

/* A file by its path, or by a descriptor that has no name. */
isc_status isc_nsys_read(isc_reader *r, const char *path, isc_error *err);

#endif
