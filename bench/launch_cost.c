/*
 * launch_cost.c - launches kernels and says what one took of the process's CPU time.
 *
 *	launch_cost N SCOPE
 *
 * N kernels, then 2 N more, waited for by the thousand; what the second lot took beyond the first is
 * the slope, without anything that comes once.  SCOPE 1: each thousand in a scope.
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <inferscope/mark.h>

typedef struct dim3 {
	unsigned x, y, z;
} dim3;

static unsigned (*launch_kernel)(const void *f, dim3 grid, dim3 block, void **args, size_t shared, void *stream);
static unsigned (*synchronize)(void);
static char tiny_1us;

static void find_cuda(void)
{
	void *library = dlopen("libcudart.so", RTLD_NOW);
	void (*function)(void **handle, const char *host, char *device, const char *name, int threads, void *a, void *b,
			 void *c, void *d, int *w);
	void **(*binary)(void *binary);

	if (library == NULL)
		exit(2);
	launch_kernel = (__typeof__(launch_kernel))dlsym(library, "cudaLaunchKernel");
	synchronize = (__typeof__(synchronize))dlsym(library, "cudaDeviceSynchronize");
	function = (__typeof__(function))dlsym(library, "__cudaRegisterFunction");
	binary = (__typeof__(binary))dlsym(library, "__cudaRegisterFatBinary");
	function(binary(NULL), &tiny_1us, NULL, "tiny_1us", -1, NULL, NULL, NULL, NULL, NULL);
}

static int64_t cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return t.tv_sec * 1000000000ll + t.tv_nsec;
}

static void batch(long n)
{
	const dim3 one = {1, 1, 1};

	for (long i = 0; i < n; i++)
		if (launch_kernel(&tiny_1us, one, one, NULL, 0, NULL) != 0)
			exit(3);
	synchronize();
}

static int64_t launch(long n, int scoped)
{
	int64_t begin = cpu_ns();

	for (long i = 0; i < n / 1000; i++)
		if (scoped) {
			ISC_SCOPE("batch");
			batch(1000);
		} else {
			batch(1000);
		}
	return cpu_ns() - begin;
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 50000;
	int scoped = argc > 2 && atoi(argv[2]);
	int64_t first, second;

	find_cuda();
	first = launch(n, scoped);
	second = launch(2 * n, scoped);
	printf("{\"ns\": %.1f, \"first_ns\": %" PRId64 "}\n", (double)(second - first) / (double)n, first);
	return 0;
}
