/*
 * layer.c - what the OpenCL loader asks of a layer.
 *
 * In a process without a session, or with one that leaves the GPU alone, nothing
 * is put in front of anything.
 */
#include <string.h>

#include "opencl/opencl.h"

#define LAYER_VERSION 100u
#define NAME "inferscope"

isc_cl_function isc_cl_real[ISC_CL_COUNT];
isc_cl_function isc_cl_ours[ISC_CL_COUNT];

int32_t clGetLayerInfo(uint32_t what, size_t room, void *value, size_t *needs)
{
	static const uint32_t version = LAYER_VERSION;
	const void *answer = what == CL_LAYER_API_VERSION ? (const void *)&version : NAME;
	size_t size = what == CL_LAYER_API_VERSION ? sizeof(version) : sizeof(NAME);

	if ((what != CL_LAYER_API_VERSION && what != CL_LAYER_NAME) || (value != NULL && room < size))
		return CL_INVALID_VALUE;
	if (value != NULL)
		memcpy(value, answer, size);
	if (needs != NULL)
		*needs = size;
	return CL_SUCCESS;
}

int32_t clInitLayer(uint32_t entries, const isc_cl_function *target, uint32_t *entries_of_ours,
		    const isc_cl_function **ours)
{
	if (target == NULL || entries_of_ours == NULL || ours == NULL)
		return CL_INVALID_VALUE;
	*ours = isc_cl_ours;
	*entries_of_ours = ISC_CL_COUNT;
	if (isc_rt_abi() != ISC_RT_ABI || !isc_rt_gpu_asked())
		return CL_SUCCESS;
	memcpy(isc_cl_real, target, (entries < ISC_CL_COUNT ? entries : ISC_CL_COUNT) * sizeof(*target));
	/* Without the callbacks of 1.1 no command tells that it has ended. */
	if (isc_cl_real[ISC_CL_clSetEventCallback] == NULL) {
		isc_rt_gpu_source("OpenCL", ISC_GPU_ABSENT, 0, 0, "clSetEventCallback is not there");
		return CL_SUCCESS;
	}
	isc_cl_queue_hooks();
	isc_cl_kernel_hooks();
	isc_cl_transfer_hooks();
	isc_cl_svm_hooks();
	/* What the loader cannot call, the program must not find either. */
	for (unsigned i = 0; i < ISC_CL_COUNT; i++) {
		if (isc_cl_real[i] == NULL)
			isc_cl_ours[i] = NULL;
	}
	isc_rt_gpu_source("OpenCL", ISC_GPU_STARTED, LAYER_VERSION, 0, NULL);
	return CL_SUCCESS;
}
