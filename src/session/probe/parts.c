#include <elf.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/output.h"
#include "runtime/layout.h"
#include "session/launch/cuda_driver.h"
#include "session/probe/probe.h"
#include "trace/format.h"

/* Would the loader take it: an ELF file for this machine?  One that it would not
 * take must not be named in LD_PRELOAD. */
static bool fits(const char *path)
{
	Elf64_Ehdr own, other;
	int a = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), b = open(path, O_RDONLY | O_CLOEXEC);
	bool read_both = a >= 0 && b >= 0 && read(a, &own, sizeof(own)) == (ssize_t)sizeof(own) &&
			 read(b, &other, sizeof(other)) == (ssize_t)sizeof(other);

	if (a >= 0)
		close(a);
	if (b >= 0)
		close(b);
	return read_both && memcmp(other.e_ident, ELFMAG, SELFMAG) == 0 && other.e_type == ET_DYN &&
	       other.e_ident[EI_CLASS] == own.e_ident[EI_CLASS] && other.e_machine == own.e_machine;
}

void isc_probe_runtime(const isc_probe_context *context, isc_probe_result *out)
{
	isc_parts parts;
	isc_error err = {0};

	(void)context;
	if (isc_parts_find(&parts, &err) != ISC_OK || parts.runtime[0] == 0) {
		isc_probe_say(out, ISC_PROBE_MISSING, "%s",
			      err.what[0] ? err.what : "libinferscope_rt.so is not beside the command");
		isc_probe_fix(out, "install again: pip install --force-reinstall inferscope");
	} else if (!fits(parts.runtime)) {
		isc_probe_say(out, ISC_PROBE_MISSING, "%.300s cannot be loaded here", parts.runtime);
		isc_probe_fix(out, "install again: pip install --force-reinstall inferscope");
	} else {
		isc_probe_say(out, ISC_PROBE_OK, "%.300s", parts.runtime);
	}
}

/* What this build records at all; whether it can do so here is for the other probes. */
static const struct collector {
	const char *name;
	bool built;
} collectors[] = {
	{"Python calls", true},
	{"scopes, marks and counters", true},
	{"context switches", true},
	{"stack samples", true},
	{"allocations", true},
	{"system calls", true},
	{"waits", true},
	{"garbage collection", true},
	{"GPU work", true},
};

/* "A, B, C" of those that are built, or are not; how many. */
static size_t list_collectors(bool built, char *out, size_t room)
{
	size_t count = 0, used = 0;

	out[0] = 0;
	for (size_t i = 0; i < sizeof(collectors) / sizeof(collectors[0]); i++) {
		if (collectors[i].built != built || used >= room)
			continue;
		used += (size_t)snprintf(out + used, room - used, "%s%s", count > 0 ? ", " : "", collectors[i].name);
		count++;
	}
	return count;
}

void isc_probe_collectors(const isc_probe_context *context, isc_probe_result *out)
{
	char there[200], absent[200];
	size_t lacking;

	(void)context;
	list_collectors(true, there, sizeof(there));
	lacking = list_collectors(false, absent, sizeof(absent));
	isc_probe_say(out, lacking > 0 ? ISC_PROBE_LIMITED : ISC_PROBE_OK, "%s%s%s", there,
		      lacking > 0 ? "; not in this build: " : "", absent);
}

void isc_probe_python(const isc_probe_context *context, isc_probe_result *out)
{
	char python[2048];
	isc_parts parts = {0};
	isc_error err = {0};

	isc_parts_find(&parts, NULL);
	if (isc_parts_python(context->settings->python, context->called_as, python, sizeof(python), &err) != ISC_OK) {
		isc_probe_say(out, ISC_PROBE_MISSING, "%.300s", err.what);
		isc_probe_fix(out, "%s",
			      err.hint[0] ? err.hint : "name one with --python; other programs run after --");
	} else if (isc_parts_python_has_package(python, &parts)) {
		isc_probe_say(out, ISC_PROBE_OK, "%.300s has the package", python);
	} else if (isc_parts_python_has_core(python, &parts)) {
		isc_probe_say(out, ISC_PROBE_OK, "%.300s gets the package from the command", python);
	} else {
		isc_probe_say(out, ISC_PROBE_LIMITED, "%.300s does not have the package: its calls are not traced",
			      python);
		isc_probe_fix(out, "%.300s -m pip install inferscope", python);
	}
}

void isc_probe_gpu(const isc_probe_context *context, isc_probe_result *out)
{
	const char *other = getenv(ISC_CUDA_VARIABLE);
	char part[1200], driver[300];
	isc_parts parts = {0};

	(void)context;
	isc_parts_find(&parts, NULL);
	snprintf(part, sizeof(part), "%.1000s/" ISC_CUDA_LIBRARY, parts.folder);
	if (!isc_cuda_driver_find(driver, sizeof(driver))) {
		isc_probe_say(out, ISC_PROBE_MISSING, "no CUDA driver here");
	} else if (access(part, R_OK) != 0) {
		isc_probe_say(out, ISC_PROBE_LIMITED, "a CUDA driver is here (%s), and " ISC_CUDA_LIBRARY " is not",
			      driver);
		isc_probe_fix(out, "install the package again");
	} else if (other != NULL && other[0] != 0 && strstr(other, ISC_CUDA_LIBRARY) == NULL) {
		isc_probe_say(out, ISC_PROBE_LIMITED, "a CUDA driver is here (%s), and loads another tool", driver);
		isc_probe_fix(out, "unset " ISC_CUDA_VARIABLE);
	} else {
		isc_probe_say(out, ISC_PROBE_OK,
			      "a CUDA driver is here (%s); inferscope doctor --gpu-selftest tries it", driver);
	}
}

void isc_probe_trace(const isc_probe_context *context, isc_probe_result *out)
{
	const isc_settings *s = context->settings;
	isc_error err = {0};

	if (isc_output_check(s->trace, s->force, isc_trace_is_ours, &err) == ISC_OK) {
		isc_probe_say(out, ISC_PROBE_OK, "%.300s can be written", s->trace);
		return;
	}
	isc_probe_say(out, ISC_PROBE_LIMITED, "%.300s", err.what);
	isc_probe_fix(out, "inferscope run --trace PATH%s%s", err.hint[0] ? "; " : "", err.hint);
}
