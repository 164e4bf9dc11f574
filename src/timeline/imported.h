/*
 * imported.h - the files of other tools for a listener, from the timeline that they are read into.
 */
#ifndef ISC_TIMELINE_IMPORTED_H
#define ISC_TIMELINE_IMPORTED_H

#include "timeline/cut.h"
#include "timeline/listener.h"
#include "timeline/timeline.h"

/* Adds files of other tools to a timeline. */
typedef isc_status (*isc_imported_stream_fill_fn)(void *self, isc_timeline *timeline, isc_error *err);

typedef struct isc_imported_stream isc_imported_stream;

isc_status isc_imported_stream_new(const isc_listener_class *class, isc_listener_counts *counts,
				   isc_imported_stream **out, isc_error *err);
void isc_imported_stream_free(isc_imported_stream *i); /* NULL is fine */

/* Spans of threads, scopes, marks, counters, and work of GPUs with the calls that asked for it, as they come.
 * Once; ISC_ERR_NOMEM, what filling said, or what after() returned. */
isc_status isc_imported_stream_run(isc_imported_stream *i, isc_listener *self, isc_imported_stream_fill_fn fill,
				   void *fill_self, const isc_cut_options *part, isc_error *err);

/* Samples after that: stacks have no moments in a timeline, so each is one with its whole time.  *folded: how many
 * samples had stacks that were too many to be told apart. */
isc_status isc_imported_stream_stacks(isc_imported_stream *i, uint64_t *folded);

/* A frame of such a stack; self is the isc_imported_stream. */
bool isc_imported_stream_frame(void *self, uint32_t id, isc_frame *out);

#endif
