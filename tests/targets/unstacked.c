/* unstacked.c - faults of its own, in a handler that would take an alternate stack if there were one; there is none. */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>

static __thread sigjmp_buf back;
static __thread char *top;
static __thread int faults, near;
static volatile char *closed;

static void spin(double seconds)
{
	struct timespec t;
	double end;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	end = (double)t.tv_sec + (double)t.tv_nsec / 1e9 + seconds;
	do {
		/* Mostly outside the kernel, where perf sends its signals. */
		for (volatile int i = 0; i < 20000; i++)
			;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	} while ((double)t.tv_sec + (double)t.tv_nsec / 1e9 < end);
}

static void on_fault(int number)
{
	char here;

	faults += number == SIGSEGV;
	near += &here < top && top - &here < 65536;
	siglongjmp(back, 1);
}

static void *work(void *name)
{
	char mine;

	top = &mine;
	for (volatile int i = 0; i < 40; i++) {
		if (sigsetjmp(back, 1) == 0)
			(void)*closed;
		spin(0.005);
	}
	printf("%s: faults %d, on its own stack %d\n", (const char *)name, faults, near);
	return NULL;
}

int main(void)
{
	struct sigaction action = {.sa_handler = on_fault, .sa_flags = SA_ONSTACK};
	pthread_t thread;

	closed = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	sigaction(SIGSEGV, &action, NULL);
	work("main");
	if (pthread_create(&thread, NULL, work, "thread") != 0)
		return 1;
	pthread_join(thread, NULL);
	return 0;
}
