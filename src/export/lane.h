/*
 * lane.h - what is going on while a trace is read: calls that are open, waits, and the
 * stretch of time that each thread has come to.  Inside stream.c and its neighbours.
 *
 * A lane is what one thread wrote, apart from what its signal handlers did.
 */
#ifndef ISC_EXPORT_LANE_H
#define ISC_EXPORT_LANE_H

#include "base/arena.h"
#include "export/cut.h"
#include "export/scopes.h"
#include "export/sink.h"

typedef struct isc_open_slice {
	isc_slice slice;
	bool told; /* that it is open */
} isc_open_slice;

typedef struct isc_export_lane {
	const isc_export_thread *on;
	uint64_t last_ns;
	size_t at; /* the stretch that it is in or comes to */
	uint32_t task;
	uint16_t cpu;
	uint8_t stream;
	isc_open_slice *open; /* outermost first */
	size_t depth, room;
	struct {
		isc_slice slice;
		uint64_t from_ns, to_ns, ticks;
		bool there;
	} held; /* a wait that has ended; its system call may come next */
	struct {
		uint64_t since_ns;
		uint32_t call, stack; /* call 0: it waits for nothing */
	} wait;
} isc_export_lane;

typedef struct isc_export_stream {
	isc_trace *trace;
	const isc_cut *cut;
	const isc_sink_class *sink;
	isc_sink *self;
	isc_export_result *result;
	isc_arena *arena;
	isc_hashmap by_lane;   /* thread and stream -> rank + 1 */
	isc_hashmap by_thread; /* thread -> isc_export_thread */
	isc_hashmap ends;      /* of a piece, process and correlation -> 1 the call is in it, 2 work is */
	isc_export_lane *lanes;
	size_t lane_count, lane_room;
	isc_scopes scopes;
	isc_recorded *gpus; /* NULL: there are none, or nobody wants them */
	uint64_t start_ns;
	uint64_t last_ns; /* of all that was read */
	double ns_per_tick;
	bool failed;
} isc_export_stream;

static inline uint64_t isc_export_since_start(const isc_export_stream *s, uint64_t ns)
{
	return ns > s->start_ns ? ns - s->start_ns : 0;
}

/* Goes on to a moment, opening and closing calls at edges of what is exported; true: it lies inside that. */
bool isc_lane_advance(isc_export_stream *s, isc_export_lane *l, uint64_t ns);

void isc_lane_enter(isc_export_stream *s, isc_export_lane *l, const isc_event *ev, bool inside);
void isc_lane_leave(isc_export_stream *s, isc_export_lane *l, const isc_event *ev);
/* What is open goes on to this moment and is told as unfinished. */
void isc_lane_end(isc_export_stream *s, isc_export_lane *l, uint64_t ns);

/*
 * Waits, system calls and collections, before anything else is done with an event; true: it was one.  They are told
 * of at their end and cut by their own times, so the lane must not have been brought to the event's.
 */
bool isc_lane_pause(isc_export_stream *s, isc_export_lane *l, const isc_event *ev);
/* What is still held, and a wait whose end was not seen. */
void isc_lane_end_pauses(isc_export_stream *s, isc_export_lane *l, uint64_t ns);

#endif
