/*
 * driver_api.c - libcuda.so.1: what a program that loads its own kernels calls.
 */
#include "double.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DRIVER ISC_CUPTI_DOMAIN_DRIVER

enum { OK = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NO_DEVICE = 100, INVALID_DEVICE = 101, NOT_FOUND = 500 };

#define MAY_FAIL \
	do { \
		if (script_fails(__func__)) \
			return scripted.fail_code; \
	} while (0)

typedef struct module {
	char *text; /* PTX */
} module;

API uint32_t cuInit(unsigned flags)
{
	MAY_FAIL;
	(void)flags;
	machine_start();
	return scripted.devices > 0 ? OK : NO_DEVICE;
}

API uint32_t cuDriverGetVersion(int *version)
{
	MAY_FAIL;
	/* Does not start anything: it may be asked before cuInit(), and from inside of it. */
	*version = scripted.version >= ISC_CUPTI_13_0 ? 13000 : scripted.version > ISC_CUPTI_11_8 ? 12050 : 11000;
	return OK;
}

API uint32_t cuDeviceGetCount(int *count)
{
	MAY_FAIL;
	machine_start();
	*count = scripted.devices;
	return OK;
}

API uint32_t cuDeviceGet(int *device, int ordinal)
{
	MAY_FAIL;
	if (ordinal < 0 || ordinal >= scripted.devices)
		return INVALID_DEVICE;
	*device = ordinal;
	return OK;
}

API uint32_t cuDeviceGetName(char *name, int room, int device)
{
	snprintf(name, (size_t)room, "Double %d", device);
	return OK;
}

API uint32_t cuCtxCreate_v2(void **context, unsigned flags, int device)
{
	(void)flags;
	device_now = device;
	*context = (void *)(uintptr_t)(device + 1);
	return OK;
}

API uint32_t cuDevicePrimaryCtxRetain(void **context, int device)
{
	MAY_FAIL;
	*context = (void *)(uintptr_t)(device + 1);
	return OK;
}

API uint32_t cuDevicePrimaryCtxRelease_v2(int device)
{
	(void)device;
	return OK;
}

API uint32_t cuCtxSetCurrent(void *context)
{
	MAY_FAIL;
	device_now = context != NULL ? (int)(uintptr_t)context - 1 : 0;
	return OK;
}

API uint32_t cuCtxDestroy_v2(void *context)
{
	(void)context;
	return OK;
}

API uint32_t cuModuleLoadData(void **out, const void *image)
{
	module *m = calloc(1, sizeof(*m));
	call c;

	MAY_FAIL;
	call_begin(&c, DRIVER, 19, "cuModuleLoadData", NULL);
	/* Kernels are known from their text; a binary has none. */
	if (m == NULL || strstr(image, ".version") == NULL || strstr(image, ".target") == NULL) {
		free(m);
		return call_end(&c, INVALID_VALUE);
	}
	m->text = strdup(image);
	*out = m;
	return call_end(&c, OK);
}

API uint32_t cuModuleUnload(void *m)
{
	free(((module *)m)->text);
	free(m);
	return OK;
}

API uint32_t cuModuleGetFunction(void **function, void *m, const char *name)
{
	char entry[300];

	MAY_FAIL;
	snprintf(entry, sizeof(entry), ".entry %s(", name);
	if (strstr(((module *)m)->text, entry) == NULL)
		return NOT_FOUND;
	*function = strdup(name);
	return OK;
}

API uint32_t cuLaunchKernel(void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by,
			    unsigned bz, unsigned shared, void *stream, void **args, void **extra)
{
	work w = {.kind = ISC_CUPTI_KERNEL, .device = device_now, .name = function};
	call c;

	MAY_FAIL;
	(void)shared;
	(void)args;
	(void)extra;
	w.stream = (int)((uintptr_t)stream % STREAMS_MAX);
	w.grid[0] = gx, w.grid[1] = gy, w.grid[2] = gz;
	w.block[0] = bx, w.block[1] = by, w.block[2] = bz;
	call_begin(&c, DRIVER, 307, "cuLaunchKernel", NULL);
	call_work(&c, &w);
	return call_end(&c, OK);
}

API uint32_t cuMemAlloc_v2(uint64_t *at, size_t bytes)
{
	call c;

	MAY_FAIL;
	call_begin(&c, DRIVER, 243, "cuMemAlloc_v2", NULL);
	*at = (uint64_t)(uintptr_t)calloc(1, bytes);
	return call_end(&c, *at != 0 ? OK : OUT_OF_MEMORY);
}

API uint32_t cuMemFree_v2(uint64_t at)
{
	call c;

	MAY_FAIL;
	call_begin(&c, DRIVER, 245, "cuMemFree_v2", NULL);
	free((void *)(uintptr_t)at);
	return call_end(&c, OK);
}

static uint32_t copy(void *to, const void *from, size_t bytes, int direction, uint32_t number, const char *name)
{
	work w = {.kind = ISC_CUPTI_MEMCPY, .copy = direction, .device = device_now, .page = ISC_CUPTI_PAGEABLE};
	call c;

	w.bytes = bytes;
	call_begin(&c, DRIVER, number, name, NULL);
	memmove(to, from, bytes);
	call_work(&c, &w);
	device_wait(w.end);
	return call_end(&c, OK);
}

API uint32_t cuMemcpyHtoD_v2(uint64_t to, const void *from, size_t bytes)
{
	MAY_FAIL;
	return copy((void *)(uintptr_t)to, from, bytes, ISC_CUPTI_H2D, 276, "cuMemcpyHtoD_v2");
}

API uint32_t cuMemcpyDtoH_v2(void *to, uint64_t from, size_t bytes)
{
	MAY_FAIL;
	return copy(to, (void *)(uintptr_t)from, bytes, ISC_CUPTI_D2H, 278, "cuMemcpyDtoH_v2");
}

API uint32_t cuCtxSynchronize(void)
{
	call c;

	MAY_FAIL;
	call_begin(&c, DRIVER, 17, "cuCtxSynchronize", NULL);
	call_sync(&c, ISC_CUPTI_SYNC_CONTEXT, -1);
	return call_end(&c, OK);
}

API uint32_t cuStreamSynchronize(void *stream)
{
	call c;

	call_begin(&c, DRIVER, 126, "cuStreamSynchronize", NULL);
	call_sync(&c, ISC_CUPTI_SYNC_STREAM, (int)((uintptr_t)stream % STREAMS_MAX));
	return call_end(&c, OK);
}

API uint32_t cuGetErrorName(uint32_t error, const char **name)
{
	*name = error == OK ? "CUDA_SUCCESS" : "CUDA_ERROR";
	return OK;
}
