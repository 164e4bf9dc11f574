/*
 * past_libc - deals with signals by the kernel's own calls, where no hook sees it.
 *
 *	past_libc stray		puts a handler of its own in the place of any other; prints how often it was called
 *	past_libc deaf		blocks the signal half of the time; prints its CPU time in ms
 *	past_libc faults	half of the time with a handler of its own for SIGSEGV
 */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

struct kernel_action {
	void (*handler)(int);
	unsigned long flags;
	void (*restorer)(void);
	uint64_t mask;
};

static volatile int came;

static void count(int number)
{
	(void)number;
	came = came + 1;
}

static double cpu_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static __attribute__((noinline)) void spin(double ms)
{
	double end = cpu_ms() + ms;
	volatile int x = 0;

	while (cpu_ms() < end)
		for (int i = 0; i < 20000; i++)
			x = x + i;
}

static void stray(void)
{
	struct kernel_action action;

	/* With the restorer that libc gave the handler that is there. */
	signal(SIGUSR1, count);
	syscall(SYS_rt_sigaction, SIGUSR1, NULL, &action, sizeof(action.mask));
	spin(100);
	syscall(SYS_rt_sigaction, SIGURG, &action, NULL, sizeof(action.mask));
	spin(400);
	printf("%d\n", came);
}

static void deaf(void)
{
	uint64_t urgent = 1ull << (SIGURG - 1);

	for (int i = 0; i < 20; i++) {
		syscall(SYS_rt_sigprocmask, SIG_BLOCK, &urgent, NULL, sizeof(urgent));
		spin(30);
		syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &urgent, NULL, sizeof(urgent));
		spin(30);
	}
	printf("%d\n", (int)cpu_ms());
}

static __attribute__((noinline)) void ours(void)
{
	spin(300);
	__asm__ volatile("" ::: "memory");
}

static __attribute__((noinline)) void theirs(void)
{
	spin(300);
	__asm__ volatile("" ::: "memory");
}

static void faults(void)
{
	struct kernel_action action;

	signal(SIGUSR1, count);
	syscall(SYS_rt_sigaction, SIGUSR1, NULL, &action, sizeof(action.mask));
	ours();
	syscall(SYS_rt_sigaction, SIGSEGV, &action, NULL, sizeof(action.mask));
	theirs();
}

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "stray") == 0)
		stray();
	else if (argc == 2 && strcmp(argv[1], "deaf") == 0)
		deaf();
	else if (argc == 2 && strcmp(argv[1], "faults") == 0)
		faults();
	else
		return 2;
	return 0;
}
