/* hooks_io.c - the hooked functions that read, write and wait for events; see hooks.h.
 * flags: -fno-builtin */
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stddef.h>
#include <sys/file.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "hooks.h"

#ifndef CLOSE_RANGE_CLOEXEC
#define CLOSE_RANGE_CLOEXEC 4
#endif

/* What FORTIFY calls; only its headers declare them. */
int __open_2(const char *, int);
int __open64_2(const char *, int);
int __openat_2(int, const char *, int);
int __openat64_2(int, const char *, int);
ssize_t __read_chk(int, void *, size_t, size_t);
ssize_t __pread_chk(int, void *, size_t, off_t, size_t);
ssize_t __pread64_chk(int, void *, size_t, off64_t, size_t);
ssize_t __recv_chk(int, void *, size_t, size_t, int);
ssize_t __recvfrom_chk(int, void *, size_t, size_t, int, struct sockaddr *, socklen_t *);
int __poll_chk(struct pollfd *, nfds_t, int, size_t);
int __ppoll_chk(struct pollfd *, nfds_t, const struct timespec *, const sigset_t *, size_t);

static void *volatile nowhere = (void *)1;
static char buf[64];
static char path[64];
static struct iovec parts[2] = {{buf, 3}, {buf + 3, 3}};
static int file;    /* holds "0123456789" */
static int ends[2]; /* a pipe; 0 reads */
static int pair[2]; /* a pair of sockets */

static void set_up(void)
{
	strcpy(path, "/tmp/hooks-XXXXXX");
	file = mkstemp(path);
	if (file < 0 || write(file, "0123456789", 10) != 10 || lseek(file, 0, SEEK_SET) != 0 || pipe(ends) != 0 ||
	    socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) != 0)
		exit(1);
	memset(buf, 0, sizeof(buf));
}

static void tear_down(void)
{
	close(file);
	close(ends[0]);
	close(ends[1]);
	close(pair[0]);
	close(pair[1]);
	unlink(path);
}

/* Shows a call's result and what lies in buf. */
#define READS(call) \
	do { \
		memset(buf, 0, sizeof(buf)); \
		TRY(call); \
		say(" %s", buf); \
	} while (0)

/* Two ways to open: with and without a mode behind the flags. */
#define OPENS(open_existing, open_new) \
	do { \
		struct stat st; \
		int fd; \
		set_up(); \
		fd = (open_existing); \
		say(" %d", fd >= 0); \
		close(fd); \
		unlink(path); \
		TRY((open_existing)); \
		umask(0); \
		fd = (open_new); \
		fstat(fd, &st); \
		say(" %o", st.st_mode); \
		close(fd); \
		tear_down(); \
	} while (0)

static void c_open(void)
{
	OPENS(open(path, O_RDONLY), open(path, O_CREAT | O_WRONLY, 0641));
	int fd = open("/tmp", O_TMPFILE | O_RDWR, 0604);
	struct stat st;

	fstat(fd, &st);
	say(" %o", st.st_mode);
	close(fd);
	TRY(open(nowhere, O_RDONLY));
}

static void c_open64(void)
{
	OPENS(open64(path, O_RDONLY), open64(path, O_CREAT | O_WRONLY, 0642));
}

static void c_openat(void)
{
	OPENS(openat(AT_FDCWD, path, O_RDONLY), openat(AT_FDCWD, path, O_CREAT | O_WRONLY, 0643));
}

static void c_openat64(void)
{
	OPENS(openat64(AT_FDCWD, path, O_RDONLY), openat64(AT_FDCWD, path, O_CREAT | O_WRONLY, 0644));
}

static void c_open_2(void)
{
	int fds[4] = {__open_2("/dev/null", O_RDONLY), __open64_2("/dev/null", O_RDONLY),
		      __openat_2(AT_FDCWD, "/dev/null", O_RDONLY), __openat64_2(AT_FDCWD, "/dev/null", O_RDONLY)};

	for (int i = 0; i < 4; i++) {
		say(" %d", fds[i] >= 0);
		close(fds[i]);
	}
	TRY(__open_2("/nowhere", O_RDONLY));
}

