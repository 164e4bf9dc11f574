/*
 * export.h - a trace for the tools of others.
 *
 * The trace is read once, in bounded memory, and handed to a writer as slices,
 * marks and samples; what a format cannot hold is left out of it.  Names are
 * anybody's: every writer escapes for its format.
 */
#ifndef ISC_EXPORT_EXPORT_H
#define ISC_EXPORT_EXPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "timeline/imported.h"
#include "trace/reader.h"

enum isc_export_format {
	ISC_EXPORT_CHROME,
	ISC_EXPORT_PERFETTO,
	ISC_EXPORT_SPEEDSCOPE,
	ISC_EXPORT_COLLAPSED,
	ISC_EXPORT_PPROF,
	ISC_EXPORT_EVENTS,
	ISC_EXPORT_FORMATS
};

/* "chrome", ...; NULL past the end. */
const char *isc_export_name(int format);
/* What files of it usually end with: ".json", ... */
const char *isc_export_ending(int format);
/* ISC_ERR_INVALID names the nearest. */
isc_status isc_export_choose(const char *name, int *format, isc_error *err);

typedef struct isc_export_options {
	int format;	       /* enum isc_export_format */
	const char *scope;     /* only the time in which a scope of this name was open; NULL: all */
	double from_us, to_us; /* of the session; to_us 0: the end */
	void (*progress)(void *self, uint64_t done, uint64_t total); /* may be NULL */
	void *progress_self;
} isc_export_options;

/* What became of the trace. */
typedef struct isc_export_result {
	uint64_t bytes;
	uint64_t slices, marks, samples; /* written */
	uint64_t unmatched;		 /* ends whose beginning is not in the trace */
	uint64_t unfinished;		 /* slices that end where the trace, or what is known of it, does */
	uint64_t folded;		 /* samples whose stacks were too many to be told apart */
	bool damaged;			 /* a part of the trace could not be read */
} isc_export_result;

/* Takes what was written; anything but ISC_OK ends the export. */
typedef isc_status (*isc_export_write_fn)(void *self, const void *data, size_t len, isc_error *err);

/* ISC_ERR_INVALID: no such scope, or nothing in that time. */
isc_status isc_export_run(isc_trace *trace, const isc_export_options *options, isc_export_write_fn write, void *self,
			  isc_export_result *result, isc_error *err);

/* The same of what other tools recorded: spans of threads, scopes, marks, counters, and work of GPUs with the calls
 * that asked for it.  Stacks have no moments in a timeline. */
isc_status isc_export_imported(isc_imported_stream_fill_fn fill, void *fill_self, const isc_export_options *options,
			       isc_export_write_fn write, void *self, isc_export_result *result, isc_error *err);

/* Does a file that begins like this come from here? */
bool isc_export_is_ours(const char *head, size_t len);

#endif
