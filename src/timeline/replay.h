/*
 * replay.h - what is open on each thread while a trace is read: calls, waits, scopes, and the
 * stretch of time that it has come to.  Internal to own.c and replay_*.c.
 *
 * A lane is what one thread wrote, apart from what its signal handlers did.
 */
#ifndef ISC_TIMELINE_REPLAY_H
#define ISC_TIMELINE_REPLAY_H

#include "base/arena.h"
#include "timeline/cut.h"
#include "timeline/replay_scopes.h"
#include "timeline/listener.h"
#include "timeline/states.h"

typedef struct isc_replay_open {
	isc_slice slice;
	bool told; /* that it is open */
} isc_replay_open;

typedef struct isc_replay_lane {
	const isc_listener_thread *on;
	uint64_t last_ns;
	size_t at; /* the stretch that it is in or comes to */
	uint32_t task;
	uint16_t cpu;
	uint8_t stream;
	isc_replay_open *open; /* outermost first */
	size_t depth, room;
	struct {
		isc_slice slice;
		uint64_t from_ns, to_ns;
		bool there;
	} held; /* a wait that has ended; its system call may come next */
} isc_replay_lane;

typedef struct isc_replay {
	isc_trace *trace;
	const isc_cut *cut;
	const isc_listener_class *class;
	isc_listener *self;
	isc_listener_counts *counts;
	isc_arena *arena;
	isc_hashmap by_lane;   /* thread and stream -> rank + 1 */
	isc_hashmap by_thread; /* thread -> isc_listener_thread */
	isc_hashmap ends;      /* of a piece, process and correlation -> 1 the call is in it, 2 work is */
	isc_replay_lane *lanes;
	size_t lane_count, lane_room;
	isc_replay_lane *last; /* that an event was of */
	uint32_t last_thread;
	isc_replay_scopes scopes;
	isc_states states;
	isc_replay_lane *pausing; /* whose interval it hears of */
	isc_recorded *gpus;	  /* NULL: there are none, or nobody wants them */
	uint64_t start_ns;
	uint64_t last_ns; /* of all that was read */
	bool failed;
} isc_replay;

static inline uint64_t isc_replay_since_start(const isc_replay *s, uint64_t ns)
{
	return ns > s->start_ns ? ns - s->start_ns : 0;
}

/* Goes on to a moment, opening and closing calls at edges of what is read; true: it lies inside that. */
bool isc_replay_advance(isc_replay *s, isc_replay_lane *l, uint64_t ns);

void isc_replay_enter(isc_replay *s, isc_replay_lane *l, const isc_event *ev, bool inside);
void isc_replay_leave(isc_replay *s, isc_replay_lane *l, const isc_event *ev);
/* What is open goes on to this moment and is told as unfinished. */
void isc_replay_end(isc_replay *s, isc_replay_lane *l, uint64_t ns);

/*
 * Waits, system calls and collections, before anything else is done with an event; true: it was one.  They are told
 * of at their end and cut by their own times, so the lane must not have been brought to the event's.
 */
bool isc_replay_pause(isc_replay *s, isc_replay_lane *l, const isc_event *ev);
/* What the maker of states has of the lane that is pausing. */
bool isc_replay_interval(void *self, const isc_thread_interval *i);
/* What is still held, and a wait whose end was not seen. */
void isc_replay_end_pauses(isc_replay *s, isc_replay_lane *l, uint64_t ns);

#endif
