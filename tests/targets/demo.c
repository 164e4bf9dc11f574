/*
 * A server in small: two threads answer requests in two phases, and one in ten
 * is slow.  Arguments, if any, are a command to run at the end.
 */
#include <inferscope/mark.h>

#include <math.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <sys/wait.h>
#include <time.h>
/* flags: -lm */

extern char **environ;

static double compute(int steps)
{
	double sum = 0;

	ISC_SCOPE("decode");
	for (int i = 1; i < steps; i++)
		sum += sqrt((double)i) / i;
	return sum;
}

static void fetch(long ms)
{
	struct timespec pause = {0, ms * 1000000};

	ISC_SCOPE("fetch");
	nanosleep(&pause, NULL);
}

static void *serve(void *name)
{
	double sum = 0;

	isc_thread_name(name);
	for (int i = 0; i < 20; i++) {
		ISC_SCOPE("request");
		fetch(i % 10 == 9 ? 12 : 1);
		sum += compute(200000);
		isc_mark("answered", "{\"tokens\": 12}");
	}
	isc_counter("sum", sum);
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	pthread_create(&threads[0], NULL, serve, "worker-0");
	pthread_create(&threads[1], NULL, serve, "worker-1");
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	printf("40 requests answered\n");
	fflush(stdout);
	if (argc > 1) {
		pid_t pid;

		if (posix_spawnp(&pid, argv[1], NULL, NULL, argv + 1, environ) != 0 || waitpid(pid, NULL, 0) != pid)
			return 1;
	}
	return 0;
}
