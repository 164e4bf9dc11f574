/*
 * urgent_crowd - has a handler for SIGURG that nobody calls; prints how often it was called all the same.
 *
 * Threads come and go meanwhile, and most of the time is the kernel's.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <time.h>

static atomic_int came;

static void count(int number)
{
	(void)number;
	atomic_fetch_add(&came, 1);
}

static void spin(double ms)
{
	struct timespec t;
	double end;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	end = (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6 + ms;
	do {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	} while ((double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6 < end);
}

static void *moment(void *unused)
{
	spin(1);
	return unused;
}

static void *maker(void *unused)
{
	for (int i = 0; i < 150; i++) {
		pthread_t threads[4];

		for (int k = 0; k < 4; k++)
			pthread_create(&threads[k], NULL, moment, NULL);
		for (int k = 0; k < 4; k++)
			pthread_join(threads[k], NULL);
	}
	return unused;
}

int main(void)
{
	pthread_t thread;

	signal(SIGURG, count);
	pthread_create(&thread, NULL, maker, NULL);
	for (int i = 0; i < 100; i++)
		spin(10);
	pthread_join(thread, NULL);
	printf("%d\n", atomic_load(&came));
	return 0;
}
