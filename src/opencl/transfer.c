/*
 * transfer.c - copies, fills, maps and migrations of memory objects.
 */
#include <stdatomic.h>

#include "opencl/opencl.h"

#define MAPPED 1024u /* a power of two */

typedef int32_t info_fn(const void *, uint32_t, size_t, void *, size_t *);
/* What is mapped where: size << 1 | will be written. */
static struct {
	_Atomic uintptr_t at;
	_Atomic uint64_t what;
} mapped[MAPPED];

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

/* ---- buffers ---- */

ISC_CL_COPY(read_buffer, clEnqueueReadBuffer, ISC_JOB_D2H,
	    (cl_memory memory, uint32_t blocking, size_t offset, size_t size, void *to),
	    (memory, blocking, offset, size, to), size)
ISC_CL_COPY(write_buffer, clEnqueueWriteBuffer, ISC_JOB_H2D,
	    (cl_memory memory, uint32_t blocking, size_t offset, size_t size, const void *from),
	    (memory, blocking, offset, size, from), size)
ISC_CL_COPY(read_rect, clEnqueueReadBufferRect, ISC_JOB_D2H,
	    (cl_memory memory, uint32_t blocking, const size_t *there, const size_t *here, const size_t *region,
	     size_t row, size_t slice, size_t host_row, size_t host_slice, void *to),
	    (memory, blocking, there, here, region, row, slice, host_row, host_slice, to), volume(region, 1))
ISC_CL_COPY(write_rect, clEnqueueWriteBufferRect, ISC_JOB_H2D,
	    (cl_memory memory, uint32_t blocking, const size_t *there, const size_t *here, const size_t *region,
	     size_t row, size_t slice, size_t host_row, size_t host_slice, const void *from),
	    (memory, blocking, there, here, region, row, slice, host_row, host_slice, from), volume(region, 1))

