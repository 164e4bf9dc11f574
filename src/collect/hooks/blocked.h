/*
 * blocked.h - how long a thread waits in a call, told by the hooks around it.
 *
 *	uint64_t begin = isc_blocked_enter(ISC_WAIT_SLEEP);
 *
 *	result = ISC_REAL(nanosleep)(time, left);
 *	isc_blocked_leave(ISC_WAIT_SLEEP, begin);
 *
 * Two reads of the clock around calls that may block; nothing at all around a lock
 * that is free.  A wait that is cancelled, or left by longjmp(), is never left:
 * nothing is held that would have to be given back.  errno stays the call's.
 * Signal-safe, all of it.
 */
#ifndef ISC_COLLECT_HOOKS_BLOCKED_H
#define ISC_COLLECT_HOOKS_BLOCKED_H

#include <stdbool.h>
#include <stdint.h>

#include "base/record.h"
#include "runtime/image.h"
#include "runtime/write.h"

/* Calls that wait whenever they are made, or are known to when they are told of here. */
#define ISC_BLOCKED_SURE \
	(1u << ISC_WAIT_MUTEX | 1u << ISC_WAIT_RWLOCK | 1u << ISC_WAIT_SEM | 1u << ISC_WAIT_COND | \
	 1u << ISC_WAIT_BARRIER | 1u << ISC_WAIT_JOIN | 1u << ISC_WAIT_ACCEPT | 1u << ISC_WAIT_POLL | \
	 1u << ISC_WAIT_SELECT | 1u << ISC_WAIT_EPOLL | 1u << ISC_WAIT_SLEEP | 1u << ISC_WAIT_SIGNAL | \
	 1u << ISC_WAIT_CHILD)

/* Are waits of this process wanted now? */
static inline bool isc_blocked_wanted(void)
{
	const isc_control *control = atomic_load_explicit(&isc_image_self.control, memory_order_acquire);

	return control != NULL && (isc_image_self.flags & ISC_CONTROL_WAITS) != 0 &&
	       isc_image_following() == ISC_FOLLOWING_YES &&
	       atomic_load_explicit(&control->phase, memory_order_relaxed) == ISC_PHASE_COLLECTING;
}

/* Says that a wait begins, for one that may not end. */
void isc_blocked_tell(enum isc_wait_call call, uint64_t begin);

/* What is known of why a thread waited; zero, each of them: it is not known. */
typedef struct isc_blocked_cause {
	uintptr_t gil;	    /* the condition variable of Python's global lock */
	uint32_t holder;    /* tid of who had what was waited for */
	uint32_t channel;   /* that was waited on */
	const void *posted; /* the semaphore or condition that somebody has posted */
} isc_blocked_cause;

/* It has ended. */
void isc_blocked_spent(enum isc_wait_call call, uint64_t begin, const isc_blocked_cause *cause);

/* The same at a moment that is known; true: it was told by itself, and *stack is what led to it. */
bool isc_blocked_ended(enum isc_wait_call call, uint64_t begin, uint64_t now, const isc_blocked_cause *cause,
		       uint32_t *stack);

/* Will it be told by itself, or may it be? */
bool isc_blocked_tells(uint64_t begin, uint64_t now);

/* May something that took so long be told by itself, with its stack?  In ticks. */
bool isc_blocked_worth(uint64_t ticks);

/* What was told takes so much of the budget, up to now. */
void isc_blocked_cost(uint64_t since);

/* What was only summed up to now, of the calling thread: it ends. */
void isc_blocked_flush(void);

/* The thread yields; yields that follow each other closely are a loop that waits. */
void isc_blocked_yield(void);

/* The calling thread, also before its first event. */
uint32_t isc_blocked_self(void);

/* Is this condition variable or mutex the interpreter's own? */
bool isc_blocked_is_gil(const void *object);

/* Who took a semaphore last: what Python's locks are made of has no owner. */
void isc_blocked_took(const void *object);
uint32_t isc_blocked_taker(const void *object);

/* At the end of a wait for it: the thread itself, if somebody waited for what it had taken itself meanwhile.  Then
 * it is no lock that somebody holds. */
uint32_t isc_blocked_waker(const void *object, uint32_t holder);

/* Does a wait in this call begin that is worth telling before it has ended?  What the
 * last one was like says what to expect. */
static inline bool isc_blocked_lasts(enum isc_wait_call call)
{
	const isc_producer *t = isc_producer_self;

	return ((ISC_BLOCKED_SURE ^ (t != NULL ? t->unlike : 0)) >> call & 1) != 0;
}

/* When it began, the lowest bit set if that was told; 0: nothing is recorded. */
static inline uint64_t isc_blocked_enter(enum isc_wait_call call)
{
	uint64_t begin;

	if (!isc_blocked_wanted())
		return 0;
	begin = isc_ticks() & ~1ull;
	if (isc_blocked_lasts(call)) {
		isc_blocked_tell(call, begin);
		begin |= 1;
	}
	return begin;
}

static inline void isc_blocked_leave(enum isc_wait_call call, uint64_t begin)
{
	if (begin != 0)
		isc_blocked_spent(call, begin, &(isc_blocked_cause){0});
}

/* Hands the result of a call through, and tells how long the thread was in it. */
#define ISC_BLOCKED(kind, type, call) \
	do { \
		enum isc_wait_call kind_ = (kind); \
		uint64_t begin_ = isc_blocked_enter(kind_); \
		type result_ = (call); \
		isc_blocked_leave(kind_, begin_); \
		return result_; \
	} while (0)

#endif
