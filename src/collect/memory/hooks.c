/*
 * hooks.c - hooks on the allocator.
 *
 * The program's allocator may be libc's or another preloaded one behind us; all
 * names of the family are found the same way, so memory always goes back where
 * it came from.  An allocator inside the executable comes before us and is not seen.
 */
#include "collect/hooks/hook.h"

#include "collect/memory/hooks.h"
#include "collect/memory/memory.h"

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

/* What is looked at, apart: on the usual way nothing is done after the real function. */

#define CALLER __builtin_return_address(0)

static __attribute__((cold, noinline)) void *noted_malloc(size_t size, const void *caller)
{
	bool due = isc_memory_due(size);
	void *p = ISC_REAL(malloc)(size);

	if (due)
		isc_memory_took(p, size, ISC_MEMORY_MALLOC, caller);
	return p;
}

static __attribute__((cold, noinline)) void *noted_calloc(size_t n, size_t size, size_t bytes, const void *caller)
{
	bool due = isc_memory_due(bytes);
	void *p = ISC_REAL(calloc)(n, size);

	if (due)
		isc_memory_took(p, bytes, ISC_MEMORY_CALLOC, caller);
	return p;
}

/* As if the old were given back and the new taken, whether it moves or not. */
static __attribute__((cold, noinline)) void *noted_realloc(void *old, size_t size, const void *caller)
{
	isc_memory_item item;
	bool watched, due;
	void *p;

	isc_memory_freed(old);
	watched = isc_memory_watched(old) && isc_memory_take_out(old, &item);
	due = !isc_memory_counted(size) && isc_memory_due(size);
	p = ISC_REAL(realloc)(old, size);

	if (watched && (p != NULL || size == 0))
		isc_memory_gone(old, &item);
	else if (watched)
		isc_memory_put_back(old, &item);
	if (due)
		isc_memory_took(p, size, ISC_MEMORY_REALLOC, caller);
	return p;
}

static __attribute__((cold, noinline)) void noted_free(void *p)
{
	isc_memory_free(p);
	ISC_REAL(free)(p);
}

ISC_HOOK void *malloc(size_t size)
{
	__typeof__(&malloc) real = ISC_KNOWN(malloc);

	if (__builtin_expect(real == NULL, 0))
		return early_malloc(size);
	return __builtin_expect(isc_memory_counted(size), 1) ? real(size) : noted_malloc(size, CALLER);
}

ISC_HOOK void *calloc(size_t n, size_t size)
{
	__typeof__(&calloc) real = ISC_KNOWN(calloc);
	size_t bytes;

	if (__builtin_expect(real == NULL, 0))
		return early_calloc(n, size);
	/* Too much of it: it will fail. */
	if (__builtin_mul_overflow(n, size, &bytes) || __builtin_expect(isc_memory_counted(bytes), 1))
		return real(n, size);
	return noted_calloc(n, size, bytes, CALLER);
}

ISC_HOOK void *realloc(void *p, size_t size)
{
	__typeof__(&realloc) real = ISC_KNOWN(realloc);

	if (in_arena(p))
		return arena_move(p, size);
	if (__builtin_expect(real == NULL, 0))
		return early_realloc(p, size);
	if (__builtin_expect(isc_memory_released(p), 1) && __builtin_expect(isc_memory_counted(size), 1))
		return real(p, size);
	return noted_realloc(p, size, CALLER);
}

ISC_HOOK void free(void *p)
{
	__typeof__(&free) real = ISC_KNOWN(free);

	if (in_arena(p))
		return; /* never reused, so that it stays zeroed */
	if (__builtin_expect(real == NULL, 0))
		early_free(p);
	else if (__builtin_expect(isc_memory_released(p), 1))
		real(p);
	else
		noted_free(p);
}

ISC_HOOK void *reallocarray(void *p, size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	if (in_arena(p))
		return arena_move(p, bytes);
	if (isc_memory_released(p) && isc_memory_counted(bytes))
		return ISC_REAL(reallocarray)(p, n, size);
	return noted_realloc(p, bytes, CALLER);
}

ISC_HOOK size_t malloc_usable_size(void *p)
{
	if (in_arena(p))
		return arena_size(p);
	return ISC_REAL(malloc_usable_size)(p);
}

/* With an alignment: the same two ways. */

static __attribute__((cold, noinline)) int noted_posix_memalign(void **out, size_t align, size_t size,
								const void *caller)
{
	bool due = isc_memory_due(size);
	int error = ISC_REAL(posix_memalign)(out, align, size);

	if (due)
		isc_memory_took(error == 0 ? *out : NULL, size, ISC_MEMORY_ALIGNED, caller);
	return error;
}

ISC_HOOK int posix_memalign(void **out, size_t align, size_t size)
{
	__typeof__(&posix_memalign) real = ISC_KNOWN(posix_memalign);

	if (__builtin_expect(real != NULL, 1) && __builtin_expect(isc_memory_counted(size), 1))
		return real(out, align, size);
	return noted_posix_memalign(out, align, size, CALLER);
}

#define NOTE_ALIGNED(size, taking) \
	do { \
		bool due_ = !isc_memory_counted(size) && isc_memory_due(size); \
		void *p_ = (taking); \
		if (due_) \
			isc_memory_took(p_, size, ISC_MEMORY_ALIGNED, CALLER); \
		return p_; \
	} while (0)

ISC_HOOK void *aligned_alloc(size_t align, size_t size)
{
	NOTE_ALIGNED(size, ISC_REAL(aligned_alloc)(align, size));
}

ISC_HOOK void *memalign(size_t align, size_t size)
{
	NOTE_ALIGNED(size, ISC_REAL(memalign)(align, size));
}

ISC_HOOK void *valloc(size_t size)
{
	NOTE_ALIGNED(size, ISC_REAL(valloc)(size));
}

ISC_HOOK void *pvalloc(size_t size)
{
	NOTE_ALIGNED(size, ISC_REAL(pvalloc)(size));
}
