/*
 * reader.h - read a recorded trace, one event at a time.
 *
 * A file cut short by a crash or a full disk, or still being written, reads up
 * to its last whole chunk; damage inside is stepped over.  isc_trace_stats says
 * what was missing instead of failing.
 *
 * The file is not trusted: every count and offset is checked against the bytes
 * that are there before anything is allocated or followed.  Names come back raw:
 * writers escape for their medium.
 */
#ifndef ISC_TRACE_READER_H
#define ISC_TRACE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"
#include "base/text.h"
#include "trace/format.h"
#include "trace/model.h"
#include "trace/totals/totals.h"

typedef struct isc_trace isc_trace; /* opaque; one thread at a time */

typedef struct isc_trace_stats {
	uint64_t file_bytes;
	uint64_t chunks;
	uint64_t damaged_chunks; /* hash, size or content did not hold */
	uint64_t lost_bytes;	 /* stepped over to find the next whole chunk */
	uint64_t first_damage;	 /* file offset of the first, when there is one */
	bool truncated;		 /* the file ends inside a chunk, or chunks at its end are missing */
	bool complete;		 /* it has its end chunk: the recorder finished */
	uint64_t retired_events; /* written over to stay under the limit */
	bool no_memory;		 /* the walk through events or switches ended early for want of it */
	uint64_t readings;	 /* how often events were read from the first on */
	uint64_t opened_chunks;	 /* chunks of events that this took; one that is read twice counts twice */
} isc_trace_stats;

/* On success *out is the caller's.  Fails only when nothing can be read: not a
 * trace, an unknown version, no file. */
isc_status isc_trace_open(const char *path, isc_trace **out, isc_error *err);
void isc_trace_close(isc_trace *tr); /* NULL is fine */

const isc_file_header *isc_trace_header(const isc_trace *tr);
const isc_trace_stats *isc_trace_stats_get(const isc_trace *tr);

/* Is there something in the file that cannot be read, or nothing that can? */
bool isc_trace_is_damaged(const isc_trace *tr);

/* The session's facts: one JSON object as text, or NULL. */
const char *isc_trace_meta(const isc_trace *tr, size_t *len);

/* Everything that was kept, by rank from 0; NULL past the end.  Borrowed. */
const isc_trace_process *isc_trace_process_at(const isc_trace *tr, size_t i);
const isc_trace_thread *isc_trace_thread_at(const isc_trace *tr, size_t i);
const isc_trace_account *isc_trace_account_at(const isc_trace *tr, size_t i);
const isc_trace_process *isc_trace_process_find(const isc_trace *tr, uint32_t process);
const isc_trace_thread *isc_trace_thread_find(const isc_trace *tr, uint32_t thread);
const isc_trace_end *isc_trace_end_get(const isc_trace *tr); /* NULL: no end chunk */
/* When a thread ended, or its process did; the other moment if neither is known. */
uint64_t isc_trace_thread_end_ns(const isc_trace *tr, uint32_t thread, uint64_t otherwise_ns);

/* A definition's bytes, with those of the parents that it was forked from.
 * NULL when unknown.  Borrowed until close. */
const void *isc_trace_define(const isc_trace *tr, uint32_t process, uint32_t id, uint16_t type, uint32_t *len);
/* The same of whatever type it is. */
const void *isc_trace_define_any(const isc_trace *tr, uint32_t process, uint32_t id, uint16_t *type, uint32_t *len);

/* Definitions by rank from 0, in the order of the file; NULL past the end.  Borrowed until close. */
const void *isc_trace_define_at(const isc_trace *tr, size_t i, uint32_t *process, uint32_t *id, uint16_t *type,
				uint32_t *len);

/* From now on this id means that, by copy.  It comes last in the order above; the file stays as it is. */
isc_status isc_trace_redefine(isc_trace *tr, uint32_t process, uint32_t id, uint16_t type, const void *data,
			      uint32_t len);

