/*
 * strings.h - every different text once, with a number.  Numbers begin at 1; 0
 * is no text.  The table has a limit, past which texts share one number: a trace
 * whose every event has a name of its own must not take all memory.
 */
#ifndef ISC_TIMELINE_STRINGS_H
#define ISC_TIMELINE_STRINGS_H

#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/text.h"

/* A longer text is cut. */
#define ISC_STRING_BYTES_MOST (16u << 10)
#define ISC_STRINGS_MOST (1u << 20)
#define ISC_STRINGS_BYTES_MOST (128u << 20)

typedef struct isc_strings {
	isc_arena *arena;
	isc_text *text; /* by number */
	uint64_t *hash;
	uint32_t *slot; /* numbers, by hash; 0: free */
	size_t slots;	/* a power of two, or 0 */
	uint32_t count; /* numbers given out; 0 is one of them */
	uint32_t room;
	size_t bytes;
	uint32_t other;	 /* the number that texts past the limit share; 0: none yet */
	uint64_t folded; /* how often that happened */
} isc_strings;

/* A zeroed struct is empty. */
void isc_strings_fini(isc_strings *s);

/* The number of a text; 0 when there is no memory. */
uint32_t isc_strings_put(isc_strings *s, const char *at, size_t len);

/* Borrowed until fini, with a NUL behind it; empty for 0 and numbers that were not given out. */
isc_text isc_strings_get(const isc_strings *s, uint32_t number);

#endif
