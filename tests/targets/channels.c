/*
 * channels.c - bytes over channels of every kind; what each case did is printed, so that a test can compare it with what
 * was recorded.
 *
 *	channels CASE [COUNT]
 *
 * flags: -Wno-unused-result
 */
#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static char buf[4096];
static unsigned count = 3;

static void need(int good)
{
	if (!good) {
		perror("channels");
		exit(1);
	}
}

static void rest_ms(long ms)
{
	nanosleep(&(struct timespec){ms / 1000, ms % 1000 * 1000000}, NULL);
}

static unsigned long inode_of(int fd)
{
	struct stat sb;

	need(fstat(fd, &sb) == 0);
	return sb.st_ino;
}

static void send_some(int out, int in)
{
	for (unsigned i = 0; i < count; i++) {
		need(write(out, "12345", 5) == 5);
		need(read(in, buf, sizeof(buf)) > 0);
	}
}

static void c_pipe(void)
{
	int ends[2];

	need(pipe(ends) == 0);
	printf("inode %lu\n", inode_of(ends[0]));
	send_some(ends[1], ends[0]);
}

static void c_pair(void)
{
	int ends[2];

	need(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
	printf("inode %lu peer %lu\n", inode_of(ends[0]), inode_of(ends[1]));
	send_some(ends[0], ends[1]);
	send_some(ends[1], ends[0]);
}

static void c_eventfd(void)
{
	int fd = eventfd(0, 0), timer = timerfd_create(CLOCK_MONOTONIC, 0);
	struct itimerspec soon = {.it_value = {0, 1000000}};
	uint64_t one = 1;

	for (unsigned i = 0; i < count; i++) {
		need(write(fd, &one, sizeof(one)) == sizeof(one));
		need(read(fd, buf, sizeof(one)) == sizeof(one));
	}
	/* Nobody sends what comes out of a timer, and a device is no channel. */
	need(timerfd_settime(timer, 0, &soon, NULL) == 0);
	need(read(timer, buf, sizeof(one)) == sizeof(one));
	need(write(open("/dev/null", O_WRONLY), "x", 1) == 1);
	printf("descriptor %d\n", fd);
}

static void *connect_and_send(void *to)
{
	const struct sockaddr *at = to;
	int fd = socket(at->sa_family, SOCK_STREAM, 0);

	rest_ms(20);
	need(connect(fd, at, at->sa_family == AF_INET ? sizeof(struct sockaddr_in) : sizeof(struct sockaddr_un)) == 0);
	rest_ms(20);
	for (unsigned i = 0; i < count; i++)
		need(send(fd, "12345", 5, 0) == 5);
	shutdown(fd, SHUT_WR);
	need(recv(fd, buf, 1, 0) == 1);
	close(fd);
	return NULL;
}

/* A thread is the client, this one the server. */
static void serve(struct sockaddr *at, socklen_t len)
{
	int server = socket(at->sa_family, SOCK_STREAM, 0), fd;
	pthread_t thread;

	need(bind(server, at, len) == 0 && listen(server, 4) == 0 && getsockname(server, at, &len) == 0);
	pthread_create(&thread, NULL, connect_and_send, at);
	need((fd = accept(server, NULL, NULL)) >= 0);
	while (recv(fd, buf, 5, MSG_WAITALL) > 0)
		;
	need(send(fd, "x", 1, 0) == 1);
	pthread_join(thread, NULL);
	close(fd);
	close(server);
}

static void c_tcp(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};

	serve((struct sockaddr *)&at, sizeof(at));
	printf("port %d\n", ntohs(at.sin_port));
}

static void c_unix(void)
{
	struct sockaddr_un at = {.sun_family = AF_UNIX};

	snprintf(at.sun_path, sizeof(at.sun_path), "/tmp/channels-%d", (int)getpid());
	serve((struct sockaddr *)&at, sizeof(at));
	unlink(at.sun_path);
	printf("path %s pid %d\n", at.sun_path, (int)getpid());
}

