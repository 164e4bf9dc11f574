/* memory_sites.c THREADS TIMES - each thread takes known bytes at known places and gives them back: TIMES 48 bytes in
 * small(), TIMES / 50 times 5,000 in middle(), TIMES / 1000 times 300,000 in large(), and TIMES / 2 times 100 and then 600
 * in grow().  Then TIMES / 1000 mappings of 65,536 bytes. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

static long times;
static void *volatile sink;

__attribute__((noinline)) static void *small(void)
{
	void *p = malloc(48);

	sink = p;
	return p;
}

__attribute__((noinline)) static void *middle(void)
{
	void *p = calloc(5, 1000);

	sink = p;
	return p;
}

__attribute__((noinline)) static void *large(void)
{
	void *p = NULL;

	if (posix_memalign(&p, 64, 300000) != 0)
		abort();
	sink = p;
	return p;
}

__attribute__((noinline)) static void *grow(void *p, size_t to)
{
	p = realloc(p, to);
	sink = p;
	return p;
}

static void *work(void *arg)
{
	for (long i = 0; i < times; i++) {
		free(small());
		if (i % 50 == 0)
			free(middle());
		if (i % 1000 == 0)
			free(large());
		if (i % 2 == 0)
			free(grow(grow(NULL, 100), 600));
	}
	return arg;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 1;
	pthread_t id[64];
	char *map;

	times = argc > 2 ? atol(argv[2]) : 1000;
	for (int i = 0; i < threads && i < 64; i++)
		pthread_create(&id[i], NULL, work, NULL);
	for (int i = 0; i < threads && i < 64; i++)
		pthread_join(id[i], NULL);
	for (long i = 0; i < times / 1000; i++) {
		map = mmap(NULL, 65536, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
		map[0] = 1;
		munmap(map, 65536);
	}
	return 0;
}
