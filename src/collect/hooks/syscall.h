/*
 * syscall.h - system calls that go through the hooks: how many, how long, how much, and
 * with which errors.
 *
 * Every call is added to a sum of its thread, with the two readings of the clock that its
 * wait needs anyway; sums become records every few milliseconds, and when the thread or the
 * program ends.  A slow call is told by itself as well, with the stack that led to it, and so is one in
 * a thousand of the others, which stands for all of them.  No
 * lock, no shared counter; a handler that makes calls inside one loses nothing.
 * Signal-safe, all of it.
 */
#ifndef ISC_COLLECT_HOOKS_SYSCALL_H
#define ISC_COLLECT_HOOKS_SYSCALL_H

#include "base/syscall.h"
#include "collect/hooks/blocked.h"

/* Calls that never wait for anybody. */
#define ISC_SYSCALL_NO_WAIT ((enum isc_wait_call)0)

/* What says which file a call is about; its name is looked at only where that is wanted. */
typedef struct isc_syscall_about {
	enum isc_syscall_kind { ISC_ABOUT_NOTHING, ISC_ABOUT_FD, ISC_ABOUT_PATH, ISC_ABOUT_ADDRESS } kind;
	int fd;		 /* -1: none */
	uintptr_t value; /* of a path or an address: where it is */
} isc_syscall_about;
_Static_assert(sizeof(isc_syscall_about) == 16, "two registers");

/* It has ended.  begin: of isc_syscall_enter(), not 0; error: errno of it, 0: none. */
void isc_syscall_ended(enum isc_syscall call, enum isc_wait_call wait, uint64_t begin, int error, uint64_t bytes,
		       isc_syscall_about about);

/* The same of one that was not timed. */
void isc_syscall_counted(enum isc_syscall call, int error, uint64_t bytes);

/* A call that may not come back: it is counted now, and what is summed is told. */
void isc_syscall_departs(enum isc_syscall call);
void isc_syscall_returned(enum isc_syscall call, int error);

/* Tells what the calling thread has summed; due: if that was not done lately. */
void isc_syscall_flush(void);
void isc_syscall_flush_due(uint64_t now);

/* The process ends here and now: tells what all its threads have summed. */
void isc_syscall_flush_all(void);

/*
 * A program that makes the same call in vain again and again (it closes every descriptor there could be) pays more
 * for two looks at the clock than for the rest.  Behind so many that failed at once, one of so many is
 * timed and stands for the others; each is counted.  The first that does not fail ends it.  By thread and call.
 */
#define ISC_SYSCALL_VAIN 64u
#define ISC_SYSCALL_ONE_OF 32u
#define ISC_SYSCALL_UNTIMED 1ull
extern __thread uint8_t isc_syscall_vain[ISC_SYSCALL_COUNT] __attribute__((tls_model("initial-exec")));

/* 0: nothing is recorded. */
static inline uint64_t isc_syscall_enter(enum isc_wait_call wait)
{
	if (wait != ISC_SYSCALL_NO_WAIT)
		return isc_blocked_enter(wait);
	return isc_blocked_wanted() ? isc_ticks() & ~1ull : 0;
}

static inline uint64_t isc_syscall_begin(enum isc_syscall call, enum isc_wait_call wait)
{
	uint8_t *vain = &isc_syscall_vain[call];

	if (wait != ISC_SYSCALL_NO_WAIT)
		return isc_blocked_enter(wait);
	if (!isc_blocked_wanted())
		return 0;
	if (__builtin_expect(*vain >= ISC_SYSCALL_VAIN && *vain < ISC_SYSCALL_VAIN + ISC_SYSCALL_ONE_OF - 1, 0)) {
		++*vain;
		return ISC_SYSCALL_UNTIMED;
	}
	return isc_ticks() & ~1ull;
}

static inline void isc_syscall_end(enum isc_syscall call, enum isc_wait_call wait, uint64_t begin, int error,
				   uint64_t bytes, isc_syscall_about about)
{
	if (begin == ISC_SYSCALL_UNTIMED)
		isc_syscall_counted(call, error, bytes);
	else
		isc_syscall_ended(call, wait, begin, error, bytes, about);
}

#define ISC_OF_FD(fd_) ((isc_syscall_about){ISC_ABOUT_FD, (fd_), 0})
#define ISC_OF_PATH(path_) ((isc_syscall_about){ISC_ABOUT_PATH, -1, (uintptr_t)(path_)})
#define ISC_OF_NONE ((isc_syscall_about){ISC_ABOUT_NOTHING, -1, 0})

/*
 * Hands the result of a call through, and tells of it.  bytes_of: an expression of result_,
 * which is not negative there; failed: whether it did, and errno says how.
 */
#define ISC_SYSCALL_AS(name, wait, type, real, about, bytes_of) \
	do { \
		enum isc_wait_call wait_ = (wait); \
		uint64_t begin_ = isc_syscall_begin(ISC_SYSCALL_##name, wait_); \
		type result_ = (real); \
		if (begin_ != 0) { \
			bool failed_ = result_ == (type) - 1; \
			isc_syscall_end(ISC_SYSCALL_##name, wait_, begin_, failed_ ? errno : 0, \
					failed_ ? 0 : (uint64_t)(bytes_of), (about)); \
		} \
		return result_; \
	} while (0)

/* One that gives the bytes it moved; one that does not; and one that gives an error and leaves errno alone. */
#define ISC_SYSCALL_MOVES(name, wait, type, real, fd) ISC_SYSCALL_AS(name, wait, type, real, ISC_OF_FD(fd), result_)
#define ISC_SYSCALL(name, wait, type, real, about) ISC_SYSCALL_AS(name, wait, type, real, about, 0)
#define ISC_SYSCALL_CODE(name, wait, real) \
	do { \
		enum isc_wait_call wait_ = (wait); \
		uint64_t begin_ = isc_syscall_begin(ISC_SYSCALL_##name, wait_); \
		int result_ = (real); \
		if (begin_ != 0) \
			isc_syscall_end(ISC_SYSCALL_##name, wait_, begin_, result_, 0, ISC_OF_NONE); \
		return result_; \
	} while (0)

#endif
