/* own_stack.h - where the stack of the calling thread ends, for walks of it. */
#ifndef TESTS_OWN_STACK_H
#define TESTS_OWN_STACK_H

#include <pthread.h>
#include <stddef.h>
#include <string.h>

#include "collect/unwind/unwind.h"

static inline uintptr_t own_stack_end(void)
{
	pthread_attr_t attr;
	size_t size;
	void *low;

	pthread_getattr_np(pthread_self(), &attr);
	pthread_attr_getstack(&attr, &low, &size);
	pthread_attr_destroy(&attr);
	return (uintptr_t)low + size;
}

/* A walk of this thread from sp on that knows of none before. */
static inline void own_stack(isc_unwind *u, uintptr_t sp)
{
	memset(u, 0, offsetof(isc_unwind, frame));
	u->low = sp;
	u->high = own_stack_end();
}

#endif