/* Copies that stay on the device, and fills: the call never waits for them. */
#define ON_DEVICE(name, function, job, parameters, arguments, bytes_) \
	ISC_CL_COMMAND(name, function, #function, job, ISC_ROLE_OTHER, parameters, arguments, c.bytes = bytes_)

ON_DEVICE(copy, clEnqueueCopyBuffer, ISC_JOB_D2D,
	  (cl_memory from, cl_memory to, size_t from_offset, size_t to_offset, size_t size),
	  (from, to, from_offset, to_offset, size), size)
ON_DEVICE(copy_rect, clEnqueueCopyBufferRect, ISC_JOB_D2D,
	  (cl_memory from, cl_memory to, const size_t *from_at, const size_t *to_at, const size_t *region,
	   size_t from_row, size_t from_slice, size_t to_row, size_t to_slice),
	  (from, to, from_at, to_at, region, from_row, from_slice, to_row, to_slice), volume(region, 1))
ON_DEVICE(fill, clEnqueueFillBuffer, ISC_JOB_MEMSET,
	  (cl_memory memory, const void *pattern, size_t pattern_size, size_t offset, size_t size),
	  (memory, pattern, pattern_size, offset, size), size)

/* ---- images ---- */

ISC_CL_COPY(read_image, clEnqueueReadImage, ISC_JOB_D2H,
	    (cl_memory image, uint32_t blocking, const size_t *origin, const size_t *region, size_t row, size_t slice,
	     void *to),
	    (image, blocking, origin, region, row, slice, to), volume(region, element(image)))
ISC_CL_COPY(write_image, clEnqueueWriteImage, ISC_JOB_H2D,
	    (cl_memory image, uint32_t blocking, const size_t *origin, const size_t *region, size_t row, size_t slice,
	     const void *from),
	    (image, blocking, origin, region, row, slice, from), volume(region, element(image)))
ON_DEVICE(copy_image, clEnqueueCopyImage, ISC_JOB_D2D,
	  (cl_memory from, cl_memory to, const size_t *from_at, const size_t *to_at, const size_t *region),
	  (from, to, from_at, to_at, region), volume(region, element(from)))
ON_DEVICE(image_to_buffer, clEnqueueCopyImageToBuffer, ISC_JOB_D2D,
	  (cl_memory image, cl_memory buffer, const size_t *origin, const size_t *region, size_t offset),
	  (image, buffer, origin, region, offset), volume(region, element(image)))
ON_DEVICE(buffer_to_image, clEnqueueCopyBufferToImage, ISC_JOB_D2D,
	  (cl_memory buffer, cl_memory image, size_t offset, const size_t *origin, const size_t *region),
	  (buffer, image, offset, origin, region), volume(region, element(image)))
ON_DEVICE(fill_image, clEnqueueFillImage, ISC_JOB_MEMSET,
	  (cl_memory image, const void *color, const size_t *origin, const size_t *region),
	  (image, color, origin, region), volume(region, element(image)))

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

/* These return the place, and the status where the program may not ask for it. */
#define MAP(name, function, parameters, arguments, bytes_) \
	static void *name(cl_queue queue, ISC_CL_ALL parameters, uint32_t n, const cl_event *list, cl_event *event, \
			  int32_t *error) \
	{ \
		ISC_CL_SAME_AS(name) real = ISC_CL_REAL(function, ISC_CL_SAME_AS(name)); \
		int32_t status = CL_SUCCESS; \
		isc_cl_call c; \
		void *at; \
\
		if (!isc_cl_begin(&c, queue, ISC_CL_NAMED(function), map_job(flags), ISC_ROLE_COPY)) \
			return real(queue, ISC_CL_ALL arguments, n, list, event, error); \
		c.holds = blocking != 0; \
		c.bytes = bytes_; \
		at = real(queue, ISC_CL_ALL arguments, n, list, isc_cl_event(&c, event), &status); \
		isc_cl_end(&c, status, event); \
		note_map(at, c.bytes, flags); \
		if (error != NULL) \
			*error = status; \
		return at; \
	}

MAP(map, clEnqueueMapBuffer, (cl_memory memory, uint32_t blocking, uint64_t flags, size_t offset, size_t size),
    (memory, blocking, flags, offset, size), size)
MAP(map_image, clEnqueueMapImage,
    (cl_memory image, uint32_t blocking, uint64_t flags, const size_t *origin, const size_t *region, size_t *row,
     size_t *slice),
    (image, blocking, flags, origin, region, row, slice), volume(region, element(image)))

/* What was mapped to be written goes back to the device. */
static void take_map(isc_cl_call *c, const void *at)
{
	uint32_t place = home_of(at);
	uint64_t what = 0;

	if (atomic_load_explicit(&mapped[place].at, memory_order_acquire) == (uintptr_t)at)
		what = atomic_load_explicit(&mapped[place].what, memory_order_relaxed);
	if ((what & 1) != 0) {
		c->job = ISC_JOB_H2D;
		c->bytes = what >> 1;
	}
}

ISC_CL_COMMAND(unmap, clEnqueueUnmapMemObject, "clEnqueueUnmapMemObject", ISC_JOB_IDLE, ISC_ROLE_OTHER,
	       (cl_memory memory, void *at), (memory, at), take_map(&c, at))

static uint64_t size_of(const cl_memory *memories, uint32_t count)
{
	uint64_t sum = 0;

	for (uint32_t i = 0; memories != NULL && i < count && i < 64; i++) {
		size_t size = 0;

		if (ISC_CL_REAL(clGetMemObjectInfo, info_fn *)(memories[i], CL_MEM_SIZE, sizeof(size), &size, NULL) ==
		    CL_SUCCESS)
			sum += size;
	}
	return sum;
}

ON_DEVICE(migrate, clEnqueueMigrateMemObjects, (flags & CL_MIGRATE_TO_HOST) != 0 ? ISC_JOB_D2H : ISC_JOB_H2D,
	  (uint32_t count, const cl_memory *memories, uint64_t flags), (count, memories, flags),
	  size_of(memories, count))

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
