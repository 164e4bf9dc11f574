/*
 * queue.c - queues, their devices, and names of kernels.
 *
 * Commands have time stamps only in queues that were made with profiling, so
 * every queue is.  The program is told what it asked for: a queue without
 * profiling says that it has none, and times of its events are not available.
 *
 * Handles are addresses, used again when their object is gone.  Whatever makes an
 * object overwrites what is known of its address, so nothing has to be forgotten.
 */
#include <stdatomic.h>
#include <string.h>

#include "opencl/opencl.h"

#define TABLE 4096u /* queues; kernels four times as many.  Powers of two */
#define KERNELS (4u * TABLE)
#define PROBES 64u
#define DEVICES 64u
#define LIST_MAX 32u /* properties of a queue, with the 0 at their end */

typedef int32_t info_fn(const void *, uint32_t, size_t, void *, size_t *);
typedef cl_queue create_fn(cl_context, cl_device, uint64_t, int32_t *);
typedef cl_queue create_with_fn(cl_context, cl_device, const uint64_t *, int32_t *);

/* The program's own properties; words are atomic, as queues are made and asked for by any thread. */
typedef struct queue_entry {
	_Atomic uintptr_t key;
	_Atomic uint64_t value; /* device:8 | timed:1 | hidden:1 | listed:1 | number:32 */
	_Atomic uint64_t asked; /* properties */
	_Atomic uint32_t listed;
	_Atomic uint64_t list[LIST_MAX];
} queue_entry;

#define VALUE(device, timed, hidden, number) \
	((uint64_t)(device) | (uint64_t)(timed) << 8 | (uint64_t)(hidden) << 9 | (uint64_t)(number) << 32)
#define VALUE_DEVICE(v) ((uint32_t)(v) & 0xffu)
#define VALUE_TIMED(v) (((v) >> 8 & 1) != 0)
#define VALUE_HIDDEN(v) (((v) >> 9 & 1) != 0)
#define VALUE_NUMBER(v) ((uint32_t)((v) >> 32))

static queue_entry queues[TABLE];
static struct {
	_Atomic uintptr_t key;
	_Atomic uint32_t name;
} kernels[KERNELS];
static _Atomic uint32_t queue_count;

/* Devices that a queue was made for, from place 1; the definition is there when it is not 0. */
static struct {
	_Atomic uintptr_t device;
	_Atomic uint32_t defined;
} devices[DEVICES];

static uint32_t home_of(const void *handle, uint32_t size)
{
	return (uint32_t)(((uint64_t)(uintptr_t)handle >> 4) * 0x9e3779b97f4a7c15ull >> 40) & (size - 1);
}

static queue_entry *find(const void *queue, bool make)
{
	uint32_t home = home_of(queue, TABLE);

	for (uint32_t k = 0; queue != NULL && k < PROBES; k++) {
		queue_entry *e = &queues[(home + k) & (TABLE - 1)];
		uintptr_t was = atomic_load_explicit(&e->key, memory_order_acquire);

		if (was == 0 && make && atomic_compare_exchange_strong(&e->key, &was, (uintptr_t)queue))
			was = (uintptr_t)queue;
		if (was == (uintptr_t)queue)
			return e;
		if (was == 0)
			return NULL;
	}
	return NULL;
}

/* ---- devices ---- */

/* Its number among all devices of all platforms, as a program counts them that looks at each. */
static uint32_t number_of(cl_device device)
{
	int32_t (*platforms)(uint32_t, cl_platform *, uint32_t *) =
		ISC_CL_REAL(clGetPlatformIDs, int32_t (*)(uint32_t, cl_platform *, uint32_t *));
	int32_t (*list)(cl_platform, uint64_t, uint32_t, cl_device *, uint32_t *) =
		ISC_CL_REAL(clGetDeviceIDs, int32_t (*)(cl_platform, uint64_t, uint32_t, cl_device *, uint32_t *));
	cl_platform platform[16];
	cl_device found[64];
	uint32_t count = 0, number = 0;

	if (platforms == NULL || list == NULL || platforms(16, platform, &count) != CL_SUCCESS)
		return 0;
	for (uint32_t p = 0; p < count && p < 16; p++) {
		uint32_t n = 0;

		if (list(platform[p], CL_TYPE_ALL, 64, found, &n) != CL_SUCCESS)
			continue;
		for (uint32_t i = 0; i < n && i < 64; i++, number++) {
			if (found[i] == device)
				return number;
		}
	}
	return number; /* a part of one */
}

