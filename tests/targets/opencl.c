/*
 * opencl - programs of OpenCL, with nothing but libOpenCL.so.1.
 *
 *	opencl many N		N kernels that add 1 to every number, then the sum
 *	opencl kinds		one command of every kind that there is memory for
 *	opencl own		what a program sees of its own queues and events
 *	opencl threads N T	N kernels on each of T threads with a queue each
 *	opencl cost N		nanoseconds that a call takes that puts a small kernel into the queue: least and median
 *
 * Exit status 77: there is no OpenCL here.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

typedef void *handle;

#define FUNCTIONS(F) \
	F(int, clGetPlatformIDs, (uint32_t, handle *, uint32_t *)) \
	F(int, clGetDeviceIDs, (handle, uint64_t, uint32_t, handle *, uint32_t *)) \
	F(handle, clCreateContext, (const intptr_t *, uint32_t, const handle *, void *, void *, int *)) \
	F(handle, clCreateCommandQueue, (handle, handle, uint64_t, int *)) \
	F(handle, clCreateCommandQueueWithProperties, (handle, handle, const uint64_t *, int *)) \
	F(int, clGetCommandQueueInfo, (handle, uint32_t, size_t, void *, size_t *)) \
	F(int, clReleaseCommandQueue, (handle)) \
	F(handle, clCreateProgramWithSource, (handle, uint32_t, const char **, const size_t *, int *)) \
	F(int, clBuildProgram, (handle, uint32_t, const handle *, const char *, void *, void *)) \
	F(handle, clCreateKernel, (handle, const char *, int *)) \
	F(int, clReleaseKernel, (handle)) \
	F(int, clSetKernelArg, (handle, uint32_t, size_t, const void *)) \
	F(handle, clCreateBuffer, (handle, uint64_t, size_t, void *, int *)) \
	F(int, clEnqueueNDRangeKernel, \
	  (handle, handle, uint32_t, const size_t *, const size_t *, const size_t *, uint32_t, const handle *, \
	   handle *)) \
	F(int, clEnqueueTask, (handle, handle, uint32_t, const handle *, handle *)) \
	F(int, clEnqueueReadBuffer, \
	  (handle, handle, uint32_t, size_t, size_t, void *, uint32_t, const handle *, handle *)) \
	F(int, clEnqueueWriteBuffer, \
	  (handle, handle, uint32_t, size_t, size_t, const void *, uint32_t, const handle *, handle *)) \
	F(int, clEnqueueReadBufferRect, \
	  (handle, handle, uint32_t, const size_t *, const size_t *, const size_t *, size_t, size_t, size_t, size_t, \
	   void *, uint32_t, const handle *, handle *)) \
	F(int, clEnqueueWriteBufferRect, \
	  (handle, handle, uint32_t, const size_t *, const size_t *, const size_t *, size_t, size_t, size_t, size_t, \
	   const void *, uint32_t, const handle *, handle *)) \
	F(int, clEnqueueCopyBuffer, \
	  (handle, handle, handle, size_t, size_t, size_t, uint32_t, const handle *, handle *)) \
	F(int, clEnqueueCopyBufferRect, \
	  (handle, handle, handle, const size_t *, const size_t *, const size_t *, size_t, size_t, size_t, size_t, \
	   uint32_t, const handle *, handle *)) \
	F(int, clEnqueueFillBuffer, \
	  (handle, handle, const void *, size_t, size_t, size_t, uint32_t, const handle *, handle *)) \
	F(void *, clEnqueueMapBuffer, \
	  (handle, handle, uint32_t, uint64_t, size_t, size_t, uint32_t, const handle *, handle *, int *)) \
	F(int, clEnqueueUnmapMemObject, (handle, handle, void *, uint32_t, const handle *, handle *)) \
	F(int, clEnqueueMigrateMemObjects, \
	  (handle, uint32_t, const handle *, uint64_t, uint32_t, const handle *, handle *)) \
	F(int, clEnqueueMarkerWithWaitList, (handle, uint32_t, const handle *, handle *)) \
	F(int, clEnqueueBarrierWithWaitList, (handle, uint32_t, const handle *, handle *)) \
	F(int, clEnqueueMarker, (handle, handle *)) \
	F(int, clEnqueueBarrier, (handle)) \
	F(void *, clSVMAlloc, (handle, uint64_t, size_t, uint32_t)) \
	F(void, clSVMFree, (handle, void *)) \
	F(int, clEnqueueSVMMemcpy, \
	  (handle, uint32_t, void *, const void *, size_t, uint32_t, const handle *, handle *)) \
	F(int, clEnqueueSVMMemFill, \
	  (handle, void *, const void *, size_t, size_t, uint32_t, const handle *, handle *)) \
	F(int, clEnqueueSVMMap, (handle, uint32_t, uint64_t, void *, size_t, uint32_t, const handle *, handle *)) \
	F(int, clEnqueueSVMUnmap, (handle, void *, uint32_t, const handle *, handle *)) \
	F(int, clWaitForEvents, (uint32_t, const handle *)) \
	F(int, clGetEventInfo, (handle, uint32_t, size_t, void *, size_t *)) \
	F(int, clGetEventProfilingInfo, (handle, uint32_t, size_t, void *, size_t *)) \
	F(int, clReleaseEvent, (handle)) \
	F(int, clFlush, (handle)) \
	F(int, clFinish, (handle))

#define DECLARE(type, name, args) static type(*name) args;
FUNCTIONS(DECLARE)

enum { COUNT = 1024 };
static const char *const source = "kernel void add_one(global int *at) { at[get_global_id(0)] += 1; }\n"
				  "kernel void times_two(global int *at) { at[get_global_id(0)] *= 2; }\n";

static handle device, context, program;

static void check(int status, const char *what)
{
	if (status != 0) {
		printf("%s: %d\n", what, status);
		exit(1);
	}
}

#define CHECK(call) check(call, #call)

static void open_all(void)
{
	void *library = dlopen("libOpenCL.so.1", RTLD_NOW);
	handle platform;
	uint32_t n = 0;
	void *found;
	int error = 0;

	if (library == NULL)
		exit(77);
#define FIND(type, name, args) \
	found = dlsym(library, #name); \
	memcpy(&name, &found, sizeof(found));
	FUNCTIONS(FIND)
	if (clGetPlatformIDs(1, &platform, &n) != 0 || n == 0)
		exit(77);
	if (clGetDeviceIDs(platform, 0xffffffff, 1, &device, &n) != 0 || n == 0)
		exit(77);
	context = clCreateContext(NULL, 1, &device, NULL, NULL, &error);
	check(error, "context");
	program = clCreateProgramWithSource(context, 1, (const char **)(uintptr_t)&source, NULL, &error);
	check(error, "program");
	CHECK(clBuildProgram(program, 1, &device, "", NULL, NULL));
}

static handle queue_with(uint64_t properties)
{
	int error = 0;
	handle queue = clCreateCommandQueue(context, device, properties, &error);

	check(error, "queue");
	return queue;
}

static handle buffer_of(const int *values)
{
	int error = 0;
	handle buffer = clCreateBuffer(context, 1 | 32, COUNT * sizeof(int), (void *)(uintptr_t)values, &error);

	check(error, "buffer");
	return buffer;
}

static handle kernel_of(const char *name, handle buffer)
{
	int error = 0;
	handle kernel = clCreateKernel(program, name, &error);

	check(error, "kernel");
	CHECK(clSetKernelArg(kernel, 0, sizeof(buffer), &buffer));
	return kernel;
}

static void launch(handle queue, handle kernel, handle *event)
{
	size_t global = COUNT, local = 64;

	CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &global, &local, 0, NULL, event));
}

static long sum(const int *values)
{
	long all = 0;

	for (int i = 0; i < COUNT; i++)
		all += values[i];
	return all;
}

static void many(int n)
{
	int values[COUNT] = {0};
	handle queue = queue_with(0), buffer = buffer_of(values), kernel = kernel_of("add_one", buffer);

	for (int i = 0; i < n; i++)
		launch(queue, kernel, NULL);
	CHECK(clFinish(queue));
	CHECK(clEnqueueReadBuffer(queue, buffer, 1, 0, sizeof(values), values, 0, NULL, NULL));
	printf("%ld\n", sum(values) / COUNT);
}

static void kinds(void)
{
	int values[COUNT] = {0}, more[COUNT] = {0}, zero = 0, error = 0;
	handle queue = queue_with(0), a = buffer_of(values), b = buffer_of(values), event, marker;
	handle one = kernel_of("add_one", a), two = kernel_of("times_two", a);
	size_t origin[3] = {0, 0, 0}, region[3] = {64, 4, 1};
	void *at, *shared;

	launch(queue, one, NULL);
	launch(queue, two, &event);
	CHECK(clWaitForEvents(1, &event));
	CHECK(clReleaseEvent(event));
	CHECK(clEnqueueTask(queue, one, 0, NULL, NULL));
	CHECK(clEnqueueWriteBuffer(queue, b, 0, 0, 400, values, 0, NULL, NULL));
	CHECK(clEnqueueWriteBuffer(queue, b, 1, 0, 800, values, 0, NULL, NULL));
	CHECK(clEnqueueReadBuffer(queue, b, 0, 0, 1200, more, 0, NULL, NULL));
	CHECK(clEnqueueReadBuffer(queue, b, 1, 0, 1600, more, 0, NULL, NULL));
	CHECK(clEnqueueReadBufferRect(queue, b, 1, origin, origin, region, 0, 0, 0, 0, more, 0, NULL, NULL));
	CHECK(clEnqueueWriteBufferRect(queue, b, 1, origin, origin, region, 0, 0, 0, 0, more, 0, NULL, NULL));
	CHECK(clEnqueueCopyBuffer(queue, a, b, 0, 0, 2000, 0, NULL, NULL));
	CHECK(clEnqueueCopyBufferRect(queue, a, b, origin, origin, region, 0, 0, 0, 0, 0, NULL, NULL));
	CHECK(clEnqueueFillBuffer(queue, b, &zero, sizeof(zero), 0, 2400, 0, NULL, NULL));
	at = clEnqueueMapBuffer(queue, b, 1, 1 | 2, 0, 2800, 0, NULL, NULL, &error);
	check(error, "map");
	CHECK(clEnqueueUnmapMemObject(queue, b, at, 0, NULL, NULL));
	CHECK(clEnqueueMigrateMemObjects(queue, 1, &b, 0, 0, NULL, NULL));
	CHECK(clEnqueueMarkerWithWaitList(queue, 0, NULL, NULL));
	CHECK(clEnqueueBarrierWithWaitList(queue, 0, NULL, NULL));
	CHECK(clEnqueueMarker(queue, &marker));
	CHECK(clEnqueueBarrier(queue));
	shared = clSVMAlloc != NULL ? clSVMAlloc(context, 1, 4096, 0) : NULL;
	if (shared != NULL) {
		CHECK(clEnqueueSVMMemFill(queue, shared, &zero, sizeof(zero), 3200, 0, NULL, NULL));
		CHECK(clEnqueueSVMMap(queue, 1, 1, shared, 3600, 0, NULL, NULL));
		CHECK(clEnqueueSVMUnmap(queue, shared, 0, NULL, NULL));
		CHECK(clEnqueueSVMMemcpy(queue, 1, more, shared, 4000, 0, NULL, NULL));
	}
	CHECK(clFlush(queue));
	CHECK(clFinish(queue));
	if (shared != NULL)
		clSVMFree(context, shared);
	CHECK(clReleaseEvent(marker));
	/* A command that fails is the program's business. */
	printf("%d\n", clEnqueueReadBuffer(queue, b, 1, 1 << 30, 16, more, 0, NULL, NULL) != 0);
	printf("svm %d\n", shared != NULL);
}

