/*
 * opencl.h - the OpenCL layer: a library that the OpenCL loader puts between the
 * program and its driver, so that every command is seen and nothing is changed.
 *
 *	layer.c		the entry points that the loader asks for
 *	queue.c		devices and queues; profiling is switched on behind the program's back
 *	command.c	commands on their way, and the clock of the device
 *	kernel.c	kernels, markers, barriers and waits
 *	transfer.c	copies, fills and maps
 *	svm.c		the same of shared virtual memory
 *
 * Declared here is as much of OpenCL as is needed: the numbers and the order of the
 * dispatch table are its binary interface, which only grows at its end.
 *
 * Nothing here allocates from the program's heap, takes a lock or prints.
 */
#ifndef ISC_OPENCL_OPENCL_H
#define ISC_OPENCL_OPENCL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "collect/gpu.h"
#include "runtime/runtime.h"

/* ---- OpenCL ---- */

typedef struct cl_queue_ *cl_queue;
typedef struct cl_device_ *cl_device;
typedef struct cl_event_ *cl_event;
typedef struct cl_kernel_ *cl_kernel;
typedef struct cl_memory_ *cl_memory;
typedef struct cl_context_ *cl_context;
typedef struct cl_program_ *cl_program;
typedef struct cl_platform_ *cl_platform;

enum {
	CL_SUCCESS = 0,
	CL_PROFILING_INFO_NOT_AVAILABLE = -7,
	CL_INVALID_VALUE = -30,
	CL_COMPLETE = 0,
	CL_DEVICE_TYPE = 0x1000,
	CL_DEVICE_NAME = 0x102b,
	CL_DEVICE_HOST_UNIFIED_MEMORY = 0x1035,
	CL_QUEUE_DEVICE = 0x1091,
	CL_QUEUE_PROPERTIES = 0x1093,
	CL_QUEUE_PROPERTIES_ARRAY = 0x1098,
	CL_MEM_SIZE = 0x1102,
	CL_IMAGE_ELEMENT_SIZE = 0x1111,
	CL_KERNEL_FUNCTION_NAME = 0x1190,
	CL_EVENT_COMMAND_QUEUE = 0x11d0,
	CL_PROFILING_QUEUED = 0x1280,
	CL_PROFILING_START = 0x1282,
	CL_PROFILING_END = 0x1283,
	CL_LAYER_API_VERSION = 0x4240,
	CL_LAYER_NAME = 0x4241
};
#define CL_PROFILING_ENABLE 2ull
#define CL_ON_DEVICE 4ull
#define CL_TYPE_CPU 2ull
#define CL_TYPE_ALL 0xffffffffull
#define CL_MAP_READ 1ull
#define CL_MAP_WRITE 2ull
#define CL_MIGRATE_TO_HOST 1ull

