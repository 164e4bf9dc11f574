/*
 * hook_cost.c - what a forwarding hook adds to a call.
 *
 *	hook_cost LIBRARY [ROUNDS]
 *
 * Runs itself with and without the library preloaded in turn.  Each run times
 * the calls of the table below many times over and reports its fastest batch;
 * printed are the medians over the runs and their difference, in nanoseconds.
 * Fails when a call is over budget.  What is added while a session records: let
 * `inferscope run` run `hook_cost --work`, which prints the fastest batches.
 */
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BATCH 20000
#define BATCHES 40

static int dev_null, pipe_ends[2];
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;

static void pair_malloc_free(void)
{
	void *volatile p = malloc(64);

	free(p);
}

static void pair_lock_unlock(void)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
}

static void write_nothing(void)
{
	if (write(dev_null, "", 1) != 1)
		abort();
}

static void through_a_pipe(void)
{
	char byte = 0;

	if (write(pipe_ends[1], &byte, 1) != 1 || read(pipe_ends[0], &byte, 1) != 1)
		abort();
}

static const struct {
	const char *name;
	void (*call)(void);
	double budget_ns; /* added at most, the sampling of allocations included */
} calls[] = {
	{"malloc + free of 64 bytes", pair_malloc_free, 6},
	{"lock + unlock of a free mutex", pair_lock_unlock, 6},
	{"write of a byte to /dev/null", write_nothing, 20},
	{"write + read of a byte, pipe", through_a_pipe, 40},
};
#define CALLS (sizeof(calls) / sizeof(calls[0]))

static double now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static int work(void)
{
	dev_null = open("/dev/null", O_WRONLY | O_CLOEXEC);
	if (pipe2(pipe_ends, O_CLOEXEC) != 0)
		return 1;
	for (size_t c = 0; c < CALLS; c++) {
		double best = 1e18;

		for (int b = 0; b < BATCHES; b++) {
			double begin = now_ns(), took;

			for (int i = 0; i < BATCH; i++)
				calls[c].call();
			took = (now_ns() - begin) / BATCH;
			best = took < best ? took : best;
		}
		printf("%.3f\n", best);
	}
	return 0;
}

static void run(const char *self, char *preload, double *ns)
{
	char *argv[] = {(char *)self, (char *)"--work", NULL};
	char *env[] = {preload, NULL};
	posix_spawn_file_actions_t actions;
	int ends[2], status;
	char text[256] = "";
	ssize_t n, have = 0;
	pid_t pid;
	char *at = text;

	if (pipe2(ends, O_CLOEXEC) != 0)
		exit(1);
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, ends[1], 1);
	if (posix_spawn(&pid, self, &actions, NULL, argv, env) != 0)
		exit(1);
	posix_spawn_file_actions_destroy(&actions);
	close(ends[1]);
	while ((n = read(ends[0], text + have, sizeof(text) - 1 - (size_t)have)) > 0)
		have += n;
	close(ends[0]);
	waitpid(pid, &status, 0);
	for (size_t c = 0; c < CALLS; c++)
		ns[c] = strtod(at, &at);
}

static int ascending(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

static double median(const double (*ns)[CALLS], size_t n, size_t call)
{
	double *column = calloc(n, sizeof(double)), middle;

	for (size_t i = 0; i < n; i++)
		column[i] = ns[i][call];
	qsort(column, n, sizeof(double), ascending);
	middle = column[n / 2];
	free(column);
	return middle;
}

int main(int argc, char **argv)
{
	size_t rounds = argc > 2 ? strtoul(argv[2], NULL, 10) : 30;
	double (*bare)[CALLS], (*with)[CALLS], (*diff)[CALLS];
	char *preload;
	int over = 0;

	if (argc == 2 && strcmp(argv[1], "--work") == 0)
		return work();
	if (argc < 2 || rounds < 1 || asprintf(&preload, "LD_PRELOAD=%s", argv[1]) < 0) {
		fprintf(stderr, "usage: hook_cost LIBRARY [ROUNDS]\n");
		return 2;
	}
	bare = calloc(rounds, sizeof(*bare));
	with = calloc(rounds, sizeof(*with));
	diff = calloc(rounds, sizeof(*diff));
	if (bare == NULL || with == NULL || diff == NULL)
		return 1;
	for (size_t i = 0; i < rounds; i++) {
		run("/proc/self/exe", NULL, bare[i]);
		run("/proc/self/exe", preload, with[i]);
		for (size_t c = 0; c < CALLS; c++)
			diff[i][c] = with[i][c] - bare[i][c];
	}
	for (size_t c = 0; c < CALLS; c++) {
		double added = median((const double (*)[CALLS])diff, rounds, c);

		printf("%-30s bare %7.2f ns, hooked %7.2f ns, added %5.2f ns\n", calls[c].name,
		       median((const double (*)[CALLS])bare, rounds, c),
		       median((const double (*)[CALLS])with, rounds, c), added);
		over += added > calls[c].budget_ns;
	}
	return over > 0;
}
