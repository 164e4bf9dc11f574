/*
 * memory.h - who takes memory, told by the hooks on the allocator.
 *
 *	memory.c	threads, totals, and what is done with the few that are looked at
 *	memory_rate.c	how often that is, inside the budget
 *	memory_set.c	the addresses of those, until they are freed
 *	memory_python.c	the same told by Python's own allocators, where the hooks are not in front
 *
 * Every call is counted, in counters that belong to its thread alone.  A byte in
 * so many (the mean) is marked at random, and the allocation that it falls into is
 * recorded with its stack: large ones nearly always, small ones in proportion.  An
 * allocation of s bytes is recorded with the probability 1 - exp(-s / mean), and
 * whoever reads it gives it that weight.
 *
 * The usual way through a hook is a few instructions and calls nothing.  Nothing here
 * allocates, locks or waits, and errno stays what it was.
 */
#ifndef ISC_COLLECT_MEMORY_MEMORY_H
#define ISC_COLLECT_MEMORY_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/record.h"

/* As many as can write.  What more threads take is counted for all of them together, and not looked at. */
#define ISC_MEMORY_THREADS 4096u

/* One thread.  Those that have ended leave theirs, with its counts, to a later one: the sum over all of
 * them is that of the process.  Zeroed in fork children. */
typedef struct isc_memory_thread {
	uint64_t left;	/* bytes up to the next that is recorded */
	uint64_t drawn; /* less left: the bytes taken */
	uint64_t calls;
	uint64_t frees;
	uint64_t random; /* 0: nothing was drawn yet */
	uint64_t paid;	 /* calls whose cost is accounted for */
	uint32_t mean;	 /* for what is left */
	_Atomic uint32_t tid;
	bool inside;	   /* the hooks are called by what they call */
	bool visits;	   /* at the end of what is left no byte is marked: the mean may have changed by then */
	bool within;	   /* an allocator of Python: what that asks another of Python's for is counted already */
	uint32_t due_mean; /* for the one that is recorded now */
} isc_memory_thread;
_Static_assert(sizeof(isc_memory_thread) == 64, "a thread that takes memory");

extern __thread isc_memory_thread *isc_memory_self __attribute__((tls_model("initial-exec")));
extern _Atomic bool isc_memory_on;

/* How many addresses that are looked at have this place: a look at one byte for every free().  Addresses that lie
 * together share a line of the cache: whatever part of its heap a program is at home in, few lines of these are
 * between its own. */
#define ISC_MEMORY_PLACES 16384u
extern _Atomic uint8_t isc_memory_place[ISC_MEMORY_PLACES];

static inline uint32_t isc_memory_place_of(const void *p)
{
	uint64_t line = ((uintptr_t)p >> 16) * 0x9e3779b97f4a7c15ull >> 56;

	return (uint32_t)(line << 6 | ((uintptr_t)p >> 4) * 0x9e3779b97f4a7c15ull >> 58);
}
_Static_assert(ISC_MEMORY_PLACES == 1u << (64 - 56) << (64 - 58), "places of addresses");

/* So many bytes are about to be taken: is that all there is to do?  Then they are counted. */
static inline bool isc_memory_counted(size_t size)
{
	isc_memory_thread *m = isc_memory_self;

	if (__builtin_expect(m == NULL, 0))
		return !__atomic_load_n(&isc_memory_on, __ATOMIC_RELAXED);
	if (__builtin_expect(size >= m->left, 0))
		return false;
	m->left -= size;
	m->calls++;
	return true;
}

/* May this address be one that is looked at? */
static inline bool isc_memory_watched(const void *p)
{
	return __atomic_load_n(&isc_memory_place[isc_memory_place_of(p)], __ATOMIC_RELAXED) != 0;
}

/* It is about to be freed: is that all there is to do?  Nothing is called on this way, so that nothing has to be kept
 * over it. */
static inline bool isc_memory_released(const void *p)
{
	isc_memory_thread *m = isc_memory_self;

	if (__builtin_expect(m == NULL, 0))
		return p == NULL || !__atomic_load_n(&isc_memory_on, __ATOMIC_RELAXED);
	m->frees += p != NULL;
	return __builtin_expect(!isc_memory_watched(p), 1);
}

