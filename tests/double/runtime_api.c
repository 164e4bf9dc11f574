/*
 * runtime_api.c - libcudart.so: the functions that programs of nvcc, and plain C, call.
 */
#include "double.h"

#include <stdlib.h>
#include <string.h>

enum { COPY_H2H, COPY_H2D, COPY_D2H, COPY_D2D, COPY_DEFAULT };
#define RUNTIME ISC_CUPTI_DOMAIN_RUNTIME
#define DRIVER ISC_CUPTI_DOMAIN_DRIVER

/* ---- memory, to know which is whose ---- */

#define BLOCKS 4096
static struct block {
	char *at;
	size_t bytes;
	int place; /* ISC_CUPTI_PINNED, ISC_CUPTI_ON_DEVICE */
} blocks[BLOCKS];

static void *keep(size_t bytes, int place)
{
	char *at = malloc(bytes > 0 ? bytes : 1);

	for (int i = 0; i < BLOCKS; i++) {
		char *none = NULL;

		if (__atomic_compare_exchange_n(&blocks[i].at, &none, at, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED)) {
			blocks[i].bytes = bytes;
			blocks[i].place = place;
			return at;
		}
	}
	return at;
}

static void forget(void *at)
{
	for (int i = 0; i < BLOCKS && at != NULL; i++)
		if (blocks[i].at == at)
			__atomic_store_n(&blocks[i].at, NULL, __ATOMIC_RELEASE);
	free(at);
}

static int place_of(const void *at)
{
	const char *p = at;

	for (int i = 0; i < BLOCKS; i++)
		if (blocks[i].at != NULL && p >= blocks[i].at && p < blocks[i].at + blocks[i].bytes)
			return blocks[i].place;
	return ISC_CUPTI_PAGEABLE;
}

/* ---- kernels, as nvcc registers them ---- */

#define KERNELS 256
static struct {
	const void *host;
	const char *name;
} kernels[KERNELS];
static int kernel_count;
static __thread struct {
	dim3 grid, block;
	size_t shared;
	cuda_stream stream;
} configuration;

API void **__cudaRegisterFatBinary(void *binary)
{
	static void *handle;

	(void)binary;
	return &handle;
}

API void __cudaRegisterFatBinaryEnd(void **handle)
{
	(void)handle;
}

API void __cudaUnregisterFatBinary(void **handle)
{
	(void)handle;
}

API void __cudaRegisterFunction(void **handle, const char *host, char *device, const char *name, int threads, void *a,
				void *b, void *c, void *d, int *w)
{
	(void)handle;
	(void)device;
	(void)threads;
	(void)a;
	(void)b;
	(void)c;
	(void)d;
	(void)w;
	if (kernel_count < KERNELS) {
		kernels[kernel_count].host = host;
		kernels[kernel_count++].name = strdup(name);
	}
}

API unsigned __cudaPushCallConfiguration(dim3 grid, dim3 block, size_t shared, cuda_stream s)
{
	configuration = (__typeof__(configuration)){grid, block, shared, s};
	return 0;
}

API uint32_t __cudaPopCallConfiguration(dim3 *grid, dim3 *block, size_t *shared, void *s)
{
	*grid = configuration.grid;
	*block = configuration.block;
	*shared = configuration.shared;
	memcpy(s, &configuration.stream, sizeof(cuda_stream));
	return 0;
}

API char __cudaInitModule(void **handle)
{
	(void)handle;
	return 1;
}

API uint32_t __cudaGetKernel(const void **kernel, const void *host)
{
	*kernel = host;
	return 0;
}

static const char *kernel_name(const void *host)
{
	for (int i = 0; i < kernel_count; i++)
		if (kernels[i].host == host)
			return kernels[i].name;
	return "unregistered";
}

/* ---- calls ---- */

