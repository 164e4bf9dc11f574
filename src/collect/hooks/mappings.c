/*
 * mappings.c - hooks on mappings of memory and files.
 */
#include "collect/hooks/hook.h"

#include <errno.h>
#include <stdarg.h>
#include <stdbool.h>
#include <sys/mman.h>

#include "collect/memory/memory.h"
#include "collect/hooks/syscall.h"

#define CALLER __builtin_return_address(0)

static isc_syscall_about about_fd(int fd)
{
	return fd >= 0 ? ISC_OF_FD(fd) : ISC_OF_NONE;
}

/* Memory, and not a reservation of addresses or a file. */
static bool takes_memory(int prot, int flags)
{
	return (flags & MAP_ANONYMOUS) != 0 && (prot & PROT_WRITE) != 0;
}

static inline void *map(void *at, size_t len, int prot, int flags, int fd, off_t offset)
{
	ISC_SYSCALL(mmap, ISC_SYSCALL_NO_WAIT, void *, ISC_REAL(mmap)(at, len, prot, flags, fd, offset), about_fd(fd));
}

static inline void *map64(void *at, size_t len, int prot, int flags, int fd, off64_t offset)
{
	ISC_SYSCALL(mmap, ISC_SYSCALL_NO_WAIT, void *, ISC_REAL(mmap64)(at, len, prot, flags, fd, offset),
		    about_fd(fd));
}

static inline void *remap(void *at, size_t old_len, size_t len, int flags, void *to)
{
	ISC_SYSCALL(mremap, ISC_SYSCALL_NO_WAIT, void *, ISC_REAL(mremap)(at, old_len, len, flags, to), ISC_OF_NONE);
}

ISC_HOOK void *mmap(void *at, size_t len, int prot, int flags, int fd, off_t offset)
{
	void *p = map(at, len, prot, flags, fd, offset);

	if (takes_memory(prot, flags) && p != MAP_FAILED)
		isc_memory_mapped(p, len, CALLER);
	return p;
}

ISC_HOOK void *mmap64(void *at, size_t len, int prot, int flags, int fd, off64_t offset)
{
	void *p = map64(at, len, prot, flags, fd, offset);

	if (takes_memory(prot, flags) && p != MAP_FAILED)
		isc_memory_mapped(p, len, CALLER);
	return p;
}

ISC_HOOK int munmap(void *at, size_t len)
{
	/* Before: another thread may be given the same address. */
	if (isc_memory_watched(at))
		isc_memory_unmapped(at, len);
	ISC_SYSCALL(munmap, ISC_SYSCALL_NO_WAIT, int, ISC_REAL(munmap)(at, len), ISC_OF_NONE);
}

ISC_HOOK void *mremap(void *at, size_t old_len, size_t len, int flags, ...)
{
	isc_memory_item item;
	void *to = NULL, *p;
	va_list rest;
	bool watched = isc_memory_watched(at) && isc_memory_take_out(at, &item);

	if (flags & (MREMAP_FIXED | MREMAP_DONTUNMAP)) {
		va_start(rest, flags);
		to = va_arg(rest, void *);
		va_end(rest);
	}
	p = remap(at, old_len, len, flags, to);
	if (watched && p == MAP_FAILED)
		isc_memory_put_back(at, &item);
	else if (watched)
		isc_memory_moved(&item, at, p, len);
	return p;
}
