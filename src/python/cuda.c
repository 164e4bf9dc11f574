#include "python/cuda.h"

#include <dlfcn.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "runtime/layout.h"
#include "runtime/runtime.h"

/* A runtime of another version may not have it; then nothing here is called. */
#pragma weak isc_rt_control

#define DRIVER "libcuda.so.1"

static bool path_of(char *out, size_t room)
{
	const char *slash;
	Dl_info us;

	if (dladdr((void *)(uintptr_t)isc_rt_abi, &us) == 0 || us.dli_fname == NULL)
		return false;
	slash = strrchr(us.dli_fname, '/');
	return slash != NULL &&
	       snprintf(out, room, "%.*s/" ISC_CUDA_LIBRARY, (int)(slash - us.dli_fname), us.dli_fname) < (int)room;
}

/* It stays: what it registered with the driver is in it. */
static void *part_of(bool load)
{
	char path[PATH_MAX];

	return path_of(path, sizeof(path)) ? dlopen(path, RTLD_NOW | RTLD_LOCAL | (load ? 0 : RTLD_NOLOAD)) : NULL;
}

static bool has_driver(void)
{
	void *driver = dlopen(DRIVER, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);

	if (driver != NULL)
		dlclose(driver);
	return driver != NULL;
}

int isc_cuda_part_start(void)
{
	void *part = has_driver() ? part_of(true) : NULL;
	int (*start)(void) = part != NULL ? (int (*)(void))dlsym(part, "isc_cuda_start") : NULL;

	return start != NULL ? start() : 0;
}

static void call(const char *name)
{
	void *part = part_of(false);
	void (*function)(void) = part != NULL ? (void (*)(void))dlsym(part, name) : NULL;

	if (function != NULL)
		function();
	if (part != NULL)
		dlclose(part);
}

void isc_cuda_part_flush(void)
{
	call("isc_cuda_flush");
}

void isc_cuda_part_stop(void)
{
	const isc_control *control = isc_rt_control();
	bool own = control != NULL && (control->flags & ISC_CONTROL_SCRATCH) != 0;

	call(own ? "isc_cuda_stop" : "isc_cuda_flush");
}
