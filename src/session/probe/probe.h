/*
 * probe.h - what can be recorded here, and what would change that.  One row per
 * thing that may be missing; `doctor` prints them all.
 *
 * Probes look and change nothing.
 */
#ifndef ISC_SESSION_PROBE_PROBE_H
#define ISC_SESSION_PROBE_PROBE_H

#include <stdbool.h>
#include <stddef.h>

#include "session/launch/parts.h"
#include "session/settings/settings.h"

enum isc_probe_state { ISC_PROBE_OK = 0, ISC_PROBE_LIMITED, ISC_PROBE_MISSING };

typedef struct isc_probe_result {
	int state;	/* enum isc_probe_state */
	char what[400]; /* "64 MiB free in /dev/shm" */
	char fix[400];	/* a command or a step; "" when there is nothing to do */
} isc_probe_result;

/* What probes may ask. */
typedef struct isc_probe_context {
	const isc_settings *settings;
	const char *called_as; /* argv[0] of the command */
	char *const *env;
} isc_probe_context;

typedef struct isc_probe {
	const char *name;
	bool needed; /* without it `run` cannot work */
	void (*look)(const isc_probe_context *context, isc_probe_result *out);
} isc_probe;

extern const isc_probe isc_probes[];
extern const size_t isc_probes_count;

/* Fills a result: state, then "what" as a format; the fix is set apart. */
void isc_probe_say(isc_probe_result *out, int state, const char *format, ...) __attribute__((format(printf, 3, 4)));
void isc_probe_fix(isc_probe_result *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* probe_machine.c: the kernel and its limits. */
void isc_probe_rights(const isc_probe_context *context, isc_probe_result *out);
void isc_probe_memory(const isc_probe_context *context, isc_probe_result *out);
void isc_probe_clock(const isc_probe_context *context, isc_probe_result *out);
void isc_probe_switches(const isc_probe_context *context, isc_probe_result *out);
void isc_probe_kernel_calls(const isc_probe_context *context, isc_probe_result *out);
void isc_probe_counters(const isc_probe_context *context, isc_probe_result *out);
void isc_probe_memlock(const isc_probe_context *context, isc_probe_result *out);
void isc_probe_cgroup(const isc_probe_context *context, isc_probe_result *out);
void isc_probe_numa(const isc_probe_context *context, isc_probe_result *out);

/* probe_parts.c: our parts, Python, the GPU's driver and the place for the trace. */
void isc_probe_runtime(const isc_probe_context *context, isc_probe_result *out);
void isc_probe_collectors(const isc_probe_context *context, isc_probe_result *out);
void isc_probe_python(const isc_probe_context *context, isc_probe_result *out);
void isc_probe_gpu(const isc_probe_context *context, isc_probe_result *out);
void isc_probe_trace(const isc_probe_context *context, isc_probe_result *out);

/* probe_opencl.c: OpenCL drivers, and our layer. */
void isc_probe_opencl(const isc_probe_context *context, isc_probe_result *out);

/* One short text file, without its last newline; false when it cannot be read. */
bool isc_probe_read(const char *path, char *out, size_t room);

/* Is any OpenCL driver registered, for programs with this environment? */
bool isc_probe_opencl_any(char *const *env);

#endif
