/*
 * kernel.c - kernels, markers, barriers, and waits for them.
 */
#include "opencl/opencl.h"

typedef int32_t list_fn(cl_queue, uint32_t, const cl_event *, cl_event *);
typedef int32_t marker_fn(cl_queue, cl_event *);

/* Groups and their size; without one the driver chooses, and only the whole is known. */
static void shape(isc_cl_call *c, uint32_t dimensions, const size_t *global, const size_t *local)
{
	for (uint32_t i = 0; i < 3; i++) {
		size_t all = i < dimensions && global != NULL ? global[i] : 1;
		size_t group = i < dimensions && local != NULL ? local[i] : 1;

		group = group != 0 ? group : 1;
		all = (all + group - 1) / group;
		c->grid[i] = all < UINT32_MAX ? (uint32_t)all : UINT32_MAX;
		c->block[i] = local == NULL ? 0 : group < UINT32_MAX ? (uint32_t)group : UINT32_MAX;
	}
}

ISC_CL_COMMAND(range, clEnqueueNDRangeKernel, "clEnqueueNDRangeKernel", ISC_JOB_KERNEL, ISC_ROLE_LAUNCH,
	       (cl_kernel kernel, uint32_t dimensions, const size_t *offset, const size_t *global, const size_t *local),
	       (kernel, dimensions, offset, global, local), c.kernel = isc_cl_kernel_name(kernel),
	       shape(&c, dimensions, global, local))
ISC_CL_COMMAND(task, clEnqueueTask, "clEnqueueTask", ISC_JOB_KERNEL, ISC_ROLE_LAUNCH, (cl_kernel kernel), (kernel),
	       c.kernel = isc_cl_kernel_name(kernel), shape(&c, 0, NULL, NULL))
ISC_CL_COMMAND(native, clEnqueueNativeKernel, "clEnqueueNativeKernel", ISC_JOB_KERNEL, ISC_ROLE_LAUNCH,
	       (void (*function)(void *), void *args, size_t size, uint32_t objects, const cl_memory *memories,
		const void **places),
	       (function, args, size, objects, memories, places), )

/* Markers and barriers, with a list of events or without. */
#define LISTED(name, function) \
	static int32_t name(cl_queue queue, uint32_t n, const cl_event *list, cl_event *event) \
	{ \
		list_fn *real = ISC_CL_REAL(function, list_fn *); \
		isc_cl_call c; \
\
		if (!isc_cl_begin(&c, queue, #function, ISC_JOB_IDLE, ISC_ROLE_OTHER)) \
			return real(queue, n, list, event); \
		return isc_cl_end(&c, real(queue, n, list, isc_cl_event(&c, event)), event); \
	}

LISTED(marker_with, clEnqueueMarkerWithWaitList)
LISTED(barrier_with, clEnqueueBarrierWithWaitList)

ISC_CL_COMMAND(acquire_gl, clEnqueueAcquireGLObjects, "clEnqueueAcquireGLObjects", ISC_JOB_IDLE, ISC_ROLE_OTHER,
	       (uint32_t count, const cl_memory *objects), (count, objects), )
ISC_CL_COMMAND(release_gl, clEnqueueReleaseGLObjects, "clEnqueueReleaseGLObjects", ISC_JOB_IDLE, ISC_ROLE_OTHER,
	       (uint32_t count, const cl_memory *objects), (count, objects), )

static int32_t marker(cl_queue queue, cl_event *event)
{
	marker_fn *real = ISC_CL_REAL(clEnqueueMarker, marker_fn *);
	isc_cl_call c;

	/* Without a place for its event it is an error, which stays the program's. */
	if (event == NULL || !isc_cl_begin(&c, queue, "clEnqueueMarker", ISC_JOB_IDLE, ISC_ROLE_OTHER))
		return real(queue, event);
	return isc_cl_end(&c, real(queue, event), event);
}

ISC_CL_WAIT(barrier, clEnqueueBarrier, ISC_ROLE_OTHER, isc_cl_queue_of(queue).device, (cl_queue queue), (queue))
ISC_CL_WAIT(queue_waits, clEnqueueWaitForEvents, ISC_ROLE_OTHER, isc_cl_queue_of(queue).device,
	    (cl_queue queue, uint32_t n, const cl_event *list), (queue, n, list))
ISC_CL_WAIT(finish, clFinish, ISC_ROLE_SYNC, isc_cl_queue_of(queue).device, (cl_queue queue), (queue))
ISC_CL_WAIT(flush, clFlush, ISC_ROLE_OTHER, isc_cl_queue_of(queue).device, (cl_queue queue), (queue))
ISC_CL_WAIT(wait_for, clWaitForEvents, ISC_ROLE_SYNC, 0, (uint32_t n, const cl_event *list), (n, list))

void isc_cl_kernel_hooks(void)
{
	ISC_CL_HOOK(clEnqueueNDRangeKernel, range);
	ISC_CL_HOOK(clEnqueueTask, task);
	ISC_CL_HOOK(clEnqueueNativeKernel, native);
	ISC_CL_HOOK(clEnqueueMarkerWithWaitList, marker_with);
	ISC_CL_HOOK(clEnqueueBarrierWithWaitList, barrier_with);
	ISC_CL_HOOK(clEnqueueAcquireGLObjects, acquire_gl);
	ISC_CL_HOOK(clEnqueueReleaseGLObjects, release_gl);
	ISC_CL_HOOK(clEnqueueMarker, marker);
	ISC_CL_HOOK(clEnqueueBarrier, barrier);
	ISC_CL_HOOK(clEnqueueWaitForEvents, queue_waits);
	ISC_CL_HOOK(clFinish, finish);
	ISC_CL_HOOK(clFlush, flush);
	ISC_CL_HOOK(clWaitForEvents, wait_for);
}
