#include "session/launch/gpu_parts.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "runtime/layout.h"
#include "session/launch/cuda_driver.h"
#include "session/launch/environment.h"
#include "session/launch/parts.h"
#include "session/probe/probe.h"

/* Work of CUDA devices is seen by a part that the driver loads.  Without a driver there is no variable either. */
isc_status isc_gpu_parts_cuda(const isc_settings *settings, bool elsewhere, isc_error *err)
{
	char driver[300];
	isc_parts parts;
	bool wanted =
		settings->gpu && isc_cuda_driver_find(driver, sizeof(driver)) && isc_parts_find(&parts, NULL) == ISC_OK;

	if (elsewhere)
		return ISC_OK;
	if (isc_parts_cuda(wanted ? parts.folder : NULL))
		return ISC_OK;
	isc_fail(err, ISC_ERR_DENIED, "another tool is to watch CUDA: work of GPUs is not recorded");
	isc_hint(err, "unset " ISC_CUDA_VARIABLE);
	return ISC_ERR_DENIED;
}

/* Who names the GPU wants to hear that there is none. */
isc_status isc_gpu_parts_asked(const isc_settings *settings, isc_error *err)
{
	char driver[300];

	if (!settings->gpu || settings->origin[isc_settings_find("gpu")].kind == ISC_ORIGIN_DEFAULT ||
	    isc_cuda_driver_find(driver, sizeof(driver)) || isc_probe_opencl_any(environ))
		return ISC_OK;
	isc_fail(err, ISC_ERR_ABSENT, "no GPU was found: there is no CUDA driver and no OpenCL driver here");
	isc_hint(err, "the report is of the CPU alone; inferscope doctor says more");
	return ISC_ERR_ABSENT;
}

static void part_path(const isc_parts *parts, const char *name, char *out, size_t room)
{
	if (snprintf(out, room, "%s/%s", parts->folder, name) >= (int)room || access(out, R_OK) != 0)
		out[0] = 0;
}

void isc_gpu_parts_find(const isc_settings *settings, char *cuda, char *layer, size_t room)
{
	char driver[300];
	isc_parts parts;

	cuda[0] = layer[0] = 0;
	if (!settings->gpu || isc_parts_find(&parts, NULL) != ISC_OK)
		return;
	if (isc_cuda_driver_find(driver, sizeof(driver)))
		part_path(&parts, ISC_CUDA_LIBRARY, cuda, room);
	part_path(&parts, ISC_OPENCL_LIBRARY, layer, room);
	/* The loader's list is split there. */
	if (strchr(layer, ':') != NULL)
		layer[0] = 0;
}

/* The agent answers when the OpenCL loader asks for its layers; without it the environment has to. */
void isc_gpu_parts_opencl(const isc_settings *settings)
{
	const char *theirs = getenv(ISC_OPENCL_VARIABLE);
	char cuda[PATH_MAX], layer[PATH_MAX], both[2 * PATH_MAX];

	if (settings->agent || (theirs != NULL && strstr(theirs, ISC_OPENCL_LIBRARY) != NULL))
		return;
	isc_gpu_parts_find(settings, cuda, layer, PATH_MAX);
	if (layer[0] == 0 || snprintf(both, sizeof(both), "%s%s%s", theirs != NULL ? theirs : "",
				      theirs != NULL && theirs[0] != 0 ? ":" : "", layer) >= (int)sizeof(both))
		return;
	setenv(ISC_OPENCL_VARIABLE, both, 1);
}
