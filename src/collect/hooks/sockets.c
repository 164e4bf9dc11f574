/*
 * sockets.c - hooks on sockets: pairs, connecting, accepting, sending, receiving.
 */
#include "collect/hooks/hook.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>

#include "collect/hooks/channel.h"
#include "collect/hooks/syscall.h"

/* glibc's headers make the type of the address a union for C. */
static isc_syscall_about about_address(int fd, __CONST_SOCKADDR_ARG to)
{
	isc_syscall_about about = {ISC_ABOUT_ADDRESS, fd, 0};

	memcpy(&about.value, &to, sizeof(about.value));
	return about;
}

/* What the kernel has just written there, or read from there. */
static uint64_t bytes_of(const struct mmsghdr *messages, int n)
{
	uint64_t bytes = 0;

	for (int i = 0; i < n; i++)
		bytes += messages[i].msg_len;
	return bytes;
}

/* From now on it has another end. */
static int connect_anew(int fd, __CONST_SOCKADDR_ARG to, socklen_t len)
{
	int result = ISC_REAL(connect)(fd, to, len);

	isc_channel_forget(fd);
	return result;
}

ISC_HOOK int connect(int fd, __CONST_SOCKADDR_ARG to, socklen_t len)
{
	ISC_SYSCALL(connect, ISC_WAIT_CONNECT, int, connect_anew(fd, to, len), about_address(fd, to));
}

ISC_HOOK int socketpair(int family, int type, int protocol, int fds[2])
{
	int result = ISC_REAL(socketpair)(family, type, protocol, fds);

	if (result == 0)
		isc_channel_pair(fds);
	return result;
}

ISC_HOOK int accept(int fd, __SOCKADDR_ARG from, socklen_t *__restrict len)
{
	ISC_SYSCALL(accept, ISC_WAIT_ACCEPT, int, ISC_REAL(accept)(fd, from, len), ISC_OF_FD(fd));
}

ISC_HOOK int accept4(int fd, __SOCKADDR_ARG from, socklen_t *__restrict len, int flags)
{
	ISC_SYSCALL(accept4, ISC_WAIT_ACCEPT, int, ISC_REAL(accept4)(fd, from, len, flags), ISC_OF_FD(fd));
}

ISC_HOOK ssize_t recv(int fd, void *buf, size_t len, int flags)
{
	ISC_SYSCALL_MOVES(recvfrom, ISC_WAIT_RECV, ssize_t, ISC_REAL(recv)(fd, buf, len, flags), fd);
}

ISC_HOOK ssize_t __recv_chk(int fd, void *buf, size_t len, size_t room, int flags)
{
	ISC_SYSCALL_MOVES(recvfrom, ISC_WAIT_RECV, ssize_t, ISC_REAL(__recv_chk)(fd, buf, len, room, flags), fd);
}

ISC_HOOK ssize_t recvfrom(int fd, void *__restrict buf, size_t len, int flags, __SOCKADDR_ARG from,
			  socklen_t *__restrict from_len)
{
	ISC_SYSCALL_MOVES(recvfrom, ISC_WAIT_RECV, ssize_t, ISC_REAL(recvfrom)(fd, buf, len, flags, from, from_len),
			  fd);
}

ISC_HOOK ssize_t __recvfrom_chk(int fd, void *__restrict buf, size_t len, size_t room, int flags, __SOCKADDR_ARG from,
				socklen_t *__restrict from_len)
{
	ISC_SYSCALL_MOVES(recvfrom, ISC_WAIT_RECV, ssize_t,
			  ISC_REAL(__recvfrom_chk)(fd, buf, len, room, flags, from, from_len), fd);
}

ISC_HOOK ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
	ISC_SYSCALL_MOVES(recvmsg, ISC_WAIT_RECV, ssize_t, ISC_REAL(recvmsg)(fd, message, flags), fd);
}

ISC_HOOK int recvmmsg(int fd, struct mmsghdr *messages, unsigned int n, int flags, struct timespec *timeout)
{
	ISC_SYSCALL_AS(recvmmsg, ISC_WAIT_RECV, int, ISC_REAL(recvmmsg)(fd, messages, n, flags, timeout), ISC_OF_FD(fd),
		       bytes_of(messages, result_));
}

ISC_HOOK ssize_t send(int fd, const void *buf, size_t len, int flags)
{
	ISC_SYSCALL_MOVES(sendto, ISC_WAIT_SEND, ssize_t, ISC_REAL(send)(fd, buf, len, flags), fd);
}

ISC_HOOK ssize_t sendto(int fd, const void *buf, size_t len, int flags, __CONST_SOCKADDR_ARG to, socklen_t to_len)
{
	ISC_SYSCALL_MOVES(sendto, ISC_WAIT_SEND, ssize_t, ISC_REAL(sendto)(fd, buf, len, flags, to, to_len), fd);
}

ISC_HOOK ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
	ISC_SYSCALL_MOVES(sendmsg, ISC_WAIT_SEND, ssize_t, ISC_REAL(sendmsg)(fd, message, flags), fd);
}

ISC_HOOK int sendmmsg(int fd, struct mmsghdr *messages, unsigned int n, int flags)
{
	ISC_SYSCALL_AS(sendmmsg, ISC_WAIT_SEND, int, ISC_REAL(sendmmsg)(fd, messages, n, flags), ISC_OF_FD(fd),
		       bytes_of(messages, result_));
}
