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
#include "session/machine/cgroup.h"
#include "session/machine/counters.h"
#include "session/machine/kernel_calls.h"
#include "session/probe/probe.h"
#include "session/machine/switches.h"

#define MIB (1024.0 * 1024.0)

/* A program with some dozens of threads fits; below it events are lost early. */
#define SHM_LEAST_MIB 16

/* What perf's rings of one CPU take beyond the kernel's own allowance. */
#define MEMLOCK_LEAST_KIB 64

#define GROUPS 16u				 /* control groups around each other */
#define NO_LIMIT 0x7fffffff00000000		 /* bytes: what version 1 says where there is none is a little more */
#define OLD_PERIOD_US 100000.0			 /* of CPU time, of version 1, unless somebody changed it */
#define MEMORY_VARIABLE "INFERSCOPE_TEST_MEMORY" /* a folder like /proc/self, for tests */

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

/* Few machines let everybody read trace events: nothing is wrong with those. */
void isc_probe_kernel_calls(const isc_probe_context *context, isc_probe_result *out)
{
	isc_kernel_calls calls;
	isc_error why_not = {0};

	(void)context;
	if (isc_kernel_calls_open(&calls, 0, &why_not) == ISC_OK) {
		isc_probe_say(out, ISC_PROBE_OK, "--kernel-calls counts system calls past libc");
	} else {
		isc_probe_say(out, ISC_PROBE_LIMITED, "%s: system calls past libc are not counted", why_not.what);
		isc_probe_fix(out, "%s", why_not.hint);
	}
	isc_kernel_calls_close(&calls);
}

/* The least that a file of our group, or of one around it, says; negative: no limit. */
static double group_limit(const isc_cgroup *p, const char *name)
{
	int fd[GROUPS];
	uint32_t n = isc_cgroup_open(p, name, fd, GROUPS);
	double least = -1;

	for (uint32_t i = 0; i < n; i++) {
		char text[64], *end;
		double limit;

		if (isc_cgroup_read(fd[i], text, sizeof(text))) {
			limit = strtod(text, &end);
			/* Of version 2 "QUOTA PERIOD"; of 1 the period has a file of its own, the same for nearly all. */
			if (*end == ' ')
				limit /= strtod(end, NULL);
			if (end != text && limit >= 0 && limit < NO_LIMIT && (least < 0 || limit < least))
				least = limit;
		}
		close(fd[i]);
	}
	return least;
}

static double limit_of(const char *controller, const char *name, const char *old_name, bool *old)
{
	const char *pretended = getenv(MEMORY_VARIABLE);
	isc_cgroup *p = calloc(1, sizeof(*p));
	double limit = -1;

	if (p != NULL && isc_cgroup_find(p, pretended != NULL ? pretended : "/proc/self", controller)) {
		*old = p->old;
		limit = group_limit(p, p->old ? old_name : name);
	}
	free(p);
	return limit;
}

void isc_probe_cgroup(const isc_probe_context *context, isc_probe_result *out)
{
	bool old = false;
	double memory = limit_of("memory", "memory.max", "memory.limit_in_bytes", &old);
	double cpus = limit_of("cpu", "cpu.max", "cpu.cfs_quota_us", &old);
	char text[160] = "";
	size_t used = 0;

	(void)context;
	if (memory >= 0)
		used = (size_t)snprintf(text, sizeof(text), "memory limited to %.0f MiB", memory / MIB);
	if (cpus >= 0)
		snprintf(text + used, sizeof(text) - used, "%slimited to %.2f CPUs", used ? ", " : "",
			 old ? cpus / OLD_PERIOD_US : cpus);
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
