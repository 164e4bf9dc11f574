/*
 * transfer.c - copies, fills, maps and migrations of memory objects.
 */
#include <stdatomic.h>

#include "opencl/opencl.h"

#define MAPPED 1024u /* a power of two */

typedef int32_t info_fn(const void *, uint32_t, size_t, void *, size_t *);
typedef int32_t read_fn(cl_queue, cl_memory, uint32_t, size_t, size_t, void *, uint32_t, const cl_event *, cl_event *);
typedef int32_t write_fn(cl_queue, cl_memory, uint32_t, size_t, size_t, const void *, uint32_t, const cl_event *,
			 cl_event *);
typedef int32_t read_rect_fn(cl_queue, cl_memory, uint32_t, const size_t *, const size_t *, const size_t *, size_t,
			     size_t, size_t, size_t, void *, uint32_t, const cl_event *, cl_event *);
typedef int32_t write_rect_fn(cl_queue, cl_memory, uint32_t, const size_t *, const size_t *, const size_t *, size_t,
			      size_t, size_t, size_t, const void *, uint32_t, const cl_event *, cl_event *);
typedef int32_t read_image_fn(cl_queue, cl_memory, uint32_t, const size_t *, const size_t *, size_t, size_t, void *,
			      uint32_t, const cl_event *, cl_event *);
typedef int32_t write_image_fn(cl_queue, cl_memory, uint32_t, const size_t *, const size_t *, size_t, size_t,
			       const void *, uint32_t, const cl_event *, cl_event *);
typedef int32_t copy_fn(cl_queue, cl_memory, cl_memory, size_t, size_t, size_t, uint32_t, const cl_event *, cl_event *);
typedef int32_t copy_rect_fn(cl_queue, cl_memory, cl_memory, const size_t *, const size_t *, const size_t *, size_t,
			     size_t, size_t, size_t, uint32_t, const cl_event *, cl_event *);
typedef int32_t copy_image_fn(cl_queue, cl_memory, cl_memory, const size_t *, const size_t *, const size_t *, uint32_t,
			      const cl_event *, cl_event *);
typedef int32_t image_to_buffer_fn(cl_queue, cl_memory, cl_memory, const size_t *, const size_t *, size_t, uint32_t,
				   const cl_event *, cl_event *);
typedef int32_t buffer_to_image_fn(cl_queue, cl_memory, cl_memory, size_t, const size_t *, const size_t *, uint32_t,
				   const cl_event *, cl_event *);
typedef int32_t fill_fn(cl_queue, cl_memory, const void *, size_t, size_t, size_t, uint32_t, const cl_event *,
			cl_event *);
typedef int32_t fill_image_fn(cl_queue, cl_memory, const void *, const size_t *, const size_t *, uint32_t,
			      const cl_event *, cl_event *);
typedef int32_t migrate_fn(cl_queue, uint32_t, const cl_memory *, uint64_t, uint32_t, const cl_event *, cl_event *);
typedef void *map_fn(cl_queue, cl_memory, uint32_t, uint64_t, size_t, size_t, uint32_t, const cl_event *, cl_event *,
		     int32_t *);
typedef void *map_image_fn(cl_queue, cl_memory, uint32_t, uint64_t, const size_t *, const size_t *, size_t *, size_t *,
			   uint32_t, const cl_event *, cl_event *, int32_t *);
typedef int32_t unmap_fn(cl_queue, cl_memory, void *, uint32_t, const cl_event *, cl_event *);

/* What is mapped where: size << 1 | will be written. */
static struct {
	_Atomic uintptr_t at;
	_Atomic uint64_t what;
} mapped[MAPPED];

/* Names say whether the call waits: that is what the timeline goes by. */
#define NAMED(function, blocking) ((blocking) ? function : function " (Async)")

static uint64_t volume(const size_t *region, uint64_t unit)
{
	return region != NULL ? (uint64_t)region[0] * region[1] * region[2] * unit : 0;
}

static uint64_t element(cl_memory image)
{
	size_t size = 0;

	if (isc_cl_real[ISC_CL_clGetImageInfo] == NULL ||
	    ISC_CL_REAL(clGetImageInfo, info_fn *)(image, CL_IMAGE_ELEMENT_SIZE, sizeof(size), &size, NULL) !=
		    CL_SUCCESS)
		return 0;
	return size;
}

