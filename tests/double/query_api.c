/*
 * query_api.c - devices, streams and errors: what is asked, costs no work, and is told of to nobody.
 */
#include "double.h"

#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

enum { OK = 0, INVALID_VALUE = 1, NO_DEVICE = 100, INVALID_DEVICE = 101 };

#define MEMORY_BYTES ((size_t)16 << 30)
#define VERSION 13000

/* The beginning of cudaDeviceProp in CUDA 13, up to what programs look at. */
typedef struct properties {
	char name[256];
	char uuid[16], luid[8];
	unsigned node_mask;
	size_t global_bytes, shared_bytes;
	int registers, warp;
	size_t pitch;
	int threads, threads_dim[3], grid[3];
	size_t constant_bytes;
	int major, minor;
	size_t texture_alignment, pitch_alignment;
	int processors;
} properties;
_Static_assert(offsetof(properties, global_bytes) == 288 && offsetof(properties, major) == 360 &&
		       offsetof(properties, processors) == 384,
	       "as CUDA 13 lays it out");

API uint32_t cudaGetDeviceProperties(properties *p, int device)
{
	machine_start();
	if (device < 0 || device >= scripted.devices)
		return INVALID_DEVICE;
	memset(p, 0, sizeof(*p));
	snprintf(p->name, sizeof(p->name), "Double %d", device);
	p->global_bytes = MEMORY_BYTES;
	p->shared_bytes = 48 << 10;
	p->registers = 65536;
	p->warp = 32;
	p->threads = p->threads_dim[0] = p->threads_dim[1] = 1024;
	p->threads_dim[2] = 64;
	p->grid[0] = 0x7fffffff;
	p->grid[1] = p->grid[2] = 65535;
	p->constant_bytes = 64 << 10;
	p->major = 9;
	p->processors = 100;
	return OK;
}

API uint32_t cudaDeviceGetAttribute(int *value, int attribute, int device)
{
	/* By CUDA's numbers: threads of a block, size of a warp, processors, major and minor. */
	static const struct {
		int attribute, value;
	} known[] = {{1, 1024}, {10, 32}, {16, 100}, {75, 9}, {76, 0}};

	machine_start();
	if (device < 0 || device >= scripted.devices)
		return INVALID_DEVICE;
	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (known[i].attribute == attribute) {
			*value = known[i].value;
			return OK;
		}
	return INVALID_VALUE;
}

API uint32_t cudaMemGetInfo(size_t *unused, size_t *all)
{
	machine_start();
	*unused = *all = MEMORY_BYTES;
	return OK;
}

API uint32_t cudaRuntimeGetVersion(int *version)
{
	*version = VERSION;
	return OK;
}

API uint32_t cudaDriverGetVersion(int *version)
{
	*version = VERSION;
	return OK;
}

API uint32_t cudaGetDeviceCount(int *count)
{
	machine_start();
	*count = scripted.devices;
	return OK;
}

API uint32_t cudaSetDevice(int device)
{
	machine_start();
	if (device < 0 || device >= scripted.devices)
		return INVALID_DEVICE;
	device_now = device;
	return OK;
}

API uint32_t cudaGetDevice(int *device)
{
	call c;

	call_begin(&c, ISC_CUPTI_DOMAIN_RUNTIME, 17, "cudaGetDevice", NULL);
	*device = device_now;
	return call_end(&c, OK);
}

API uint32_t cudaStreamCreate(cuda_stream *s)
{
	static _Atomic uintptr_t count;

	machine_start();
	*s = (cuda_stream)(atomic_fetch_add(&count, 1) % (STREAMS_MAX - 1) + 1);
	return OK;
}

API uint32_t cudaStreamCreateWithFlags(cuda_stream *s, unsigned flags)
{
	(void)flags;
	return cudaStreamCreate(s);
}

API uint32_t cudaStreamCreateWithPriority(cuda_stream *s, unsigned flags, int priority)
{
	(void)flags;
	(void)priority;
	return cudaStreamCreate(s);
}

API uint32_t cudaStreamDestroy(cuda_stream s)
{
	(void)s;
	return OK;
}

API uint32_t cudaGetLastError(void)
{
	return OK;
}

API uint32_t cudaPeekAtLastError(void)
{
	return OK;
}

API const char *cudaGetErrorName(uint32_t error)
{
	return error == OK ? "cudaSuccess" : "cudaErrorUnknown";
}

API const char *cudaGetErrorString(uint32_t error)
{
	return error == OK ? "no error" : "an error";
}
