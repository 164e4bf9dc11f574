/* tiny_stacks.c - threads with the smallest stacks there are, and programs' own alternate ones of the smallest size. */
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/auxv.h>
#include <time.h>

static void *spin(void *own)
{
	struct timespec t;
	stack_t stack;

	if (own != NULL) {
		stack = (stack_t){.ss_sp = own, .ss_size = getauxval(AT_MINSIGSTKSZ) + 1024};
		sigaltstack(&stack, NULL);
	}
	do {
		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	} while (t.tv_nsec < 60000000 && t.tv_sec == 0);
	return NULL;
}

int main(void)
{
	pthread_attr_t attr;
	pthread_t threads[16];

	pthread_attr_init(&attr);
	pthread_attr_setstacksize(&attr, PTHREAD_STACK_MIN);
	for (int i = 0; i < 16; i++) {
		char *own = i % 2 ? malloc(65536) : NULL;

		if (pthread_create(&threads[i], &attr, spin, own) != 0)
			return 1;
	}
	for (int i = 0; i < 16; i++)
		pthread_join(threads[i], NULL);
	puts("all");
	return 0;
}
