/* many_threads.c - 200 threads at once, each of which has 20 ms of CPU time to live; says what it took. */
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#define THREADS 200
#define LIFE_NS 20000000

static void *spin(void *unused)
{
	struct timespec t;

	do {
		for (volatile int i = 0; i < 2000; i++)
			;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	} while (t.tv_sec == 0 && t.tv_nsec < LIFE_NS);
	return unused;
}

int main(void)
{
	pthread_t threads[THREADS];
	struct timespec t;

	for (int i = 0; i < THREADS; i++) {
		if (pthread_create(&threads[i], NULL, spin, NULL) != 0)
			return 1;
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	printf("%lld\n", (long long)t.tv_sec * 1000000000 + t.tv_nsec);
	return 0;
}
