/* handlers.c - own the signals that profilers like to take, and count how often each handler runs. */
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/time.h>
#include <unistd.h>

static volatile sig_atomic_t count[65];
static sigjmp_buf back;

static void on_signal(int number)
{
	count[number]++;
}

static void on_fault(int number)
{
	count[number]++;
	siglongjmp(back, 1);
}

static void count_raised(int number)
{
	struct sigaction action = {.sa_handler = on_signal};

	sigaction(number, &action, NULL);
	for (int i = 0; i < 50; i++)
		raise(number);
	printf("SIG%s %d\n", sigabbrev_np(number), (int)count[number]);
}

/* Real faults: a page that may not be read, and one behind the end of its file. */
static void count_faults(void)
{
	volatile char *closed = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int fd = memfd_create("empty", 0);
	volatile char *empty = mmap(NULL, 4096, PROT_READ, MAP_SHARED, fd, 0);
	struct sigaction action = {.sa_handler = on_fault};

	sigaction(SIGSEGV, &action, NULL);
	sigaction(SIGBUS, &action, NULL);
	for (volatile int i = 0; i < 30; i++)
		if (sigsetjmp(back, 1) == 0)
			(void)*closed;
	for (volatile int i = 0; i < 20; i++)
		if (sigsetjmp(back, 1) == 0)
			(void)*empty;
	printf("faults %d %d\n", (int)count[SIGSEGV], (int)count[SIGBUS]);
}

static void count_ticks(int which, int number)
{
	struct itimerval every = {{0, 1000}, {0, 1000}}, off = {{0, 0}, {0, 0}};

	count[number] = 0;
	setitimer(which, &every, NULL);
	while (count[number] < 20) {
	}
	setitimer(which, &off, NULL);
	printf("%s ticks\n", sigabbrev_np(number));
}

static void count_fetched(void)
{
	struct signalfd_siginfo info;
	sigset_t set;
	int fd, n = 0;

	sigemptyset(&set);
	sigaddset(&set, SIGRTMIN);
	sigaddset(&set, SIGURG);
	sigprocmask(SIG_BLOCK, &set, NULL);
	fd = signalfd(-1, &set, SFD_NONBLOCK);
	for (int i = 0; i < 10; i++)
		raise(SIGRTMIN);
	raise(SIGURG);
	while (read(fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		n++;
	printf("fetched %d\n", n);
}

int main(void)
{
	static const int numbers[] = {SIGPROF, SIGALRM, SIGVTALRM, SIGURG, SIGUSR1, SIGCHLD, SIGTRAP, SIGINT};

	for (size_t i = 0; i < sizeof(numbers) / sizeof(numbers[0]); i++)
		count_raised(numbers[i]);
	count_faults();
	count_ticks(ITIMER_PROF, SIGPROF);
	count_ticks(ITIMER_REAL, SIGALRM);
	count_fetched();
	return 0;
}
