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
	return ISC_REAL(pthread_create)(thread, attr, start, arg);
}
