/*
 * cuda_steps.c - a program of CUDA with one known behaviour.
 *
 *	cuda_steps SCENE STEPS [DEVICES]
 *
 *	cpu	a kernel of 50 us, then 450 us of work on the host, and so on
 *	gpu	kernels of 400 us, launched faster than they run
 *	copy	1 MiB to the device and back around a short kernel
 *	even	the device works while the host does
 *	graph	graphs of kernels
 *	storm	as many kernels as can be launched, in batches of 1000
 *	peer	copies between devices
 *	reset	work, and then the devices are reset
 *	held	as gpu, but it subscribes to CUPTI itself, in the middle
 *	die	as gpu, and then it ends without an exit
 *	mangled	a kernel of C++
 *	paged	a kernel of 2 ms, and a copy called asynchronous that waits for it: into memory that can be paged out
 *	pinned	the same into memory that cannot, and then the host works for 2.5 ms
 *	storms	two threads that launch as fast as they can
 *	wait	a kernel of 2 ms, waited for, and then 500 us of work on the host
 *	whole	the same, waiting for the whole device
 *
 * Compiled without NVIDIA's headers; it registers its kernels as nvcc makes programs do.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

typedef struct dim3 {
	unsigned x, y, z;
} dim3;
enum { TO_DEVICE = 1, TO_HOST = 2 };

void **__cudaRegisterFatBinary(void *binary);
void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int threads, void *a,
			    void *b, void *c, void *d, int *w);
unsigned cudaLaunchKernel(const void *f, dim3 grid, dim3 block, void **args, size_t shared, void *stream);
unsigned cudaMemcpy(void *to, const void *from, size_t bytes, int direction);
unsigned cudaMemcpyAsync(void *to, const void *from, size_t bytes, int direction, void *stream);
unsigned cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes, void *stream);
unsigned cudaMemset(void *at, int value, size_t bytes);
unsigned cudaMalloc(void **to, size_t bytes);
unsigned cudaMallocHost(void **to, size_t bytes);
unsigned cudaFree(void *at);
unsigned cudaSetDevice(int device);
unsigned cudaGetDevice(int *device);
unsigned cudaGetDeviceCount(int *count);
unsigned cudaStreamCreate(void **stream);
unsigned cudaStreamSynchronize(void *stream);
unsigned cudaDeviceSynchronize(void);
unsigned cudaDeviceReset(void);
unsigned cudaGraphLaunch(void *graph, void *stream);
unsigned cuptiSubscribe(void **subscriber, void *callback, void *self) __attribute__((weak));
unsigned cuptiUnsubscribe(void *subscriber) __attribute__((weak));

#define BYTES (1u << 20)

/* Host sides of kernels: their addresses count. */
static char scale_50us, gemm_400us, add_10us, norm_200us, tiny_1us, long_2000us, axpy;

static void launch(const char *kernel, void *stream)
{
	dim3 grid = {64, 2, 1}, block = {128, 1, 1};

	if (cudaLaunchKernel(kernel, grid, block, NULL, 0, stream) != 0)
		exit(3);
}

/* Work of the host. */
static void spin_us(long us)
{
	struct timespec t;
	int64_t until;

	clock_gettime(CLOCK_MONOTONIC, &t);
	until = t.tv_sec * 1000000000ll + t.tv_nsec + us * 1000;
	do
		clock_gettime(CLOCK_MONOTONIC, &t);
	while (t.tv_sec * 1000000000ll + t.tv_nsec < until);
}

static void *stream_of[16];
static char *on_device[16], *on_host[16], *pinned[16];

