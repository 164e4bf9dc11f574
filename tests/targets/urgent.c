/* urgent.c - owns SIGURG in every way there is, under a profiler that would like to have it; counts what arrives. */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/select.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t plain, detailed, on_stack, restarted_wrong;
static char other_stack[65536];

static void spin(double seconds)
{
	struct timespec t;
	double end;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	end = (double)t.tv_sec + (double)t.tv_nsec / 1e9 + seconds;
	do {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	} while ((double)t.tv_sec + (double)t.tv_nsec / 1e9 < end);
}

static void on_plain(int number)
{
	plain += number == SIGURG;
}

static void on_detailed(int number, siginfo_t *info, void *context)
{
	char here;

	(void)context;
	detailed += number == SIGURG && info->si_code == SI_QUEUE && info->si_value.sival_int == 42;
	on_stack += &here >= other_stack && &here < other_stack + sizeof(other_stack);
}

/* A handler that it sets gets its own signals and no others, and is told when it asks. */
static void handlers(void)
{
	struct sigaction action = {.sa_handler = on_plain}, old;
	union sigval value = {.sival_int = 42};
	stack_t stack = {.ss_sp = other_stack, .ss_size = sizeof(other_stack)};

	sigaction(SIGURG, &action, &old);
	printf("at first %s\n", old.sa_handler == SIG_DFL ? "default" : "something");
	for (int i = 0; i < 20; i++) {
		raise(SIGURG);
		spin(0.01);
	}
	sigaction(SIGURG, NULL, &old);
	printf("plain %d, told %s\n", (int)plain, old.sa_handler == on_plain ? "the same" : "another");
	sigaltstack(&stack, NULL);
	action.sa_sigaction = on_detailed;
	action.sa_flags = (int)(SA_SIGINFO | SA_ONSTACK | SA_RESETHAND);
	sigaction(SIGURG, &action, NULL);
	sigqueue(getpid(), SIGURG, value);
	sigqueue(getpid(), SIGURG, value);
	spin(0.05);
	printf("detailed %d, on its stack %d\n", (int)detailed, (int)on_stack);
	sigaction(SIGURG, NULL, &old);
	printf("then %s\n", old.sa_handler == SIG_DFL ? "default" : "something");
	printf("signal() gives %s\n", signal(SIGURG, on_plain) == SIG_DFL ? "default" : "something");
	printf("signal() gives %s\n", signal(SIGURG, SIG_IGN) == on_plain ? "the same" : "another");
	raise(SIGURG);
	printf("ignored, still %d\n", (int)plain);
}

/* What it blocks it believes to be blocked, and gets when it unblocks. */
static void masks(void)
{
	sigset_t all, before, now;

	signal(SIGURG, on_plain);
	plain = 0;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	spin(0.05);
	raise(SIGURG);
	spin(0.02);
	pthread_sigmask(SIG_BLOCK, NULL, &now);
	printf("blocked: %d then, %d now, arrived %d\n", sigismember(&before, SIGURG), sigismember(&now, SIGURG),
	       (int)plain);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	printf("unblocked: arrived %d\n", (int)plain);
	plain = 0;
	sigemptyset(&all);
	sigaddset(&all, SIGURG);
	sigprocmask(SIG_BLOCK, &all, NULL);
	raise(SIGURG);
	spin(0.02);
	sigpending(&now);
	printf("by name: pending %d, arrived %d\n", sigismember(&now, SIGURG), (int)plain);
	sigprocmask(SIG_UNBLOCK, &all, NULL);
	printf("by name: arrived %d\n", (int)plain);
	signal(SIGURG, SIG_DFL);
}

static void *send_later(void *thread)
{
	usleep(20000);
	pthread_kill(*(pthread_t *)thread, SIGURG);
	return NULL;
}

/* Calls that wait with another mask let in what was blocked before them, and what comes meanwhile; no more. */
static void masks_of_waits(void)
{
	struct timespec no_time = {0, 0}, some = {5, 0};
	pthread_t self = pthread_self(), sender;
	sigset_t all, before, now;
	int result;

	signal(SIGURG, on_plain);
	plain = 0;
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	raise(SIGURG);
	result = ppoll(NULL, 0, &no_time, &all);
	printf("ppoll as before: %d, arrived %d\n", result, (int)plain);
	sigsuspend(&before);
	printf("sigsuspend: %s, arrived %d\n", strerror(errno), (int)plain);
	pthread_create(&sender, NULL, send_later, &self);
	spin(0.005);
	result = ppoll(NULL, 0, &some, &before);
	printf("ppoll: %d, arrived %d\n", result, (int)plain);
	pthread_join(sender, NULL);
	raise(SIGURG);
	result = pselect(0, NULL, NULL, NULL, &some, &before);
	printf("pselect: %d, arrived %d\n", result, (int)plain);
	raise(SIGURG);
	spin(0.05);
	pthread_sigmask(SIG_BLOCK, NULL, &now);
	printf("blocked again %d, arrived %d\n", sigismember(&now, SIGURG), (int)plain);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	printf("and unblocked: arrived %d\n", (int)plain);
	signal(SIGURG, SIG_DFL);
}

/* Blocking calls after some work: H4. */
static void waits(void)
{
	struct timespec time = {0, 2000000};
	int ends[2], broken = 0, slept = 0, got = 0;
	struct pollfd end;
	char byte;

	if (pipe(ends) != 0)
		return;
	end = (struct pollfd){ends[0], POLLIN, 0};
	for (int i = 0; i < 60; i++) {
		spin(0.003);
		broken += poll(&end, 1, 2) < 0;
		spin(0.003);
		slept += nanosleep(&time, NULL) < 0;
		if (fork() == 0) {
			usleep(1000);
			_exit(write(ends[1], "x", 1) != 1);
		}
		spin(0.003);
		got += read(ends[0], &byte, 1) == 1;
		got += wait(NULL) > 0;
	}
	printf("poll broken %d, sleep broken %d, read and wait %d\n", broken, slept, got);
}

static void *wait_for_all(void *unused)
{
	sigset_t all;
	int number = 0;

	(void)unused;
	sigfillset(&all);
	spin(0.05);
	sigwait(&all, &number);
	printf("sigwait of all: %s\n", strsignal(number));
	return NULL;
}

/* One who fetches everything by hand sees no signal of ours; one who wants SIGURG gets it. */
static void fetches(void)
{
	struct signalfd_siginfo info;
	sigset_t set, before;
	pthread_t thread;
	int number = 0, fd;

	sigfillset(&set);
	pthread_sigmask(SIG_SETMASK, &set, &before);
	pthread_create(&thread, NULL, wait_for_all, NULL);
	spin(0.2);
	pthread_kill(thread, SIGUSR1);
	pthread_join(thread, NULL);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	sigemptyset(&set);
	sigaddset(&set, SIGURG);
	pthread_sigmask(SIG_BLOCK, &set, NULL);
	raise(SIGURG);
	sigwait(&set, &number);
	printf("sigwait of one: %s\n", number == SIGURG ? "urgent" : "another");
	fd = signalfd(-1, &set, SFD_NONBLOCK);
	spin(0.1);
	raise(SIGURG);
	printf("signalfd: %s\n",
	       read(fd, &info, sizeof(info)) == sizeof(info) && info.ssi_code == SI_TKILL ? "its own" : "another");
	spin(0.1);
	printf("signalfd: %s\n", read(fd, &info, sizeof(info)) < 0 && errno == EAGAIN ? "nothing more" : "more");
}

int main(void)
{
	handlers();
	masks();
	masks_of_waits();
	waits();
	fetches();
	return 0;
}