static void c_close(void)
{
	int fd = dup(1);

	TRY(close(fd));
	TRY(close(fd));
}

static void c_dup(void)
{
	int fd = dup(1), other = dup(1);

	TRY(dup2(1, fd) == fd);
	TRY(dup2(fd, fd) == fd);
	TRY(dup2(-1, fd));
	TRY(dup3(1, other, O_CLOEXEC) == other);
	say(" %d", fcntl(other, F_GETFD));
	TRY(dup3(fd, fd, 0));
	/* Both, and what lies between: nothing else is open there. */
	TRY(close_range((unsigned)fd, (unsigned)other, CLOSE_RANGE_CLOEXEC));
	say(" %d", fcntl(fd, F_GETFD));
	TRY(close_range((unsigned)fd, (unsigned)other, 0));
	TRY(close_range((unsigned)other, (unsigned)fd - 1, 0));
	TRY(close(fd));
}

static void c_socketpair(void)
{
	int fds[2] = {-1, -1};

	TRY(socketpair(AF_UNIX, SOCK_STREAM, 0, fds));
	TRY(write(fds[0], "pair", 4));
	READS(read(fds[1], buf, 9));
	close(fds[0]);
	close(fds[1]);
	TRY(socketpair(AF_INET, SOCK_STREAM, 0, fds));
	TRY(socketpair(AF_UNIX, SOCK_STREAM, 0, nowhere));
}

static void c_read(void)
{
	set_up();
	READS(read(file, buf, 4));
	READS(__read_chk(file, buf, 4, sizeof(buf)));
	READS(readv(file, parts, 2));
	TRY(read(-1, buf, 1));
	TRY(read(file, nowhere, 1));
	tear_down();
}

static void c_pread(void)
{
	set_up();
	READS(pread(file, buf, 4, 1));
	READS(pread64(file, buf, 4, 2));
	READS(__pread_chk(file, buf, 4, 3, sizeof(buf)));
	READS(__pread64_chk(file, buf, 4, 4, sizeof(buf)));
	READS(preadv(file, parts, 2, 1));
	READS(preadv64(file, parts, 2, 2));
	READS(preadv2(file, parts, 2, 3, 0));
	READS(preadv64v2(file, parts, 2, 4, 0));
	TRY(preadv2(file, parts, 2, 0, 1 << 30));
	TRY(pread(ends[0], buf, 1, 0));
	tear_down();
}

static void c_write(void)
{
	set_up();
	TRY(write(file, "ab", 2));
	strcpy(buf, "cdefgh");
	TRY(writev(file, parts, 2));
	READS(pread(file, buf, 20, 0));
	TRY(write(ends[0], "x", 1));
	tear_down();
}

static void c_pwrite(void)
{
	set_up();
	TRY(pwrite(file, "A", 1, 1));
	TRY(pwrite64(file, "B", 1, 2));
	strcpy(buf, "uvwxyz");
	TRY(pwritev(file, parts, 2, 10));
	TRY(pwritev64(file, parts, 2, 16));
	TRY(pwritev2(file, parts, 2, 22, 0));
	TRY(pwritev64v2(file, parts, 2, 28, 0));
	READS(pread(file, buf, 40, 0));
	TRY(pwrite(file, "A", 1, -1));
	tear_down();
}

static void c_copy(void)
{
	off_t at = 2;

	set_up();
	TRY(sendfile(ends[1], file, &at, 3));
	READS(read(ends[0], buf, 9));
	TRY(sendfile64(ends[1], file, NULL, 4));
	READS(read(ends[0], buf, 9));
	TRY(splice(file, NULL, ends[1], NULL, 3, 0));
	READS(read(ends[0], buf, 9));
	TRY(splice(-1, NULL, ends[1], NULL, 3, 0));
	tear_down();
}