static bool begin_copy(isc_cl_call *c, cl_queue queue, const char *name, enum isc_gpu_job job, uint32_t blocking)
{
	if (!isc_cl_begin(c, queue, name, job, ISC_ROLE_COPY))
		return false;
	c->holds = blocking != 0;
	return true;
}

/* ---- buffers ---- */

static int32_t read_buffer(cl_queue queue, cl_memory memory, uint32_t blocking, size_t offset, size_t size, void *to,
			   uint32_t n, const cl_event *list, cl_event *event)
{
	read_fn *real = ISC_CL_REAL(clEnqueueReadBuffer, read_fn *);
	isc_cl_call c;

	if (!begin_copy(&c, queue, NAMED("clEnqueueReadBuffer", blocking), ISC_JOB_D2H, blocking))
		return real(queue, memory, blocking, offset, size, to, n, list, event);
	c.bytes = size;
	return isc_cl_end(&c, real(queue, memory, blocking, offset, size, to, n, list, isc_cl_event(&c, event)), event);
}

static int32_t write_buffer(cl_queue queue, cl_memory memory, uint32_t blocking, size_t offset, size_t size,
			    const void *from, uint32_t n, const cl_event *list, cl_event *event)
{
	write_fn *real = ISC_CL_REAL(clEnqueueWriteBuffer, write_fn *);
	isc_cl_call c;

	if (!begin_copy(&c, queue, NAMED("clEnqueueWriteBuffer", blocking), ISC_JOB_H2D, blocking))
		return real(queue, memory, blocking, offset, size, from, n, list, event);
	c.bytes = size;
	return isc_cl_end(&c, real(queue, memory, blocking, offset, size, from, n, list, isc_cl_event(&c, event)),
			  event);
}

static int32_t read_rect(cl_queue queue, cl_memory memory, uint32_t blocking, const size_t *there, const size_t *here,
			 const size_t *region, size_t row, size_t slice, size_t host_row, size_t host_slice, void *to,
			 uint32_t n, const cl_event *list, cl_event *event)
{
	read_rect_fn *real = ISC_CL_REAL(clEnqueueReadBufferRect, read_rect_fn *);
	isc_cl_call c;

	if (!begin_copy(&c, queue, NAMED("clEnqueueReadBufferRect", blocking), ISC_JOB_D2H, blocking))
		return real(queue, memory, blocking, there, here, region, row, slice, host_row, host_slice, to, n, list,
			    event);
	c.bytes = volume(region, 1);
	return isc_cl_end(&c,
			  real(queue, memory, blocking, there, here, region, row, slice, host_row, host_slice, to, n,
			       list, isc_cl_event(&c, event)),
			  event);
}

static int32_t write_rect(cl_queue queue, cl_memory memory, uint32_t blocking, const size_t *there, const size_t *here,
			  const size_t *region, size_t row, size_t slice, size_t host_row, size_t host_slice,
			  const void *from, uint32_t n, const cl_event *list, cl_event *event)
{
	write_rect_fn *real = ISC_CL_REAL(clEnqueueWriteBufferRect, write_rect_fn *);
	isc_cl_call c;

	if (!begin_copy(&c, queue, NAMED("clEnqueueWriteBufferRect", blocking), ISC_JOB_H2D, blocking))
		return real(queue, memory, blocking, there, here, region, row, slice, host_row, host_slice, from, n,
			    list, event);
	c.bytes = volume(region, 1);
	return isc_cl_end(&c,
			  real(queue, memory, blocking, there, here, region, row, slice, host_row, host_slice, from, n,
			       list, isc_cl_event(&c, event)),
			  event);
}

static int32_t copy(cl_queue queue, cl_memory from, cl_memory to, size_t from_offset, size_t to_offset, size_t size,
		    uint32_t n, const cl_event *list, cl_event *event)
{
	copy_fn *real = ISC_CL_REAL(clEnqueueCopyBuffer, copy_fn *);
	isc_cl_call c;

	if (!isc_cl_begin(&c, queue, "clEnqueueCopyBuffer", ISC_JOB_D2D, ISC_ROLE_OTHER))
		return real(queue, from, to, from_offset, to_offset, size, n, list, event);
	c.bytes = size;
	return isc_cl_end(&c, real(queue, from, to, from_offset, to_offset, size, n, list, isc_cl_event(&c, event)),
			  event);
}

