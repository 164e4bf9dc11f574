/* cancel.c - cancel a thread in each blocking call: its cleanup handler must run. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static int ends[2], full[2], pair[2];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static sem_t sem;
static volatile int cleaned;
static volatile pid_t child;
static char buf[65536];

static void b_read(void)
{
	(void)!read(ends[0], buf, 1);
}

static void b_readv(void)
{
	struct iovec part = {buf, 1};

	(void)!readv(ends[0], &part, 1);
}

static void b_write(void)
{
	for (;;)
		(void)!write(full[1], buf, sizeof(buf));
}

static void b_recv(void)
{
	recv(pair[0], buf, 1, 0);
}

static void b_recvmsg(void)
{
	struct iovec part = {buf, 1};
	struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};

	recvmsg(pair[0], &message, 0);
}

static void b_poll(void)
{
	struct pollfd one = {.fd = ends[0], .events = POLLIN};

	poll(&one, 1, -1);
}

static void b_ppoll(void)
{
	ppoll(NULL, 0, NULL, NULL);
}

static void b_select(void)
{
	select(0, NULL, NULL, NULL, NULL);
}

static void b_epoll_wait(void)
{
	struct epoll_event event;

	epoll_wait(epoll_create1(EPOLL_CLOEXEC), &event, 1, -1);
}

static void b_nanosleep(void)
{
	struct timespec hour = {3600, 0};

	nanosleep(&hour, NULL);
}

static void b_clock_nanosleep(void)
{
	struct timespec hour = {3600, 0};

	clock_nanosleep(CLOCK_MONOTONIC, 0, &hour, NULL);
}

static void b_usleep(void)
{
	for (;;)
		usleep(900000);
}

static void b_sleep(void)
{
	sleep(3600);
}

static void b_pause(void)
{
	pause();
}

static void b_sem_wait(void)
{
	sem_wait(&sem);
}

static void unlock(void *unused)
{
	(void)unused;
	pthread_mutex_unlock(&mutex);
}

static void b_cond_wait(void)
{
	pthread_mutex_lock(&mutex);
	pthread_cleanup_push(unlock, NULL);
	for (;;)
		pthread_cond_wait(&cond, &mutex);
	pthread_cleanup_pop(0);
}

static void b_cond_timedwait(void)
{
	struct timespec until;

	clock_gettime(CLOCK_REALTIME, &until);
	until.tv_sec += 3600;
	pthread_mutex_lock(&mutex);
	pthread_cleanup_push(unlock, NULL);
	for (;;)
		pthread_cond_timedwait(&cond, &mutex, &until);
	pthread_cleanup_pop(0);
}

static void b_sigwait(void)
{
	sigset_t set;
	int number;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR2);
	sigwait(&set, &number);
}

static void b_sigsuspend(void)
{
	sigset_t none;

	sigemptyset(&none);
	sigsuspend(&none);
}

static void *sleeper(void *unused)
{
	for (;;)
		pause();
	return unused;
}

static void b_join(void)
{
	pthread_t thread;

	pthread_create(&thread, NULL, sleeper, NULL);
	pthread_join(thread, NULL);
}

static void b_waitpid(void)
{
	int status;

	child = fork();
	if (child == 0) {
		pause();
		_exit(0);
	}
	waitpid(child, &status, 0);
}

static const struct {
	const char *name;
	void (*block)(void);
} calls[] = {
	{"read", b_read},
	{"readv", b_readv},
	{"write", b_write},
	{"recv", b_recv},
	{"recvmsg", b_recvmsg},
	{"poll", b_poll},
	{"ppoll", b_ppoll},
	{"select", b_select},
	{"epoll_wait", b_epoll_wait},
	{"nanosleep", b_nanosleep},
	{"clock_nanosleep", b_clock_nanosleep},
	{"usleep", b_usleep},
	{"sleep", b_sleep},
	{"pause", b_pause},
	{"sem_wait", b_sem_wait},
	{"pthread_cond_wait", b_cond_wait},
	{"pthread_cond_timedwait", b_cond_timedwait},
	{"sigwait", b_sigwait},
	{"sigsuspend", b_sigsuspend},
	{"pthread_join", b_join},
	{"waitpid", b_waitpid},
};

static void clean(void *unused)
{
	(void)unused;
	cleaned++;
}

static void *body(void *block)
{
	void (*call)(void);

	memcpy(&call, &block, sizeof(call));
	pthread_cleanup_push(clean, NULL);
	call();
	pthread_cleanup_pop(0);
	return NULL;
}

int main(void)
{
	struct timespec moment = {0, 5000000};

	signal(SIGPIPE, SIG_IGN);
	sem_init(&sem, 0, 0);
	if (pipe(ends) != 0 || pipe(full) != 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) != 0)
		return 1;
	for (size_t i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		pthread_t thread;
		void *block, *result = NULL;

		memcpy(&block, &calls[i].block, sizeof(block));
		cleaned = 0;
		pthread_create(&thread, NULL, body, block);
		/* Whether it blocks yet or not, the cancellation comes through. */
		nanosleep(&moment, NULL);
		pthread_cancel(thread);
		pthread_join(thread, &result);
		printf("%s %s, %s\n", calls[i].name, result == PTHREAD_CANCELED ? "cancelled" : "went on",
		       cleaned == 1 ? "cleaned up" : "not cleaned up");
	}
	kill(child, SIGKILL);
	fflush(stdout);
	_exit(0); /* not all threads have an end */
}
