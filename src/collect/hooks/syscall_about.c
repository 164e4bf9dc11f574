#include "collect/hooks/syscall_about.h"

#include <string.h>
#include <sys/uio.h>

#include "collect/hooks/address.h"
#include "runtime/kernel.h"
#include "runtime/runtime.h"

#define NAME_ROOM 512u /* longer paths are cut */
#define PAGE 4096u     /* the smallest there is */

/* As many bytes as can be had, up to room; across a page only if that is there. */
static size_t copy(void *to, uintptr_t from, size_t room)
{
	size_t first = PAGE - from % PAGE;
	struct iovec mine = {to, room}, theirs[2];
	long n;

	first = first < room ? first : room;
	theirs[0] = (struct iovec){(void *)from, first};
	theirs[1] = (struct iovec){(void *)(from + first), room - first};
	n = syscall(SYS_process_vm_readv, (long)isc_kernel_pid(), &mine, 1L, theirs, first < room ? 2L : 1L, 0L);
	return n > 0 ? (size_t)n : 0;
}

static uint32_t name_path(uintptr_t path)
{
	char text[NAME_ROOM];

	return isc_rt_label(text, strnlen(text, copy(text, path, sizeof(text))));
}

static uint32_t name_fd(unsigned fd)
{
	char path[32] = "/proc/self/fd/", text[NAME_ROOM];
	long n;

	isc_address_number(path + strlen(path), fd);
	n = syscall(SYS_readlinkat, AT_FDCWD, path, text, sizeof(text));
	return n > 0 ? isc_rt_label(text, (size_t)n) : 0;
}

static uint32_t name_address(uintptr_t address)
{
	isc_address at;
	char text[ISC_ADDRESS_TEXT];
	size_t len = copy(&at, address, sizeof(at));

	/* How long it was said to be is not known here: a path ends with its NUL. */
	if (len > sizeof(at.family) && at.family == AF_UNIX)
		len = sizeof(at.family) + strnlen(at.un.sun_path, len - sizeof(at.family));
	len = isc_address_text(text, &at, len);
	return len > 0 ? isc_rt_label(text, len) : 0;
}

uint32_t isc_syscall_about_name(isc_syscall_about about)
{
	switch (about.kind) {
	case ISC_ABOUT_FD:
		return name_fd((unsigned)about.fd);
	case ISC_ABOUT_PATH:
		return about.value != 0 ? name_path(about.value) : 0;
	case ISC_ABOUT_ADDRESS:
		return about.value != 0 ? name_address(about.value) : 0;
	default:
		return 0;
	}
}
