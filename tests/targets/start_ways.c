/* start_ways.c - start PROGRAM in the way named, with an environment that holds KEPT=yes alone.
 *
 *	start_ways WAY PROGRAM [ARGS...]
 *	start_ways storm N PROGRAM	N times by vfork and exec; says how memory and environment fared
 *	start_ways threads N PROGRAM	four threads start it N times each, then one replaces the whole process
 *	start_ways small N PROGRAM	a thread with the smallest stack starts it with N variables
 */
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char *const only[] = {(char *)"KEPT=yes", NULL};

static long resident_pages(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	long all = 0, resident = 0;

	if (f == NULL || fscanf(f, "%ld %ld", &all, &resident) != 2)
		exit(1);
	fclose(f);
	return resident;
}

static pid_t by_vfork(char *const *argv, int quiet)
{
	pid_t pid = vfork();

	if (pid == 0) {
		if (quiet && dup2(quiet, 1) < 0)
			_exit(98);
		execve(argv[0], argv, only);
		_exit(99);
	}
	return pid;
}

static int start(const char *way, char **argv)
{
	pid_t pid = -1;
	int status = 0;

	clearenv();
	setenv("KEPT", "yes", 1);
	if (strcmp(way, "execve") == 0)
		execve(argv[0], argv, only);
	else if (strcmp(way, "execv") == 0)
		execv(argv[0], argv);
	else if (strcmp(way, "execvp") == 0)
		execvp(argv[0], argv);
	else if (strcmp(way, "execvpe") == 0)
		execvpe(argv[0], argv, only);
	else if (strcmp(way, "execl") == 0)
		execl(argv[0], argv[0], "x", (char *)NULL);
	else if (strcmp(way, "execlp") == 0)
		execlp(argv[0], argv[0], "x", (char *)NULL);
	else if (strcmp(way, "execle") == 0)
		execle(argv[0], argv[0], "x", (char *)NULL, only);
	else if (strcmp(way, "execveat") == 0)
		execveat(AT_FDCWD, argv[0], argv, only, 0);
	else if (strcmp(way, "fexecve") == 0)
		fexecve(open(argv[0], O_RDONLY), argv, only);
	else if (strcmp(way, "null") == 0)
		execve(argv[0], argv, NULL);
	else if (strcmp(way, "spawn") == 0)
		posix_spawn(&pid, argv[0], NULL, NULL, argv, only);
	else if (strcmp(way, "spawnp") == 0)
		posix_spawnp(&pid, argv[0], NULL, NULL, argv, only);
	else if (strcmp(way, "vfork") == 0)
		pid = by_vfork(argv, 0);
	else
		return 2;
	if (pid < 0)
		return 99;
	waitpid(pid, &status, 0);
	return WEXITSTATUS(status);
}

static int storm(long n, char **argv)
{
	int quiet = open("/dev/null", O_WRONLY | O_CLOEXEC), status, bad = 0;
	char before[256], after[256];
	long first = 0;

	snprintf(before, sizeof(before), "%s", getenv("PATH"));
	for (long i = 0; i < n; i++) {
		pid_t pid = by_vfork(argv, quiet);

		if (pid < 0 || waitpid(pid, &status, 0) != pid || status != 0)
			bad++;
		if (i == n / 10)
			first = resident_pages();
	}
	snprintf(after, sizeof(after), "%s", getenv("PATH"));
	/* The kernel counts pages in batches; a leak would be a page each time. */
	printf("failed %d, grown %d, environment %s\n", bad, resident_pages() > first + 256,
	       strcmp(before, after) == 0 ? "kept" : "lost");
	return 0;
}

static long rounds;
static char **program;

static void *starter(void *failed)
{
	int quiet = open("/dev/null", O_WRONLY | O_CLOEXEC), status;

	for (long i = 0; i < rounds; i++) {
		posix_spawn_file_actions_t actions;
		pid_t pid;
		int code;

		posix_spawn_file_actions_init(&actions);
		posix_spawn_file_actions_adddup2(&actions, quiet, 1);
		code = i % 2 ? posix_spawn(&pid, program[0], &actions, NULL, program, only) : 0;
		if (i % 2 == 0) {
			pid = fork();
			if (pid == 0) {
				dup2(quiet, 1);
				execle(program[0], program[0], (char *)NULL, only);
				_exit(99);
			}
		}
		posix_spawn_file_actions_destroy(&actions);
		if (code != 0 || waitpid(pid, &status, 0) != pid || status != 0)
			__atomic_fetch_add((int *)failed, 1, __ATOMIC_RELAXED);
	}
	return failed;
}

static void *replacer(void *unused)
{
	execve(program[0], program, only);
	return unused;
}

static void *small_starter(void *code)
{
	int status = -1;
	pid_t pid;

	*(int *)code = posix_spawn(&pid, program[0], NULL, NULL, program, environ);
	if (*(int *)code == 0 && waitpid(pid, &status, 0) == pid)
		*(int *)code = status;
	return code;
}

static int small(long variables)
{
	int code = -1;
	char name[32];
	pthread_attr_t attr;
	pthread_t thread;

	clearenv();
	setenv("KEPT", "yes", 1);
	for (long i = 1; i < variables; i++) {
		snprintf(name, sizeof(name), "VARIABLE_%ld", i);
		setenv(name, "", 1);
	}
	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, 16384);
	if (pthread_create(&thread, &attr, small_starter, &code) != 0)
		return 98;
	pthread_join(thread, NULL);
	return code;
}

static int threads(void)
{
	pthread_t thread[4];
	int failed = 0;

	for (int i = 0; i < 4; i++)
		pthread_create(&thread[i], NULL, starter, &failed);
	for (int i = 0; i < 4; i++)
		pthread_join(thread[i], NULL);
	printf("failed %d\n", failed);
	fflush(stdout);
	pthread_create(&thread[0], NULL, replacer, NULL);
	pthread_join(thread[0], NULL);
	return 1;
}

int main(int argc, char **argv)
{
	if (argc < 3)
		return 2;
	if (strcmp(argv[1], "storm") == 0)
		return storm(atol(argv[2]), argv + 3);
	if (strcmp(argv[1], "threads") == 0) {
		rounds = atol(argv[2]);
		program = argv + 3;
		return threads();
	}
	if (strcmp(argv[1], "small") == 0) {
		program = argv + 3;
		return small(atol(argv[2]));
	}
	return start(argv[1], argv + 2);
}
