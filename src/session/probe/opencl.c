/*
 * opencl.c - is there an OpenCL driver whose commands can be seen?
 *
 * Looked for, not loaded: what a driver does when it is loaded is its own business.
 */
#include <dirent.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "runtime/layout.h"
#include "session/probe/probe.h"

#define VENDORS "/etc/OpenCL/vendors"
#define LAYER ISC_OPENCL_LIBRARY

/* "a.icd, b.icd"; how many. */
static size_t list_drivers(const char *folder, char *out, size_t room)
{
	DIR *dir = opendir(folder);
	const struct dirent *entry;
	size_t count = 0, used = 0;

	out[0] = 0;
	while (dir != NULL && (entry = readdir(dir)) != NULL) {
		size_t len = strlen(entry->d_name);

		if (len < 5 || strcmp(entry->d_name + len - 4, ".icd") != 0)
			continue;
		if (used < room)
			used += (size_t)snprintf(out + used, room - used, "%s%.60s", count > 0 ? ", " : "",
						 entry->d_name);
		count++;
	}
	if (dir != NULL)
		closedir(dir);
	return count;
}

static const char *folder_of(char *const *env)
{
	static const char name[] = "OCL_ICD_VENDORS=";

	for (; env != NULL && *env != NULL; env++) {
		if (strncmp(*env, name, sizeof(name) - 1) == 0 && (*env)[sizeof(name) - 1] != 0)
			return *env + sizeof(name) - 1;
	}
	return VENDORS;
}

bool isc_probe_opencl_any(char *const *env)
{
	char drivers[200];

	return list_drivers(folder_of(env), drivers, sizeof(drivers)) > 0;
}

void isc_probe_opencl(const isc_probe_context *context, isc_probe_result *out)
{
	const char *folder = folder_of(context->env);
	char drivers[200], layer[2100];
	isc_parts parts = {0};
	size_t n = list_drivers(folder, drivers, sizeof(drivers));

	if (n == 0) {
		isc_probe_say(out, ISC_PROBE_MISSING, "no OpenCL driver is registered in %.100s", folder);
		isc_probe_fix(
			out, "install the driver of the device; to try it without one: apt-get install pocl-opencl-icd "
			     "ocl-icd-libopencl1");
		return;
	}
	if (isc_parts_find(&parts, NULL) != ISC_OK ||
	    snprintf(layer, sizeof(layer), "%s/" LAYER, parts.folder) >= (int)sizeof(layer) ||
	    access(layer, R_OK) != 0) {
		isc_probe_say(out, ISC_PROBE_LIMITED, "%.200s; " LAYER " is missing: its commands are not seen",
			      drivers);
		isc_probe_fix(out, "install again: pip install --force-reinstall inferscope");
		return;
	}
	if (!context->settings->gpu) {
		isc_probe_say(out, ISC_PROBE_LIMITED, "%.200s; its commands are not seen, as gpu is switched off",
			      drivers);
		isc_probe_fix(out, "run without --no-gpu");
		return;
	}
	isc_probe_say(out, ISC_PROBE_OK, "%.200s: commands are seen through a layer", drivers);
}