static void c_sync(void)
{
	set_up();
	TRY(fsync(file));
	TRY(fdatasync(file));
	TRY(fsync(ends[0]));
	TRY(fdatasync(-1));
	TRY(flock(file, LOCK_EX));
	TRY(flock(file, LOCK_UN));
	TRY(flock(-1, LOCK_SH));
	tear_down();
}

static void c_socket(void)
{
	struct sockaddr_un from;
	socklen_t from_len = sizeof(from);
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
	struct mmsghdr messages[2] = {{.msg_hdr = message}, {.msg_hdr = message}};

	set_up();
	TRY(send(pair[0], "one", 3, 0));
	READS(recv(pair[1], buf, 9, 0));
	TRY(sendto(pair[0], "two", 3, 0, NULL, 0));
	READS(recvfrom(pair[1], buf, 9, 0, (struct sockaddr *)&from, &from_len));
	TRY(send(pair[0], "three", 5, 0));
	READS(__recv_chk(pair[1], buf, 9, sizeof(buf), 0));
	TRY(send(pair[0], "four", 4, 0));
	READS(__recvfrom_chk(pair[1], buf, 9, sizeof(buf), 0, NULL, NULL));
	strcpy(buf, "sixfiv");
	TRY(sendmsg(pair[0], &message, 0));
	READS(recvmsg(pair[1], &message, 0));
	TRY(sendmmsg(pair[0], messages, 2, 0));
	READS(recvmmsg(pair[1], messages, 2, 0, NULL));
	TRY(recv(pair[1], buf, 1, MSG_DONTWAIT));
	TRY(send(file, "x", 1, 0));
	tear_down();
}

static void c_accept(void)
{
	struct sockaddr_un here = {.sun_family = AF_UNIX};
	socklen_t len = sizeof(here);
	int server = socket(AF_UNIX, SOCK_STREAM, 0);

	set_up();
	/* With the family alone Linux gives it a name of its own. */
	TRY(bind(server, (struct sockaddr *)&here, sizeof(sa_family_t)));
	TRY(listen(server, 4));
	getsockname(server, (struct sockaddr *)&here, &len);
	for (int i = 0; i < 2; i++) {
		int client = socket(AF_UNIX, SOCK_STREAM, 0), peer;

		TRY(connect(client, (struct sockaddr *)&here, len));
		peer = i == 0 ? accept(server, NULL, NULL) : accept4(server, NULL, NULL, SOCK_CLOEXEC);
		say(" %d", peer >= 0 && (fcntl(peer, F_GETFD) & FD_CLOEXEC) == i);
		close(client);
		close(peer);
	}
	TRY(accept(file, NULL, NULL));
	TRY(accept4(server, NULL, NULL, -1));
	close(server);
	tear_down();
}

static void c_poll(void)
{
	struct timespec brief = {0, 1000000};
	struct pollfd one;
	sigset_t mask;

	set_up();
	one = (struct pollfd){.fd = ends[0], .events = POLLIN};
	sigemptyset(&mask);
	TRY(poll(&one, 1, 1));
	TRY(ppoll(&one, 1, &brief, &mask));
	if (write(ends[1], "x", 1) != 1)
		exit(1);
	TRY(poll(&one, 1, -1));
	TRY(ppoll(&one, 1, NULL, NULL));
	TRY(__poll_chk(&one, 1, -1, sizeof(one)));
	TRY(__ppoll_chk(&one, 1, NULL, &mask, sizeof(one)));
	say(" %d", one.revents);
	TRY(poll(nowhere, 1, 0));
	tear_down();
}

static void c_select(void)
{
	struct timeval brief_us = {0, 1000};
	struct timespec brief = {0, 1000000};
	fd_set in;

	set_up();
	FD_ZERO(&in);
	FD_SET(ends[0], &in);
	TRY(select(ends[0] + 1, &in, NULL, NULL, &brief_us));
	if (write(ends[1], "x", 1) != 1)
		exit(1);
	FD_SET(ends[0], &in);
	TRY(select(ends[0] + 1, &in, NULL, NULL, NULL));
	TRY(pselect(ends[0] + 1, &in, NULL, NULL, &brief, NULL));
	TRY(select(-1, NULL, NULL, NULL, NULL));
	tear_down();
}

