/*
 * unit_log.h - units of the program's work, and the times in which calls of a
 * process are missing, as the writer finds them in the events that it counts.
 * Internal to trace/.
 *
 * The totals of a writer call the functions below; totals of readers have no
 * isc_unit_log, so rows are made once.  Times are in ticks, in rows of the file as
 * well: a reader turns them into ns, as it does with those of events.
 *
 * Rows take a part of the file.  When half of what is left of it is used up, only
 * every second row is kept from then on; isc_unit_log_counted() stays exact.
 */
#ifndef ISC_TRACE_UNITS_UNIT_LOG_H
#define ISC_TRACE_UNITS_UNIT_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/hashmap.h"
#include "base/status.h"
#include "trace/aging.h"
#include "trace/model.h"
#include "trace/records.h"

/* Of a file with a limit; without one: */
#define ISC_UNITS_PART 16u
#define ISC_UNITS_BYTES (32u << 20)
#define ISC_UNITS_CHUNK_ROWS 1024u /* a chunk fits into the smallest segment, however badly it packs */
#define ISC_UNITS_MOMENTS 4u
#define ISC_UNIT_CODES 8u /* that a process is asked to keep */

/* As isc_trace_unit and isc_trace_gap, in ticks. */
typedef struct isc_unit_row {
	uint32_t process, thread, source, name, parent;
	uint64_t begin, end;
} isc_unit_row;

typedef struct isc_gap_row {
	uint32_t process, kind;
	uint64_t from, to; /* UINT64_MAX: up to the end */
} isc_gap_row;

/* A task that has begun and not ended. */
typedef struct isc_unit_task {
	uint64_t begin; /* of its first step */
	uint64_t last;	/* of its last step */
	uint32_t thread;
	uint32_t code; /* of its coroutine; 0: not known yet */
} isc_unit_task;

/* A span that was left on another thread, and whose enter was not fed yet: threads are fed in runs. */
typedef struct isc_unit_span {
	uint64_t instance;
	uint64_t begin, end;
} isc_unit_span;

struct isc_totals;
/* A call of a coroutine that is suspended. */
typedef struct isc_unit_await {
	uint64_t begin; /* of its first step */
	uint64_t busy;	/* in its steps so far, without waits */
} isc_unit_await;

struct isc_unit_loops; /* unit_loops.c */

/* A gap that goes on. */
typedef struct isc_unit_gap {
	bool open;
	bool told; /* the file has it as one that goes on */
	uint64_t from;
	uint32_t flush; /* it began after this one */
} isc_unit_gap;

typedef struct isc_unit_process {
	uint32_t process;
	uint32_t heard;	   /* the flush before it was asked for last */
	uint64_t count;	   /* units, those without a row included */
	uint32_t imports;  /* milestones of that kind */
	isc_aging by_task; /* id and arg of its TASK record -> place */
	isc_unit_task *tasks;
	size_t task_room;
	isc_aging by_await; /* task and code of a coroutine that is suspended -> place */
	struct isc_unit_await *awaits;
	size_t await_room;
	isc_aging spans;	/* instances of outermost ones that are open -> place */
	uint32_t *span_threads; /* that they were entered on, by place - 1 */
	size_t span_room;
	isc_unit_span *early;	      /* a ring of those that were left first */
	uint32_t early_count;	      /* so many were put there */
	struct isc_unit_loops *loops; /* NULL: none yet */
	/* What is not recorded now, by kind (unit_gaps.c). */
	isc_hashmap off;  /* code -> when it was said last */
	uint32_t missing; /* threads whose stack is nearly used up */
	isc_unit_gap open[ISC_GAP_LOST];
	/* Gaps of a kind that wait for neighbours. */
	isc_gap_row joined[ISC_GAP_LOST + 1];
	uint32_t joined_count[ISC_GAP_LOST + 1];
} isc_unit_process;

/* A GOVERNED record.  They are looked at when those of all threads are there. */
typedef struct isc_unit_change {
	uint64_t ticks;
	uint32_t process, id;
	uint32_t arg;
	uint32_t flush; /* it came after this one */
	uint64_t order;
} isc_unit_change;

typedef struct isc_unit_log {
	isc_unit_process **processes;
	size_t process_count, process_room;
	isc_hashmap by_process;
	isc_hashmap counted;	/* processes that have ended and were released -> units */
	isc_unit_process *last; /* the one used last */
	isc_unit_row *rows;	/* not in the file yet */
	size_t row_count, row_room;
	isc_gap_row *gaps;
	size_t gap_count, gap_room;
	uint64_t gaps_told; /* written, or waiting here */
	uint64_t lost_from; /* from here on gaps were lost, so nothing is whole; UINT64_MAX: all are there */
	bool lost_told;	    /* the file says so */
	isc_unit_change *changes;
	size_t change_count, change_room;
	uint64_t change_order;
	uint32_t flushes;
	uint64_t now;			    /* ticks, when the clock was read last */
	uint64_t moment[ISC_UNITS_MOMENTS]; /* the same at the last flushes */
	uint64_t settled;		    /* all gaps that began before it are in the file */
	double ticks_per_ns;		    /* 0: not known yet */
	uint64_t budget, used;
	unsigned shift;	  /* one row of 1 << shift is kept */
	uint64_t refused; /* rows that the file had no room for */
	isc_buffer payload;
} isc_unit_log;

isc_unit_log *isc_unit_log_new(uint64_t limit_bytes);
void isc_unit_log_free(isc_unit_log *u); /* NULL is fine */

