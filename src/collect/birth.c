/*
 * birth.c - hooks on new processes and threads.
 *
 * vfork cannot have one: its child returns through the hook's frame, and the
 * parent would then return into what the child left there.  clone's child
 * starts on a stack of its own; the runtime notices both at their first event.
 */
#include "collect/hook.h"

#include <pthread.h>
#include <unistd.h>

#include "collect/blocked.h"
#include "collect/sample.h"

static void leave(void *place)
{
	isc_blocked_flush();
	isc_sample_leave(place);
}

/* In front of the program's own start routine; also a thread that is cancelled, or ends
 * by pthread_exit(), passes the end of it. */
static void *begin(void *place)
{
	isc_sampled *t = place;
	void *(*start)(void *) = t->start;
	void *arg = t->arg, *result;

	isc_sample_enter(t);
	pthread_cleanup_push(leave, t);
	result = start(arg);
	pthread_cleanup_pop(1);
	return result;
}

ISC_HOOK pid_t fork(void)
{
	return ISC_REAL(fork)();
}

ISC_HOOK int daemon(int keep_directory, int keep_files)
{
	return ISC_REAL(daemon)(keep_directory, keep_files);
}

ISC_HOOK int pthread_create(pthread_t *__restrict thread, const pthread_attr_t *__restrict attr, void *(*start)(void *),
			    void *__restrict arg)
{
	isc_sampled *t = isc_sample_reserve(start, arg);
	int error;

	if (t == NULL)
		return ISC_REAL(pthread_create)(thread, attr, start, arg);
	error = ISC_REAL(pthread_create)(thread, attr, begin, t);
	if (error != 0)
		isc_sample_cancel(t);
	return error;
}
