/*
 * scopes.h - scopes as whole pieces: entered and left, perhaps on different threads.
 *
 * Threads of a trace are not merged, so the end of a scope may be read before its
 * beginning.  What is kept is what is open.
 */
#ifndef ISC_EXPORT_SCOPES_H
#define ISC_EXPORT_SCOPES_H

#include "base/arena.h"
#include "base/hashmap.h"
#include "export/sink.h"

/* Times of the mark are those of the trace. */
typedef void (*isc_scopes_tell)(void *self, const isc_mark *scope);

typedef struct isc_scopes {
	isc_arena *arena;
	double ns_per_tick;
	isc_scopes_tell tell;
	void *self;
	isc_hashmap open;      /* process and instance -> place + 1 */
	isc_hashmap gone;      /* process and instance: left before it was entered, in the order of the file */
	isc_hashmap by_thread; /* thread and stream -> innermost open one: place + 1 */
	struct isc_scopes_place *place;
	size_t count, room, unused; /* unused: first free place + 1 */
	uint64_t made;		    /* numbers given to scopes that have none */
	uint64_t last_ns;
} isc_scopes;

void isc_scopes_init(isc_scopes *s, isc_arena *arena, double ns_per_tick, isc_scopes_tell tell, void *self);
void isc_scopes_fini(isc_scopes *s);

/* A scope is entered or left; false: no memory. */
bool isc_scopes_note(isc_scopes *s, const isc_export_thread *on, const isc_event *ev, uint32_t task, uint16_t cpu);

/* Those that are open end where the trace does. */
void isc_scopes_finish(isc_scopes *s);

#endif
