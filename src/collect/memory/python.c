/*
 * python.c - memory as Python's own allocators tell of it, where the hooks are not in front.
 *
 * Python has an allocator for each of three domains, which may call each other: what is asked for first
 * counts.  A domain may be called by any thread without the GIL while its allocator is changed, which
 * is no one step.  So ours keep the context of the one behind them and use what they know of it
 * instead, and what they know never changes once it was there to be found.
 */
#include "collect/memory/memory.h"

#include <stdatomic.h>

#include "runtime/runtime.h"

#define CHANGES 8u /* of the allocator behind ours, in a process */
#define CALLER __builtin_return_address(0)

static isc_rt_allocator known[ISC_RT_DOMAINS][CHANGES];
static unsigned changes[ISC_RT_DOMAINS];
static _Atomic(const isc_rt_allocator *) behind[ISC_RT_DOMAINS];
static _Atomic bool on;

static inline const isc_rt_allocator *real_of(unsigned domain)
{
	return atomic_load_explicit(&behind[domain], memory_order_acquire);
}

/* Is this the program's own wish, and somebody wants to know? */
static inline bool is_first(void)
{
	const isc_memory_thread *m = isc_memory_self;

	return atomic_load_explicit(&on, memory_order_relaxed) && (m == NULL || !m->within);
}

/* Counts; is it to be recorded? */
static inline bool is_due(size_t size)
{
	return !__builtin_expect(isc_memory_counted(size), 1) && isc_memory_due(size);
}

static inline void go_within(bool yes)
{
	if (isc_memory_self != NULL)
		isc_memory_self->within = yes;
}

static inline void *take(const isc_rt_allocator *real, size_t size, const void *caller)
{
	bool due;
	void *p;

	if (!is_first())
		return real->malloc(real->ctx, size);
	due = is_due(size);
	go_within(true);
	p = real->malloc(real->ctx, size);
	go_within(false);
	if (due)
		isc_memory_took(p, size, ISC_MEMORY_MALLOC, caller);
	return p;
}

static inline void *take_zeroed(const isc_rt_allocator *real, size_t n, size_t size, const void *caller)
{
	size_t bytes;
	bool due;
	void *p;

	if (!is_first() || __builtin_mul_overflow(n, size, &bytes))
		return real->calloc(real->ctx, n, size);
	due = is_due(bytes);
	go_within(true);
	p = real->calloc(real->ctx, n, size);
	go_within(false);
	if (due)
		isc_memory_took(p, bytes, ISC_MEMORY_CALLOC, caller);
	return p;
}

/* As if the old were given back and the new taken, whether it moves or not. */
static inline void *change(const isc_rt_allocator *real, void *old, size_t size, const void *caller)
{
	isc_memory_item item;
	bool due, watched = false;
	void *p;

	if (!is_first())
		return real->realloc(real->ctx, old, size);
	if (!isc_memory_released(old)) {
		isc_memory_freed(old);
		watched = isc_memory_take_out(old, &item);
	}
	due = is_due(size);
	go_within(true);
	p = real->realloc(real->ctx, old, size);
	go_within(false);
	if (watched && p != NULL)
		isc_memory_gone(old, &item);
	else if (watched)
		isc_memory_put_back(old, &item);
	if (due)
		isc_memory_took(p, size, ISC_MEMORY_REALLOC, caller);
	return p;
}

static inline void give(const isc_rt_allocator *real, void *p)
{
	if (!is_first()) {
		real->free(real->ctx, p);
		return;
	}
	if (!isc_memory_released(p))
		isc_memory_free(p);
	go_within(true);
	real->free(real->ctx, p);
	go_within(false);
}

#define DOMAIN(d) \
	static void *malloc_##d(void *ctx, size_t size) \
	{ \
		(void)ctx; \
		return take(real_of(d), size, CALLER); \
	} \
	static void *calloc_##d(void *ctx, size_t n, size_t size) \
	{ \
		(void)ctx; \
		return take_zeroed(real_of(d), n, size, CALLER); \
	} \
	static void *realloc_##d(void *ctx, void *p, size_t size) \
	{ \
		(void)ctx; \
		return change(real_of(d), p, size, CALLER); \
	} \
	static void free_##d(void *ctx, void *p) \
	{ \
		(void)ctx; \
		give(real_of(d), p); \
	}
DOMAIN(0)
DOMAIN(1)
DOMAIN(2)

#define OURS(d) {NULL, malloc_##d, calloc_##d, realloc_##d, free_##d}
static const isc_rt_allocator front[ISC_RT_DOMAINS] = {OURS(0), OURS(1), OURS(2)};

bool isc_rt_memory_python(unsigned domain, const isc_rt_allocator *real, isc_rt_allocator *ours)
{
	isc_rt_allocator *fresh;

	*ours = front[domain];
	ours->ctx = real->ctx;
	for (unsigned i = 0; i < changes[domain]; i++) {
		if (known[domain][i].malloc == real->malloc && known[domain][i].free == real->free &&
		    known[domain][i].ctx == real->ctx) {
			atomic_store_explicit(&behind[domain], &known[domain][i], memory_order_release);
			return true;
		}
	}
	if (changes[domain] == CHANGES)
		return false;
	fresh = &known[domain][changes[domain]++];
	*fresh = *real;
	atomic_store_explicit(&behind[domain], fresh, memory_order_release);
	return true;
}

bool isc_rt_memory_python_on(bool wanted)
{
	if (wanted && !isc_memory_begin())
		return false;
	if (!wanted && atomic_load(&on))
		isc_memory_end();
	atomic_store(&on, wanted);
	return true;
}
