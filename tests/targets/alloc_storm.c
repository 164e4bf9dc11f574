/* alloc_storm.c - THREADS allocate and free, up to ROUNDS each, while the main thread forks CHILDREN that allocate too.
 *
 * Every block is filled with a byte and looked at before it is freed, also by another thread. */
#include <malloc.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#define SHARED 256

typedef struct block {
	size_t size;
	unsigned char fill;
	unsigned char bytes[];
} block;

static _Atomic(block *) shared[SHARED];
static atomic_bool done;
static long rounds;

static unsigned next(unsigned *seed)
{
	return *seed = *seed * 1103515245u + 12345u;
}

static void give_back(block *b)
{
	if (b == NULL)
		return;
	for (size_t i = 0; i < b->size; i += 97)
		if (b->bytes[i] != b->fill)
			abort();
	if (malloc_usable_size(b) < sizeof(*b) + b->size)
		abort();
	free(b);
}

static block *take(unsigned *seed)
{
	size_t size = next(seed) >> 8 & ((next(seed) >> 8) % 20 == 0 ? 0x3ffff : 0x3ff);
	size_t all = sizeof(block) + size;
	void *p = NULL;
	block *b;

	switch ((next(seed) >> 8) % 6) {
	case 0:
		p = calloc(1, all);
		break;
	case 1:
		p = realloc(malloc(all / 2), all);
		break;
	case 2:
		if (posix_memalign(&p, 64, all) != 0)
			abort();
		break;
	case 3:
		p = reallocarray(NULL, all, 1);
		break;
	case 4:
		p = aligned_alloc(128, (all + 127) & ~(size_t)127);
		break;
	default:
		p = malloc(all);
	}
	b = p;
	b->size = size;
	b->fill = (unsigned char)next(seed);
	memset(b->bytes, b->fill, size);
	return b;
}

static void churn(unsigned seed, long n)
{
	for (long i = 0; i < n && !atomic_load_explicit(&done, memory_order_relaxed); i++)
		give_back(atomic_exchange(&shared[(next(&seed) >> 8) % SHARED], take(&seed)));
}

static void *body(void *seed)
{
	churn((unsigned)(long)seed, rounds);
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 1 ? atoi(argv[1]) : 4, children = argc > 3 ? atoi(argv[3]) : 100, well = 0;
	pthread_t thread[64];

	rounds = argc > 2 ? atol(argv[2]) : 1000000;
	if (threads > 64)
		return 2;
	for (long i = 0; i < threads; i++)
		pthread_create(&thread[i], NULL, body, (void *)(i + 1));
	for (int i = 0; i < children; i++) {
		pid_t pid = fork();
		int status = -1;

		if (pid == 0) {
			/* Blocks that threads of the parent were filling stay theirs. */
			unsigned seed = (unsigned)i;

			for (int k = 0; k < 200; k++)
				give_back(take(&seed));
			_exit(0);
		}
		if (pid > 0 && waitpid(pid, &status, 0) == pid && status == 0)
			well++;
	}
	atomic_store(&done, 1);
	for (int i = 0; i < threads; i++)
		pthread_join(thread[i], NULL);
	for (int i = 0; i < SHARED; i++)
		give_back(shared[i]);
	printf("%d threads, %d children, %s\n", threads, children, well == children ? "all well" : "some lost");
	return well == children ? 0 : 1;
}
