/*
 * environment.c - the hooks on getenv, by which NVTX and the OpenCL loader find us.
 *
 * A variable would be seen by every program that prints its environment.
 */
#include "collect/hooks/hook.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <limits.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "collect/gpu.h"
#include "collect/gpu/nvtx.h"
#include "runtime/layout.h"

#define LAYERS_VARIABLE ISC_OPENCL_VARIABLE
#define LAYER_NAME ISC_OPENCL_LIBRARY

/* The layer beside the path that we were loaded by; false: it is not there, or the loader would not find it in a
 * list. */
static bool layer_path(char *to, size_t room)
{
	const char *slash;
	size_t len;
	Dl_info us;

	if (dladdr((void *)layer_path, &us) == 0 || us.dli_fname == NULL || us.dli_fname[0] != '/')
		return false;
	slash = strrchr(us.dli_fname, '/');
	len = (size_t)(slash - us.dli_fname) + 1;
	if (len + sizeof(LAYER_NAME) > room)
		return false;
	memcpy(to, us.dli_fname, len);
	memcpy(to + len, LAYER_NAME, sizeof(LAYER_NAME));
	return strchr(to, ':') == NULL && syscall(SYS_faccessat, AT_FDCWD, to, R_OK) == 0;
}

/* The program's own layers and ours behind them.  Made once: what one thread has got must stay. */
static char *layers(char *theirs)
{
	static char text[2 * PATH_MAX];
	static _Atomic int made; /* 1: somebody is at it, 2: done, 3: there is no room */
	size_t len = theirs != NULL ? strlen(theirs) : 0;
	int none = 0;

	/* A program that traces itself has named it to its children. */
	if (!isc_rt_gpu_asked() || len > PATH_MAX - 2 || (len > 0 && strstr(theirs, LAYER_NAME) != NULL))
		return theirs;
	if (atomic_compare_exchange_strong(&made, &none, 1)) {
		bool good = layer_path(text + len + (len > 0), sizeof(text) - len - 1);

		if (len > 0) {
			memcpy(text, theirs, len);
			text[len] = ':';
		}
		atomic_store(&made, good ? 2 : 3);
	}
	/* Of what the program has changed since, the loader has heard already. */
	if (atomic_load(&made) != 2 || strncmp(text, theirs != NULL ? theirs : "", len) != 0)
		return theirs;
	return text;
}

static char *answer(const char *name, char *value)
{
	if (value == NULL && name[0] == ISC_NVTX_VARIABLE[0] && strcmp(name, ISC_NVTX_VARIABLE) == 0)
		/* The result of getenv is not the caller's to change. */
		return (char *)(uintptr_t)isc_nvtx_path();
	if (name[0] == LAYERS_VARIABLE[0] && strcmp(name, LAYERS_VARIABLE) == 0)
		return layers(value);
	return value;
}

ISC_HOOK char *getenv(const char *name)
{
	return answer(name, ISC_REAL(getenv)(name));
}

ISC_HOOK char *secure_getenv(const char *name)
{
	return answer(name, ISC_REAL(secure_getenv)(name));
}