/* The dispatch table, in its order. */
/* clang-format off */
#define ISC_CL_ENTRIES(ENTRY) \
	ENTRY(clGetPlatformIDs) \
	ENTRY(clGetPlatformInfo) \
	ENTRY(clGetDeviceIDs) \
	ENTRY(clGetDeviceInfo) \
	ENTRY(clCreateContext) \
	ENTRY(clCreateContextFromType) \
	ENTRY(clRetainContext) \
	ENTRY(clReleaseContext) \
	ENTRY(clGetContextInfo) \
	ENTRY(clCreateCommandQueue) \
	ENTRY(clRetainCommandQueue) \
	ENTRY(clReleaseCommandQueue) \
	ENTRY(clGetCommandQueueInfo) \
	ENTRY(clSetCommandQueueProperty) \
	ENTRY(clCreateBuffer) \
	ENTRY(clCreateImage2D) \
	ENTRY(clCreateImage3D) \
	ENTRY(clRetainMemObject) \
	ENTRY(clReleaseMemObject) \
	ENTRY(clGetSupportedImageFormats) \
	ENTRY(clGetMemObjectInfo) \
	ENTRY(clGetImageInfo) \
	ENTRY(clCreateSampler) \
	ENTRY(clRetainSampler) \
	ENTRY(clReleaseSampler) \
	ENTRY(clGetSamplerInfo) \
	ENTRY(clCreateProgramWithSource) \
	ENTRY(clCreateProgramWithBinary) \
	ENTRY(clRetainProgram) \
	ENTRY(clReleaseProgram) \
	ENTRY(clBuildProgram) \
	ENTRY(clUnloadCompiler) \
	ENTRY(clGetProgramInfo) \
	ENTRY(clGetProgramBuildInfo) \
	ENTRY(clCreateKernel) \
	ENTRY(clCreateKernelsInProgram) \
	ENTRY(clRetainKernel) \
	ENTRY(clReleaseKernel) \
	ENTRY(clSetKernelArg) \
	ENTRY(clGetKernelInfo) \
	ENTRY(clGetKernelWorkGroupInfo) \
	ENTRY(clWaitForEvents) \
	ENTRY(clGetEventInfo) \
	ENTRY(clRetainEvent) \
	ENTRY(clReleaseEvent) \
	ENTRY(clGetEventProfilingInfo) \
	ENTRY(clFlush) \
	ENTRY(clFinish) \
	ENTRY(clEnqueueReadBuffer) \
	ENTRY(clEnqueueWriteBuffer) \
	ENTRY(clEnqueueCopyBuffer) \
	ENTRY(clEnqueueReadImage) \
	ENTRY(clEnqueueWriteImage) \
	ENTRY(clEnqueueCopyImage) \
	ENTRY(clEnqueueCopyImageToBuffer) \
	ENTRY(clEnqueueCopyBufferToImage) \
	ENTRY(clEnqueueMapBuffer) \
	ENTRY(clEnqueueMapImage) \
	ENTRY(clEnqueueUnmapMemObject) \
	ENTRY(clEnqueueNDRangeKernel) \
	ENTRY(clEnqueueTask) \
	ENTRY(clEnqueueNativeKernel) \
	ENTRY(clEnqueueMarker) \
	ENTRY(clEnqueueWaitForEvents) \
	ENTRY(clEnqueueBarrier) \
	ENTRY(clGetExtensionFunctionAddress) \
	ENTRY(clCreateFromGLBuffer) \
	ENTRY(clCreateFromGLTexture2D) \
	ENTRY(clCreateFromGLTexture3D) \
	ENTRY(clCreateFromGLRenderbuffer) \
	ENTRY(clGetGLObjectInfo) \
	ENTRY(clGetGLTextureInfo) \
	ENTRY(clEnqueueAcquireGLObjects) \
	ENTRY(clEnqueueReleaseGLObjects) \
	ENTRY(clGetGLContextInfoKHR) \
	ENTRY(clGetDeviceIDsFromD3D10KHR) \
	ENTRY(clCreateFromD3D10BufferKHR) \
	ENTRY(clCreateFromD3D10Texture2DKHR) \
	ENTRY(clCreateFromD3D10Texture3DKHR) \
	ENTRY(clEnqueueAcquireD3D10ObjectsKHR) \
	ENTRY(clEnqueueReleaseD3D10ObjectsKHR) \
	ENTRY(clSetEventCallback) \
	ENTRY(clCreateSubBuffer) \
	ENTRY(clSetMemObjectDestructorCallback) \
	ENTRY(clCreateUserEvent) \
	ENTRY(clSetUserEventStatus) \
	ENTRY(clEnqueueReadBufferRect) \
	ENTRY(clEnqueueWriteBufferRect) \
	ENTRY(clEnqueueCopyBufferRect) \
	ENTRY(clCreateSubDevicesEXT) \
	ENTRY(clRetainDeviceEXT) \
	ENTRY(clReleaseDeviceEXT) \
	ENTRY(clCreateEventFromGLsyncKHR) \
	ENTRY(clCreateSubDevices) \
	ENTRY(clRetainDevice) \
	ENTRY(clReleaseDevice) \
	ENTRY(clCreateImage) \
	ENTRY(clCreateProgramWithBuiltInKernels) \
	ENTRY(clCompileProgram) \
	ENTRY(clLinkProgram) \
	ENTRY(clUnloadPlatformCompiler) \
	ENTRY(clGetKernelArgInfo) \
	ENTRY(clEnqueueFillBuffer) \
	ENTRY(clEnqueueFillImage) \
	ENTRY(clEnqueueMigrateMemObjects) \
	ENTRY(clEnqueueMarkerWithWaitList) \
	ENTRY(clEnqueueBarrierWithWaitList) \
	ENTRY(clGetExtensionFunctionAddressForPlatform) \
	ENTRY(clCreateFromGLTexture) \
	ENTRY(clGetDeviceIDsFromD3D11KHR) \
	ENTRY(clCreateFromD3D11BufferKHR) \
	ENTRY(clCreateFromD3D11Texture2DKHR) \
	ENTRY(clCreateFromD3D11Texture3DKHR) \
	ENTRY(clCreateFromDX9MediaSurfaceKHR) \
	ENTRY(clEnqueueAcquireD3D11ObjectsKHR) \
	ENTRY(clEnqueueReleaseD3D11ObjectsKHR) \
	ENTRY(clGetDeviceIDsFromDX9MediaAdapterKHR) \
	ENTRY(clEnqueueAcquireDX9MediaSurfacesKHR) \
	ENTRY(clEnqueueReleaseDX9MediaSurfacesKHR) \
	ENTRY(clCreateFromEGLImageKHR) \
	ENTRY(clEnqueueAcquireEGLObjectsKHR) \
	ENTRY(clEnqueueReleaseEGLObjectsKHR) \
	ENTRY(clCreateEventFromEGLSyncKHR) \
	ENTRY(clCreateCommandQueueWithProperties) \
	ENTRY(clCreatePipe) \
	ENTRY(clGetPipeInfo) \
	ENTRY(clSVMAlloc) \
	ENTRY(clSVMFree) \
	ENTRY(clEnqueueSVMFree) \
	ENTRY(clEnqueueSVMMemcpy) \
	ENTRY(clEnqueueSVMMemFill) \
	ENTRY(clEnqueueSVMMap) \
	ENTRY(clEnqueueSVMUnmap) \
	ENTRY(clCreateSamplerWithProperties) \
	ENTRY(clSetKernelArgSVMPointer) \
	ENTRY(clSetKernelExecInfo) \
	ENTRY(clGetKernelSubGroupInfoKHR) \
	ENTRY(clCloneKernel) \
	ENTRY(clCreateProgramWithIL) \
	ENTRY(clEnqueueSVMMigrateMem) \
	ENTRY(clGetDeviceAndHostTimer) \
	ENTRY(clGetHostTimer) \
	ENTRY(clGetKernelSubGroupInfo) \
	ENTRY(clSetDefaultDeviceCommandQueue) \
	ENTRY(clSetProgramReleaseCallback) \
	ENTRY(clSetProgramSpecializationConstant) \
	ENTRY(clCreateBufferWithProperties) \
	ENTRY(clCreateImageWithProperties) \
	ENTRY(clSetContextDestructorCallback)