static int32_t copy_rect(cl_queue queue, cl_memory from, cl_memory to, const size_t *from_at, const size_t *to_at,
			 const size_t *region, size_t from_row, size_t from_slice, size_t to_row, size_t to_slice,
			 uint32_t n, const cl_event *list, cl_event *event)
{
	copy_rect_fn *real = ISC_CL_REAL(clEnqueueCopyBufferRect, copy_rect_fn *);
	isc_cl_call c;

	if (!isc_cl_begin(&c, queue, "clEnqueueCopyBufferRect", ISC_JOB_D2D, ISC_ROLE_OTHER))
		return real(queue, from, to, from_at, to_at, region, from_row, from_slice, to_row, to_slice, n, list,
			    event);
	c.bytes = volume(region, 1);
	return isc_cl_end(&c,
			  real(queue, from, to, from_at, to_at, region, from_row, from_slice, to_row, to_slice, n, list,
			       isc_cl_event(&c, event)),
			  event);
}

static int32_t fill(cl_queue queue, cl_memory memory, const void *pattern, size_t pattern_size, size_t offset,
		    size_t size, uint32_t n, const cl_event *list, cl_event *event)
{
	fill_fn *real = ISC_CL_REAL(clEnqueueFillBuffer, fill_fn *);
	isc_cl_call c;

	if (!isc_cl_begin(&c, queue, "clEnqueueFillBuffer", ISC_JOB_MEMSET, ISC_ROLE_OTHER))
		return real(queue, memory, pattern, pattern_size, offset, size, n, list, event);
	c.bytes = size;
	return isc_cl_end(
		&c, real(queue, memory, pattern, pattern_size, offset, size, n, list, isc_cl_event(&c, event)), event);
}

/* ---- images ---- */

static int32_t read_image(cl_queue queue, cl_memory image, uint32_t blocking, const size_t *origin,
			  const size_t *region, size_t row, size_t slice, void *to, uint32_t n, const cl_event *list,
			  cl_event *event)
{
	read_image_fn *real = ISC_CL_REAL(clEnqueueReadImage, read_image_fn *);
	isc_cl_call c;

	if (!begin_copy(&c, queue, NAMED("clEnqueueReadImage", blocking), ISC_JOB_D2H, blocking))
		return real(queue, image, blocking, origin, region, row, slice, to, n, list, event);
	c.bytes = volume(region, element(image));
	return isc_cl_end(
		&c, real(queue, image, blocking, origin, region, row, slice, to, n, list, isc_cl_event(&c, event)),
		event);
}

static int32_t write_image(cl_queue queue, cl_memory image, uint32_t blocking, const size_t *origin,
			   const size_t *region, size_t row, size_t slice, const void *from, uint32_t n,
			   const cl_event *list, cl_event *event)
{
	write_image_fn *real = ISC_CL_REAL(clEnqueueWriteImage, write_image_fn *);
	isc_cl_call c;

	if (!begin_copy(&c, queue, NAMED("clEnqueueWriteImage", blocking), ISC_JOB_H2D, blocking))
		return real(queue, image, blocking, origin, region, row, slice, from, n, list, event);
	c.bytes = volume(region, element(image));
	return isc_cl_end(
		&c, real(queue, image, blocking, origin, region, row, slice, from, n, list, isc_cl_event(&c, event)),
		event);
}

static int32_t copy_image(cl_queue queue, cl_memory from, cl_memory to, const size_t *from_at, const size_t *to_at,
			  const size_t *region, uint32_t n, const cl_event *list, cl_event *event)
{
	copy_image_fn *real = ISC_CL_REAL(clEnqueueCopyImage, copy_image_fn *);
	isc_cl_call c;

	if (!isc_cl_begin(&c, queue, "clEnqueueCopyImage", ISC_JOB_D2D, ISC_ROLE_OTHER))
		return real(queue, from, to, from_at, to_at, region, n, list, event);
	c.bytes = volume(region, element(from));
	return isc_cl_end(&c, real(queue, from, to, from_at, to_at, region, n, list, isc_cl_event(&c, event)), event);
}

