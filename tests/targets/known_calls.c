/* known_calls.c - makes known numbers of system calls through libc, and prints them as JSON.
 *
 * In the process itself, in four threads and in three fork children that end with _exit(); some fail in known ways. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <netinet/in.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define WANT(condition) \
	do { \
		if (!(condition)) { \
			fprintf(stderr, "line %d: %s\n", __LINE__, strerror(errno)); \
			exit(1); \
		} \
	} while (0)

static int null_fd;

static void *worker(void *arg)
{
	for (int i = 0; i < 250; i++)
		WANT(write(null_fd, "12345", 5) == 5);
	return arg;
}

/* Waiting for many at once, connections, and parts that are put together. */
static void network(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	struct iovec parts[2] = {{(char *)"ab", 2}, {(char *)"cde", 3}};
	struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
	int listener = socket(AF_INET, SOCK_STREAM, 0), epoll = epoll_create1(0), pair[2];
	socklen_t len = sizeof(at);
	struct epoll_event event;
	char buffer[64];

	WANT(listener >= 0 && epoll >= 0 && bind(listener, (struct sockaddr *)&at, len) == 0);
	WANT(listen(listener, 16) == 0 && getsockname(listener, (struct sockaddr *)&at, &len) == 0);
	for (int i = 0; i < 12; i++) {
		int near = socket(AF_INET, SOCK_STREAM, 0), far;

		WANT(near >= 0 && connect(near, (struct sockaddr *)&at, sizeof(at)) == 0);
		far = i % 2 == 0 ? accept(listener, NULL, NULL) : accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		WANT(far >= 0 && close(near) == 0 && close(far) == 0);
	}
	WANT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == 0);
	for (int i = 0; i < 21; i++) {
		WANT(sendmsg(pair[1], &message, 0) == 5);
		message.msg_iov[0].iov_base = buffer;
		message.msg_iov[1].iov_base = buffer + 8;
		WANT(recvmsg(pair[0], &message, 0) == 5);
	}
	for (int i = 0; i < 17; i++)
		WANT(writev(null_fd, parts, 2) == 5);
	for (int i = 0; i < 9; i++)
		WANT(epoll_wait(epoll, &event, 1, 0) == 0);
	for (int i = 0; i < 6; i++) {
		struct timeval none = {0, 0};
		fd_set set;

		FD_ZERO(&set);
		FD_SET(pair[0], &set);
		WANT(select(pair[0] + 1, &set, NULL, NULL, &none) == 0);
	}
}

int main(void)
{
	struct timespec nap = {0, 5000000};
	int pair[2], zero, gone;
	pthread_t thread[4];
	struct pollfd none;
	char buffer[64];

	null_fd = open("/dev/null", O_WRONLY);
	zero = open("/dev/zero", O_RDONLY);
	WANT(null_fd >= 0 && zero >= 0);
	for (int i = 0; i < 100; i++) {
		int fd = open("/dev/null", O_RDONLY);

		WANT(fd >= 0 && close(fd) == 0);
	}
	for (int i = 0; i < 50; i++)
		WANT(open("/does/not/exist", O_RDONLY) == -1 && errno == ENOENT);
	for (int i = 0; i < 5; i++)
		WANT(close(-1) == -1 && errno == EBADF);
	for (int i = 0; i < 1000; i++)
		WANT(read(zero, buffer, 16) == 16);
	for (int i = 0; i < 30; i++)
		WANT(pread(zero, buffer, 8, 0) == 8);
	WANT(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, pair) == 0);
	for (int i = 0; i < 33; i++)
		WANT(recv(pair[0], buffer, sizeof(buffer), 0) == -1 && errno == EAGAIN);
	for (int i = 0; i < 200; i++)
		WANT(send(pair[1], "abc", 3, 0) == 3 && recv(pair[0], buffer, sizeof(buffer), 0) == 3);
	none = (struct pollfd){pair[0], POLLIN, 0};
	for (int i = 0; i < 300; i++)
		WANT(poll(&none, 1, 0) == 0);
	for (int i = 0; i < 3; i++)
		WANT(poll(&none, 1, 1) == 0);
	for (int i = 0; i < 2; i++)
		WANT(nanosleep(&nap, NULL) == 0);
	for (int i = 0; i < 40; i++) {
		void *at = mmap(NULL, 65536, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		WANT(at != MAP_FAILED && munmap(at, 65536) == 0);
	}
	network();
	for (int i = 0; i < 5; i++) /* past libc: nobody sees them */
		WANT(syscall(SYS_write, null_fd, "raw", 3) == 3);
	for (int i = 0; i < 4; i++)
		WANT(pthread_create(&thread[i], NULL, worker, NULL) == 0);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < 3; i++) {
		pid_t child = fork();

		WANT(child >= 0);
		if (child == 0) {
			for (int k = 0; k < 11; k++)
				WANT(write(null_fd, "child", 5) == 5);
			_exit(0);
		}
		WANT(waitpid(child, &gone, 0) == child);
	}
	printf("{\"openat\": [152, 50, 0, \"ENOENT\"], \"close\": [129, 5, 0, \"EBADF\"], \"read\": [1000, 0, 16000],"
	       " \"pread64\": [30, 0, 240], \"recvfrom\": [233, 33, 600, \"EAGAIN\"], \"sendto\": [200, 0, 600],"
	       " \"poll\": [303, 0, 0], \"clock_nanosleep\": [2, 0, 0], \"mmap\": [40, 0, 0], \"munmap\": [40, 0, 0],"
	       " \"write\": [1033, 0, 5165], \"clone\": [7, 0, 0], \"wait4\": [3, 0, 0],"
	       " \"accept\": [6, 0, 0], \"accept4\": [6, 0, 0], \"connect\": [12, 0, 0], \"sendmsg\": [21, 0, 105],"
	       " \"recvmsg\": [21, 0, 105], \"writev\": [17, 0, 85], \"epoll_wait\": [9, 0, 0], \"select\": [6, 0, "
	       "0]}\n");
	return 0;
}
