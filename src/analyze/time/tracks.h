/*
 * tracks.h - what one thread did over time, from the switches of its tid.
 *
 * A thread is running, queued, waiting, or nobody watched.  Switches tell when
 * that changes; a gap (watching was paused) or a switch that does not follow
 * from the one before (one was lost) leads to time that is called unwatched and
 * not guessed at.
 */
#ifndef ISC_ANALYZE_TIME_TRACKS_H
#define ISC_ANALYZE_TIME_TRACKS_H

#include "analyze/build.h"

enum isc_track_state {
	ISC_TRACK_UNSEEN = 0, /* no switch yet */
	ISC_TRACK_RUNNING,
	ISC_TRACK_QUEUED,
	ISC_TRACK_WAITING,
	ISC_TRACK_UNWATCHED,
	ISC_TRACK_STATES
};

typedef struct isc_track {
	uint64_t start_ns, end_ns; /* of the thread */
	bool end_known;
	size_t process; /* rank in a->processes, or SIZE_MAX */
	bool fresh;	/* it began under our eyes: runnable from the start */
	int state;	/* enum isc_track_state */
	uint64_t since_ns;
	size_t gaps;			  /* that were there at the last switch */
	uint64_t in_ns[ISC_TRACK_STATES]; /* inside the window */
	uint64_t waited_ns;		  /* of it: the last wait, while nothing has come after it */
	uint64_t fault_ns;		  /* of the waits: for memory to be read in */
	uint64_t switches;		  /* inside the window */
	uint64_t counted_ns;		  /* the scheduler's counts were read then; 0: never */
	uint64_t on_cpu_ns, run_queue_ns; /* what they were */
} isc_track;

typedef struct isc_gap {
	uint64_t begin_ns, end_ns;
} isc_gap;

typedef struct isc_gaps {
	isc_gap *gap;
	size_t count, room;
	bool open; /* the last has not ended yet */
} isc_gaps;

/* A gap begins or ends; false: no memory. */
bool isc_gaps_note(isc_gaps *gaps, isc_arena *arena, const isc_trace_switch *sw);

/* The thread is switched in or out. */
void isc_track_switch(isc_track *t, const isc_build *b, const isc_gaps *gaps, const isc_trace_switch *sw);

/* The thread is back from a page fault. */
void isc_track_fault(isc_track *t);

/* Nothing more comes: the last state lasts to the thread's end. */
void isc_track_finish(isc_track *t, const isc_build *b, const isc_gaps *gaps);

#endif
