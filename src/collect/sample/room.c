/*
 * room.c - who may define how many stacks.
 *
 * Definitions lie in a file of the process that has an end.  Imports and the stacks of
 * memory and waits have a part of it each and no more, so that samples of
 * a program at work are never refused for what was there before them.  Those may take the rest: most of it
 * at once, and the last of it slowly, so that a program whose stacks never repeat still
 * has room for something new after hours.
 */
#include <stdatomic.h>

#include "collect/sample/sample.h"

#define MIB ((uint64_t)1 << 20)
/* Of the 64 MiB that a process may have; names and code take what is left. */
#define IMPORTS_BYTES (12 * MIB)
#define IMPORTS_SHORT (6 * MIB) /* from here on they do with less */
#define ASIDE_BYTES (12 * MIB)
#define SERVING_BYTES (16 * MIB)
#define SERVING_SLOWLY 16u /* bytes for each stack that is asked for, beyond that */

static _Atomic uint64_t taken[ISC_ROOMS], asked;

static uint64_t room_of(enum isc_stack_room room)
{
	switch (room) {
	case ISC_ROOM_IMPORTS:
		return IMPORTS_BYTES;
	case ISC_ROOM_ASIDE:
		return ASIDE_BYTES;
	default:
		return SERVING_BYTES + SERVING_SLOWLY * atomic_fetch_add_explicit(&asked, 1, memory_order_relaxed);
	}
}

bool isc_sample_room_is_short(enum isc_stack_room room)
{
	return atomic_load_explicit(&taken[room], memory_order_relaxed) > IMPORTS_SHORT;
}

bool isc_sample_room(enum isc_stack_room room, uint64_t bytes)
{
	if (atomic_load_explicit(&taken[room], memory_order_relaxed) + bytes > room_of(room))
		return false;
	atomic_fetch_add_explicit(&taken[room], bytes, memory_order_relaxed);
	return true;
}
