/*
 * snapshot.h - the running sums at a moment, kept for ever.  Internal to trace/.
 *
 * The difference of two snapshots is the exact total of the time between them,
 * also when its events were written over.  A snapshot holds all events before
 * its moment and none from it on, thread by thread; calls and waits that are open
 * then are in it as open ones, so that a reader can end them there.
 *
 * Threads are fed in runs, so no state of the totals is ever the one at a moment.
 * An image of the totals is therefore taken now and then, and a snapshot is made
 * from the last image before its moment and the events in the file since.
 *
 * Those of fixed moments are written into segments that are never written over.
 * That of the last unit moves on, so it stays in memory and is written behind
 * every checkpoint.  What does not fit is left out: whoever needs it finds none.
 */
#ifndef ISC_TRACE_TOTALS_SNAPSHOT_H
#define ISC_TRACE_TOTALS_SNAPSHOT_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "trace/model.h"
#include "trace/file/plan.h"
#include "trace/file/chunk_source.h"
#include "trace/file/table.h"
#include "trace/totals/totals_lane.h"

struct isc_trace;
struct isc_writer;

/* Moments that wait for their snapshot: more than there are kinds of them at once. */
#define ISC_SNAPSHOT_PENDING 8u
/* That a reader takes note of; a writer makes far fewer. */
#define ISC_SNAPSHOTS_MAX 64u

/* Totals as bytes. */
typedef struct isc_totals_image {
	isc_buffer parts, ends; /* as isc_totals_write() makes them; no ends: there is none */
	uint32_t sequence;	/* chunks up to this are in it */
	uint64_t ticks;		/* of its last event */
} isc_totals_image;

typedef struct isc_snapshot {
	uint32_t boundary; /* enum isc_boundary */
	uint64_t ticks;
	uint64_t asked; /* number of the flush */
	bool made;	/* or tried */
	isc_totals_image image;
} isc_snapshot;

/* The writer's. */
typedef struct isc_snapshots {
	isc_snapshot pending[ISC_SNAPSHOT_PENDING];
	size_t pending_count;
	isc_totals_image older, newer; /* the last two images */
	isc_totals_image kept;	       /* at the last checkpoint: no event since is gone */
	isc_snapshot last;	       /* of the last unit, as far as it was made */
	isc_snapshot retained;	       /* made at the end */
	uint64_t flushes, imaged;      /* the last one after which an image was taken */
	uint64_t imaged_events;	       /* that were stored then */
	uint64_t kept_bytes;	       /* in segments that are never written over */
	uint32_t serial;	       /* of snapshots in the file */
	uint32_t gone;		       /* chunks up to this may have been written over */
	bool first_asked;	       /* of the first unit */
	bool finished;
} isc_snapshots;

void isc_snapshots_fini(isc_snapshots *s);

/* Everything given so far is in the file. */
void isc_snapshots_flushed(struct isc_writer *w);
/* Events up to now may go from here on: what needs them is made. */
void isc_snapshots_prepare(struct isc_writer *w);
/* A checkpoint is whole: what moves on is written behind it. */
void isc_snapshots_covered(struct isc_writer *w);
/* Nothing more comes. */
void isc_snapshots_finish(struct isc_writer *w);
/* What an earlier recorder left in the file. */
void isc_snapshots_adopt(struct isc_writer *w, struct isc_trace *tr);
/* Segments that the next checkpoint needs beside its own, and that definitions leave free. */
uint32_t isc_snapshots_reserve(const struct isc_writer *w);
uint32_t isc_snapshots_segments(const isc_plan *plan);

/* until.c.  Feeds events of the table's chunks above a sequence number, from a moment to before another.
 * An enum isc_chunk_source_result; damaged chunks are left out. */
int isc_totals_feed_between(isc_totals *t, const isc_table *table, uint32_t covered, uint64_t from_ticks,
			    uint64_t to_ticks, uint32_t tick_shift, isc_chunk_source *source);

#endif