/* NULL: no memory.  Units are not worth an end of all recording: whoever gets NULL goes on without them. */
isc_unit_process *isc_unit_log_of(isc_unit_log *u, uint32_t process);
uint64_t isc_unit_log_counted(const isc_unit_log *u, uint32_t process);

/* One more unit. */
void isc_unit_log_add(isc_unit_log *u, isc_unit_process *p, const isc_unit_row *row);
/* A row for the file, whatever else is left out. */
void isc_unit_log_keep(isc_unit_log *u, const isc_unit_row *row);

/* ---- what totals tell ---- */

struct isc_totals_lane;
void isc_unit_log_scope(struct isc_totals *t, const struct isc_totals_lane *lane, uint32_t name, uint64_t begin,
			uint64_t end);
void isc_unit_log_span_enter(struct isc_totals *t, const struct isc_totals_lane *lane, const isc_record *r,
			     const isc_span *span);
void isc_unit_log_span_exit(struct isc_totals *t, const struct isc_totals_lane *lane, const isc_record *r,
			    const isc_span *span);

/* The call on top of a lane ends now, after isc_totals.unit_ticks or more. */
void isc_unit_log_called(struct isc_totals *t, const struct isc_totals_lane *lane, const isc_record *r);
/* The coroutine on top of a lane in a task is suspended, or ends after it was. */
void isc_unit_log_awaited(struct isc_totals *t, const struct isc_totals_lane *lane, const isc_record *r);
/* The same of a call that is a milestone, if it is one. */
void isc_unit_log_passed(struct isc_totals *t, isc_unit_process *p, const struct isc_totals_lane *lane,
			 const isc_record *r);
/* A LEAVING record. */
void isc_unit_log_leaving(struct isc_totals *t, const struct isc_totals_lane *lane, const isc_record *r);
/* A TASK record, and the first call of a step. */
void isc_unit_log_task(struct isc_totals *t, const struct isc_totals_lane *lane, const isc_record *r);
void isc_unit_log_task_called(struct isc_totals *t, const struct isc_totals_lane *lane, const isc_record *r);
/* A GOVERNED record. */
void isc_unit_log_governed(isc_unit_log *u, uint32_t process, const isc_record *r);
/* A MISSED record; since: when the first of those that go on was fed. */
void isc_unit_log_missed(isc_unit_log *u, uint32_t process, uint64_t since, const isc_record *r);

/* ---- what the writer tells ---- */

/* A gap with both its ends. */
void isc_unit_log_gap(isc_unit_log *u, uint32_t process, uint32_t kind, uint64_t from, uint64_t to);
/* A gap that begins here was lost itself. */
void isc_unit_log_lose_gap(isc_unit_log *u, uint64_t from);
/* From here on events may be missing up to the end. */
void isc_unit_log_lost_on(isc_unit_log *u, uint32_t process, uint64_t from);
/* What the governor said may be among what was lost: functions may be off from here on. */
void isc_unit_log_unsure(isc_unit_log *u, uint32_t process, uint64_t from);
/* All gaps that began before this moment are in the file, or waiting to be. */
uint64_t isc_unit_log_settled(const isc_unit_log *u);
/* After a resume: the gaps of the file.  Then what the totals say of now; since: before that the file has all gaps. */
void isc_unit_log_gaps_adopt(isc_unit_log *u, const isc_gap_row *gaps, size_t n);
void isc_unit_log_off_adopt(isc_unit_log *u, const struct isc_totals *t, uint64_t since);
/* How fast the clock is, by the first and the last pair: what a long call is follows from it. */
void isc_unit_log_clock(isc_unit_log *u, struct isc_totals *t, uint32_t source, isc_clock_pair first,
			isc_clock_pair last);
/* Everything was fed that is there.  last: nothing more will be. */
void isc_unit_log_flush(struct isc_totals *t, bool last);

/* Parts of it. */
void isc_unit_log_gaps_flush(isc_unit_log *u, bool last);
void isc_unit_log_gaps_put(isc_unit_log *u, isc_unit_process *p, bool last);
void isc_unit_log_loops_flush(struct isc_totals *t, isc_unit_process *p, bool last);
void isc_unit_log_loops_free(struct isc_unit_loops *loops);

/* ---- unit_store.c: the file ---- */

/* At most ISC_UNITS_CHUNK_ROWS; false: no memory. */
bool isc_unit_log_encode(isc_buffer *out, const isc_unit_row *rows, size_t n, uint64_t time, uint32_t tick_shift);
bool isc_gaps_encode(isc_buffer *out, const isc_gap_row *gaps, size_t n, uint64_t time, uint32_t tick_shift);

/* The rows of a chunk into a place that grows; its bytes are not trusted.  ISC_ERR_CORRUPT, ISC_ERR_NOMEM. */
isc_status isc_unit_log_decode(isc_unit_row **rows, size_t *room, const uint8_t *raw, size_t len, uint32_t n,
			       uint64_t time, uint32_t tick_shift);
isc_status isc_gaps_decode(isc_gap_row **gaps, size_t *count, size_t *room, const uint8_t *raw, size_t len, uint32_t n,
			   uint64_t time, uint32_t tick_shift);

struct isc_writer;
/* Processes that have ended are forgotten but for their counts, some time after their last event. */
void isc_unit_log_release(struct isc_writer *w);
/* Rows and gaps that wait go into the file; all: also those that would wait longer. */
isc_status isc_unit_log_write(struct isc_writer *w, bool all, isc_error *err);

#endif
