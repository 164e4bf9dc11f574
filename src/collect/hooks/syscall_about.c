#include "collect/hooks/syscall_about.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/un.h>

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

static char *put_number(char *to, unsigned n)
{
	char digits[12];
	size_t len = 0;

	do
		digits[len++] = (char)('0' + n % 10);
	while ((n /= 10) != 0);
	while (len > 0)
		*to++ = digits[--len];
	*to = 0;
	return to;
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

	put_number(path + strlen(path), fd);
	n = syscall(SYS_readlinkat, AT_FDCWD, path, text, sizeof(text));
	return n > 0 ? isc_rt_label(text, (size_t)n) : 0;
}

static char *put_inet(char *to, const uint8_t *address, in_port_t port)
{
	for (int i = 0; i < 4; i++) {
		to = put_number(to, address[i]);
		*to++ = i < 3 ? '.' : ':';
	}
	return put_number(to, ntohs(port));
}

static char *put_inet6(char *to, const uint8_t *address, in_port_t port)
{
	static const char hex[] = "0123456789abcdef";

	*to++ = '[';
	for (int i = 0; i < 16; i++) {
		*to++ = hex[address[i] >> 4];
		*to++ = hex[address[i] & 15];
		if (i % 2 == 1 && i < 15)
			*to++ = ':';
	}
	*to++ = ']';
	*to++ = ':';
	return put_number(to, ntohs(port));
}

static uint32_t name_address(uintptr_t address)
{
	union {
		sa_family_t family;
		struct sockaddr_in in;
		struct sockaddr_in6 in6;
		struct sockaddr_un un;
	} at;
	size_t len;
	char text[64], *end = text;

	memset(&at, 0, sizeof(at));
	len = copy(&at, address, sizeof(at));
	if (at.family == AF_UNIX && len > sizeof(at.family))
		return isc_rt_label(at.un.sun_path, strnlen(at.un.sun_path, len - sizeof(at.family)));
	if (at.family == AF_INET && len >= sizeof(at.in))
		end = put_inet(text, (const uint8_t *)&at.in.sin_addr, at.in.sin_port);
	if (at.family == AF_INET6 && len >= sizeof(at.in6))
		end = put_inet6(text, (const uint8_t *)&at.in6.sin6_addr, at.in6.sin6_port);
	return end > text ? isc_rt_label(text, (size_t)(end - text)) : 0;
}

uint32_t isc_syscall_about_name(isc_syscall_about about)
{
	switch (about.kind) {
	case ISC_ABOUT_FD:
		return name_fd((unsigned)about.value);
	case ISC_ABOUT_PATH:
		return about.value != 0 ? name_path(about.value) : 0;
	case ISC_ABOUT_ADDRESS:
		return about.value != 0 ? name_address(about.value) : 0;
	default:
		return 0;
	}
}
