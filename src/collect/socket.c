/*
 * socket.c - hooks on sockets: connecting, accepting, sending, receiving.
 */
#include "collect/hook.h"

#include <sys/socket.h>

ISC_HOOK int connect(int fd, __CONST_SOCKADDR_ARG to, socklen_t len)
{
	return ISC_REAL(connect)(fd, to, len);
}

ISC_HOOK int accept(int fd, __SOCKADDR_ARG from, socklen_t *__restrict len)
{
	return ISC_REAL(accept)(fd, from, len);
}

ISC_HOOK int accept4(int fd, __SOCKADDR_ARG from, socklen_t *__restrict len, int flags)
{
	return ISC_REAL(accept4)(fd, from, len, flags);
}

ISC_HOOK ssize_t recv(int fd, void *buf, size_t len, int flags)
{
	return ISC_REAL(recv)(fd, buf, len, flags);
}

ISC_HOOK ssize_t __recv_chk(int fd, void *buf, size_t len, size_t room, int flags)
{
	return ISC_REAL(__recv_chk)(fd, buf, len, room, flags);
}

ISC_HOOK ssize_t recvfrom(int fd, void *__restrict buf, size_t len, int flags, __SOCKADDR_ARG from,
			  socklen_t *__restrict from_len)
{
	return ISC_REAL(recvfrom)(fd, buf, len, flags, from, from_len);
}

ISC_HOOK ssize_t __recvfrom_chk(int fd, void *__restrict buf, size_t len, size_t room, int flags, __SOCKADDR_ARG from,
				socklen_t *__restrict from_len)
{
	return ISC_REAL(__recvfrom_chk)(fd, buf, len, room, flags, from, from_len);
}

ISC_HOOK ssize_t recvmsg(int fd, struct msghdr *message, int flags)
{
	return ISC_REAL(recvmsg)(fd, message, flags);
}

ISC_HOOK int recvmmsg(int fd, struct mmsghdr *messages, unsigned int n, int flags, struct timespec *timeout)
{
	return ISC_REAL(recvmmsg)(fd, messages, n, flags, timeout);
}

ISC_HOOK ssize_t send(int fd, const void *buf, size_t len, int flags)
{
	return ISC_REAL(send)(fd, buf, len, flags);
}

ISC_HOOK ssize_t sendto(int fd, const void *buf, size_t len, int flags, __CONST_SOCKADDR_ARG to, socklen_t to_len)
{
	return ISC_REAL(sendto)(fd, buf, len, flags, to, to_len);
}

ISC_HOOK ssize_t sendmsg(int fd, const struct msghdr *message, int flags)
{
	return ISC_REAL(sendmsg)(fd, message, flags);
}

ISC_HOOK int sendmmsg(int fd, struct mmsghdr *messages, unsigned int n, int flags)
{
	return ISC_REAL(sendmmsg)(fd, messages, n, flags);
}