static int32_t image_to_buffer(cl_queue queue, cl_memory image, cl_memory buffer, const size_t *origin,
			       const size_t *region, size_t offset, uint32_t n, const cl_event *list, cl_event *event)
{
	image_to_buffer_fn *real = ISC_CL_REAL(clEnqueueCopyImageToBuffer, image_to_buffer_fn *);
	isc_cl_call c;

	if (!isc_cl_begin(&c, queue, "clEnqueueCopyImageToBuffer", ISC_JOB_D2D, ISC_ROLE_OTHER))
		return real(queue, image, buffer, origin, region, offset, n, list, event);
	c.bytes = volume(region, element(image));
	return isc_cl_end(&c, real(queue, image, buffer, origin, region, offset, n, list, isc_cl_event(&c, event)),
			  event);
}

static int32_t buffer_to_image(cl_queue queue, cl_memory buffer, cl_memory image, size_t offset, const size_t *origin,
			       const size_t *region, uint32_t n, const cl_event *list, cl_event *event)
{
	buffer_to_image_fn *real = ISC_CL_REAL(clEnqueueCopyBufferToImage, buffer_to_image_fn *);
	isc_cl_call c;

	if (!isc_cl_begin(&c, queue, "clEnqueueCopyBufferToImage", ISC_JOB_D2D, ISC_ROLE_OTHER))
		return real(queue, buffer, image, offset, origin, region, n, list, event);
	c.bytes = volume(region, element(image));
	return isc_cl_end(&c, real(queue, buffer, image, offset, origin, region, n, list, isc_cl_event(&c, event)),
			  event);
}

static int32_t fill_image(cl_queue queue, cl_memory image, const void *color, const size_t *origin,
			  const size_t *region, uint32_t n, const cl_event *list, cl_event *event)
{
	fill_image_fn *real = ISC_CL_REAL(clEnqueueFillImage, fill_image_fn *);
	isc_cl_call c;

	if (!isc_cl_begin(&c, queue, "clEnqueueFillImage", ISC_JOB_MEMSET, ISC_ROLE_OTHER))
		return real(queue, image, color, origin, region, n, list, event);
	c.bytes = volume(region, element(image));
	return isc_cl_end(&c, real(queue, image, color, origin, region, n, list, isc_cl_event(&c, event)), event);
}

/* ---- maps ---- */

static uint32_t home_of(const void *at)
{
	return (uint32_t)(((uint64_t)(uintptr_t)at >> 6) * 0x9e3779b97f4a7c15ull >> 40) & (MAPPED - 1);
}

static void note_map(const void *at, uint64_t bytes, uint64_t flags)
{
	uint32_t place = home_of(at);

	if (at == NULL)
		return;
	atomic_store_explicit(&mapped[place].what, bytes << 1 | ((flags & ~CL_MAP_READ) != 0), memory_order_relaxed);
	atomic_store_explicit(&mapped[place].at, (uintptr_t)at, memory_order_release);
}

/* What is only to be written is not copied to the host first. */
static enum isc_gpu_job map_job(uint64_t flags)
{
	return flags & (CL_MAP_READ | CL_MAP_WRITE) ? ISC_JOB_D2H : ISC_JOB_IDLE;
}

static void *map(cl_queue queue, cl_memory memory, uint32_t blocking, uint64_t flags, size_t offset, size_t size,
		 uint32_t n, const cl_event *list, cl_event *event, int32_t *error)
{
	map_fn *real = ISC_CL_REAL(clEnqueueMapBuffer, map_fn *);
	int32_t status = CL_SUCCESS;
	isc_cl_call c;
	void *at;

	if (!begin_copy(&c, queue, NAMED("clEnqueueMapBuffer", blocking), map_job(flags), blocking))
		return real(queue, memory, blocking, flags, offset, size, n, list, event, error);
	c.bytes = size;
	at = real(queue, memory, blocking, flags, offset, size, n, list, isc_cl_event(&c, event), &status);
	isc_cl_end(&c, status, event);
	note_map(at, size, flags);
	if (error != NULL)
		*error = status;
	return at;
}