static uint32_t define(cl_device device)
{
	info_fn *info = ISC_CL_REAL(clGetDeviceInfo, info_fn *);
	uint32_t unified = 0, traits;
	uint64_t type = 0;
	char name[200] = "";
	size_t len = 0;

	if (info(device, CL_DEVICE_NAME, sizeof(name), name, &len) != CL_SUCCESS)
		memcpy(name, "OpenCL device", sizeof("OpenCL device"));
	info(device, CL_DEVICE_TYPE, sizeof(type), &type, NULL);
	info(device, CL_DEVICE_HOST_UNIFIED_MEMORY, sizeof(unified), &unified, NULL);
	traits = (type & CL_TYPE_CPU ? ISC_GPU_IS_CPU : 0u) | (unified ? ISC_GPU_SHARED : 0u);
	return isc_rt_gpu_device(number_of(device), ISC_GPU_OPENCL, traits, name, strnlen(name, sizeof(name)));
}

/* Its place from 1; 0: there are too many. */
static uint32_t place_of(cl_device device)
{
	for (uint32_t i = 1; i < DEVICES; i++) {
		uintptr_t was = atomic_load_explicit(&devices[i].device, memory_order_acquire);

		if (was == 0 && atomic_compare_exchange_strong(&devices[i].device, &was, (uintptr_t)device))
			was = (uintptr_t)device;
		if (was == (uintptr_t)device)
			return i;
	}
	return 0;
}

cl_device isc_cl_clock_device(uint32_t clock)
{
	return clock < DEVICES ? (cl_device)atomic_load_explicit(&devices[clock].device, memory_order_acquire) : NULL;
}

/* Defined by the first command that needs it: before, nobody may want records. */
static uint32_t defined(uint32_t place)
{
	uint32_t id = atomic_load_explicit(&devices[place].defined, memory_order_relaxed);

	if (id == 0 && place != 0) {
		id = define(isc_cl_clock_device(place));
		atomic_store_explicit(&devices[place].defined, id, memory_order_relaxed);
	}
	return id;
}

isc_cl_queue isc_cl_queue_of(cl_queue queue)
{
	const queue_entry *e = find(queue, false);
	uint64_t value = e != NULL ? atomic_load_explicit(&e->value, memory_order_acquire) : 0;
	uint32_t place = VALUE_DEVICE(value);

	return (isc_cl_queue){.device = place != 0 ? defined(place) : 0,
			      .number = VALUE_NUMBER(value),
			      .clock = place,
			      .timed = VALUE_TIMED(value)};
}

/* ---- queues ---- */

static void note(cl_queue queue, cl_device device, uint64_t asked, const uint64_t *list, bool timed)
{
	queue_entry *e = find(queue, true);
	uint32_t n = 0;

	if (e == NULL)
		return;
	for (; list != NULL && n + 2 < LIST_MAX && list[n] != 0; n += 2) {
		atomic_store_explicit(&e->list[n], list[n], memory_order_relaxed);
		atomic_store_explicit(&e->list[n + 1], list[n + 1], memory_order_relaxed);
	}
	atomic_store_explicit(&e->list[n], 0, memory_order_relaxed);
	atomic_store_explicit(&e->listed, list != NULL ? n + 1 : 0, memory_order_relaxed);
	atomic_store_explicit(&e->asked, asked, memory_order_relaxed);
	atomic_store_explicit(&e->value,
			      VALUE(place_of(device), timed, timed && (asked & CL_PROFILING_ENABLE) == 0,
				    atomic_fetch_add_explicit(&queue_count, 1, memory_order_relaxed) + 1),
			      memory_order_release);
}

static cl_queue create(cl_context context, cl_device device, uint64_t properties, int32_t *error)
{
	create_fn *real = ISC_CL_REAL(clCreateCommandQueue, create_fn *);
	bool timed = true;
	cl_queue queue = real(context, device, properties | CL_PROFILING_ENABLE, error);

	if (queue == NULL && (properties & CL_PROFILING_ENABLE) == 0) {
		timed = false;
		queue = real(context, device, properties, error);
	}
	note(queue, device, properties, NULL, timed);
	return queue;
}

