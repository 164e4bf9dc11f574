/* shares.c MS - 70, 20 and 10 percent of so much CPU time in three functions, below recursion, in two threads of
 * which one has three times as much as the other; prints the CPU time of each in ns. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static long long cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

/* The clock is asked seldom: what it takes is a function of its own. */
#define SPEND(ns) \
	do { \
		long long end_ = cpu_ns() + (ns); \
		volatile int x_ = 0; \
		while (cpu_ns() < end_) \
			for (int i_ = 0; i_ < 20000; i_++) \
				x_ = x_ + i_; \
		asm volatile("" ::: "memory"); /* no call of this is the last */ \
	} while (0)

static __attribute__((noinline)) void heavy(long long ns)
{
	SPEND(7 * ns);
}

static __attribute__((noinline)) void middle(long long ns)
{
	SPEND(2 * ns);
}

static __attribute__((noinline)) void light(long long ns)
{
	SPEND(ns);
}

static __attribute__((noinline)) int deeper(int n, void (*leaf)(long long), long long ns)
{
	int below = n > 0 ? deeper(n - 1, leaf, ns) : (leaf(ns), 0);

	return below + 1;
}

static void *work(void *ms)
{
	long long begin = cpu_ns(), tenth = *(long *)ms * 100000ll;

	for (int i = 0; i < 20; i++) {
		deeper(i % 10, heavy, tenth / 20);
		deeper(i % 7, middle, tenth / 20);
		deeper(i % 3, light, tenth / 20);
	}
	printf("%ld %lld\n", (long)syscall(SYS_gettid), cpu_ns() - begin);
	return NULL;
}

int main(int argc, char **argv)
{
	long ms = argc > 1 ? atol(argv[1]) : 100, more = 3 * ms;
	pthread_t thread;

	if (pthread_create(&thread, NULL, work, &ms) != 0)
		return 1;
	work(&more);
	pthread_join(thread, NULL);
	return 0;
}
