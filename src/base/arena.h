/*
 * arena.h - memory that goes all at once.
 *
 * An analysis allocates from one arena and drops it whole, so nothing in it is
 * freed by hand and nothing leaks on the way out of an error.  A failed
 * allocation returns NULL and is remembered in `failed`.
 */
#ifndef ISC_BASE_ARENA_H
#define ISC_BASE_ARENA_H

#include <stdbool.h>
#include <stddef.h>

typedef struct isc_arena {
	struct isc_arena_block *block; /* newest first */
	size_t total_bytes;	       /* asked of the system so far */
	bool failed;
} isc_arena;

isc_arena *isc_arena_new(void);	   /* NULL: no memory */
void isc_arena_free(isc_arena *a); /* NULL is fine */

/* Zeroed and aligned for anything; NULL when there is no memory. */
void *isc_arena_alloc(isc_arena *a, size_t bytes);

/* Zeroed room for n items of size bytes; NULL also when that overflows. */
void *isc_arena_array(isc_arena *a, size_t n, size_t size);

/* A copy of len bytes with a NUL behind them. */
char *isc_arena_copy(isc_arena *a, const void *data, size_t len);

char *isc_arena_format(isc_arena *a, const char *format, ...) __attribute__((format(printf, 2, 3)));

/*
 * Room for one more item in an array that grows by doubling: *items has *count
 * used and *room taken.  Returns the new item, zeroed and counted, or NULL.
 * Items move: keep indices, not pointers.
 */
void *isc_arena_push(isc_arena *a, void *items, size_t *count, size_t *room, size_t size);

#endif
