#include "symbol/deep.h"

#include <pthread.h>
#include <signal.h>
#include <stdint.h>

#define ROOM_BYTES ((size_t)2 << 20) /* several times what the worst names and tables took */

struct deep {
	void (*call)(void *self);
	void *self;
};

/* Where the stack of this thread ends. */
static uintptr_t stack_end(void)
{
	static __thread uintptr_t end;
	pthread_attr_t attr;
	size_t size = 0;
	void *low = NULL;

	if (end != 0)
		return end;
	end = UINTPTR_MAX;
	if (pthread_getattr_np(pthread_self(), &attr) != 0)
		return end;
	if (pthread_attr_getstack(&attr, &low, &size) == 0)
		end = (uintptr_t)low;
	pthread_attr_destroy(&attr);
	return end;
}

static bool has_room(void)
{
	uintptr_t here = (uintptr_t)__builtin_frame_address(0), end = stack_end();

	return here > end && here - end >= ROOM_BYTES;
}

static void *run(void *self)
{
	const struct deep *d = self;

	d->call(d->self);
	return NULL;
}

/* Signals are for the threads that wait for them. */
static bool call_aside(struct deep *d)
{
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t thread;
	bool made = false;

	if (pthread_attr_init(&attr) != 0)
		return false;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	made = pthread_attr_setstacksize(&attr, ISC_DEEP_STACK_BYTES) == 0 &&
	       pthread_create(&thread, &attr, run, d) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	if (made)
		pthread_join(thread, NULL);
	return made;
}

bool isc_deep_call(void (*call)(void *self), void *self)
{
	struct deep d = {call, self};

	if (!has_room())
		return call_aside(&d);
	call(self);
	return true;
}