/* What the runtime does through the driver, where that has a correlation of its own: work is the driver's. */
static void queue(call *outer, work *w, uint32_t number, const char *name)
{
	call inner;

	if (!scripted.nested) {
		call_work(outer, w);
		return;
	}
	call_begin(&inner, DRIVER, number, name, NULL);
	call_work(&inner, w);
	call_end(&inner, 0);
}

API uint32_t cudaLaunchKernel(const void *f, dim3 grid, dim3 block, void **args, size_t shared, cuda_stream s)
{
	call c;
	work w = {.kind = ISC_CUPTI_KERNEL, .device = device_now, .stream = number_of(s), .name = kernel_name(f)};

	(void)args;
	(void)shared;
	w.grid[0] = grid.x, w.grid[1] = grid.y, w.grid[2] = grid.z;
	w.block[0] = block.x, w.block[1] = block.y, w.block[2] = block.z;
	call_begin(&c, RUNTIME, 211, "cudaLaunchKernel", NULL);
	if (!graph_takes(&(node){.w = w}))
		queue(&c, &w, 307, "cuLaunchKernel");
	return call_end(&c, 0);
}

API uint32_t __cudaLaunchKernel(const void *f, dim3 grid, dim3 block, void **args, size_t shared, cuda_stream s)
{
	return cudaLaunchKernel(f, grid, block, args, shared, s);
}

static uint32_t copy(void *to, const void *from, size_t bytes, int direction, cuda_stream s, uint32_t number,
		     const char *name, bool waits)
{
	static const int kinds[] = {ISC_CUPTI_H2H, ISC_CUPTI_H2D, ISC_CUPTI_D2H, ISC_CUPTI_D2D, ISC_CUPTI_D2D};
	const struct {
		void *to;
		const void *from;
		size_t bytes;
		uint32_t direction;
	} parameters = {to, from, bytes, (uint32_t)direction};
	work w = {.kind = ISC_CUPTI_MEMCPY, .copy = kinds[direction], .device = device_now, .stream = number_of(s)};
	call c;

	w.bytes = bytes;
	w.page = place_of(direction == COPY_H2D ? from : to);
	call_begin(&c, RUNTIME, number, name, &parameters);
	if (graph_takes(&(node){.w = w, .to = to, .from = from}))
		return call_end(&c, 0);
	memmove(to, from, bytes);
	queue(&c, &w, direction == COPY_D2H ? 278 : 276, direction == COPY_D2H ? "cuMemcpyDtoH_v2" : "cuMemcpyHtoD_v2");
	/* An asynchronous one waits too when the memory can be swapped out. */
	if (waits || (direction == COPY_D2H && w.page == ISC_CUPTI_PAGEABLE))
		device_wait(w.end);
	return call_end(&c, 0);
}

API uint32_t cudaMemcpy(void *to, const void *from, size_t bytes, int direction)
{
	return copy(to, from, bytes, direction, NULL, 31, "cudaMemcpy", true);
}

API uint32_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, int direction, cuda_stream s)
{
	return copy(to, from, bytes, direction, s, 41, "cudaMemcpyAsync", false);
}

API uint32_t cudaMemcpyPeerAsync(void *to, int to_device, const void *from, int from_device, size_t bytes,
				 cuda_stream s)
{
	work w = {.kind = ISC_CUPTI_MEMCPY2, .copy = ISC_CUPTI_P2P, .device = from_device, .peer = to_device};
	call c;

	w.stream = number_of(s);
	w.bytes = bytes;
	call_begin(&c, RUNTIME, 161, "cudaMemcpyPeerAsync", NULL);
	memmove(to, from, bytes);
	call_work(&c, &w);
	return call_end(&c, 0);
}

static uint32_t fill(void *at, int value, size_t bytes, cuda_stream s, uint32_t number, const char *name)
{
	work w = {.kind = ISC_CUPTI_MEMSET, .device = device_now, .stream = number_of(s), .bytes = bytes};
	call c;

	call_begin(&c, RUNTIME, number, name, NULL);
	if (graph_takes(&(node){.w = w, .to = at, .value = value}))
		return call_end(&c, 0);
	memset(at, value, bytes);
	call_work(&c, &w);
	return call_end(&c, 0);
}

