/* urgent_fetch.c - blocks all signals in all threads and fetches them by hand, while two threads compute; counts
 * what it sends itself in every way there is, and what it gets. */
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define EACH 25

static sigset_t all;
static atomic_int got, queued, others, done;
static atomic_bool ready;
static int by_descriptor;

static void *compute(void *unused)
{
	volatile unsigned long n = 0;

	(void)unused;
	while (!done)
		n++;
	return NULL;
}

static void take(int number, int value)
{
	others += number != SIGURG && number != SIGUSR1;
	queued += number == SIGURG && value == 42;
	got += number == SIGURG;
}

static void *by_sigwait(void *unused)
{
	int number = 0;

	(void)unused;
	ready = true;
	while (number != SIGUSR1) {
		sigwait(&all, &number);
		take(number, 0);
	}
	return NULL;
}

static void *by_sigwaitinfo(void *unused)
{
	siginfo_t info = {0};

	(void)unused;
	ready = true;
	while (info.si_signo != SIGUSR1) {
		if (sigwaitinfo(&all, &info) > 0)
			take(info.si_signo, info.si_code == SI_QUEUE ? info.si_value.sival_int : 0);
	}
	return NULL;
}

/* Is away more often than not. */
static void *by_sigtimedwait(void *unused)
{
	struct timespec brief = {0, 1000000};
	siginfo_t info = {0};

	(void)unused;
	ready = true;
	while (info.si_signo != SIGUSR1) {
		if (sigtimedwait(&all, &info, &brief) > 0)
			take(info.si_signo, info.si_code == SI_QUEUE ? info.si_value.sival_int : 0);
		usleep(1500);
	}
	return NULL;
}

static void *by_signalfd(void *unused)
{
	struct signalfd_siginfo info = {0};
	struct pollfd end = {by_descriptor, POLLIN, 0};

	(void)unused;
	ready = true;
	while (info.ssi_signo != SIGUSR1) {
		if (poll(&end, 1, 1000) == 1 && read(by_descriptor, &info, sizeof(info)) == sizeof(info))
			take((int)info.ssi_signo, info.ssi_code == SI_QUEUE ? info.ssi_int : 0);
	}
	return NULL;
}

static int ends[2];

/* Two ends of a connection, of which one tells us when something is urgent. */
static void connect_ends(void)
{
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(at);
	int listener = socket(AF_INET, SOCK_STREAM, 0);

	bind(listener, (struct sockaddr *)&at, sizeof(at));
	listen(listener, 1);
	getsockname(listener, (struct sockaddr *)&at, &len);
	ends[0] = socket(AF_INET, SOCK_STREAM, 0);
	connect(ends[0], (struct sockaddr *)&at, sizeof(at));
	ends[1] = accept(listener, NULL, NULL);
	fcntl(ends[1], F_SETOWN, getpid());
	close(listener);
}

static void send_one(int way, pthread_t fetcher)
{
	union sigval value = {.sival_int = 42};

	if (way == 0)
		kill(getpid(), SIGURG);
	else if (way == 1)
		pthread_kill(fetcher, SIGURG);
	else if (way == 2)
		sigqueue(getpid(), SIGURG, value);
	else
		send(ends[0], "!", 1, MSG_OOB);
}

/* One after the other: two that are pending at once would be one. */
static int count(int way, pthread_t fetcher)
{
	int before = got;

	for (int i = 0; i < EACH; i++) {
		int seen = got;

		send_one(way, fetcher);
		for (int wait = 0; got == seen && wait < 8000; wait++)
			usleep(500);
	}
	return got - before;
}

static void fetch(const char *name, void *(*by)(void *))
{
	static const char *const ways[] = {"kill", "pthread_kill", "sigqueue", "socket"};
	pthread_t fetcher;

	ready = false;
	queued = 0;
	pthread_create(&fetcher, NULL, by, NULL);
	while (!ready)
		usleep(1000);
	for (int way = 0; way < 4; way++)
		printf("%s: %s %d\n", name, ways[way], count(way, fetcher));
	printf("%s: values %d\n", name, (int)queued);
	usleep(100000);
	pthread_kill(fetcher, SIGUSR1);
	pthread_join(fetcher, NULL);
}

/* Sent while nobody fetches. */
static void later(void)
{
	struct timespec none = {0, 0};
	sigset_t before, pending, after;
	siginfo_t info;
	int first, second;

	sigpending(&before);
	kill(getpid(), SIGURG);
	usleep(50000);
	sigpending(&pending);
	first = sigtimedwait(&all, &info, &none);
	sigpending(&after);
	printf("later: %s by kill %d, pending %d %d %d\n", first == SIGURG ? "urgent" : "another",
	       info.si_code == SI_USER, sigismember(&before, SIGURG), sigismember(&pending, SIGURG),
	       sigismember(&after, SIGURG));
	raise(SIGURG);
	usleep(50000);
	first = sigtimedwait(&all, &info, &none);
	second = sigtimedwait(&all, NULL, &none);
	printf("later: %s by raise %d, then %s\n", first == SIGURG ? "urgent" : "another", info.si_code == SI_TKILL,
	       second < 0 && errno == EAGAIN ? "nothing" : "more");
}

int main(void)
{
	pthread_t busy[2];

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	connect_ends();
	for (int i = 0; i < 2; i++)
		pthread_create(&busy[i], NULL, compute, NULL);
	later();
	fetch("sigwait", by_sigwait);
	fetch("sigwaitinfo", by_sigwaitinfo);
	fetch("sigtimedwait", by_sigtimedwait);
	later();
	by_descriptor = signalfd(-1, &all, SFD_NONBLOCK);
	fetch("signalfd", by_signalfd);
	done = 1;
	for (int i = 0; i < 2; i++)
		pthread_join(busy[i], NULL);
	printf("others %d\n", (int)others);
	return 0;
}
