/*
 * selftest_work.c - the program of the self-test: some kernels and copies through
 * the driver, which is loaded by name.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/commands.h"
#include "cli/selftest.h"

#define BYTES (256u << 10)
#define ROUNDS 2000u /* of a loop: some microseconds on any device */

/* For every device since 2014: the driver compiles it. */
static const char kernel_text[] = ".version 6.0\n"
				  ".target sm_50\n"
				  ".address_size 64\n"
				  ".visible .entry " ISC_SELFTEST_NAME "(.param .u64 at, .param .u32 rounds)\n"
				  "{\n"
				  "	.reg .pred %p<2>;\n"
				  "	.reg .b32 %r<6>;\n"
				  "	.reg .b64 %d<4>;\n"
				  "	ld.param.u64 %d1, [at];\n"
				  "	ld.param.u32 %r1, [rounds];\n"
				  "	cvta.to.global.u64 %d2, %d1;\n"
				  "	mov.u32 %r2, %tid.x;\n"
				  "	mul.wide.u32 %d3, %r2, 4;\n"
				  "	add.s64 %d2, %d2, %d3;\n"
				  "	ld.global.u32 %r3, [%d2];\n"
				  "	mov.u32 %r4, 0;\n"
				  "again:\n"
				  "	mad.lo.u32 %r3, %r3, 1664525, 1013904223;\n"
				  "	add.u32 %r4, %r4, 1;\n"
				  "	setp.lt.u32 %p1, %r4, %r1;\n"
				  "	@%p1 bra again;\n"
				  "	st.global.u32 [%d2], %r3;\n"
				  "	ret;\n"
				  "}\n";

/* DRIVER(name, parameters): of the CUDA driver, as much as is called here. */
#define DRIVER_FUNCTIONS(DRIVER) \
	DRIVER(cuInit, (unsigned flags)) \
	DRIVER(cuDeviceGetCount, (int *count)) \
	DRIVER(cuDeviceGet, (int *device, int ordinal)) \
	DRIVER(cuDevicePrimaryCtxRetain, (void **context, int device)) \
	DRIVER(cuCtxSetCurrent, (void *context)) \
	DRIVER(cuCtxSynchronize, (void)) \
	DRIVER(cuModuleLoadData, (void **module, const void *text)) \
	DRIVER(cuModuleGetFunction, (void **function, void *module, const char *name)) \
	DRIVER(cuMemAlloc_v2, (uint64_t *at, size_t bytes)) \
	DRIVER(cuMemFree_v2, (uint64_t at)) \
	DRIVER(cuMemcpyHtoD_v2, (uint64_t to, const void *from, size_t bytes)) \
	DRIVER(cuMemcpyDtoH_v2, (void *to, uint64_t from, size_t bytes)) \
	DRIVER(cuLaunchKernel, (void *function, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, \
				unsigned bz, unsigned shared, void *stream, void **parameters, void **extra))

typedef struct driver {
#define POINTER(name, parameters) int(*name) parameters;
	DRIVER_FUNCTIONS(POINTER)
#undef POINTER
} driver;

static int refuse(const char *why)
{
	isc_log_write(&isc_cli_log, ISC_LOG_ERROR, "the GPU self-test cannot go on: %s", why);
	return ISC_EXIT_FAILED;
}

static int fail(const char *call, int code)
{
	isc_log_write(&isc_cli_log, ISC_LOG_ERROR,
		      "the GPU self-test cannot go on: %s failed (%d); nvidia-smi may say why", call, code);
	return ISC_EXIT_FAILED;
}

#define NO_DRIVER \
	"cannot load libcuda.so.1: no NVIDIA driver; install it, or give the container its GPU (docker run --gpus " \
	"all)"

/* NULL, or why not. */
static const char *open_driver(driver *d)
{
	void *handle = dlopen("libcuda.so.1", RTLD_NOW);

	if (handle == NULL)
		return NO_DRIVER;
#define FIND(name, parameters) \
	d->name = (__typeof__(d->name))dlsym(handle, #name); \
	if (d->name == NULL) \
		return "libcuda.so.1 has no " #name "; install the driver of this GPU anew";
	DRIVER_FUNCTIONS(FIND)
#undef FIND
	return NULL;
}

/* NULL, or the call that failed. */
static const char *work_on(const driver *d, int ordinal, char *host, int *code)
{
	void *context, *module, *function;
	uint64_t at = 0;
	unsigned rounds = ROUNDS;
	void *parameters[] = {&at, &rounds};
	int device;

#define TRY(call, name) \
	if ((*code = (call)) != 0) \
	return name
	TRY(d->cuDeviceGet(&device, ordinal), "cuDeviceGet");
	TRY(d->cuDevicePrimaryCtxRetain(&context, device), "cuDevicePrimaryCtxRetain");
	TRY(d->cuCtxSetCurrent(context), "cuCtxSetCurrent");
	TRY(d->cuModuleLoadData(&module, kernel_text), "cuModuleLoadData");
	TRY(d->cuModuleGetFunction(&function, module, ISC_SELFTEST_NAME), "cuModuleGetFunction");
	TRY(d->cuMemAlloc_v2(&at, BYTES), "cuMemAlloc");
	for (unsigned i = 0; i < ISC_SELFTEST_KERNELS; i++) {
		TRY(d->cuMemcpyHtoD_v2(at, host, BYTES), "cuMemcpyHtoD");
		TRY(d->cuLaunchKernel(function, 1, 1, 1, 256, 1, 1, 0, NULL, parameters, NULL), "cuLaunchKernel");
		TRY(d->cuCtxSynchronize(), "cuCtxSynchronize");
		TRY(d->cuMemcpyDtoH_v2(host, at, BYTES), "cuMemcpyDtoH");
	}
	TRY(d->cuMemFree_v2(at), "cuMemFree");
#undef TRY
	return NULL;
}

int isc_selftest_work(void)
{
	char *host = calloc(1, BYTES);
	const char *wrong;
	driver d;
	int code = 0, count = 0;

	if (host == NULL)
		return refuse("no memory");
	wrong = open_driver(&d);
	if (wrong != NULL) {
		free(host);
		return refuse(wrong);
	}
	if ((code = d.cuInit(0)) != 0)
		wrong = "cuInit";
	if (wrong == NULL && (code = d.cuDeviceGetCount(&count)) != 0)
		wrong = "cuDeviceGetCount";
	if (wrong == NULL && count == 0)
		wrong = "cuDeviceGetCount: no device";
	for (int i = 0; wrong == NULL && i < count; i++)
		wrong = work_on(&d, i, host, &code);
	free(host);
	return wrong != NULL ? fail(wrong, code) : ISC_EXIT_OK;
}
