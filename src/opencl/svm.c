/*
 * svm.c - commands on shared virtual memory.
 */
#include "opencl/opencl.h"

typedef void free_fn(cl_queue, uint32_t, void **, void *);

static uint64_t sum_of(const size_t *sizes, uint32_t count)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; sizes != NULL && i < count; i++)
		sum += sizes[i];
	return sum;
}

ISC_CL_COMMAND(svm_free, clEnqueueSVMFree, "clEnqueueSVMFree", ISC_JOB_IDLE, ISC_ROLE_OTHER,
	       (uint32_t count, void **places, free_fn *function, void *data), (count, places, function, data), )
/* Which side either place is on is not known. */
ISC_CL_COPY(copy, clEnqueueSVMMemcpy, ISC_JOB_COPY, (uint32_t blocking, void *to, const void *from, size_t size),
	    (blocking, to, from, size), size)
ISC_CL_COMMAND(fill, clEnqueueSVMMemFill, "clEnqueueSVMMemFill", ISC_JOB_MEMSET, ISC_ROLE_OTHER,
	       (void *at, const void *pattern, size_t pattern_size, size_t size), (at, pattern, pattern_size, size),
	       c.bytes = size)
ISC_CL_COPY(map, clEnqueueSVMMap, (flags & CL_MAP_READ) != 0 ? ISC_JOB_D2H : ISC_JOB_IDLE,
	    (uint32_t blocking, uint64_t flags, void *at, size_t size), (blocking, flags, at, size), size)
ISC_CL_COMMAND(unmap, clEnqueueSVMUnmap, "clEnqueueSVMUnmap", ISC_JOB_IDLE, ISC_ROLE_OTHER, (void *at), (at), )
ISC_CL_COMMAND(migrate, clEnqueueSVMMigrateMem, "clEnqueueSVMMigrateMem",
	       (flags & CL_MIGRATE_TO_HOST) != 0 ? ISC_JOB_D2H : ISC_JOB_H2D, ISC_ROLE_OTHER,
	       (uint32_t count, const void **places, const size_t *sizes, uint64_t flags),
	       (count, places, sizes, flags), c.bytes = sum_of(sizes, count))

void isc_cl_svm_hooks(void)
{
	ISC_CL_HOOK(clEnqueueSVMFree, svm_free);
	ISC_CL_HOOK(clEnqueueSVMMemcpy, copy);
	ISC_CL_HOOK(clEnqueueSVMMemFill, fill);
	ISC_CL_HOOK(clEnqueueSVMMap, map);
	ISC_CL_HOOK(clEnqueueSVMUnmap, unmap);
	ISC_CL_HOOK(clEnqueueSVMMigrateMem, migrate);
}
