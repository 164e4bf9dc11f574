/*
 * Every setting, once.
 *
 * Not in a file: what would let a file in a folder that the user merely visits
 * run something (python), or destroy something (force).  Paths in a project's
 * file stay below the working directory; settings.c sees to that.
 */
#include <stddef.h>

#include "session/settings/settings.h"

#define AT(field) offsetof(isc_settings, field)

static const char *const formats[] = {"markdown", "html", "json", NULL};
static const char *const levels[] = {"debug", "info", "warn", "error", NULL};
static const char *const progress[] = {"auto", "never", NULL};
static const char *const native[] = {"on", "leaf", "off", NULL};
static const char *const follow[] = {"python", "all", "none", NULL};

/* A day is longer than any delay that is meant; more is a unit mistaken. */
#define SECONDS_MAX 86400.0

/* clang-format off */
const isc_setting isc_settings_table[ISC_SETTINGS_COUNT] = {
	{"report", "report", NULL, "INFERSCOPE_REPORT", ISC_SETTING_PATHS, 0, AT(reports), 0, 0, NULL,
	 "report.md", "PATH", "write the report there: .md, .html or .json; may be given again"},
	{"write_report", NULL, "no-report", NULL, ISC_SETTING_BOOL, 0, AT(report), 0, 0, NULL,
	 "true", NULL, "write no report"},
	{"format", "format", NULL, NULL, ISC_SETTING_WORD, 0, AT(format), 0, 0, formats,
	 NULL, "NAME", "format of the report whatever its ending: markdown, html, json"},
	{"trace", "trace", NULL, "INFERSCOPE_TRACE", ISC_SETTING_PATH, 0, AT(trace), 0, 0, NULL,
	 "inferscope.isc", "PATH", "write the trace there"},
	{"force", "force", NULL, NULL, ISC_SETTING_BOOL, ISC_SETTING_NOT_IN_FILE, AT(force), 0, 0, NULL,
	 "false", NULL, "replace existing files that InferScope did not write"},
	{"log_level", "log-level", NULL, "INFERSCOPE_LOG_LEVEL", ISC_SETTING_CHOICE, 0, AT(log_level), 0, 0, levels,
	 "info", "LEVEL", "debug, info, warn or error"},
	{"quiet", "quiet", NULL, NULL, ISC_SETTING_BOOL, 0, AT(quiet), 0, 0, NULL,
	 "false", NULL, "print errors only"},
	{"progress", "progress", NULL, NULL, ISC_SETTING_CHOICE, 0, AT(progress), 0, 0, progress,
	 "auto", "WHEN", "progress bar on a terminal: auto, never"},
	{"trace_size_mb", "trace-size-mb", NULL, "INFERSCOPE_TRACE_SIZE_MB", ISC_SETTING_COUNT, 0,
	 AT(trace_size_mb), 0, 1048576, NULL,
	 "100", "N", "bound of the trace and of the shared memory; the oldest events go first; 0: no bound"},
	{"budget", "budget", NULL, "INFERSCOPE_BUDGET", ISC_SETTING_BUDGET, 0, AT(budget_pct), 0, 100, NULL,
	 "5", "PCT|off", "slowdown in percent that tracing may cause"},
	{"rate", "rate", NULL, "INFERSCOPE_RATE", ISC_SETTING_COUNT, 0, AT(rate_hz), 10, 10000, NULL,
	 "200", "HZ", "stack samples a second"},
	{"native", "native", NULL, NULL, ISC_SETTING_CHOICE, 0, AT(native), 0, 0, native,
	 "on", "on|leaf|off", "native frames in stacks"},
	{"all_frames", "all-frames", NULL, NULL, ISC_SETTING_BOOL, 0, AT(all_frames), 0, 0, NULL,
	 "false", NULL, "trace imports and special methods too"},
	{"c_calls", "c-calls", NULL, NULL, ISC_SETTING_BOOL, 0, AT(c_calls), 0, 0, NULL,
	 "false", NULL, "trace calls of C functions from Python"},
	{"python_calls", NULL, "no-python", NULL, ISC_SETTING_BOOL, 0, AT(python_calls), 0, 0, NULL,
	 "true", NULL, "do not trace Python calls"},
	{"sample", NULL, "no-sample", NULL, ISC_SETTING_BOOL, 0, AT(sample), 0, 0, NULL,
	 "true", NULL, "take no stack samples"},
	{"memory", NULL, "no-memory", NULL, ISC_SETTING_BOOL, 0, AT(memory), 0, 0, NULL,
	 "true", NULL, "do not watch allocations"},
	{"memory_sample_kb", "memory-sample-kb", NULL, NULL, ISC_SETTING_COUNT, 0, AT(memory_sample_kb), 1, 1048576, NULL,
	 "512", "N", "record an allocation every N KiB, on average"},
	{"syscalls", NULL, "no-syscalls", NULL, ISC_SETTING_BOOL, 0, AT(syscalls), 0, 0, NULL,
	 "true", NULL, "do not time locks, reads, writes and sleeps, nor count system calls"},
	{"syscall_args", "syscall-args", NULL, NULL, ISC_SETTING_BOOL, 0, AT(syscall_args), 0, 0, NULL,
	 "false", NULL, "record which files and addresses slow system calls were about"},
	{"kernel_calls", "kernel-calls", NULL, NULL, ISC_SETTING_BOOL, 0, AT(kernel_calls), 0, 0, NULL,
	 "false", NULL, "have the kernel count all system calls, past libc too; makes each dearer"},
	{"gpu", NULL, "no-gpu", NULL, ISC_SETTING_BOOL, 0, AT(gpu), 0, 0, NULL,
	 "true", NULL, "leave the GPU alone"},
	{"agent", NULL, "no-agent", NULL, ISC_SETTING_BOOL, 0, AT(agent), 0, 0, NULL,
	 "true", NULL, "do not preload the agent"},
	{"follow", "follow", NULL, NULL, ISC_SETTING_CHOICE, 0, AT(follow), 0, 0, follow,
	 "python", "WHICH", "children to trace: python, all, none"},
	{"wait_children", "wait-children", NULL, NULL, ISC_SETTING_NUMBER, 0, AT(wait_children_s), 0, SECONDS_MAX, NULL,
	 "0", "S", "wait so long for children that are left"},
	{"delay", "delay", NULL, NULL, ISC_SETTING_NUMBER, 0, AT(delay_s), 0, SECONDS_MAX, NULL,
	 "0", "S", "start to trace after so many seconds"},
	{"duration", "duration", NULL, NULL, ISC_SETTING_NUMBER, 0, AT(duration_s), 0, SECONDS_MAX, NULL,
	 "0", "S", "trace for so long, then let the program go on; 0: to its end"},
	{"python", "python", NULL, NULL, ISC_SETTING_PATH, ISC_SETTING_NOT_IN_FILE, AT(python), 0, 0, NULL,
	 NULL, "PATH", "the interpreter for SCRIPT, -m and -c"},
	{"labels", "label", NULL, "INFERSCOPE_LABELS", ISC_SETTING_LABELS, 0, AT(labels), 0, 0, NULL,
	 NULL, "KEY=VALUE", "note for the report; may be given again"},
	{"sync_error_margin_us", NULL, NULL, "INFERSCOPE_SYNC_ERROR_MARGIN_US", ISC_SETTING_COUNT, 0,
	 AT(sync_error_margin_us), 0, 1000000000, NULL,
	 "1000", NULL, "clock uncertainty assumed when GPU clock sync fails"},
	{"enabled", NULL, NULL, "INFERSCOPE_ENABLED", ISC_SETTING_BOOL, ISC_SETTING_NOT_IN_FILE, AT(enabled), 0, 0, NULL,
	 "false", NULL, "Python processes trace themselves from their start"},
};
/* clang-format on */