static void c_epoll(void)
{
	struct epoll_event event = {.events = EPOLLIN}, got;
	struct timespec brief = {0, 1000000};
	int ep = epoll_create1(0);

	set_up();
	epoll_ctl(ep, EPOLL_CTL_ADD, ends[0], &event);
	TRY(epoll_wait(ep, &got, 1, 1));
	TRY(epoll_pwait2(ep, &got, 1, &brief, NULL));
	if (write(ends[1], "x", 1) != 1)
		exit(1);
	TRY(epoll_wait(ep, &got, 1, -1));
	TRY(epoll_pwait(ep, &got, 1, -1, NULL));
	TRY(epoll_pwait2(ep, &got, 1, NULL, NULL));
	TRY(epoll_wait(file, &got, 1, 0));
	close(ep);
	tear_down();
}

int main(int argc, char **argv)
{
	static const hook_case cases[] = {
		{"open", c_open, NULL},		{"open64", c_open64, NULL},
		{"openat", c_openat, NULL},	{"openat64", c_openat64, NULL},
		{"__open_2", c_open_2, NULL},	{"__open64_2", c_open_2, NULL},
		{"__openat_2", c_open_2, NULL}, {"__openat64_2", c_open_2, NULL},
		{"close", c_close, NULL},	{"read", c_read, NULL},
		{"close_range", c_dup, NULL},	{"socketpair", c_socketpair, NULL},
		{"dup2", c_dup, NULL},		{"dup3", c_dup, NULL},
		{"readv", c_read, NULL},	{"__read_chk", c_read, NULL},
		{"pread", c_pread, NULL},	{"pread64", c_pread, NULL},
		{"__pread_chk", c_pread, NULL}, {"__pread64_chk", c_pread, NULL},
		{"preadv", c_pread, NULL},	{"preadv64", c_pread, NULL},
		{"preadv2", c_pread, NULL},	{"preadv64v2", c_pread, NULL},
		{"write", c_write, NULL},	{"writev", c_write, NULL},
		{"pwrite", c_pwrite, NULL},	{"pwrite64", c_pwrite, NULL},
		{"pwritev", c_pwrite, NULL},	{"pwritev64", c_pwrite, NULL},
		{"pwritev2", c_pwrite, NULL},	{"pwritev64v2", c_pwrite, NULL},
		{"sendfile", c_copy, NULL},	{"sendfile64", c_copy, NULL},
		{"splice", c_copy, NULL},	{"fsync", c_sync, NULL},
		{"fdatasync", c_sync, NULL},	{"flock", c_sync, NULL},
		{"recv", c_socket, NULL},	{"recvfrom", c_socket, NULL},
		{"recvmsg", c_socket, NULL},	{"recvmmsg", c_socket, NULL},
		{"__recv_chk", c_socket, NULL}, {"__recvfrom_chk", c_socket, NULL},
		{"send", c_socket, NULL},	{"sendto", c_socket, NULL},
		{"sendmsg", c_socket, NULL},	{"sendmmsg", c_socket, NULL},
		{"accept", c_accept, NULL},	{"accept4", c_accept, NULL},
		{"connect", c_accept, NULL},	{"poll", c_poll, NULL},
		{"ppoll", c_poll, NULL},	{"__poll_chk", c_poll, NULL},
		{"__ppoll_chk", c_poll, NULL},	{"select", c_select, NULL},
		{"pselect", c_select, NULL},	{"epoll_wait", c_epoll, NULL},
		{"epoll_pwait", c_epoll, NULL}, {"epoll_pwait2", c_epoll, NULL},
	};

	return hook_main(argc, argv, cases, sizeof(cases) / sizeof(cases[0]));
}