API uint32_t cudaMemset(void *at, int value, size_t bytes)
{
	return fill(at, value, bytes, NULL, 49, "cudaMemset");
}

API uint32_t cudaMemsetAsync(void *at, int value, size_t bytes, cuda_stream s)
{
	return fill(at, value, bytes, s, 51, "cudaMemsetAsync");
}

API uint32_t cudaDeviceSynchronize(void)
{
	call c;

	call_begin(&c, RUNTIME, 165, "cudaDeviceSynchronize", NULL);
	call_sync(&c, ISC_CUPTI_SYNC_CONTEXT, -1);
	return call_end(&c, 0);
}

API uint32_t cudaStreamSynchronize(cuda_stream s)
{
	call c;

	call_begin(&c, RUNTIME, 131, "cudaStreamSynchronize", NULL);
	call_sync(&c, ISC_CUPTI_SYNC_STREAM, number_of(s));
	return call_end(&c, 0);
}

API uint32_t cudaDeviceReset(void)
{
	call c;

	call_begin(&c, RUNTIME, 164, "cudaDeviceReset", NULL);
	device_wait(device_free_at(device_now, -1));
	cupti_forget();
	return call_end(&c, 0);
}

API uint32_t cudaMalloc(void **to, size_t bytes)
{
	call c;

	call_begin(&c, RUNTIME, 20, "cudaMalloc", NULL);
	*to = keep(bytes, ISC_CUPTI_ON_DEVICE);
	return call_end(&c, *to != NULL ? 0 : 2);
}

API uint32_t cudaFree(void *at)
{
	call c;

	call_begin(&c, RUNTIME, 22, "cudaFree", NULL);
	forget(at);
	return call_end(&c, 0);
}

API uint32_t cudaMallocHost(void **to, size_t bytes)
{
	call c;

	call_begin(&c, RUNTIME, 25, "cudaMallocHost", NULL);
	*to = keep(bytes, ISC_CUPTI_PINNED);
	return call_end(&c, *to != NULL ? 0 : 2);
}

API uint32_t cudaHostAlloc(void **to, size_t bytes, unsigned flags)
{
	call c;

	(void)flags;
	call_begin(&c, RUNTIME, 27, "cudaHostAlloc", NULL);
	*to = keep(bytes, ISC_CUPTI_PINNED);
	return call_end(&c, *to != NULL ? 0 : 2);
}

API uint32_t cudaMallocAsync(void **to, size_t bytes, cuda_stream s)
{
	call c;

	(void)s;
	call_begin(&c, RUNTIME, 373, "cudaMallocAsync", NULL);
	*to = keep(bytes, ISC_CUPTI_ON_DEVICE);
	return call_end(&c, *to != NULL ? 0 : 2);
}

/* Kept until the end of what is on the stream: kernels touch nothing, copies have been made. */
API uint32_t cudaFreeAsync(void *at, cuda_stream s)
{
	call c;

	(void)s;
	call_begin(&c, RUNTIME, 375, "cudaFreeAsync", NULL);
	forget(at);
	return call_end(&c, 0);
}

API uint32_t cudaMallocManaged(void **to, size_t bytes, unsigned flags)
{
	call c;

	(void)flags;
	call_begin(&c, RUNTIME, 206, "cudaMallocManaged", NULL);
	*to = keep(bytes, ISC_CUPTI_ON_DEVICE);
	return call_end(&c, *to != NULL ? 0 : 2);
}

API uint32_t cudaFreeHost(void *at)
{
	call c;

	call_begin(&c, RUNTIME, 26, "cudaFreeHost", NULL);
	forget(at);
	return call_end(&c, 0);
}
