/*
 * html_metric.c - metrics of rules in words for people, with the colour of what they measure.
 */
#include "report/html/html_metric.h"

#include <string.h>

static const isc_html_metric metrics[] = {
	{"gil_wait_pct", "GIL wait", "gil_wait"},
	{"lock_wait_pct", "Lock wait", "lock_wait"},
	{"io_wait_pct", "Waiting for files", "io_wait"},
	{"downstream_pct", "Waiting for answers from outside", "io_wait"},
	{"native_pct", "Native code", "native"},
	{"sleep_pct", "Sleeping", "sleep"},
	{"gc_pct", "Garbage collection", "gc"},
	{"syscall_pct", "Short system calls", "syscall"},
	{"spin_pct", "Spinning", "spin"},
	{"page_fault_pct", "Page faults", "page_fault"},
	{"throttled_pct", "Throttled by the control group", "throttled"},
	{"oversubscribed_pct", "Waiting for a CPU", "run_queue"},
	{"hot_function_pct", "One Python function", "python"},
	{"hot_path_pct", "One function and what it calls", "python"},
	{"stage_python_pct", "Python in one stage", "python"},
	{"logging_pct", "Logging", "python"},
	{"loop_blocked_pct", "Event loop blocked", "python"},
	{"pool_wait_pct", "Waiting for a pool of threads", "lock_wait"},
	{"page_churn_pct", "Fresh pages", "page_fault"},
	{"memory_stalled_pct", "Stalled on memory", "page_fault"},
	{"memory_limit_pct", "Memory, of the limit", "page_fault"},
	{"remote_memory_pct", "Memory on another node", "page_fault"},
	{"swap_wait_pct", "Waiting for swap", "page_fault"},
	{"gpu_idle_pct", "GPU idle", "gpu"},
	{"gpu_sync_idle_pct", "GPU idle while it is waited for", "gpu_wait"},
	{"gpu_launch_idle_pct", "GPU idle between short kernels", "gpu"},
	{"gpu_cpu_ratio", "GPU time over host time", "gpu"},
	{"copy_pct", "GPU copying", "copy"},
	{"pcie_gb_per_s", "To and from the GPU", "copy"},
};

const isc_html_metric *isc_html_metric_named(const char *name, size_t len)
{
	for (size_t i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++) {
		if (strlen(metrics[i].name) == len && memcmp(metrics[i].name, name, len) == 0)
			return &metrics[i];
	}
	return NULL;
}
