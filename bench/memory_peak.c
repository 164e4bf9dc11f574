/*
 * memory_peak.c - how much memory a program had at most.
 *
 *	memory_peak FILE PROGRAM [ARGUMENTS...]
 *
 * Runs the program and writes its peak of resident memory in KiB to FILE.  A child's
 * peak begins with that of the process it was made from, so that one is to be small:
 * asked for by an interpreter, it would be the interpreter's.
 */
#include <spawn.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	struct rusage usage;
	int status;
	pid_t pid;
	FILE *f;

	if (argc < 3) {
		fprintf(stderr, "usage: memory_peak FILE PROGRAM [ARGUMENTS...]\n");
		return 2;
	}
	if (posix_spawn(&pid, argv[2], NULL, NULL, argv + 2, environ) != 0 || wait4(pid, &status, 0, &usage) != pid)
		return 127;
	f = fopen(argv[1], "we");
	if (f == NULL || fprintf(f, "%ld\n", usage.ru_maxrss) < 0 || fclose(f) != 0)
		return 127;
	return WIFEXITED(status) ? WEXITSTATUS(status) : 126;
}
