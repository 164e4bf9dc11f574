/*
 * gpu_told - a program whose GPU is made up: it tells of calls and work through the
 * functions that the collectors use, COUNT kernels on THREADS threads.
 *
 *	gpu_told COUNT THREADS
 *
 * The device's clock is three seconds behind the host's.  Prints how many records it wrote.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../../src/base/record.h"

typedef struct spot {
	uint64_t ticks, spent;
	uint32_t stack;
} spot;

static bool (*enter)(spot *);
static void (*leave)(const spot *, uint32_t, int, bool, const isc_gpu_called *);
static void (*work)(uint32_t, uint16_t, const isc_gpu_work *);
static void (*reading)(uint32_t, const isc_gpu_reading *);
static void (*source)(const char *, int, uint32_t, uint64_t, const char *);
static uint32_t (*device)(uint32_t, int, uint32_t, const char *, size_t);
static uint64_t (*correlation)(void);
static uint32_t (*name)(const char *, size_t);
static uint64_t (*ticks)(void);
static int count;

static uint64_t device_now(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec - 3000000000u;
}

static void *launch(void *arg)
{
	uint32_t gpu = device(0, ISC_GPU_TOLD, 0, "made up", 7), call = name("madeUpLaunch", 12),
		 kernel = name("gemm", 4);

	for (int i = 0; i < count; i++) {
		isc_gpu_called called = {.correlation = correlation(), .device = gpu};
		isc_gpu_work done = {
			.correlation = called.correlation, .device = gpu, .grid = {1, 1, 1}, .block = {64, 1, 1}};
		isc_gpu_reading read = {0};
		spot s;

		if (!enter(&s))
			return NULL;
		leave(&s, call, ISC_ROLE_LAUNCH, false, &called);
		done.stream = (uint64_t)(uintptr_t)arg;
		done.start = device_now();
		do
			done.end = device_now();
		while (done.end < done.start + 2000);
		work(kernel, ISC_GPU_ARG(ISC_JOB_KERNEL, ISC_GPU_TIME_DEVICE, 0, 0), &done);
		if (i % 16 == 0) {
			read.before = ticks();
			read.device_ns = device_now();
			read.after = ticks();
			reading(gpu, &read);
		}
	}
	return NULL;
}

int main(int argc, char **argv)
{
	int threads = argc > 2 ? atoi(argv[2]) : 1;
	pthread_t thread[64];
	void *found[9];
	static const char *const names[9] = {"isc_rt_gpu_enter",       "isc_rt_gpu_leave",  "isc_rt_gpu_work",
					     "isc_rt_gpu_clock",       "isc_rt_gpu_source", "isc_rt_gpu_device",
					     "isc_rt_gpu_correlation", "isc_rt_name",	    "isc_rt_ticks"};
	void *const places[9] = {&enter, &leave, &work, &reading, &source, &device, &correlation, &name, &ticks};

	count = argc > 1 ? atoi(argv[1]) : 1;
	for (int i = 0; i < 9; i++) {
		found[i] = dlsym(RTLD_DEFAULT, names[i]);
		if (found[i] == NULL) {
			puts("not traced");
			return 0;
		}
		memcpy(places[i], &found[i], sizeof(found[i]));
	}
	source("made up", ISC_GPU_STARTED, 1, 0, NULL);
	for (int i = 0; i < threads && i < 64; i++)
		pthread_create(&thread[i], NULL, launch, (void *)(uintptr_t)(i + 1));
	for (int i = 0; i < threads && i < 64; i++)
		pthread_join(thread[i], NULL);
	printf("%d\n", count * threads);
	return 0;
}
