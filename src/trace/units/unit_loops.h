/*
 * unit_loops.h - what is known of the loops of a process.  Internal to trace/.
 *
 * unit_loops.c counts calls and makes iterations of them; unit_election.c says which
 * loops the program's work is done in.
 */
#ifndef ISC_TRACE_UNITS_UNIT_LOOPS_H
#define ISC_TRACE_UNITS_UNIT_LOOPS_H

#include "trace/totals/totals_lane.h"
#include "trace/units/unit_log.h"

#define ISC_UNIT_LOOPS 32u	/* of a process */
#define ISC_UNIT_MEMBERS 4u	/* of a loop */
#define ISC_UNIT_RECENT 64u	/* durations that say how long a unit takes */
#define ISC_UNIT_LEAST_COUNT 3u /* calls of a member: twice may be by chance */

struct isc_unit_member {
	uint64_t took, waited;
	uint64_t born; /* when its first call ended */
	uint32_t code;
	uint32_t count;
	uint32_t again; /* of these followed one of the same */
	bool in;	/* iterations consist of it */
};

struct isc_unit_call {
	uint64_t begin, end;
	uint64_t instance; /* when its caller began; 0: not known */
	uint32_t code, thread;
};

struct isc_unit_iteration {
	uint64_t begin, end, instance;
	uint32_t name, thread;
	uint32_t members; /* that it has, a bit each */
};

struct isc_unit_loop {
	uint32_t code;
	uint32_t depth;	  /* the least that it was seen at */
	uint64_t span;	  /* from member to member, less what it waited between */
	uint64_t other;	  /* of it, in members that made room for others */
	uint64_t since;	  /* its first call of a member began */
	uint64_t heard;	  /* its last one ended */
	uint64_t covered; /* by members that are in */
	struct isc_unit_member member[ISC_UNIT_MEMBERS];
	uint32_t members, in_count, head;
	uint32_t looked, inside; /* calls since lately; those made inside a member of another that is elected */
	bool holds, rounds, each, elected, chosen; /* each: a call of a member is an iteration */
	struct isc_unit_call *ring;
	uint32_t ring_room, ring_count;
	struct isc_unit_iteration *open;
	uint32_t open_count;
	uint64_t recent[ISC_UNIT_RECENT];
	uint32_t recent_count;
};

struct isc_unit_loops {
	struct isc_unit_loop *loop[ISC_UNIT_LOOPS];
	uint32_t count;
	const struct isc_unit_loop *winner;
	uint32_t codes[ISC_UNIT_CODES];
	uint32_t code_count;
	bool fresh; /* something was called since the last election */
};

/* A member that iterations consist of; NULL: it is none. */
struct isc_unit_member *isc_unit_loop_member(struct isc_unit_loop *l, uint32_t code);

/* A coroutine that was suspended, on top of a lane, ends a call that took from begin to end. */
void isc_unit_log_loops_await(isc_totals *t, isc_unit_process *p, const isc_totals_lane *lane, uint64_t begin,
			      uint64_t end, uint64_t waited);

/* Judges all loops and marks the chosen ones; fills in the codes for the recorder. */
void isc_unit_loops_choose(const isc_totals *t, uint32_t process, struct isc_unit_loops *loops);

#endif