static void c_udp(void)
{
	struct sockaddr_in at[2];
	socklen_t len = sizeof(at[0]);
	int fd[2];

	for (int i = 0; i < 2; i++) {
		at[i] = (struct sockaddr_in){.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
		fd[i] = socket(AF_INET, SOCK_DGRAM, 0);
		need(bind(fd[i], (struct sockaddr *)&at[i], len) == 0);
		need(getsockname(fd[i], (struct sockaddr *)&at[i], &len) == 0);
	}
	/* Used before it is connected: then it leads elsewhere. */
	need(sendto(fd[0], "one", 3, 0, (struct sockaddr *)&at[1], len) == 3);
	need(connect(fd[0], (struct sockaddr *)&at[1], len) == 0);
	need(send(fd[0], "two", 3, 0) == 3);
	need(recv(fd[1], buf, 9, 0) == 3 && recv(fd[1], buf, 9, 0) == 3);
	printf("ports %d %d\n", ntohs(at[0].sin_port), ntohs(at[1].sin_port));
}

/* Every call that moves bytes, once each way. */
static void c_calls(void)
{
	struct iovec part = {buf, 4};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
	struct mmsghdr many = {.msg_hdr = message};
	char path[] = "/tmp/channels-XXXXXX";
	int pair[2], ends[2], file = mkstemp(path);

	unlink(path);
	need(write(file, "abcd", 4) == 4 && socketpair(AF_UNIX, SOCK_DGRAM, 0, pair) == 0 && pipe(ends) == 0);
	need(write(pair[0], "abcd", 4) == 4 && read(pair[1], buf, 4) == 4);
	need(writev(pair[0], &part, 1) == 4 && readv(pair[1], &part, 1) == 4);
	need(send(pair[0], buf, 4, 0) == 4 && recv(pair[1], buf, 4, 0) == 4);
	need(sendto(pair[0], buf, 4, 0, NULL, 0) == 4 && recvfrom(pair[1], buf, 4, 0, NULL, NULL) == 4);
	need(sendmsg(pair[0], &message, 0) == 4 && recvmsg(pair[1], &message, 0) == 4);
	need(sendmmsg(pair[0], &many, 1, 0) == 1 && recvmmsg(pair[1], &many, 1, 0, NULL) == 1);
	need(sendfile(ends[1], file, &(off_t){0}, 4) == 4);
	need(splice(ends[0], NULL, pair[0], NULL, 4, 0) == 4 && read(pair[1], buf, 4) == 4);
	/* Nothing of these is moved over a channel. */
	need(pread(file, buf, 4, 0) == 4 && recv(pair[1], buf, 4, MSG_DONTWAIT) == -1);
	printf("pair %lu %lu pipe %lu\n", inode_of(pair[0]), inode_of(pair[1]), inode_of(ends[0]));
}

static void c_replaced(void)
{
	int first[2], second[2], third[2];

	need(pipe(first) == 0 && pipe(second) == 0 && pipe(third) == 0);
	printf("inodes %lu %lu %lu\n", inode_of(first[0]), inode_of(second[0]), inode_of(third[0]));
	need(write(first[1], "a", 1) == 1);
	need(dup2(second[1], first[1]) == first[1]);
	need(write(first[1], "bb", 2) == 2);
	need(dup3(third[1], first[1], O_CLOEXEC) == first[1]);
	need(write(first[1], "cccc", 4) == 4);
}

static int pipe_at(int fd)
{
	int ends[2];

	need(pipe(ends) == 0);
	need(ends[0] == fd);
	return ends[1];
}

/* The number of a descriptor is given out again, after each way to close it. */
static void c_reused(void)
{
	int ends[2], raw;
	char byte;

	need(pipe(ends) == 0);
	printf("inodes %lu", inode_of(ends[0]));
	need(write(ends[1], "a", 1) == 1 && read(ends[0], &byte, 1) == 1);
	close(ends[0]);
	close(ends[1]);
	ends[1] = pipe_at(ends[0]);
	printf(" %lu", inode_of(ends[0]));
	need(write(ends[1], "a", 1) == 1 && read(ends[0], &byte, 1) == 1);
	syscall(SYS_close_range, ends[0], ends[1], 0);
	/* Behind our back: noticed after so many uses. */
	raw = pipe_at(ends[0]);
	printf(" %lu\n", inode_of(ends[0]));
	for (int i = 0; i < 200; i++)
		need(write(raw, "a", 1) == 1 && read(ends[0], &byte, 1) == 1);
}

static void c_ranged(void)
{
	int ends[2];
	char byte;

	need(pipe(ends) == 0);
	printf("inodes %lu", inode_of(ends[0]));
	need(write(ends[1], "a", 1) == 1 && read(ends[0], &byte, 1) == 1);
	need(close_range((unsigned)ends[0], ~0u, 0) == 0);
	ends[1] = pipe_at(ends[0]);
	printf(" %lu\n", inode_of(ends[0]));
	need(write(ends[1], "a", 1) == 1 && read(ends[0], &byte, 1) == 1);
}

/* Sent by the child, got by the parent, over one pipe. */
static void c_forked(void)
{
	int ends[2];
	pid_t child;

	need(pipe(ends) == 0);
	send_some(ends[1], ends[0]);
	child = fork();
	if (child == 0) {
		for (unsigned i = 0; i < count; i++)
			need(write(ends[1], "child", 5) == 5);
		_exit(0);
	}
	waitpid(child, NULL, 0);
	for (unsigned i = 0; i < count; i++)
		need(read(ends[0], buf, 5) == 5);
	printf("inode %lu child %d\n", inode_of(ends[0]), (int)child);
}

static void c_many(void)
{
	struct rlimit all;

	getrlimit(RLIMIT_NOFILE, &all);
	all.rlim_cur = all.rlim_max;
	setrlimit(RLIMIT_NOFILE, &all);
	for (unsigned i = 0; i < count; i++) {
		int ends[2];

		need(pipe(ends) == 0);
		need(write(ends[1], "x", 1) == 1);
		need(read(ends[0], buf, 1) == 1);
	}
	printf("pipes %u\n", count);
}

/* As fast as it goes. */
static void c_storm(void)
{
	int ends[2];

	need(pipe(ends) == 0);
	for (unsigned i = 0; i < count; i++) {
		need(write(ends[1], "x", 1) == 1);
		need(read(ends[0], buf, 1) == 1);
	}
	printf("inode %lu\n", inode_of(ends[0]));
}

static int shared[2];

static void *writes_shared(void *unused)
{
	for (unsigned i = 0; i < count; i++) {
		need(write(shared[1], "x", 1) == 1);
		rest_ms(1);
	}
	return unused;
}

static void c_threads(void)
{
	pthread_t thread[2];

	need(pipe(shared) == 0);
	for (int i = 0; i < 2; i++)
		pthread_create(&thread[i], NULL, writes_shared, NULL);
	for (unsigned i = 0; i < 2 * count; i++)
		need(read(shared[0], buf, 1) == 1);
	for (int i = 0; i < 2; i++)
		pthread_join(thread[i], NULL);
	printf("inode %lu\n", inode_of(shared[0]));
}

/* ---- who posted ---------------------------------------------------------- */

static sem_t sem;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static unsigned posted;

static void *posts(void *unused)
{
	printf("poster %ld\n", (long)syscall(SYS_gettid));
	for (unsigned i = 0; i < count; i++) {
		rest_ms(20);
		sem_post(&sem);
	}
	return unused;
}

static void c_sem(void)
{
	pthread_t thread;

	sem_init(&sem, 0, 0);
	pthread_create(&thread, NULL, posts, NULL);
	for (unsigned i = 0; i < count; i++)
		need(sem_wait(&sem) == 0);
	pthread_join(thread, NULL);
	printf("waiter %ld\n", (long)syscall(SYS_gettid));
}

static void *signals(void *broadcast)
{
	printf("poster %ld\n", (long)syscall(SYS_gettid));
	for (unsigned i = 0; i < count; i++) {
		rest_ms(20);
		pthread_mutex_lock(&lock);
		posted++;
		if (broadcast != NULL)
			pthread_cond_broadcast(&cond);
		else
			pthread_cond_signal(&cond);
		pthread_mutex_unlock(&lock);
	}
	return NULL;
}

static void wait_for_condition(void *broadcast)
{
	struct timespec at;
	pthread_t thread;

	pthread_create(&thread, NULL, signals, broadcast);
	pthread_mutex_lock(&lock);
	/* Nobody has posted it when the time is up. */
	clock_gettime(CLOCK_REALTIME, &at);
	at.tv_nsec += at.tv_nsec < 990000000 ? 5000000 : 0;
	pthread_cond_timedwait(&cond, &lock, &at);
	for (unsigned i = 0; i < count; i++) {
		while (posted <= i)
			pthread_cond_wait(&cond, &lock);
	}
	pthread_mutex_unlock(&lock);
	pthread_join(thread, NULL);
	printf("waiter %ld\n", (long)syscall(SYS_gettid));
}

static void c_cond(void)
{
	wait_for_condition(NULL);
}

static void c_broadcast(void)
{
	wait_for_condition(buf);
}

int main(int argc, char **argv)
{
	static const struct {
		const char *name;
		void (*run)(void);
	} cases[] = {{"pipe", c_pipe},	   {"pair", c_pair},	      {"eventfd", c_eventfd},
		     {"tcp", c_tcp},	   {"unix", c_unix},	      {"udp", c_udp},
		     {"calls", c_calls},   {"replaced", c_replaced},  {"reused", c_reused},
		     {"ranged", c_ranged}, {"forked", c_forked},      {"many", c_many},
		     {"storm", c_storm},   {"threads", c_threads},    {"sem", c_sem},
		     {"cond", c_cond},	   {"broadcast", c_broadcast}};

	if (argc > 2)
		count = (unsigned)strtoul(argv[2], NULL, 10);
	setvbuf(stdout, NULL, _IOFBF, sizeof(buf));
	/* The first event, before there are threads: events that come while the pool is made are lost. */
	close(dup(0));
	for (size_t i = 0; argc > 1 && i < sizeof(cases) / sizeof(cases[0]); i++)
		if (strcmp(argv[1], cases[i].name) == 0)
			cases[i].run();
	return 0;
}
