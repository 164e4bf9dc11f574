/* Two threads, each in first -> second -> third -> spin all the time. */
#include <pthread.h>
#include <stdio.h>
#include <time.h>

static long long cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static __attribute__((noinline)) int spin(int n)
{
	volatile int x = 0;

	for (int i = 0; i < n; i++)
		x = x + i;
	return x;
}

static __attribute__((noinline)) int third(int n)
{
	return spin(n) + 1;
}

static __attribute__((noinline)) int second(int n)
{
	return third(n) + 2;
}

static __attribute__((noinline)) int first(int n)
{
	return second(n) + 3;
}

static __attribute__((noinline)) int work(void)
{
	long long end = cpu_ns() + 300000000;
	int sum = 0;

	while (cpu_ns() < end)
		sum += first(300000);
	return sum;
}

static void *on_thread(void *arg)
{
	(void)arg;
	return (void *)(long)work();
}

int main(void)
{
	pthread_t thread;
	int sum;

	if (pthread_create(&thread, NULL, on_thread, NULL) != 0)
		return 1;
	sum = work();
	pthread_join(thread, NULL);
	puts(sum != 0 ? "done" : "");
	return 0;
}
