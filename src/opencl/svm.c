/*
 * svm.c - commands on shared virtual memory.
 */
#include "opencl/opencl.h"

typedef void free_fn(cl_queue, uint32_t, void **, void *);
typedef int32_t svm_free_fn(cl_queue, uint32_t, void **, free_fn *, void *, uint32_t, const cl_event *, cl_event *);
typedef int32_t copy_fn(cl_queue, uint32_t, void *, const void *, size_t, uint32_t, const cl_event *, cl_event *);
typedef int32_t fill_fn(cl_queue, void *, const void *, size_t, size_t, uint32_t, const cl_event *, cl_event *);
typedef int32_t map_fn(cl_queue, uint32_t, uint64_t, void *, size_t, uint32_t, const cl_event *, cl_event *);
typedef int32_t unmap_fn(cl_queue, void *, uint32_t, const cl_event *, cl_event *);
typedef int32_t migrate_fn(cl_queue, uint32_t, const void **, const size_t *, uint64_t, uint32_t, const cl_event *,
			   cl_event *);

static int32_t svm_free(cl_queue queue, uint32_t count, void **places, free_fn *function, void *data, uint32_t n,
			const cl_event *list, cl_event *event)
{
	svm_free_fn *real = ISC_CL_REAL(clEnqueueSVMFree, svm_free_fn *);
	isc_cl_call c;

	if (!isc_cl_begin(&c, queue, "clEnqueueSVMFree", ISC_JOB_IDLE, ISC_ROLE_OTHER))
		return real(queue, count, places, function, data, n, list, event);
	return isc_cl_end(&c, real(queue, count, places, function, data, n, list, isc_cl_event(&c, event)), event);
}

/* Which side either place is on is not known. */
static int32_t copy(cl_queue queue, uint32_t blocking, void *to, const void *from, size_t size, uint32_t n,
		    const cl_event *list, cl_event *event)
{
	copy_fn *real = ISC_CL_REAL(clEnqueueSVMMemcpy, copy_fn *);
	isc_cl_call c;

	if (!isc_cl_begin(&c, queue, blocking ? "clEnqueueSVMMemcpy" : "clEnqueueSVMMemcpy (Async)", ISC_JOB_COPY,
			  ISC_ROLE_COPY))
		return real(queue, blocking, to, from, size, n, list, event);
	c.holds = blocking != 0;
	c.bytes = size;
	return isc_cl_end(&c, real(queue, blocking, to, from, size, n, list, isc_cl_event(&c, event)), event);
}

static int32_t fill(cl_queue queue, void *at, const void *pattern, size_t pattern_size, size_t size, uint32_t n,
		    const cl_event *list, cl_event *event)
{
	fill_fn *real = ISC_CL_REAL(clEnqueueSVMMemFill, fill_fn *);
	isc_cl_call c;

	if (!isc_cl_begin(&c, queue, "clEnqueueSVMMemFill", ISC_JOB_MEMSET, ISC_ROLE_OTHER))
		return real(queue, at, pattern, pattern_size, size, n, list, event);
	c.bytes = size;
	return isc_cl_end(&c, real(queue, at, pattern, pattern_size, size, n, list, isc_cl_event(&c, event)), event);
}

static int32_t map(cl_queue queue, uint32_t blocking, uint64_t flags, void *at, size_t size, uint32_t n,
		   const cl_event *list, cl_event *event)
{
	map_fn *real = ISC_CL_REAL(clEnqueueSVMMap, map_fn *);
	isc_cl_call c;

	if (!isc_cl_begin(&c, queue, blocking ? "clEnqueueSVMMap" : "clEnqueueSVMMap (Async)",
			  flags & CL_MAP_READ ? ISC_JOB_D2H : ISC_JOB_IDLE, ISC_ROLE_COPY))
		return real(queue, blocking, flags, at, size, n, list, event);
	c.holds = blocking != 0;
	c.bytes = size;
	return isc_cl_end(&c, real(queue, blocking, flags, at, size, n, list, isc_cl_event(&c, event)), event);
}

static int32_t unmap(cl_queue queue, void *at, uint32_t n, const cl_event *list, cl_event *event)
{
	unmap_fn *real = ISC_CL_REAL(clEnqueueSVMUnmap, unmap_fn *);
	isc_cl_call c;

	if (!isc_cl_begin(&c, queue, "clEnqueueSVMUnmap", ISC_JOB_IDLE, ISC_ROLE_OTHER))
		return real(queue, at, n, list, event);
	return isc_cl_end(&c, real(queue, at, n, list, isc_cl_event(&c, event)), event);
}

static int32_t migrate(cl_queue queue, uint32_t count, const void **places, const size_t *sizes, uint64_t flags,
		       uint32_t n, const cl_event *list, cl_event *event)
{
	migrate_fn *real = ISC_CL_REAL(clEnqueueSVMMigrateMem, migrate_fn *);
	isc_cl_call c;

	if (!isc_cl_begin(&c, queue, "clEnqueueSVMMigrateMem", flags & CL_MIGRATE_TO_HOST ? ISC_JOB_D2H : ISC_JOB_H2D,
			  ISC_ROLE_OTHER))
		return real(queue, count, places, sizes, flags, n, list, event);
	for (uint32_t i = 0; sizes != NULL && i < count; i++)
		c.bytes += sizes[i];
	return isc_cl_end(&c, real(queue, count, places, sizes, flags, n, list, isc_cl_event(&c, event)), event);
}

void isc_cl_svm_hooks(void)
{
	ISC_CL_HOOK(clEnqueueSVMFree, svm_free);
	ISC_CL_HOOK(clEnqueueSVMMemcpy, copy);
	ISC_CL_HOOK(clEnqueueSVMMemFill, fill);
	ISC_CL_HOOK(clEnqueueSVMMap, map);
	ISC_CL_HOOK(clEnqueueSVMUnmap, unmap);
	ISC_CL_HOOK(clEnqueueSVMMigrateMem, migrate);
}
