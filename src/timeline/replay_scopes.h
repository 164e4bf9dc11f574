/*
 * replay_scopes.h - scopes as whole pieces: entered and left, perhaps on different threads.
 *
 * Threads of a trace are not merged, so the end of a scope may be read before its
 * beginning.  What is kept is what is open.
 */
#ifndef ISC_TIMELINE_REPLAY_SCOPES_H
#define ISC_TIMELINE_REPLAY_SCOPES_H

#include "base/arena.h"
#include "base/hashmap.h"
#include "timeline/listener.h"

/* Times of the mark are those of the trace. */
typedef void (*isc_replay_scopes_tell)(void *self, const isc_mark *scope);

typedef struct isc_replay_scopes {
	isc_arena *arena;
	double ns_per_tick;
	isc_replay_scopes_tell left, entered; /* entered may be NULL */
	void *self;
	isc_hashmap open;      /* process and instance -> place + 1 */
	isc_hashmap gone;      /* process and instance: left before it was entered, in the order of the file */
	isc_hashmap by_thread; /* thread and stream -> innermost open one: place + 1 */
	struct isc_replay_scopes_place *place;
	size_t count, room, unused; /* unused: first free place + 1 */
	uint64_t made;		    /* numbers given to scopes that have none */
	uint64_t last_ns;
} isc_replay_scopes;

void isc_replay_scopes_init(isc_replay_scopes *s, isc_arena *arena, double ns_per_tick, isc_replay_scopes_tell left,
			    isc_replay_scopes_tell entered, void *self);
void isc_replay_scopes_fini(isc_replay_scopes *s);

/* A scope is entered or left; false: no memory. */
bool isc_replay_scopes_note(isc_replay_scopes *s, const isc_listener_thread *on, const isc_event *ev, uint32_t task,
			    uint16_t cpu);

/* Those that are open end where the trace does. */
void isc_replay_scopes_finish(isc_replay_scopes *s);

#endif
