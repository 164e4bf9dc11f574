/*
 * mapping.c - hooks on mappings of memory and files.
 */
#include "collect/hook.h"

#include <errno.h>
#include <stdarg.h>
#include <sys/mman.h>

#include "collect/syscall.h"

static isc_syscall_about about_fd(int fd)
{
	return fd >= 0 ? ISC_OF_FD(fd) : ISC_OF_NONE;
}

ISC_HOOK void *mmap(void *at, size_t len, int prot, int flags, int fd, off_t offset)
{
	ISC_SYSCALL(mmap, ISC_SYSCALL_NO_WAIT, void *, ISC_REAL(mmap)(at, len, prot, flags, fd, offset), about_fd(fd));
}

ISC_HOOK void *mmap64(void *at, size_t len, int prot, int flags, int fd, off64_t offset)
{
	ISC_SYSCALL(mmap, ISC_SYSCALL_NO_WAIT, void *, ISC_REAL(mmap64)(at, len, prot, flags, fd, offset),
		    about_fd(fd));
}

ISC_HOOK int munmap(void *at, size_t len)
{
	ISC_SYSCALL(munmap, ISC_SYSCALL_NO_WAIT, int, ISC_REAL(munmap)(at, len), ISC_OF_NONE);
}

ISC_HOOK void *mremap(void *at, size_t old_len, size_t len, int flags, ...)
{
	void *to = NULL;
	va_list rest;

	if (flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)) {
		va_start(rest, flags);
		to = va_arg(rest, void *);
		va_end(rest);
	}
	ISC_SYSCALL(mremap, ISC_SYSCALL_NO_WAIT, void *, ISC_REAL(mremap)(at, old_len, len, flags, to), ISC_OF_NONE);
}
