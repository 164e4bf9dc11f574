/*
 * post.h - which thread posted a semaphore, or signalled a condition variable, last, and when.
 *
 * It is the one that woke whoever waited there.  Only posts that may wake somebody are noted, and only as long as no
 * other object takes the place: a thread that wakes up looks at once.  Posts by other processes are not seen.
 * One store; signal-safe.
 */
#ifndef ISC_COLLECT_HOOKS_POST_H
#define ISC_COLLECT_HOOKS_POST_H

#include <stdint.h>

#include "base/record.h"

/* The calling thread is about to post it. */
void isc_post_note(const void *object);

/* Who did between these two moments; nobody is noted: *waker stays as it is. */
void isc_post_find(const void *object, uint64_t since, uint64_t now, isc_waker *waker);

#endif
