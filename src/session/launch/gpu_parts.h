/*
 * gpu_parts.h - what watches GPUs in the program, and whether there is any GPU.
 *
 * The CUDA driver loads a part of ours that a variable names; the OpenCL loader one that
 * the agent names when it is asked, or a variable where there is no agent.
 */
#ifndef ISC_SESSION_LAUNCH_GPU_PARTS_H
#define ISC_SESSION_LAUNCH_GPU_PARTS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/status.h"
#include "session/settings/settings.h"

/* For programs that are started from now on.  elsewhere: somebody else watches CUDA, and we know.  Fails when
 * another tool is named already, which stays. */
isc_status isc_gpu_parts_cuda(const isc_settings *settings, bool elsewhere, isc_error *err);

/* The same for OpenCL, where no agent does it. */
void isc_gpu_parts_opencl(const isc_settings *settings);

/* Fails when a GPU was asked for by name and there is none. */
isc_status isc_gpu_parts_asked(const isc_settings *settings, isc_error *err);

/* For a program that we did not start: what the CUDA driver is to load, and what the OpenCL loader is; each with
 * so much room, "" when there is no such device, or it is not wanted. */
void isc_gpu_parts_find(const isc_settings *settings, char *cuda, char *layer, size_t room);

#endif
