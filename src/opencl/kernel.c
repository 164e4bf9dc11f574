/*
 * kernel.c - kernels, markers, barriers, and waits for them.
 */
#include "opencl/opencl.h"

typedef int32_t range_fn(cl_queue, cl_kernel, uint32_t, const size_t *, const size_t *, const size_t *, uint32_t,
			 const cl_event *, cl_event *);
typedef int32_t task_fn(cl_queue, cl_kernel, uint32_t, const cl_event *, cl_event *);
typedef int32_t native_fn(cl_queue, void (*)(void *), void *, size_t, uint32_t, const cl_memory *, const void **,
			  uint32_t, const cl_event *, cl_event *);
typedef int32_t list_fn(cl_queue, uint32_t, const cl_event *, cl_event *);
typedef int32_t objects_fn(cl_queue, uint32_t, const cl_memory *, uint32_t, const cl_event *, cl_event *);
typedef int32_t marker_fn(cl_queue, cl_event *);
typedef int32_t queue_fn(cl_queue);
typedef int32_t events_fn(uint32_t, const cl_event *);
typedef int32_t queue_events_fn(cl_queue, uint32_t, const cl_event *);

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

static int32_t range(cl_queue queue, cl_kernel kernel, uint32_t dimensions, const size_t *offset, const size_t *global,
		     const size_t *local, uint32_t n, const cl_event *list, cl_event *event)
{
	range_fn *real = ISC_CL_REAL(clEnqueueNDRangeKernel, range_fn *);
	isc_cl_call c;

	if (!isc_cl_begin(&c, queue, "clEnqueueNDRangeKernel", ISC_JOB_KERNEL, ISC_ROLE_LAUNCH))
		return real(queue, kernel, dimensions, offset, global, local, n, list, event);
	c.kernel = isc_cl_kernel_name(kernel);
	shape(&c, dimensions, global, local);
	return isc_cl_end(&c, real(queue, kernel, dimensions, offset, global, local, n, list, isc_cl_event(&c, event)),
			  event);
}

static int32_t task(cl_queue queue, cl_kernel kernel, uint32_t n, const cl_event *list, cl_event *event)
{
	task_fn *real = ISC_CL_REAL(clEnqueueTask, task_fn *);
	isc_cl_call c;

	if (!isc_cl_begin(&c, queue, "clEnqueueTask", ISC_JOB_KERNEL, ISC_ROLE_LAUNCH))
		return real(queue, kernel, n, list, event);
	c.kernel = isc_cl_kernel_name(kernel);
	shape(&c, 0, NULL, NULL);
	return isc_cl_end(&c, real(queue, kernel, n, list, isc_cl_event(&c, event)), event);
}

static int32_t native(cl_queue queue, void (*function)(void *), void *args, size_t size, uint32_t objects,
		      const cl_memory *memories, const void **places, uint32_t n, const cl_event *list, cl_event *event)
{
	native_fn *real = ISC_CL_REAL(clEnqueueNativeKernel, native_fn *);
	isc_cl_call c;

	if (!isc_cl_begin(&c, queue, "clEnqueueNativeKernel", ISC_JOB_KERNEL, ISC_ROLE_LAUNCH))
		return real(queue, function, args, size, objects, memories, places, n, list, event);
	return isc_cl_end(
		&c, real(queue, function, args, size, objects, memories, places, n, list, isc_cl_event(&c, event)),
		event);
}

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

#define OBJECTS(name, function) \
	static int32_t name(cl_queue queue, uint32_t count, const cl_memory *objects, uint32_t n, \
			    const cl_event *list, cl_event *event) \
	{ \
		objects_fn *real = ISC_CL_REAL(function, objects_fn *); \
		isc_cl_call c; \
\
		if (!isc_cl_begin(&c, queue, #function, ISC_JOB_IDLE, ISC_ROLE_OTHER)) \
			return real(queue, count, objects, n, list, event); \
		return isc_cl_end(&c, real(queue, count, objects, n, list, isc_cl_event(&c, event)), event); \
	}

OBJECTS(acquire_gl, clEnqueueAcquireGLObjects)
OBJECTS(release_gl, clEnqueueReleaseGLObjects)

static int32_t marker(cl_queue queue, cl_event *event)
{
	marker_fn *real = ISC_CL_REAL(clEnqueueMarker, marker_fn *);
	isc_cl_call c;

	/* Without a place for its event it is an error, which stays the program's. */
	if (event == NULL || !isc_cl_begin(&c, queue, "clEnqueueMarker", ISC_JOB_IDLE, ISC_ROLE_OTHER))
		return real(queue, event);
	return isc_cl_end(&c, real(queue, event), event);
}

static int32_t barrier(cl_queue queue)
{
	queue_fn *real = ISC_CL_REAL(clEnqueueBarrier, queue_fn *);
	isc_rt_gpu_spot spot;
	int32_t status;

	if (!isc_rt_gpu_enter(&spot))
		return real(queue);
	status = real(queue);
	isc_cl_waited(&spot, "clEnqueueBarrier", ISC_ROLE_OTHER, isc_cl_queue_of(queue).device, status);
	return status;
}

static int32_t queue_waits(cl_queue queue, uint32_t n, const cl_event *list)
{
	queue_events_fn *real = ISC_CL_REAL(clEnqueueWaitForEvents, queue_events_fn *);
	isc_rt_gpu_spot spot;
	int32_t status;

	if (!isc_rt_gpu_enter(&spot))
		return real(queue, n, list);
	status = real(queue, n, list);
	isc_cl_waited(&spot, "clEnqueueWaitForEvents", ISC_ROLE_OTHER, isc_cl_queue_of(queue).device, status);
	return status;
}

static int32_t finish(cl_queue queue)
{
	queue_fn *real = ISC_CL_REAL(clFinish, queue_fn *);
	isc_rt_gpu_spot spot;
	int32_t status;

	if (!isc_rt_gpu_enter(&spot))
		return real(queue);
	status = real(queue);
	isc_cl_waited(&spot, "clFinish", ISC_ROLE_SYNC, isc_cl_queue_of(queue).device, status);
	return status;
}

static int32_t flush(cl_queue queue)
{
	queue_fn *real = ISC_CL_REAL(clFlush, queue_fn *);
	isc_rt_gpu_spot spot;
	int32_t status;

	if (!isc_rt_gpu_enter(&spot))
		return real(queue);
	status = real(queue);
	isc_cl_waited(&spot, "clFlush", ISC_ROLE_OTHER, isc_cl_queue_of(queue).device, status);
	return status;
}

static int32_t wait_for(uint32_t n, const cl_event *list)
{
	events_fn *real = ISC_CL_REAL(clWaitForEvents, events_fn *);
	isc_rt_gpu_spot spot;
	int32_t status;

	if (!isc_rt_gpu_enter(&spot))
		return real(n, list);
	status = real(n, list);
	isc_cl_waited(&spot, "clWaitForEvents", ISC_ROLE_SYNC, 0, status);
	return status;
}

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