/* Not isc_memory_released(): counts it, if a thread without a place frees it. */
void isc_memory_freed(const void *p);

/* What is known of memory that is looked at. */
typedef struct isc_memory_item {
	uint64_t bytes;
	uint32_t mean;
	uint32_t stack;
	uint32_t call; /* enum isc_memory_call */
} isc_memory_item;

/* Not isc_memory_counted(): counts, and says whether this one is to be recorded. */
bool isc_memory_due(size_t size);

/* One that is due has been taken at p (NULL: it failed), by the code that the hook returns to. */
void isc_memory_took(void *p, size_t size, enum isc_memory_call call, const void *caller);

/* Not isc_memory_released(): counts it, and records that p is freed if it is looked at. */
void isc_memory_free(const void *p);

/* The same in two steps, for what may fail: false, p is not looked at. */
bool isc_memory_take_out(const void *p, isc_memory_item *item);
void isc_memory_put_back(const void *p, const isc_memory_item *item);
void isc_memory_gone(const void *p, const isc_memory_item *item);

/* Anonymous memory that can be written was mapped, unmapped, or moved and changed in size. */
void isc_memory_mapped(void *at, size_t len, const void *caller);
void isc_memory_unmapped(void *at, size_t len);
void isc_memory_moved(const isc_memory_item *item, const void *from, void *to, size_t len);

/* An image or a fork child arrives. */
void isc_memory_arrived(uint16_t birth);

/* Whatever tells of memory begins, or ends for now: what was looked at is looked at no more.  Only where the hooks
 * are not in front; false: memory is not wanted here. */
bool isc_memory_begin(void);
void isc_memory_end(void);

/* For good, in this process: no system call of ours from now on.  What was taken up to now is told. */
void isc_memory_give_way(void);

/* The process is about to become another program. */
void isc_memory_before_exec(void);

/* What was taken up to now; why: enum isc_memory_when. */
void isc_memory_tell(uint16_t why);

/* ---- memory_rate.c --------------------------------------------------------- */

typedef struct isc_memory_limits {
	uint32_t asked; /* bytes: the mean that is wanted */
	uint32_t ticks_per_us;
	float budget_pct; /* negative: none */
} isc_memory_limits;

/* All zero at first.  Times and costs are in ticks. */
typedef struct isc_memory_rate {
	_Atomic uint64_t looked, changed;
	_Atomic int64_t debt; /* for samples that no time has paid for yet */
	_Atomic uint32_t mean;
	_Atomic uint32_t cost;	/* of a sample, usually */
	_Atomic uint32_t looks; /* since the mean changed */
} isc_memory_rate;

uint32_t isc_memory_rate_mean(const isc_memory_rate *r, const isc_memory_limits *l);

/* Bytes up to the next that is marked, by 64 random bits: spread so that none tells of the next. */
uint64_t isc_memory_rate_draw(uint32_t mean, uint64_t bits);

/* One was looked at; full: there is little room for addresses. */
void isc_memory_rate_spent(isc_memory_rate *r, const isc_memory_limits *l, uint64_t now, uint64_t ticks, bool full);

/* None was. */
void isc_memory_rate_passed(isc_memory_rate *r, const isc_memory_limits *l, uint64_t now, bool full);

/* ---- memory_set.c ---------------------------------------------------------- */

/* Addresses: private memory counts against RLIMIT_DATA, which is the program's. */
#define ISC_MEMORY_SET 16384u

typedef struct isc_memory_set {
	_Atomic uint64_t address[ISC_MEMORY_SET];
	isc_memory_item item[ISC_MEMORY_SET];
	_Atomic uint32_t count;
} isc_memory_set;

/* False: there is no room.  An address belongs to whoever has it: nobody else asks for the same. */
bool isc_memory_set_add(isc_memory_set *s, const void *p, const isc_memory_item *item);
bool isc_memory_set_take(isc_memory_set *s, const void *p, isc_memory_item *item);
void isc_memory_set_clear(isc_memory_set *s);

#endif
