/* many_threads.c - 200 threads at once, each of which has so many ms of CPU time to live; says what it took. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define THREADS 200

static long life_ns;

static void *spin(void *unused)
{
	struct timespec t;

	do {
		for (volatile int i = 0; i < 2000; i++)
			;
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	} while (t.tv_sec == 0 && t.tv_nsec < life_ns);
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t threads[THREADS];
	struct timespec t;

	life_ns = 1000000 * (argc > 1 ? atol(argv[1]) : 20);
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
