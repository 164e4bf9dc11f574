/* early.c - a library whose constructor allocates, reads and starts a thread before anything else runs.
 * Built twice: with -DLIBRARY the library, without it the program that uses it. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

extern char *early_memory;
extern long early_read, early_thread;
int early_program(void);

#ifdef LIBRARY
#include <sys/wait.h>

char *early_memory;
long early_read, early_thread;
static int program;

static void *body(void *arg)
{
	free(malloc(1000));
	return (char *)arg + 1;
}

__attribute__((constructor)) static void early(void)
{
	char head[4];
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), status;
	void *result = NULL;
	pthread_t thread;
	pid_t pid;

	/* As libstdc++ does. */
	early_memory = realloc(calloc(1, 100), 72704);
	memset(early_memory, 1, 72704);
	early_read = read(fd, head, sizeof(head));
	close(fd);
	pthread_create(&thread, NULL, body, (void *)6);
	pthread_join(thread, &result);
	early_thread = (long)result;
	pid = fork();
	if (pid == 0) {
		execl("/bin/sh", "sh", "-c", "exit 5", (char *)NULL);
		_exit(99);
	}
	waitpid(pid, &status, 0);
	program = WEXITSTATUS(status);
}

int early_program(void)
{
	return program;
}
#else
int main(void)
{
	printf("early: allocated %d, read %ld, thread %ld, program %d\n", early_memory[72703] == 1 ? 72704 : 0,
	       early_read, early_thread, early_program());
	free(early_memory);
	return 0;
}
#endif
