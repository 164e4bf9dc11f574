/* patient.c SECONDS - works a little and waits a little, in every call that a signal would break off; counts how often. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/select.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#define REST_NS 1500000

static const struct timespec rest = {0, REST_NS};

static double seconds_of(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* Ends at another point of a step each time. */
static void work(unsigned round)
{
	double end = seconds_of(CLOCK_THREAD_CPUTIME_ID) + 0.0005 + 0.00013 * (round % 17);

	while (seconds_of(CLOCK_THREAD_CPUTIME_ID) < end) {
	}
}

static struct timespec soon(void)
{
	struct timespec t;

	clock_gettime(CLOCK_REALTIME, &t);
	t.tv_nsec += REST_NS;
	if (t.tv_nsec >= 1000000000) {
		t.tv_nsec -= 1000000000;
		t.tv_sec++;
	}
	return t;
}

static int ends[2], sockets[2], watch;
static sem_t never;

static int sleeps(void)
{
	return nanosleep(&rest, NULL);
}

static int sleeps_by_clock(void)
{
	errno = clock_nanosleep(CLOCK_MONOTONIC, 0, &rest, NULL);
	return errno == 0 ? 0 : -1;
}

static int polls(void)
{
	struct pollfd one = {ends[0], POLLIN, 0};

	return poll(&one, 1, 2);
}

static int polls_exactly(void)
{
	struct pollfd one = {ends[0], POLLIN, 0};

	return ppoll(&one, 1, &rest, NULL);
}

static int selects(void)
{
	struct timeval time = {0, REST_NS / 1000};
	fd_set set;

	FD_ZERO(&set);
	FD_SET(ends[0], &set);
	return select(ends[0] + 1, &set, NULL, NULL, &time);
}

static int watches(void)
{
	struct epoll_event event;

	return epoll_wait(watch, &event, 1, 2);
}

static int receives(void)
{
	char byte;

	return recv(sockets[0], &byte, 1, 0) < 0 && errno != EAGAIN ? -1 : 0;
}

static int takes(void)
{
	struct timespec until = soon();

	return sem_timedwait(&never, &until) != 0 && errno != ETIMEDOUT ? -1 : 0;
}

static int waits_for_signals(void)
{
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	return sigtimedwait(&set, NULL, &rest) < 0 && errno != EAGAIN ? -1 : 0;
}

static void *later(void *end)
{
	nanosleep(&rest, NULL);
	return write(*(int *)end, "x", 1) == 1 ? NULL : end;
}

/* A handler without SA_RESTART is the program's own affair; ours must not show in a plain read. */
static int reads(void)
{
	pthread_t thread;
	char byte;
	int got;

	if (pthread_create(&thread, NULL, later, &ends[1]) != 0)
		return -1;
	got = read(ends[0], &byte, 1) == 1 ? 0 : -1;
	pthread_join(thread, NULL);
	return got;
}

static int (*const calls[])(void) = {sleeps,  sleeps_by_clock, polls, polls_exactly, selects,
				     watches, receives,	       takes, reads,	     waits_for_signals};

#define CALLS (sizeof(calls) / sizeof(calls[0]))

static const char *const names[CALLS] = {
	"nanosleep", "clock_nanosleep", "poll", "ppoll", "select", "epoll_wait", "recv", "sem", "read", "sigtimedwait"};

int main(int argc, char **argv)
{
	struct timeval patience = {0, REST_NS / 1000};
	double end = seconds_of(CLOCK_MONOTONIC) + (argc > 1 ? atof(argv[1]) : 1);
	int broken[CALLS] = {0}, other = 0;
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	sem_init(&never, 0, 0);
	watch = epoll_create1(0);
	if (pipe(ends) != 0 || socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0 ||
	    setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience)) != 0)
		return 1;
	epoll_ctl(watch, EPOLL_CTL_ADD, ends[0], &(struct epoll_event){.events = EPOLLIN});
	for (unsigned round = 0; seconds_of(CLOCK_MONOTONIC) < end; round++) {
		size_t i = round % CALLS;

		work(round / CALLS);
		if (calls[i]() < 0) {
			broken[i] += errno == EINTR;
			other += errno != EINTR;
		}
	}
	for (size_t i = 0; i < CALLS; i++)
		printf("%s %d\n", names[i], broken[i]);
	printf("other %d\n", other);
	return 0;
}
