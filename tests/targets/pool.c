/*
 * pool.c - 200 threads that work in rounds and meet after each, as the pools of BLAS and OpenMP do: pool ROUNDS.
 *
 * The work is the same each time; says what it took, in ns of CPU and of the clock on the wall.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define THREADS 200
#define PIECE 200000

static pthread_barrier_t all;
static long rounds;

static uint64_t now(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void *work(void *sum)
{
	for (long r = 0; r < rounds; r++) {
		for (volatile int i = 0; i < PIECE; i++)
			;
		*(uint64_t *)sum += PIECE;
		pthread_barrier_wait(&all);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	static uint64_t sums[THREADS];
	pthread_t threads[THREADS];
	uint64_t begin = now(CLOCK_MONOTONIC), sum = 0;

	rounds = argc > 1 ? atol(argv[1]) : 10;
	if (pthread_barrier_init(&all, NULL, THREADS) != 0)
		return 1;
	for (int i = 0; i < THREADS; i++) {
		if (pthread_create(&threads[i], NULL, work, &sums[i]) != 0)
			return 1;
	}
	for (int i = 0; i < THREADS; i++) {
		pthread_join(threads[i], NULL);
		sum += sums[i];
	}
	printf("%llu %llu %llu\n", (unsigned long long)sum, (unsigned long long)now(CLOCK_PROCESS_CPUTIME_ID),
	       (unsigned long long)(now(CLOCK_MONOTONIC) - begin));
	return 0;
}
