#include "collect/hooks/endpoint.h"

#include <string.h>

#include "runtime/kernel.h"

_Static_assert(offsetof(isc_endpoint, text) == sizeof(isc_def_channel), "texts behind it");

/* Inodes of sockets, pipes and files are counted up, devices are few and small. */
static uint64_t file_of(const struct stat *sb)
{
	return ((uint64_t)sb->st_dev << 48 ^ (uint64_t)sb->st_ino << 4) | 1;
}

uint64_t isc_endpoint_file(int fd)
{
	struct stat sb;

	return isc_kernel_stat(fd, &sb) ? file_of(&sb) : 0;
}

static bool is_eventfd(int fd)
{
	static const char says[] = "anon_inode:[eventfd]";
	char path[32] = "/proc/self/fd/", text[sizeof(says)];

	isc_address_number(path + strlen(path), (unsigned)fd);
	return syscall(SYS_readlinkat, AT_FDCWD, path, text, sizeof(text)) == (long)sizeof(says) - 1 &&
	       memcmp(text, says, sizeof(says) - 1) == 0;
}

static bool look_at_eventfd(int fd, isc_def_channel *head)
{
	if (!is_eventfd(fd))
		return false;
	/* They all have one inode. */
	*head = (isc_def_channel){.kind = ISC_CHANNEL_EVENTFD, .inode = (uint64_t)fd};
	return true;
}

static size_t put_address(long which, int fd, char *to, sa_family_t *family)
{
	isc_address at;
	socklen_t len = sizeof(at);

	if (syscall(which, fd, &at, &len) != 0)
		return 0;
	if (len >= sizeof(at.family))
		*family = at.family;
	return isc_address_text(to, &at, len);
}

static int option_of(int fd, int option)
{
	int value = 0;
	socklen_t len = sizeof(value);

	return syscall(SYS_getsockopt, fd, SOL_SOCKET, option, &value, &len) == 0 ? value : 0;
}

static uint32_t peer_pid(int fd)
{
	struct ucred peer = {0};
	socklen_t len = sizeof(peer);

	return syscall(SYS_getsockopt, fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 && peer.pid > 0
		       ? (uint32_t)peer.pid
		       : 0;
}

static uint32_t inet_kind(int type)
{
	return type == SOCK_STREAM ? ISC_CHANNEL_TCP : type == SOCK_DGRAM ? ISC_CHANNEL_UDP : ISC_CHANNEL_SOCKET;
}

static void look_at_socket(int fd, isc_endpoint *out)
{
	char peer[ISC_ADDRESS_TEXT];
	sa_family_t family = AF_UNSPEC;

	out->head.local_len = (uint16_t)put_address(SYS_getsockname, fd, out->text, &family);
	if (family == AF_UNIX) {
		out->head.kind = ISC_CHANNEL_UNIX;
		out->head.peer_pid = peer_pid(fd);
	} else if (family == AF_INET || family == AF_INET6) {
		out->head.kind = inet_kind(option_of(fd, SO_TYPE));
	} else {
		out->head.kind = ISC_CHANNEL_SOCKET;
	}
	out->head.peer_len = (uint16_t)put_address(SYS_getpeername, fd, peer, &family);
	memcpy(out->text + out->head.local_len, peer, out->head.peer_len);
}

bool isc_endpoint_look(int fd, isc_endpoint *out)
{
	struct stat sb;

	out->file = 0;
	if (!isc_kernel_stat(fd, &sb))
		return false;
	out->file = file_of(&sb);
	if ((sb.st_mode & S_IFMT) == 0)
		return look_at_eventfd(fd, &out->head);
	out->head = (isc_def_channel){.kind = ISC_CHANNEL_PIPE, .device = sb.st_dev, .inode = sb.st_ino};
	if (S_ISSOCK(sb.st_mode))
		look_at_socket(fd, out);
	return S_ISSOCK(sb.st_mode) || S_ISFIFO(sb.st_mode);
}

void isc_endpoint_fold(isc_endpoint *e)
{
	char local[ISC_ADDRESS_TEXT], peer[ISC_ADDRESS_TEXT];
	size_t local_len = e->head.local_len, peer_len = e->head.peer_len;

	memcpy(local, e->text, local_len);
	memcpy(peer, e->text + local_len, peer_len);
	isc_address_fold(local, &local_len, peer, &peer_len);
	e->head = (isc_def_channel){.kind = e->head.kind,
				    .folded = 1,
				    .peer_pid = e->head.peer_pid,
				    .local_len = (uint16_t)local_len,
				    .peer_len = (uint16_t)peer_len};
	memcpy(e->text, local, local_len);
	memcpy(e->text + local_len, peer, peer_len);
}
