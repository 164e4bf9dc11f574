/* large_fork.c GB - forks three times with that much memory in use, in small pages; says how often it could. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	size_t size = (size_t)(argc > 1 ? atof(argv[1]) : 1) << 30;
	char *room = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	int forked = 0;

	if (room == MAP_FAILED || madvise(room, size, MADV_NOHUGEPAGE) != 0)
		return 1;
	for (size_t at = 0; at < size; at += 4096)
		room[at] = 1;
	alarm(60);
	for (int i = 0; i < 3; i++) {
		pid_t pid = fork();
		int status = 0;

		if (pid == 0)
			_exit(room[size / 2] == 1 ? 0 : 1);
		forked += pid > 0 && waitpid(pid, &status, 0) == pid && status == 0;
	}
	printf("forked %d\n", forked);
	return 0;
}