static void own(void)
{
	static const uint64_t list[] = {0x1093, 2, 0};
	int values[COUNT] = {0}, error = 0;
	handle plain = queue_with(0), timed = queue_with(2), listed, buffer = buffer_of(values);
	handle kernel = kernel_of("add_one", buffer), queues[4] = {plain, timed, NULL, NULL}, event;
	uint64_t properties, stamp[4], back[8] = {0};
	uint32_t count;
	size_t size;

	listed = clCreateCommandQueueWithProperties(context, device, list, &error);
	check(error, "queue with a list");
	queues[2] = listed;
	queues[3] = clCreateCommandQueueWithProperties(context, device, NULL, &error);
	check(error, "queue without a list");
	for (int i = 0; i < 4; i++) {
		CHECK(clGetCommandQueueInfo(queues[i], 0x1093, sizeof(properties), &properties, &size));
		printf("properties %d: %d, %zu bytes\n", i, (int)properties, size);
		if (clGetCommandQueueInfo(queues[i], 0x1098, sizeof(back), back, &size) == 0)
			printf("list %d: %zu %d %d\n", i, size, (int)back[0], (int)back[1]);
		launch(queues[i], kernel, &event);
		CHECK(clWaitForEvents(1, &event));
		CHECK(clGetEventInfo(event, 0x11d3, sizeof(count), &count, NULL));
		printf("status %d\n", (int)count);
		error = clGetEventProfilingInfo(event, 0x1283, sizeof(stamp[0]), &stamp[0], NULL);
		printf("time of %d: %d\n", i, error);
		CHECK(clReleaseEvent(event));
		CHECK(clReleaseCommandQueue(queues[i]));
	}
}