/* clang-format on */

#define ISC_CL_PLACE_(name) ISC_CL_##name,
enum { ISC_CL_ENTRIES(ISC_CL_PLACE_) ISC_CL_COUNT };

typedef void (*isc_cl_function)(void);

/* What the program would call without us; NULL where the driver's table is shorter. */
extern isc_cl_function isc_cl_real[ISC_CL_COUNT];
/* What it calls instead. */
extern isc_cl_function isc_cl_ours[ISC_CL_COUNT];

/* The real function, as one with this type. */
#define ISC_CL_REAL(name, ...) ((__VA_ARGS__)isc_cl_real[ISC_CL_##name])
#define ISC_CL_HOOK(name, function) (isc_cl_ours[ISC_CL_##name] = (isc_cl_function)(function))

/* ---- layer.c: what the loader looks for ---- */

ISC_API int32_t clGetLayerInfo(uint32_t what, size_t room, void *value, size_t *needs);
ISC_API int32_t clInitLayer(uint32_t entries, const isc_cl_function *target, uint32_t *entries_of_ours,
			    const isc_cl_function **ours);

/* ---- queue.c ---- */

/* What is known of a queue. */
typedef struct isc_cl_queue {
	uint32_t device; /* definition; 0: not known */
	uint32_t number; /* by which streams are told apart */
	uint32_t clock;	 /* of its device: place in a table */
	bool timed;	 /* its commands have time stamps */
} isc_cl_queue;

