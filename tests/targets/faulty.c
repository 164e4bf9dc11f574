/* faulty.c - its own handlers for faults, on its own stack, while Python samples would be read: counts and ends by one. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t faults, on_stack, masked;
static sigjmp_buf back;
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

static void on_fault(int number, siginfo_t *info, void *context)
{
	sigset_t now;
	char here;

	(void)context;
	faults += number == SIGSEGV && info->si_code == SEGV_ACCERR;
	on_stack += &here >= other_stack && &here < other_stack + sizeof(other_stack);
	pthread_sigmask(SIG_BLOCK, NULL, &now);
	masked += sigismember(&now, SIGUSR1) && sigismember(&now, SIGSEGV) && !sigismember(&now, SIGUSR2);
	siglongjmp(back, 1);
}

int main(int argc, char **argv)
{
	volatile char *closed = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	stack_t stack = {.ss_sp = other_stack, .ss_size = sizeof(other_stack)};
	struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK}, old;

	sigaltstack(&stack, NULL);
	sigaddset(&action.sa_mask, SIGUSR1);
	sigaction(SIGSEGV, &action, &old);
	printf("at first %s\n", old.sa_handler == SIG_DFL ? "default" : "something");
	for (volatile int i = 0; i < 50; i++) {
		if (sigsetjmp(back, 1) == 0)
			(void)*closed;
		spin(0.01);
	}
	sigaction(SIGSEGV, NULL, &old);
	printf("faults %d, on its stack %d, masked %d, told %s\n", (int)faults, (int)on_stack, (int)masked,
	       old.sa_sigaction == on_fault ? "the same" : "another");
	action.sa_handler = SIG_DFL;
	action.sa_flags = 0;
	sigaction(SIGSEGV, &action, &old);
	printf("told %s\n", old.sa_sigaction == on_fault ? "the same" : "another");
	fflush(stdout);
	spin(0.02);
	if (argc > 1 && strcmp(argv[1], "raise") == 0)
		raise(SIGSEGV);
	else if (argc > 1 && strcmp(argv[1], "kill") == 0)
		kill(getpid(), SIGSEGV);
	(void)*closed;
	return 0;
}
