/* spawns.c SECONDS - children by fork, vfork, posix_spawn and exec from several threads at once; counts those that end well. */
#include <pthread.h>
#include <spawn.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static atomic_int good[5], bad;
static const char *self;
static double end;

static double seconds_of(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static void spin(double seconds)
{
	double until = seconds_of(CLOCK_THREAD_CPUTIME_ID) + seconds;

	while (seconds_of(CLOCK_THREAD_CPUTIME_ID) < until) {
	}
}

static void ended(pid_t pid, int way)
{
	int status = 0;

	if (pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) && WEXITSTATUS(status) == 7)
		atomic_fetch_add(&good[way], 1);
	else
		atomic_fetch_add(&bad, 1);
}

static void *start(void *unused)
{
	char *const words[] = {(char *)self, "child", NULL};

	while (seconds_of(CLOCK_MONOTONIC) < end) {
		pid_t pid = fork();

		if (pid == 0) {
			spin(0.004);
			_exit(7);
		}
		ended(pid, 0);
		spin(0.001);
		pid = vfork();
		if (pid == 0)
			_exit(7);
		ended(pid, 1);
		pid = vfork();
		if (pid == 0) {
			execv(self, words);
			_exit(1);
		}
		ended(pid, 2);
		spin(0.001);
		pid = -1;
		if (posix_spawn(&pid, self, NULL, NULL, words, environ) != 0)
			pid = -1;
		ended(pid, 3);
		pid = fork();
		if (pid == 0) {
			spin(0.001);
			execv(self, words);
			_exit(1);
		}
		ended(pid, 4);
	}
	return unused;
}

int main(int argc, char **argv)
{
	pthread_t threads[3];

	if (argc > 1 && strcmp(argv[1], "child") == 0) {
		spin(0.003);
		return 7;
	}
	self = argv[0];
	end = seconds_of(CLOCK_MONOTONIC) + (argc > 1 ? atof(argv[1]) : 1);
	for (int i = 0; i < 3; i++)
		if (pthread_create(&threads[i], NULL, start, NULL) != 0)
			return 1;
	for (int i = 0; i < 3; i++)
		pthread_join(threads[i], NULL);
	for (int i = 0; i < 5; i++)
		printf("%d%s", atomic_load(&good[i]) > 3, i < 4 ? " " : "\n");
	printf("bad %d\n", atomic_load(&bad));
	return 0;
}
