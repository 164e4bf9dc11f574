/*
 * alloc.c - hooks on the allocator.
 *
 * The program's allocator may be libc's or another preloaded one behind us; all
 * names of the family are found the same way, so memory always goes back where
 * it came from.  An allocator inside the executable comes before us and is not seen.
 */
#include "collect/hook.h"

#include "collect/alloc.h"

#include <errno.h>
#include <malloc.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

/* A lookup takes under 100 bytes, and only malloc, calloc, realloc and free; the
 * rest is for threads that other libraries may have started before us. */
#define ARENA_BYTES 16384u
#define ARENA_ALIGN 16u

typedef struct chunk {
	size_t size; /* bytes asked for; the chunk itself lies just below them */
	size_t pad;
} chunk;
_Static_assert(sizeof(chunk) == ARENA_ALIGN, "arena chunk");

static _Alignas(ARENA_ALIGN) char arena[ARENA_BYTES];
static size_t arena_used;
static int lookups; /* under way; while there are any, unknown functions are not looked up */

void isc_alloc_lookup_begin(void)
{
	__atomic_fetch_add(&lookups, 1, __ATOMIC_ACQ_REL);
}

void isc_alloc_lookup_end(void)
{
	__atomic_fetch_sub(&lookups, 1, __ATOMIC_ACQ_REL);
}

static inline bool in_arena(const void *p)
{
	return (uintptr_t)p - (uintptr_t)arena < sizeof(arena);
}

/* Is a call to a function not yet known part of the lookup that it would start? */
static bool in_lookup(void)
{
	return __atomic_load_n(&lookups, __ATOMIC_ACQUIRE) > 0;
}

/* Zeroed, since nothing is ever handed out twice. */
static void *arena_take(size_t size)
{
	size_t need, at;
	chunk *head;

	if (size > sizeof(arena))
		goto full;
	need = (sizeof(chunk) + size + ARENA_ALIGN - 1) & ~(size_t)(ARENA_ALIGN - 1);
	at = __atomic_load_n(&arena_used, __ATOMIC_RELAXED);
	do {
		if (need > sizeof(arena) - at)
			goto full;
	} while (!__atomic_compare_exchange_n(&arena_used, &at, at + need, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
	head = (chunk *)(arena + at);
	head->size = size;
	return head + 1;
full:
	errno = ENOMEM;
	return NULL;
}

static size_t arena_size(const void *p)
{
	return ((const chunk *)p - 1)->size;
}

static void *arena_move(const void *p, size_t size)
{
	size_t old = arena_size(p);
	void *fresh = malloc(size);

	if (fresh != NULL)
		memcpy(fresh, p, old < size ? old : size);
	return fresh;
}

/* The four that a lookup calls have a path of their own for the time before
 * they are known, so that the usual one is a load, a test and a jump. */

static __attribute__((cold, noinline)) void *early_malloc(size_t size)
{
	return in_lookup() ? arena_take(size) : ISC_REAL(malloc)(size);
}

static __attribute__((cold, noinline)) void *early_calloc(size_t n, size_t size)
{
	size_t bytes;

	if (!in_lookup())
		return ISC_REAL(calloc)(n, size);
	return arena_take(__builtin_mul_overflow(n, size, &bytes) ? SIZE_MAX : bytes);
}

static __attribute__((cold, noinline)) void *early_realloc(void *p, size_t size)
{
	return in_lookup() && p == NULL ? arena_take(size) : ISC_REAL(realloc)(p, size);
}

static __attribute__((cold, noinline)) void early_free(void *p)
{
	if (!in_lookup())
		ISC_REAL(free)(p);
}

ISC_HOOK void *malloc(size_t size)
{
	__typeof__(&malloc) real = ISC_KNOWN(malloc);

	return __builtin_expect(real != NULL, 1) ? real(size) : early_malloc(size);
}

ISC_HOOK void *calloc(size_t n, size_t size)
{
	__typeof__(&calloc) real = ISC_KNOWN(calloc);

	return __builtin_expect(real != NULL, 1) ? real(n, size) : early_calloc(n, size);
}

ISC_HOOK void *realloc(void *p, size_t size)
{
	__typeof__(&realloc) real = ISC_KNOWN(realloc);

	if (in_arena(p))
		return arena_move(p, size);
	return __builtin_expect(real != NULL, 1) ? real(p, size) : early_realloc(p, size);
}

ISC_HOOK void free(void *p)
{
	__typeof__(&free) real = ISC_KNOWN(free);

	if (in_arena(p))
		return; /* never reused, so that it stays zeroed */
	if (__builtin_expect(real != NULL, 1))
		real(p);
	else
		early_free(p);
}

ISC_HOOK void *reallocarray(void *p, size_t n, size_t size)
{
	size_t bytes;

	if (in_arena(p)) {
		if (__builtin_mul_overflow(n, size, &bytes)) {
			errno = ENOMEM;
			return NULL;
		}
		return arena_move(p, bytes);
	}
	return ISC_REAL(reallocarray)(p, n, size);
}

ISC_HOOK size_t malloc_usable_size(void *p)
{
	if (in_arena(p))
		return arena_size(p);
	return ISC_REAL(malloc_usable_size)(p);
}

ISC_HOOK int posix_memalign(void **out, size_t align, size_t size)
{
	return ISC_REAL(posix_memalign)(out, align, size);
}

ISC_HOOK void *aligned_alloc(size_t align, size_t size)
{
	return ISC_REAL(aligned_alloc)(align, size);
}

ISC_HOOK void *memalign(size_t align, size_t size)
{
	return ISC_REAL(memalign)(align, size);
}

ISC_HOOK void *valloc(size_t size)
{
	return ISC_REAL(valloc)(size);
}

ISC_HOOK void *pvalloc(size_t size)
{
	return ISC_REAL(pvalloc)(size);
}
