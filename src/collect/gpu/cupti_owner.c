/*
 * cupti_owner.c - the program's own profiler of CUDA wins over ours.
 *
 * CUPTI serves one subscriber in a process, and whoever comes second gets nothing.
 * torch.profiler subscribes when it is first used; we were there before, as the
 * driver began.  So the call is stood in front of: ours gives way, then it goes on.
 */
#include "collect/hooks/hook.h"

#include <dlfcn.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>

#include "collect/gpu.h"

/* What CUPTI says of a call before it is there. */
#define NOT_INITIALIZED 15

extern __typeof__(dlopen) dlopen __attribute__((weak, visibility("default")));
extern __typeof__(dl_iterate_phdr) dl_iterate_phdr __attribute__((weak, visibility("default")));

typedef uint32_t subscribe(void **subscriber, void *callback, void *self);
typedef uint32_t subscribe_v2(void **subscriber, void *callback, void *self, void *parameters);

ISC_HOOK subscribe cuptiSubscribe;
ISC_HOOK subscribe_v2 cuptiSubscribe_v2;

static void (*_Atomic give_way)(void);

void isc_rt_gpu_rival(void (*come)(void))
{
	atomic_store(&give_way, come);
}

static int look(struct dl_phdr_info *info, size_t size, void *self)
{
	const char **path = self, *slash = info->dlpi_name != NULL ? strrchr(info->dlpi_name, '/') : NULL;

	(void)size;
	if (slash != NULL && strncmp(slash + 1, "libcupti.so", strlen("libcupti.so")) == 0)
		*path = info->dlpi_name;
	return *path != NULL;
}

/* Behind us in the order of lookup; else in the library by its name: Python loads what
 * it imports where the others do not look. */
static void *real_of(const char *name)
{
	void *real = dlsym(RTLD_NEXT, name), *handle;
	const char *path = NULL;

	if (real != NULL || dlopen == NULL || dl_iterate_phdr == NULL)
		return real;
	dl_iterate_phdr(look, &path);
	handle = path != NULL ? dlopen(path, RTLD_NOW | RTLD_NOLOAD) : NULL;
	return handle != NULL ? dlsym(handle, name) : NULL;
}

static void step_aside(void)
{
	void (*come)(void) = atomic_load(&give_way);

	if (come != NULL)
		come();
}

ISC_HOOK uint32_t cuptiSubscribe(void **subscriber, void *callback, void *self)
{
	subscribe *real = (subscribe *)real_of("cuptiSubscribe");

	if (real == NULL)
		return NOT_INITIALIZED;
	step_aside();
	return real(subscriber, callback, self);
}

ISC_HOOK uint32_t cuptiSubscribe_v2(void **subscriber, void *callback, void *self, void *parameters)
{
	subscribe_v2 *real = (subscribe_v2 *)real_of("cuptiSubscribe_v2");

	if (real == NULL)
		return NOT_INITIALIZED;
	step_aside();
	return real(subscriber, callback, self, parameters);
}
