#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/path.h"
#include "session/counters.h"
#include "session/probe.h"
#include "session/switches.h"

#define MIB (1024.0 * 1024.0)

/* A program with some dozens of threads fits; below it events are lost early. */
#define SHM_LEAST_MIB 16

/* What perf's rings of one CPU take beyond the kernel's own allowance. */
#define MEMLOCK_LEAST_KIB 64

void isc_probe_rights(const isc_probe_context *context, isc_probe_result *out)
{
	(void)context;
	if (getauxval(AT_SECURE)) {
		isc_probe_say(out, ISC_PROBE_MISSING, "the command has raised rights and refuses to work");
		isc_probe_fix(out, "chmod ug-s the file, or setcap -r it");
	} else if (geteuid() == 0) {
		isc_probe_say(out, ISC_PROBE_OK, "root; an ordinary user is enough");
	} else {
		isc_probe_say(out, ISC_PROBE_OK, "ordinary user; nothing more is needed");
	}
}

static bool usable(const char *path, double *free_mib)
{
	struct statvfs fs;

	if (path == NULL || path[0] != '/' || access(path, W_OK | X_OK) < 0 || statvfs(path, &fs) < 0)
		return false;
	*free_mib = (double)fs.f_bavail * (double)fs.f_frsize / MIB;
	return true;
}

void isc_probe_memory(const isc_probe_context *context, isc_probe_result *out)
{
	const char *runtime_dir = NULL;
	char folder[4096];
	double shm = 0, other = 0;
	bool have_shm = usable("/dev/shm", &shm);

	for (char *const *e = context->env; e != NULL && *e != NULL; e++)
		if (strncmp(*e, "XDG_RUNTIME_DIR=", 16) == 0)
			runtime_dir = *e + 16;
	if (have_shm && shm >= SHM_LEAST_MIB) {
		isc_probe_say(out, ISC_PROBE_OK, "%.0f MiB free in /dev/shm", shm);
		return;
	}
	if (usable(runtime_dir, &other) && other >= SHM_LEAST_MIB)
		isc_probe_say(out, ISC_PROBE_LIMITED, "little room in /dev/shm (%.0f MiB); %.200s is used", shm,
			      runtime_dir);
	else if (isc_path_folder(context->settings->trace, folder, sizeof(folder)) && access(folder, W_OK | X_OK) == 0)
		isc_probe_say(out, ISC_PROBE_LIMITED,
			      "little room in /dev/shm (%.0f MiB); events go through a folder beside the trace", shm);
	else
		isc_probe_say(out, ISC_PROBE_MISSING, "no room in /dev/shm (%.0f MiB) nor beside the trace", shm);
	isc_probe_fix(out, "in a container: docker run --shm-size=256m ...; else: mount -o remount,size=256m /dev/shm");
}

void isc_probe_clock(const isc_probe_context *context, isc_probe_result *out)
{
	char name[64] = "unknown";

	(void)context;
	isc_probe_read("/sys/devices/system/clocksource/clocksource0/current_clocksource", name, sizeof(name));
	if (isc_clock_source() == 1)
		isc_probe_say(out, ISC_PROBE_OK, "time-stamp counter");
	else
		isc_probe_say(out, ISC_PROBE_LIMITED, "the kernel keeps time with %s: each event costs a little more",
			      name);
}

void isc_probe_switches(const isc_probe_context *context, isc_probe_result *out)
{
	isc_error err = {0};

	(void)context;
	if (isc_switches_probe(&err) == ISC_OK) {
		isc_probe_say(out, ISC_PROBE_OK, "perf events of all threads");
		return;
	}
	isc_probe_say(out, ISC_PROBE_LIMITED, "%.300s; waiting is estimated", err.what);
	isc_probe_fix(out, "%s", err.hint);
}

void isc_probe_memlock(const isc_probe_context *context, isc_probe_result *out)
{
	struct rlimit limit;

	(void)context;
	if (getrlimit(RLIMIT_MEMLOCK, &limit) < 0 || limit.rlim_cur == RLIM_INFINITY) {
		isc_probe_say(out, ISC_PROBE_OK, "no limit");
	} else if (limit.rlim_cur / 1024 >= MEMLOCK_LEAST_KIB) {
		isc_probe_say(out, ISC_PROBE_OK, "%llu KiB", (unsigned long long)limit.rlim_cur / 1024);
	} else {
		isc_probe_say(out, ISC_PROBE_LIMITED, "%llu KiB: rings for context switches may be small",
			      (unsigned long long)limit.rlim_cur / 1024);
		isc_probe_fix(out, "ulimit -l %d", MEMLOCK_LEAST_KIB);
	}
}

/* Most virtual machines have none: nothing is wrong with those. */
void isc_probe_counters(const isc_probe_context *context, isc_probe_result *out)
{
	isc_counters counters;
	isc_error why_not = {0};

	(void)context;
	if (isc_counters_find(&counters, &why_not) == ISC_OK) {
		isc_probe_say(out, ISC_PROBE_OK, "instructions and cycles of samples are counted");
	} else {
		isc_probe_say(out, why_not.hint[0] != 0 ? ISC_PROBE_LIMITED : ISC_PROBE_OK,
			      "%s: stacks have no instructions", why_not.what);
		if (why_not.hint[0] != 0)
			isc_probe_fix(out, "%s", why_not.hint);
	}
}

/* The value of one file of our cgroup (version 2) or of the nearest one above that has it. */
static bool cgroup_value(const char *name, char *out, size_t room)
{
	char text[4096], path[4400], *own;

	if (!isc_probe_read("/proc/self/cgroup", text, sizeof(text)))
		return false;
	own = strstr(text, "0::/");
	if (own == NULL)
		return false;
	own += 3;
	own[strcspn(own, "\n")] = 0;
	for (char *slash; (slash = strrchr(own, '/')) != NULL; *slash = 0) {
		snprintf(path, sizeof(path), "/sys/fs/cgroup%s/%s", own[1] ? own : "", name);
		if (isc_probe_read(path, out, room) && strncmp(out, "max", 3) != 0)
			return true;
	}
	return false;
}

void isc_probe_cgroup(const isc_probe_context *context, isc_probe_result *out)
{
	char memory[64], cpu[64], text[160] = "";
	size_t used = 0;

	(void)context;
	if (cgroup_value("memory.max", memory, sizeof(memory)))
		used = (size_t)snprintf(text, sizeof(text), "memory limited to %.0f MiB", strtod(memory, NULL) / MIB);
	if (cgroup_value("cpu.max", cpu, sizeof(cpu))) {
		char *period;
		double quota = strtod(cpu, &period);
		double length = strtod(period, NULL);

		if (length > 0)
			snprintf(text + used, sizeof(text) - used, "%slimited to %.2f CPUs", used ? ", " : "",
				 quota / length);
	}
	isc_probe_say(out, ISC_PROBE_OK, "%s", text[0] ? text : "no limit of memory or CPU");
}

void isc_probe_numa(const isc_probe_context *context, isc_probe_result *out)
{
	char nodes[64];

	(void)context;
	if (!isc_probe_read("/sys/devices/system/node/online", nodes, sizeof(nodes)))
		isc_probe_say(out, ISC_PROBE_OK, "not told by this kernel; reports have no NUMA part");
	else if (strpbrk(nodes, ",-") == NULL)
		isc_probe_say(out, ISC_PROBE_OK, "one node; reports have no NUMA part");
	else
		isc_probe_say(out, ISC_PROBE_OK, "nodes %s", nodes);
}