static cl_queue create_with(cl_context context, cl_device device, const uint64_t *list, int32_t *error)
{
	create_with_fn *real = ISC_CL_REAL(clCreateCommandQueueWithProperties, create_with_fn *);
	uint64_t wider[LIST_MAX + 2], asked = 0;
	bool timed = true, seen = false;
	cl_queue queue = NULL;
	uint32_t n = 0;

	for (; list != NULL && n + 4 < LIST_MAX && list[n] != 0; n += 2) {
		wider[n] = list[n];
		wider[n + 1] = list[n + 1];
		if (list[n] == CL_QUEUE_PROPERTIES) {
			asked = list[n + 1];
			wider[n + 1] |= CL_PROFILING_ENABLE;
			seen = true;
		}
	}
	if (!seen) {
		wider[n++] = CL_QUEUE_PROPERTIES;
		wider[n++] = CL_PROFILING_ENABLE;
	}
	wider[n] = 0;
	/* A queue on the device is filled by kernels: none of it passes here. */
	if ((asked & CL_ON_DEVICE) != 0 || (list != NULL && !seen && n > LIST_MAX - 4))
		return real(context, device, list, error);
	queue = real(context, device, wider, error);
	if (queue == NULL && (asked & CL_PROFILING_ENABLE) == 0) {
		timed = false;
		queue = real(context, device, list, error);
	}
	note(queue, device, asked, list, timed);
	return queue;
}

/* An answer of so many bytes, as OpenCL gives it. */
static int32_t answer(const void *at, size_t size, size_t room, void *value, size_t *needs)
{
	if (value != NULL && room < size)
		return CL_INVALID_VALUE;
	if (value != NULL && size > 0)
		memcpy(value, at, size);
	if (needs != NULL)
		*needs = size;
	return CL_SUCCESS;
}

static int32_t get_queue_info(cl_queue queue, uint32_t what, size_t room, void *value, size_t *needs)
{
	queue_entry *e = find(queue, false);
	uint64_t list[LIST_MAX], asked;
	uint32_t n;

	if (e != NULL && what == CL_QUEUE_PROPERTIES) {
		asked = atomic_load_explicit(&e->asked, memory_order_relaxed);
		return answer(&asked, sizeof(asked), room, value, needs);
	}
	if (e != NULL && what == CL_QUEUE_PROPERTIES_ARRAY) {
		n = atomic_load_explicit(&e->listed, memory_order_relaxed);
		for (uint32_t i = 0; i < n; i++)
			list[i] = atomic_load_explicit(&e->list[i], memory_order_relaxed);
		return answer(list, n * sizeof(list[0]), room, value, needs);
	}
	return ISC_CL_REAL(clGetCommandQueueInfo, info_fn *)(queue, what, room, value, needs);
}

/* Of the first version, and long out of use: profiling stays on whatever the program says. */
static int32_t set_queue_property(cl_queue queue, uint64_t properties, uint32_t enable, uint64_t *old)
{
	queue_entry *e = find(queue, false);
	uint64_t others = properties & ~CL_PROFILING_ENABLE, was = e != NULL ? atomic_load(&e->asked) : 0, value;
	int32_t status = CL_SUCCESS;

	if (e == NULL)
		return ISC_CL_REAL(clSetCommandQueueProperty, int32_t (*)(cl_queue, uint64_t, uint32_t, uint64_t *))(
			queue, properties, enable, old);
	if (others != 0)
		status = ISC_CL_REAL(clSetCommandQueueProperty, int32_t (*)(cl_queue, uint64_t, uint32_t, uint64_t *))(
			queue, others, enable, NULL);
	if (status != CL_SUCCESS)
		return status;
	if (old != NULL)
		*old = was;
	was = enable ? was | properties : was & ~properties;
	value = atomic_load(&e->value);
	atomic_store(&e->asked, was);
	atomic_store(&e->value, VALUE(VALUE_DEVICE(value), VALUE_TIMED(value),
				      VALUE_TIMED(value) && (was & CL_PROFILING_ENABLE) == 0, VALUE_NUMBER(value)));
	return CL_SUCCESS;
}

