/*
 * lanes.h - a run as pieces of time on rows, for a timeline that can be zoomed.
 *
 * Whatever the length of the trace, so many pieces are kept and no more: when
 * there is no room, pieces shorter than the grain that lie close together become
 * one, which knows how many it stands for, how much of its time they covered and
 * what took most of it; and the grain doubles.  A piece longer than the grain is
 * always there as it was.  Stretches that are asked for beforehand (the slowest
 * scopes) have a finer grain of their own, so they stay whole for longest.
 *
 * Pieces of a row come in order and do not overlap.
 */
#ifndef ISC_ANALYZE_PICTURE_LANES_H
#define ISC_ANALYZE_PICTURE_LANES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "analyze/analysis.h"
#include "analyze/names.h"

#define ISC_LANES_PIECES 64000u /* in all; a page of 1 MB holds them */
#define ISC_LANES_MOST 400u	/* lanes; threads beyond them are counted */
#define ISC_LANES_DEEPEST 48u	/* rows of calls of one thread; deeper ones are counted */
#define ISC_LANES_KEPT 16u	/* stretches with a finer grain */

#define ISC_LANES_TID (4ull << 40) /* keys of threads of a trace of ours: that, and the tid */
/* A state of rows: what it did there is not known from moment to moment. */
#define ISC_LANES_ON_CPU ISC_STATE_ON_CPU

enum isc_row_kind {
	ISC_ROW_SCOPE,
	ISC_ROW_RUN,  /* on a CPU, ready, waiting: name is enum isc_state */
	ISC_ROW_WAIT, /* what it waited for, over that: likewise */
	ISC_ROW_CALL,
	ISC_ROW_WORK,	/* of a GPU */
	ISC_ROW_COUNTER /* name is the number of the value in values */
};

enum isc_lane_kind { ISC_LANE_THREAD, ISC_LANE_STREAM, ISC_LANE_COUNTER };

typedef struct isc_piece_name {
	isc_text name, file;
	uint32_t line;
	uint8_t class; /* of GPU work: enum isc_gpu_class + 1; 0: none */
} isc_piece_name;

typedef struct isc_lane_piece {
	uint64_t start_ns, end_ns; /* of the session */
	uint64_t busy_ns;	   /* of it, covered; all of it when count is 1 */
	uint64_t top_ns;	   /* of that, by what has the name */
	uint64_t launch_ns;   /* of work: before start_ns the call that asked for it began; UINT64_MAX: not known */
	uint32_t launch_lane; /* of its thread */
	uint32_t name;	      /* in names, a state, or a value */
	uint32_t count;	      /* more than 1: so many are in it */
} isc_lane_piece;

typedef struct isc_lane_row {
	uint8_t kind; /* enum isc_row_kind */
	uint16_t depth;
	isc_lane_piece *piece;
	size_t count, room;
} isc_lane_row;

typedef struct isc_lane {
	uint8_t kind;	      /* enum isc_lane_kind */
	uint64_t pid, number; /* thread or stream; of a counter: none */
	uint32_t device;
	isc_text name; /* may be empty */
	isc_lane_row *rows;
	size_t row_count, row_room;
} isc_lane;

typedef struct isc_lanes {
	isc_arena *arena; /* names and lanes; not the pieces */
	isc_lane *lanes;
	size_t lane_count, lane_room;
	isc_hashmap lane_of; /* what it is of -> place + 1 */
	isc_names keys;
	isc_piece_name *names;
	size_t name_count, name_room;
	size_t most; /* pieces */
	size_t pieces;
	uint64_t grain_ns, kept_grain_ns;
	struct {
		uint64_t from_ns, to_ns;
	} kept[ISC_LANES_KEPT];
	size_t kept_count;
	uint64_t from_ns, to_ns; /* of all pieces */
	uint64_t events;	 /* that pieces were made from */
	uint64_t left_out;	 /* pieces for which there was no lane or row */
	double *values;		 /* of counters */
	size_t value_count, value_room;
	bool failed; /* no memory */
} isc_lanes;

isc_lanes *isc_lanes_new(isc_arena *arena, size_t most); /* NULL: no memory */
void isc_lanes_free(isc_lanes *l);			 /* NULL is fine */

/* This stretch stays fine. */
void isc_lanes_keep(isc_lanes *l, uint64_t from_ns, uint64_t to_ns);

/* The lane with this key, new when it was not there; NULL: there are too many, or no memory. */
isc_lane *isc_lanes_lane(isc_lanes *l, uint64_t key, const isc_lane *as);

/* Gives it a name, of which a copy is kept. */
void isc_lanes_call(isc_lanes *l, isc_lane *lane, isc_text name);

/* The number of a name. */
uint32_t isc_lanes_name(isc_lanes *l, const isc_piece_name *name);

/* The next piece of a row of the lane. */
void isc_lanes_add(isc_lanes *l, isc_lane *lane, enum isc_row_kind kind, uint16_t depth, const isc_lane_piece *piece);

/* The same of a counter. */
void isc_lanes_value(isc_lanes *l, isc_lane *lane, uint64_t ns, double value);

/* From the events of a trace, into b->a->lanes. */
struct isc_build;
isc_status isc_build_lanes(struct isc_build *b, isc_error *err);

#endif
