/*
 * opened.h - the inside of an open trace.  Internal to trace/.
 */
#ifndef ISC_TRACE_OPENED_H
#define ISC_TRACE_OPENED_H

#include "trace/file/columns.h"
#include "trace/definitions.h"
#include "trace/kin.h"
#include "trace/reader.h"
#include "trace/file/chunk_source.h"
#include "trace/session_state.h"
#include "trace/file/table.h"
#include "trace/file/timebase.h"
#include "trace/totals/totals_lane.h"

/* The newest whole checkpoint of a table. */
typedef struct isc_checkpoint {
	bool found;
	size_t first, last; /* its parts lie between these in the table */
	uint64_t id;
	isc_totals_cover cover;
} isc_checkpoint;

typedef struct isc_event_cursor {
	size_t next;		/* in the table */
	isc_trace_wants *wants; /* NULL: everything is wanted */
	void *wants_self;
	isc_kinds kinds;	    /* that are wanted of the chunk in columns */
	bool wanted[UINT8_MAX + 1]; /* the same by kind */
	uint64_t passed;	    /* events of the chunks before it */
	isc_chunk_source source;
	isc_columns columns;
	uint32_t at; /* in the columns */
	size_t extra;
	size_t time_hint;
} isc_event_cursor;

typedef struct isc_switch_cursor {
	size_t next;
	isc_chunk_source source;
	isc_trace_switch *switches;
	size_t room;
	uint32_t at, count;
} isc_switch_cursor;

struct isc_trace {
	int fd; /* owned */
	isc_file_header header;
	isc_table table;
	isc_checkpoint checkpoint;
	isc_trace_stats stats;
	isc_session_state state;
	isc_definitions definitions;
	isc_kin kin; /* of the first kin_count of them */
	size_t kin_count;
	isc_timebase timebase;
	isc_trace_snapshot *snapshots;
	size_t snapshot_count;
	isc_gap_row *raw_gaps; /* as they are in the file */
	size_t raw_gap_count, raw_gap_room;
	isc_trace_gap *gaps;
	size_t gap_count;
	isc_trace_end end;
	bool ended;
	uint8_t *seen_bad; /* one bit a chunk: counted as damaged already */
	isc_event_cursor events;
	isc_switch_cursor switches;
};

/* As isc_trace_open() on a descriptor, which is duplicated. */
isc_status isc_trace_open_fd(int fd, const char *name, isc_trace **out, isc_error *err);

/* The newest whole checkpoint below `before` in a sorted table.  Its first part is read. */
int isc_checkpoint_find(const isc_table *table, size_t before, isc_chunk_source *source, isc_checkpoint *out);

/* Are chunks missing that no checkpoint covers? */
bool isc_table_has_holes(const isc_table *table, const isc_checkpoint *checkpoint);

/* Gaps that were loaded get their times and their order.  ISC_ERR_NOMEM. */
isc_status isc_trace_settle_gaps(isc_trace *tr);

void isc_trace_note_bad(isc_trace *tr, size_t chunk, int result);

/* A chunk of events was opened for the first time, and this is in it. */
void isc_trace_found(isc_trace *tr, size_t chunk, const isc_contents *found);

/* The snapshots of the table, once it is sorted.  ISC_ERR_NOMEM. */
isc_status isc_trace_find_snapshots(isc_trace *tr, isc_chunk_source *source);

/* Each part of one, in order.  An enum isc_chunk_source_result, also what part() gives. */
typedef int isc_snapshot_part(void *self, const uint8_t *raw, size_t len);
int isc_trace_snapshot_parts(isc_trace *tr, const isc_trace_snapshot *s, isc_chunk_source *source,
			     isc_snapshot_part *part, void *self);

/* ISC_SOURCE_BAD: this checkpoint cannot be used. */
int isc_checkpoint_load(isc_totals *t, const isc_table *table, const isc_checkpoint *cp, isc_chunk_source *source);

/* Feeds a decoded chunk. */
bool isc_totals_feed_columns(isc_totals *t, const isc_chunk_header *h, const isc_columns *c);

#endif