static int32_t get_profiling_info(cl_event event, uint32_t what, size_t room, void *value, size_t *needs)
{
	cl_queue queue = NULL;
	const queue_entry *e;

	if (event != NULL && ISC_CL_REAL(clGetEventInfo, info_fn *)(event, CL_EVENT_COMMAND_QUEUE, sizeof(queue),
								    &queue, NULL) == CL_SUCCESS) {
		e = find(queue, false);
		if (e != NULL && VALUE_HIDDEN(atomic_load_explicit(&e->value, memory_order_acquire)))
			return CL_PROFILING_INFO_NOT_AVAILABLE;
	}
	return ISC_CL_REAL(clGetEventProfilingInfo, info_fn *)(event, what, room, value, needs);
}

/* ---- kernels ---- */

static uint32_t ask_name(cl_kernel kernel)
{
	char name[512] = "";
	size_t len = 0;

	if (ISC_CL_REAL(clGetKernelInfo, info_fn *)(kernel, CL_KERNEL_FUNCTION_NAME, sizeof(name), name, &len) !=
	    CL_SUCCESS)
		return isc_rt_name("(a kernel)", 10);
	return isc_rt_name(name, strnlen(name, sizeof(name)));
}

/* The name that belongs to this handle now. */
static uint32_t name_kernel(cl_kernel kernel, bool anew)
{
	uint32_t home = home_of(kernel, KERNELS), name = 0;

	for (uint32_t k = 0; kernel != NULL && k < PROBES; k++) {
		uint32_t at = (home + k) & (KERNELS - 1);
		uintptr_t was = atomic_load_explicit(&kernels[at].key, memory_order_acquire);

		if (was == 0 && atomic_compare_exchange_strong(&kernels[at].key, &was, (uintptr_t)kernel))
			was = (uintptr_t)kernel;
		if (was != (uintptr_t)kernel)
			continue;
		if (anew) {
			/* The next launch asks: names are not wanted before somebody records. */
			atomic_store_explicit(&kernels[at].name, 0, memory_order_relaxed);
			return 0;
		}
		name = atomic_load_explicit(&kernels[at].name, memory_order_relaxed);
		if (name == 0) {
			name = ask_name(kernel);
			atomic_store_explicit(&kernels[at].name, name, memory_order_relaxed);
		}
		return name;
	}
	return anew ? 0 : ask_name(kernel);
}

uint32_t isc_cl_kernel_name(cl_kernel kernel)
{
	return name_kernel(kernel, false);
}

static cl_kernel create_kernel(cl_program program, const char *name, int32_t *error)
{
	cl_kernel kernel =
		ISC_CL_REAL(clCreateKernel, cl_kernel (*)(cl_program, const char *, int32_t *))(program, name, error);

	name_kernel(kernel, true);
	return kernel;
}

static cl_kernel clone_kernel(cl_kernel from, int32_t *error)
{
	cl_kernel kernel = ISC_CL_REAL(clCloneKernel, cl_kernel (*)(cl_kernel, int32_t *))(from, error);

	name_kernel(kernel, true);
	return kernel;
}

static int32_t create_kernels(cl_program program, uint32_t room, cl_kernel *made, uint32_t *count)
{
	uint32_t n = 0;
	int32_t status = ISC_CL_REAL(clCreateKernelsInProgram, int32_t (*)(cl_program, uint32_t, cl_kernel *,
									   uint32_t *))(program, room, made, &n);

	if (count != NULL)
		*count = n;
	for (uint32_t i = 0; status == CL_SUCCESS && made != NULL && i < n && i < room; i++)
		name_kernel(made[i], true);
	return status;
}

void isc_cl_queue_hooks(void)
{
	ISC_CL_HOOK(clCreateCommandQueue, create);
	ISC_CL_HOOK(clCreateCommandQueueWithProperties, create_with);
	ISC_CL_HOOK(clGetCommandQueueInfo, get_queue_info);
	ISC_CL_HOOK(clSetCommandQueueProperty, set_queue_property);
	ISC_CL_HOOK(clGetEventProfilingInfo, get_profiling_info);
	ISC_CL_HOOK(clCreateKernel, create_kernel);
	ISC_CL_HOOK(clCloneKernel, clone_kernel);
	ISC_CL_HOOK(clCreateKernelsInProgram, create_kernels);
}
