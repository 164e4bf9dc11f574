/*
 * preload_cost.c - what preloading the runtime adds to the start of a program.
 *
 *	preload_cost LIBRARY [RUNS] [PROGRAM]
 *
 * Starts PROGRAM (/bin/true) with and without the library in turn and prints
 * the medians, in milliseconds, with the interval that holds the median of the
 * differences in 95 of 100 cases.  Fails when all of that interval is over budget.
 */
#include <math.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BUDGET_MS 0.2

static double now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static double start_ms(const char *program, char *preload)
{
	char *argv[] = {(char *)program, NULL};
	char *env[] = {(char *)"PATH=/usr/bin:/bin", preload, NULL};
	double begin = now_ms();
	int status;
	pid_t pid;

	if (posix_spawn(&pid, program, NULL, NULL, argv, env) != 0 || waitpid(pid, &status, 0) != pid || status != 0) {
		fprintf(stderr, "preload_cost: %s did not run\n", program);
		exit(1);
	}
	return now_ms() - begin;
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
	size_t runs = argc > 2 ? strtoul(argv[2], NULL, 10) : 300;
	const char *program = argc > 3 ? argv[3] : "/bin/true";
	double *bare = calloc(runs, sizeof(double)), *with = calloc(runs, sizeof(double));
	double *diff = calloc(runs, sizeof(double));
	size_t half;
	char *preload;

	if (argc < 2 || runs < 20 || bare == NULL || with == NULL || diff == NULL ||
	    asprintf(&preload, "LD_PRELOAD=%s", argv[1]) < 0) {
		fprintf(stderr, "usage: preload_cost LIBRARY [RUNS >= 20] [PROGRAM]\n");
		return 2;
	}
	start_ms(program, NULL);
	start_ms(program, preload);
	for (size_t i = 0; i < runs; i++) {
		/* In turn who comes first, so that neither profits from warm caches. */
		if (i % 2 == 0)
			bare[i] = start_ms(program, NULL);
		with[i] = start_ms(program, preload);
		if (i % 2 == 1)
			bare[i] = start_ms(program, NULL);
		diff[i] = with[i] - bare[i];
	}
	qsort(bare, runs, sizeof(double), ascending);
	qsort(with, runs, sizeof(double), ascending);
	qsort(diff, runs, sizeof(double), ascending);
	half = (size_t)ceil(0.98 * sqrt((double)runs));
	printf("%s bare %.3f ms, preloaded %.3f ms, added %.3f ms [%.3f, %.3f] over %zu pairs\n", program,
	       bare[runs / 2], with[runs / 2], diff[runs / 2], diff[runs / 2 - half], diff[runs / 2 + half], runs);
	return diff[runs / 2 - half] > BUDGET_MS;
}