/* Text of a name; "?" when unknown. */
isc_text isc_trace_name(const isc_trace *tr, uint32_t process, uint32_t id);

/* Text of a task; of one that asyncio numbered it is written into made. */
#define ISC_TASK_TEXT 24u
isc_text isc_trace_task(const isc_trace *tr, uint32_t process, uint32_t task, char made[ISC_TASK_TEXT]);

/* Ticks (not shifted) to nanoseconds of CLOCK_MONOTONIC. */
uint64_t isc_trace_ticks_to_ns(const isc_trace *tr, uint64_t ticks);

/* Fills *ev and returns true, or returns false at the end.  File order: events
 * of one thread and stream come in order; threads are not merged. */
bool isc_trace_next(isc_trace *tr, isc_event *ev);

/* The same for switches, on its own cursor. */
bool isc_trace_next_switch(isc_trace *tr, isc_trace_switch *sw);

void isc_trace_rewind(isc_trace *tr); /* both cursors; all events are wanted */

/* Asked before a chunk of events is opened: the kinds that are wanted of this thread.  Only events of these are given,
 * with the numbers that they have among all; a chunk that has none of them stays shut. */
typedef isc_kinds isc_trace_wants(void *self, uint32_t thread);
void isc_trace_rewind_for(isc_trace *tr, isc_trace_wants *wants, void *self);

/* Events that lie behind the cursor, also those that nobody wanted. */
uint64_t isc_trace_passed(const isc_trace *tr);

/* What is in the chunks of the file, by rank from 0; false past the end.  The file says so, or somebody has looked. */
typedef struct isc_trace_chunk {
	isc_kinds kinds; /* 0: not known, nor are the times */
	uint32_t process, thread;
	uint32_t events; /* 0: it is no chunk of events, and nothing here is said of it */
	uint64_t from_ns, to_ns;
	uint8_t stream;
} isc_trace_chunk;
bool isc_trace_chunk_at(const isc_trace *tr, size_t i, isc_trace_chunk *out);

const isc_trace_period *isc_trace_period_at(const isc_trace *tr, size_t i); /* by time, then process */

/* Every unit that has a row, in the order of the file, until row() returns false; chunk by chunk, so memory is bounded.
 * Traces of older versions, and those without calls, scopes and tasks, have none. */
isc_status isc_trace_units_each(isc_trace *tr, bool (*row)(void *self, const isc_trace_unit *u), void *self,
				isc_error *err);

/* The same of every milestone: source is an enum isc_milestone. */
isc_status isc_trace_milestones_each(isc_trace *tr, bool (*row)(void *self, const isc_trace_unit *u), void *self,
				     isc_error *err);

/* Times in which calls of a process are missing, by process, then from_ns; NULL past the end.  They may overlap. */
const isc_trace_gap *isc_trace_gap_at(const isc_trace *tr, size_t i);

/* Snapshots by rank from 0, one of each boundary; NULL past the end, or when there is none.  Borrowed. */
typedef struct isc_trace_snapshot {
	uint32_t boundary; /* enum isc_boundary */
	uint64_t ticks;	   /* its moment */
	size_t chunk;	   /* its first part, for who reads them */
} isc_trace_snapshot;
const isc_trace_snapshot *isc_trace_snapshot_at(const isc_trace *tr, size_t i);
const isc_trace_snapshot *isc_trace_snapshot_of(const isc_trace *tr, uint32_t boundary);

/* Running totals over all events before a moment, retired ones included.  ISC_ERR_ABSENT: the file does not tell. */
isc_status isc_trace_totals_until(isc_trace *tr, uint64_t ticks, isc_totals **out, isc_error *err);

/* Running totals over all events ever stored, retired ones included. */
isc_status isc_trace_totals(isc_trace *tr, isc_totals **out, isc_error *err);

/* Totals that a caller feeds by himself learn from the trace what belongs together. */
void isc_trace_relate(isc_trace *tr, isc_totals *totals);

#endif
