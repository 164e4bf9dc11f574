#include "session/probe/probe.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

const isc_probe isc_probes[] = {
	{"rights", true, isc_probe_rights},
	{"runtime", true, isc_probe_runtime},
	{"collectors", false, isc_probe_collectors},
	{"python", false, isc_probe_python},
	{"session memory", true, isc_probe_memory},
	{"trace file", false, isc_probe_trace},
	{"clock", false, isc_probe_clock},
	{"context switches", false, isc_probe_switches},
	{"counters", false, isc_probe_counters},
	{"kernel calls", false, isc_probe_kernel_calls},
	{"locked memory", false, isc_probe_memlock},
	{"cgroup", false, isc_probe_cgroup},
	{"numa", false, isc_probe_numa},
	{"gpu", false, isc_probe_gpu},
	{"opencl", false, isc_probe_opencl},
};

const size_t isc_probes_count = sizeof(isc_probes) / sizeof(isc_probes[0]);

void isc_probe_say(isc_probe_result *out, int state, const char *format, ...)
{
	va_list args;

	out->state = state;
	out->fix[0] = 0;
	va_start(args, format);
	vsnprintf(out->what, sizeof(out->what), format, args);
	va_end(args);
}

void isc_probe_fix(isc_probe_result *out, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(out->fix, sizeof(out->fix), format, args);
	va_end(args);
}

bool isc_probe_read(const char *path, char *out, size_t room)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	ssize_t n = fd >= 0 ? read(fd, out, room - 1) : -1;

	if (fd >= 0)
		close(fd);
	if (n < 0)
		return false;
	out[n] = 0;
	while (n > 0 && out[n - 1] == '\n')
		out[--n] = 0;
	return true;
}
