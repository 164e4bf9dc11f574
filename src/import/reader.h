/*
 * reader.h - what the readers of the formats share: the timeline that they fill,
 * and what they found.
 *
 *	import.c	which format a file has, files and folders
 *	chrome.c	Kineto and other Chrome JSON
 *	chrome_async.c	of it, what is no slice of a thread: spans with an id, arrows
 *	chrome_work.c	of it, the records of GPUs
 *	collapsed.c	collapsed stacks
 *	event_json.c	our own event dictionaries
 *	nsys.c		Nsight Systems SQLite
 *	speedscope.c	speedscope's own files
 *	stacks.c	functions and stacks, in the words of the timeline
 */
#ifndef ISC_IMPORT_READER_H
#define ISC_IMPORT_READER_H

#include <yyjson.h>

#include "base/buffer.h"
#include "base/hashmap.h"
#include "import/bytes.h"
#include "import/import.h"
#include "timeline/timeline.h"

/* A span that was entered and not left yet. */
typedef struct isc_open_span {
	int64_t start_ns;
	uint32_t thread, name;
	uint32_t function; /* name with its place; 0: the name is all */
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
	isc_hashmap top; /* thread, or key -> its newest open span, + 1 */
	isc_open_span *open;
	size_t open_count, open_room;
	uint32_t free;	    /* open spans that can be used again, + 1 */
	isc_hashmap arrows; /* id of a flow that has begun -> how often it did */
	isc_buffer piece;   /* a name that is put together */
	bool nameless;	    /* there was no memory for one */
	bool sampled;	    /* there are samples, and they stand for so much time: */
	int64_t sampled_ns;
	/* Of a file that goes with a trace of ours: when that began (CLOCK_REALTIME; 0: it is alone), what is
	 * added to times for it, and whether the file says when it began itself. */
	uint64_t start_unix_ns;
	int64_t shift_ns;
	bool placed;
} isc_reader;

/* A kind of event of Chrome JSON, by its category. */
enum isc_chrome_what {
	ISC_CHROME_OTHER,
	ISC_CHROME_WORK, /* of a GPU; its kind comes with it */
	ISC_CHROME_CALL,
	ISC_CHROME_OP,
	ISC_CHROME_SCOPE,
	ISC_CHROME_PYTHON,
	ISC_CHROME_SAMPLE,
	ISC_CHROME_SKIPPED
};

typedef struct isc_chrome_parts {
	char phase;
	const char *category;
	size_t category_len;
	yyjson_val *name, *pid, *tid, *ts, *dur, *args, *id;
	bool everywhere; /* of an instant: it is of no process */
} isc_chrome_parts;

void isc_reader_fini(isc_reader *r);

/* A text, or 0 when it is none. */
uint32_t isc_reader_name(isc_reader *r, yyjson_val *text);
/* An id that may be a number or a text; false: neither. */
bool isc_reader_id(yyjson_val *value, uint64_t *out);
/* A time in units of 10^shift nanoseconds. */
bool isc_reader_time(yyjson_val *value, unsigned shift, int64_t *out);
bool isc_reader_count(yyjson_val *value, uint64_t *out);
uint32_t isc_reader_thread(isc_reader *r, uint64_t pid, uint64_t tid);
/* A function, whose place may be behind its name: "name (path/file.py:12)". */
uint32_t isc_reader_function(isc_reader *r, const char *name, size_t len);
uint32_t isc_reader_placed(isc_reader *r, const char *file, size_t file_len, uint64_t line, const char *name,
			   size_t name_len);
/* Two texts as one, with something between them. */
uint32_t isc_reader_joined(isc_reader *r, yyjson_val *first, const char *between, yyjson_val *second);
/* The same as text: the name itself, or, at NULL, so many bytes at the end of r->piece. */
isc_text isc_reader_function_text(isc_reader *r, const char *name, size_t len);
/* Samples of one stack, the outermost function first. */
isc_status isc_reader_sample(isc_reader *r, const isc_text *names, size_t count, uint64_t samples, int64_t ns,
			     isc_error *err);
isc_status isc_reader_stack(isc_reader *r, const uint32_t *names, size_t count, uint64_t samples, int64_t ns,
			    isc_error *err);

/*
 * Entering and leaving, in order; leaving what was not entered is counted.  The key
 * is a thread, or ISC_READER_APART and whatever else tells rows of spans apart.
 */
#define ISC_READER_APART (1ull << 63)
isc_status isc_reader_enter(isc_reader *r, uint64_t key, const isc_open_span *span, isc_error *err);
isc_status isc_reader_leave(isc_reader *r, uint64_t key, uint32_t name, int64_t end_ns, isc_error *err);

/* One object of a list of events. */
isc_status isc_chrome_event(isc_reader *r, yyjson_val *event, isc_error *err);
isc_status isc_chrome_member(isc_reader *r, const char *key, yyjson_val *value, isc_error *err);
isc_status isc_event_dictionary(isc_reader *r, yyjson_val *event, isc_error *err);
uint32_t isc_chrome_domain(isc_reader *r, yyjson_val *args);
/* The name of a Python function with its place, as Kineto writes it. */
uint32_t isc_chrome_function(isc_reader *r, const isc_chrome_parts *e);
isc_status isc_chrome_sample(isc_reader *r, const isc_chrome_parts *e, isc_error *err);
/* A span with an id, ph b, e, n and their older forms; an arrow, ph s, t and f. */
isc_status isc_chrome_async(isc_reader *r, const isc_chrome_parts *e, isc_error *err);
isc_status isc_chrome_arrow(isc_reader *r, const isc_chrome_parts *e, isc_error *err);
isc_status isc_chrome_work(isc_reader *r, enum isc_gpu_kind kind, yyjson_val *name, uint64_t pid, int64_t start_ns,
			   int64_t end_ns, yyjson_val *args, isc_error *err);

/* From the first bytes; whole: there are no more. */
bool isc_collapsed_is(const char *head, size_t len, bool whole);
bool isc_speedscope_is(const char *head, size_t len);
isc_status isc_collapsed_read(isc_reader *r, isc_bytes *bytes, isc_error *err);
isc_status isc_speedscope_read(isc_reader *r, isc_bytes *bytes, isc_error *err);

/* A file by its path, or by a descriptor that has no name. */
isc_status isc_nsys_read(isc_reader *r, const char *path, isc_error *err);

#endif
