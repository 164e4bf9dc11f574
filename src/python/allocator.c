/*
 * allocator.c - puts our functions before Python's allocators, and takes them away again.
 *
 * Others do the same: tracemalloc, memory profilers.  Who came later has ours behind theirs, and then ours stay
 * there and pass everything on.  Who came earlier and leaves first takes ours along: then nothing is
 * told any more, and nothing breaks.
 */
#include "python/calls.h"

#pragma weak isc_rt_memory_python
#pragma weak isc_rt_memory_python_on
#pragma weak isc_rt_profile_hooked

#include "python/allocator.h"

#include "runtime/profile.h"
#include "runtime/runtime.h"

_Static_assert(sizeof(isc_rt_allocator) == sizeof(PyMemAllocatorEx), "an allocator of Python");
_Static_assert(offsetof(isc_rt_allocator, free) == offsetof(PyMemAllocatorEx, free), "an allocator of Python");

static const PyMemAllocatorDomain domains[ISC_RT_DOMAINS] = {PYMEM_DOMAIN_RAW, PYMEM_DOMAIN_MEM, PYMEM_DOMAIN_OBJ};
static struct {
	PyMemAllocatorEx before;
	bool there; /* as far as we know */
} put[ISC_RT_DOMAINS];
static unsigned wanted;

static isc_rt_allocator as_ours(const PyMemAllocatorEx *a)
{
	return (isc_rt_allocator){a->ctx, a->malloc, a->calloc, a->realloc, a->free};
}

static void put_all(void)
{
	for (unsigned d = 0; d < ISC_RT_DOMAINS; d++) {
		isc_rt_allocator real, ours;

		if (put[d].there)
			continue;
		PyMem_GetAllocator(domains[d], &put[d].before);
		real = as_ours(&put[d].before);
		if (!isc_rt_memory_python(d, &real, &ours))
			continue;
		PyMem_SetAllocator(domains[d],
				   &(PyMemAllocatorEx){ours.ctx, ours.malloc, ours.calloc, ours.realloc, ours.free});
		put[d].there = true;
	}
}

static void take_all(void)
{
	for (unsigned d = 0; d < ISC_RT_DOMAINS; d++) {
		isc_rt_allocator real = as_ours(&put[d].before), ours;
		PyMemAllocatorEx now;

		if (!put[d].there || !isc_rt_memory_python(d, &real, &ours))
			continue;
		PyMem_GetAllocator(domains[d], &now);
		if (now.malloc != ours.malloc)
			continue;
		PyMem_SetAllocator(domains[d], &put[d].before);
		put[d].there = false;
	}
}

bool isc_allocator_begin(void)
{
	if (isc_rt_profile_hooked())
		return false;
	if (wanted == 0) {
		if (!isc_rt_memory_python_on(true))
			return false;
		put_all();
	}
	wanted++;
	return true;
}

void isc_allocator_end(void)
{
	if (wanted == 0 || --wanted > 0)
		return;
	isc_rt_memory_python_on(false);
	take_all();
}

void isc_allocator_forked(bool session)
{
	unsigned left = session && wanted > 0 ? 1 : 0;

	if (wanted > 0 && left == 0) {
		wanted = 1;
		isc_allocator_end();
	}
	wanted = left;
}
