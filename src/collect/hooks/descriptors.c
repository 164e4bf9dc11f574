/*
 * descriptors.c - hooks on closing descriptors and on leading them elsewhere.
 *
 * What is known of a channel ends before its descriptor is closed, for right after it another thread may be given the
 * number.  One that is replaced is never free in between: what was known ends when the other file is there.
 */
#include "collect/hooks/hook.h"

#include <errno.h>
#include <unistd.h>

#include "collect/hooks/channel.h"
#include "collect/hooks/syscall.h"

#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC 4
#endif

ISC_HOOK int close(int fd)
{
	isc_channel_forget(fd);
	ISC_SYSCALL(close, ISC_SYSCALL_NO_WAIT, int, ISC_REAL(close)(fd), ISC_OF_NONE);
}

ISC_HOOK int close_range(unsigned int first, unsigned int last, int flags)
{
	if ((flags & CLOSE_RANGE_CLOEXEC) == 0)
		isc_channel_forget_range(first, last);
	return ISC_REAL(close_range)(first, last, flags);
}

ISC_HOOK int dup2(int from, int to)
{
	int fd = ISC_REAL(dup2)(from, to);

	if (fd >= 0 && from != to)
		isc_channel_forget(fd);
	return fd;
}

ISC_HOOK int dup3(int from, int to, int flags)
{
	int fd = ISC_REAL(dup3)(from, to, flags);

	if (fd >= 0)
		isc_channel_forget(fd);
	return fd;
}