void isc_cl_queue_hooks(void);
isc_cl_queue isc_cl_queue_of(cl_queue queue);
/* The name of a kernel, as an id of the runtime. */
uint32_t isc_cl_kernel_name(cl_kernel kernel);
/* The device of a clock, to read it. */
cl_device isc_cl_clock_device(uint32_t clock);

/* ---- command.c ---- */

/* A call that puts a command into a queue, on its way; on the caller's stack. */
typedef struct isc_cl_call {
	isc_rt_gpu_spot spot;
	isc_cl_queue queue;
	cl_event own; /* where the program wants no event */
	uint64_t correlation;
	uint64_t bytes;
	const char *function;
	uint32_t kernel; /* name of it; 0: the function's */
	uint32_t grid[3], block[3];
	enum isc_gpu_job job;
	enum isc_gpu_role role;
	bool holds; /* it returns when the command has ended */
} isc_cl_call;

/* False: nothing records. */
bool isc_cl_begin(isc_cl_call *c, cl_queue queue, const char *function, enum isc_gpu_job job, enum isc_gpu_role role);

/* Where the driver is to put the event: the program's place, or ours. */
cl_event *isc_cl_event(isc_cl_call *c, cl_event *event);

/* The driver has answered; its status again. */
int32_t isc_cl_end(isc_cl_call *c, int32_t status, cl_event *event);

/* A call that only waits, or asks for nothing. */
void isc_cl_waited(const isc_rt_gpu_spot *spot, const char *function, enum isc_gpu_role role, uint32_t device,
		   int32_t status);

/*
 * Hooks that differ in their parameters alone.  parameters: those between the queue and the list of events, in
 * parentheses, and arguments: their names; what, job and the facts may use them.
 *
 *	ISC_CL_COMMAND	any command; what: what the call is named in a trace; the facts fill in c
 *	ISC_CL_COPY	one that may wait until it is done, as its parameter `blocking` says; if it does not, (Async)
 *			is added to its name, which the timeline goes by
 *	ISC_CL_WAIT	no command: it waits, or asks for nothing; all parameters are given
 */
#define ISC_CL_ALL(...) __VA_ARGS__
#define ISC_CL_SAME_AS(name) __typeof__(&(name))

#define ISC_CL_COMMAND(name, function, what, job, role, parameters, arguments, ...) \
	static int32_t name(cl_queue queue, ISC_CL_ALL parameters, uint32_t n, const cl_event *list, cl_event *event) \
	{ \
		ISC_CL_SAME_AS(name) real = ISC_CL_REAL(function, ISC_CL_SAME_AS(name)); \
		isc_cl_call c; \
\
		if (!isc_cl_begin(&c, queue, what, job, role)) \
			return real(queue, ISC_CL_ALL arguments, n, list, event); \
		__VA_ARGS__; \
		return isc_cl_end(&c, real(queue, ISC_CL_ALL arguments, n, list, isc_cl_event(&c, event)), event); \
	}

#define ISC_CL_NAMED(function) (blocking ? #function : #function " (Async)")
#define ISC_CL_COPY(name, function, job, parameters, arguments, bytes_) \
	ISC_CL_COMMAND(name, function, ISC_CL_NAMED(function), job, ISC_ROLE_COPY, parameters, arguments, \
		       c.holds = blocking != 0, c.bytes = bytes_)

#define ISC_CL_WAIT(name, function, role, device, parameters, arguments) \
	static int32_t name parameters \
	{ \
		ISC_CL_SAME_AS(name) real = ISC_CL_REAL(function, ISC_CL_SAME_AS(name)); \
		isc_rt_gpu_spot spot; \
		int32_t status; \
\
		if (!isc_rt_gpu_enter(&spot)) \
			return real arguments; \
		status = real arguments; \
		isc_cl_waited(&spot, #function, role, device, status); \
		return status; \
	}

/* ---- the other files ---- */

void isc_cl_kernel_hooks(void);
void isc_cl_transfer_hooks(void);
void isc_cl_svm_hooks(void);

#endif