static int per_thread;

static void *work(void *arg)
{
	int values[COUNT] = {0};
	handle queue = queue_with(0), buffer = buffer_of(values), kernel = kernel_of(arg, buffer), event;

	for (int i = 0; i < per_thread; i++) {
		launch(queue, kernel, i % 2 ? &event : NULL);
		if (i % 2)
			CHECK(clReleaseEvent(event));
	}
	CHECK(clFinish(queue));
	return NULL;
}

static void threads(int n, int count)
{
	pthread_t thread[16];

	per_thread = n;
	for (int i = 0; i < count && i < 16; i++)
		pthread_create(&thread[i], NULL, work, (void *)(uintptr_t)(i % 2 ? "times_two" : "add_one"));
	for (int i = 0; i < count && i < 16; i++)
		pthread_join(thread[i], NULL);
	printf("%d\n", n * count);
}

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static int by_value(const void *a, const void *b)
{
	const uint32_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

static void cost(int n)
{
	int values[COUNT] = {0};
	handle queue = queue_with(0), buffer = buffer_of(values), kernel = kernel_of("add_one", buffer);
	uint32_t *took = calloc((size_t)n, sizeof(*took));
	size_t one = 1;

	for (int i = 0; i < n; i++) {
		uint64_t before = now_ns();

		CHECK(clEnqueueNDRangeKernel(queue, kernel, 1, NULL, &one, &one, 0, NULL, NULL));
		took[i] = (uint32_t)(now_ns() - before);
		if (i % 16 == 15)
			CHECK(clFinish(queue));
	}
	qsort(took, (size_t)n, sizeof(*took), by_value);
	printf("%u %u\n", took[0], took[n / 2]);
	free(took);
}

int main(int argc, char **argv)
{
	int n = argc > 2 ? atoi(argv[2]) : 1;

	open_all();
	if (argc > 1 && strcmp(argv[1], "many") == 0)
		many(n);
	else if (argc > 1 && strcmp(argv[1], "kinds") == 0)
		kinds();
	else if (argc > 1 && strcmp(argv[1], "own") == 0)
		own();
	else if (argc > 1 && strcmp(argv[1], "cost") == 0)
		cost(n);
	else
		threads(n, argc > 3 ? atoi(argv[3]) : 1);
	return 0;
}
