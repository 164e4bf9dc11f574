/*
 * Writes numbered marks inside scopes: marks N [THREADS] [PAUSE_US].
 *
 * Every mark is one event, so N marks on T threads are 3 N T events with their scopes.
 * The last line on stdout is what was written.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <inferscope/mark.h>

static long marks, pause_us;

static void *work(void *arg)
{
	(void)arg;
	for (long i = 0; i < marks; i++) {
		uint32_t scope = isc_scope_enter("step");

		isc_mark("mark", NULL);
		isc_scope_exit(scope);
		if (pause_us > 0)
			usleep((useconds_t)pause_us);
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 2 ? atoi(argv[2]) : 1;
	pthread_t t[64];

	marks = argc > 1 ? atol(argv[1]) : 100;
	pause_us = argc > 3 ? atol(argv[3]) : 0;
	if (threads < 1 || threads > 64)
		return 2;
	isc_counter("threads", threads);
	for (int i = 0; i < threads; i++)
		pthread_create(&t[i], NULL, work, NULL);
	for (int i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	printf("%ld\n", 1 + 3 * marks * threads);
	return 0;
}