static void step(const char *scene, int d, int i, int devices)
{
	void *s = stream_of[d];

	cudaSetDevice(d);
	if (strcmp(scene, "cpu") == 0) {
		launch(&scale_50us, s);
		cudaStreamSynchronize(s);
		spin_us(450);
	} else if (strcmp(scene, "copy") == 0) {
		cudaMemcpy(on_device[d], on_host[d], BYTES, TO_DEVICE);
		launch(&add_10us, NULL);
		cudaMemcpyAsync(pinned[d], on_device[d], BYTES, TO_HOST, NULL);
		cudaDeviceSynchronize();
	} else if (strcmp(scene, "even") == 0) {
		launch(&norm_200us, s);
		spin_us(190);
		cudaStreamSynchronize(s);
	} else if (strcmp(scene, "graph") == 0) {
		cudaGraphLaunch((void *)(uintptr_t)77, s);
		if (i % 8 == 7)
			cudaStreamSynchronize(s);
	} else if (strcmp(scene, "mangled") == 0) {
		launch(&axpy, s);
		cudaStreamSynchronize(s);
	} else if (strcmp(scene, "wait") == 0) {
		launch(&long_2000us, s);
		cudaStreamSynchronize(s);
		spin_us(500);
	} else if (strcmp(scene, "whole") == 0) {
		launch(&long_2000us, s);
		cudaDeviceSynchronize();
		spin_us(500);
	} else if (strcmp(scene, "paged") == 0 || strcmp(scene, "pinned") == 0) {
		launch(&long_2000us, s);
		cudaMemcpyAsync(strcmp(scene, "paged") == 0 ? on_host[d] : pinned[d], on_device[d], BYTES, TO_HOST, s);
		spin_us(strcmp(scene, "paged") == 0 ? 500 : 2500);
	} else if (strcmp(scene, "storm") == 0 || strcmp(scene, "storms") == 0) {
		for (int k = 0; k < 1000; k++)
			launch(&tiny_1us, s);
		cudaStreamSynchronize(s);
	} else if (strcmp(scene, "peer") == 0) {
		int to = (d + 1) % devices;

		cudaMemcpyPeerAsync(on_device[to], to, on_device[d], d, BYTES, s);
		cudaStreamSynchronize(s);
	} else {
		launch(&gemm_400us, s);
		if (i % 8 == 7)
			cudaStreamSynchronize(s);
	}
}

static void *other(void *steps)
{
	for (int i = 0; i < *(int *)steps; i++)
		step("storm", 0, i, 1);
	return NULL;
}

static void own_profiler(void)
{
	void *subscriber = NULL;
	unsigned result = cuptiSubscribe != NULL ? cuptiSubscribe(&subscriber, (void *)own_profiler, NULL) : 1;

	printf("own profiler %u\n", result);
}

int main(int argc, char **argv)
{
	const char *scene = argc > 1 ? argv[1] : "gpu";
	int steps = argc > 2 ? atoi(argv[2]) : 50, devices = 0, now;
	void **binary = __cudaRegisterFatBinary(NULL);
	pthread_t thread;

#define KERNEL(name) __cudaRegisterFunction(binary, &name, NULL, #name, -1, NULL, NULL, NULL, NULL, NULL)
	KERNEL(scale_50us);
	KERNEL(gemm_400us);
	KERNEL(add_10us);
	KERNEL(norm_200us);
	KERNEL(tiny_1us);
	KERNEL(long_2000us);
	__cudaRegisterFunction(binary, &axpy, NULL, "_Z9axpy_50usPfPKff", -1, NULL, NULL, NULL, NULL, NULL);
	if (cudaGetDeviceCount(&devices) != 0 || devices == 0) {
		printf("no device\n");
		return 0;
	}
	if (argc > 3 && atoi(argv[3]) < devices)
		devices = atoi(argv[3]);
	for (int d = 0; d < devices; d++) {
		cudaSetDevice(d);
		cudaGetDevice(&now);
		cudaStreamCreate(&stream_of[d]);
		cudaMalloc((void **)&on_device[d], BYTES);
		cudaMallocHost((void **)&pinned[d], BYTES);
		on_host[d] = calloc(1, BYTES);
		cudaMemset(on_device[d], 1, BYTES);
	}
	if (strcmp(scene, "storms") == 0 && pthread_create(&thread, NULL, other, &steps) != 0)
		return 4;
	for (int i = 0; i < steps; i++) {
		if (strcmp(scene, "held") == 0 && i == steps / 2)
			own_profiler();
		for (int d = 0; d < devices; d++)
			step(scene, d, i, devices);
	}
	if (strcmp(scene, "storms") == 0)
		pthread_join(thread, NULL);
	if (strcmp(scene, "die") == 0) {
		usleep(600000); /* as long as it may take until what was done is written down */
		_exit(7);
	}
	for (int d = 0; d < devices; d++) {
		cudaSetDevice(d);
		cudaDeviceSynchronize();
		if (strcmp(scene, "reset") == 0)
			cudaDeviceReset();
		else
			cudaFree(on_device[d]);
	}
	printf("done %s %d on %d\n", scene, steps, devices);
	return 0;
}