static void *map_image(cl_queue queue, cl_memory image, uint32_t blocking, uint64_t flags, const size_t *origin,
		       const size_t *region, size_t *row, size_t *slice, uint32_t n, const cl_event *list,
		       cl_event *event, int32_t *error)
{
	map_image_fn *real = ISC_CL_REAL(clEnqueueMapImage, map_image_fn *);
	int32_t status = CL_SUCCESS;
	isc_cl_call c;
	void *at;

	if (!begin_copy(&c, queue, NAMED("clEnqueueMapImage", blocking), map_job(flags), blocking))
		return real(queue, image, blocking, flags, origin, region, row, slice, n, list, event, error);
	c.bytes = volume(region, element(image));
	at = real(queue, image, blocking, flags, origin, region, row, slice, n, list, isc_cl_event(&c, event), &status);
	isc_cl_end(&c, status, event);
	note_map(at, c.bytes, flags);
	if (error != NULL)
		*error = status;
	return at;
}

static int32_t unmap(cl_queue queue, cl_memory memory, void *at, uint32_t n, const cl_event *list, cl_event *event)
{
	unmap_fn *real = ISC_CL_REAL(clEnqueueUnmapMemObject, unmap_fn *);
	uint32_t place = home_of(at);
	uint64_t what = 0;
	isc_cl_call c;

	if (!isc_cl_begin(&c, queue, "clEnqueueUnmapMemObject", ISC_JOB_IDLE, ISC_ROLE_OTHER))
		return real(queue, memory, at, n, list, event);
	if (atomic_load_explicit(&mapped[place].at, memory_order_acquire) == (uintptr_t)at)
		what = atomic_load_explicit(&mapped[place].what, memory_order_relaxed);
	if ((what & 1) != 0) {
		c.job = ISC_JOB_H2D;
		c.bytes = what >> 1;
	}
	return isc_cl_end(&c, real(queue, memory, at, n, list, isc_cl_event(&c, event)), event);
}

static int32_t migrate(cl_queue queue, uint32_t count, const cl_memory *memories, uint64_t flags, uint32_t n,
		       const cl_event *list, cl_event *event)
{
	migrate_fn *real = ISC_CL_REAL(clEnqueueMigrateMemObjects, migrate_fn *);
	isc_cl_call c;

	if (!isc_cl_begin(&c, queue, "clEnqueueMigrateMemObjects",
			  flags & CL_MIGRATE_TO_HOST ? ISC_JOB_D2H : ISC_JOB_H2D, ISC_ROLE_OTHER))
		return real(queue, count, memories, flags, n, list, event);
	for (uint32_t i = 0; memories != NULL && i < count && i < 64; i++) {
		size_t size = 0;

		if (ISC_CL_REAL(clGetMemObjectInfo, info_fn *)(memories[i], CL_MEM_SIZE, sizeof(size), &size, NULL) ==
		    CL_SUCCESS)
			c.bytes += size;
	}
	return isc_cl_end(&c, real(queue, count, memories, flags, n, list, isc_cl_event(&c, event)), event);
}

void isc_cl_transfer_hooks(void)
{
	ISC_CL_HOOK(clEnqueueReadBuffer, read_buffer);
	ISC_CL_HOOK(clEnqueueWriteBuffer, write_buffer);
	ISC_CL_HOOK(clEnqueueReadBufferRect, read_rect);
	ISC_CL_HOOK(clEnqueueWriteBufferRect, write_rect);
	ISC_CL_HOOK(clEnqueueCopyBuffer, copy);
	ISC_CL_HOOK(clEnqueueCopyBufferRect, copy_rect);
	ISC_CL_HOOK(clEnqueueFillBuffer, fill);
	ISC_CL_HOOK(clEnqueueReadImage, read_image);
	ISC_CL_HOOK(clEnqueueWriteImage, write_image);
	ISC_CL_HOOK(clEnqueueCopyImage, copy_image);
	ISC_CL_HOOK(clEnqueueCopyImageToBuffer, image_to_buffer);
	ISC_CL_HOOK(clEnqueueCopyBufferToImage, buffer_to_image);
	ISC_CL_HOOK(clEnqueueFillImage, fill_image);
	ISC_CL_HOOK(clEnqueueMapBuffer, map);
	ISC_CL_HOOK(clEnqueueMapImage, map_image);
	ISC_CL_HOOK(clEnqueueUnmapMemObject, unmap);
	ISC_CL_HOOK(clEnqueueMigrateMemObjects, migrate);
}
