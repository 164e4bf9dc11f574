/*
 * rules.c - the rules that are built in, and the metrics that rules can be about.
 * docs/rules.md explains each; a file of rules may change every number here.  The words are the reports'.
 */
#include <string.h>

#include "analyze/rules/rule.h"

const char *isc_bound_name(enum isc_bound bound)
{
	static const char *const names[] = {"unknown", "balanced", "cpu_bound", "gpu_bound", "memory_bound"};

	return names[bound];
}

static const isc_metric *const metrics[] = {
	&isc_metric_gil,       &isc_metric_lock,     &isc_metric_io,	     &isc_metric_sleep,
	&isc_metric_gc,	       &isc_metric_syscall,  &isc_metric_spin,	     &isc_metric_page_fault,
	&isc_metric_throttled, &isc_metric_memory,   &isc_metric_run_queue,  &isc_metric_hot,
	&isc_metric_stage,     &isc_metric_logging,  &isc_metric_loop,	     &isc_metric_pool,
	&isc_metric_gpu_idle,  &isc_metric_gpu_sync, &isc_metric_gpu_launch, &isc_metric_gpu_ratio,
	&isc_metric_copy,      &isc_metric_pcie,     &isc_metric_pressure,   &isc_metric_remote,
	&isc_metric_swap,      &isc_metric_limit,    &isc_metric_path,	     &isc_metric_downstream,
	&isc_metric_native,
};

const isc_metric *isc_metric_at(size_t i)
{
	return i < sizeof(metrics) / sizeof(metrics[0]) ? metrics[i] : NULL;
}

const isc_metric *isc_metric_named(const char *name)
{
	for (size_t i = 0; i < sizeof(metrics) / sizeof(metrics[0]); i++) {
		if (strcmp(metrics[i]->name, name) == 0)
			return metrics[i];
	}
	return NULL;
}

/* What follows is set too: one that is general says who takes the time, and others that say why go before it. */
#define RULE(name, of, above, times, class, is, todo, ...) \
	{.id = (name), \
	 .metric = &isc_metric_##of, \
	 .threshold = (above), \
	 .weight = (times), \
	 .bound = ISC_BOUND_##class, \
	 .kind = ISC_CLAIM_##is, \
	 .fix = ISC_FIX_##todo, \
	 __VA_ARGS__}

/* Shares are of time that the program itself can win back, so 10% is worth a word; a weight above
 * 1 lets a special cause win over a general one that it is part of. */
static const isc_rule built_in[] = {
	RULE("gil_contention", gil, 15, 1, CPU, FAULT, MOVE_PYTHON_WORK),
	RULE("lock_contention", lock, 10, 1, CPU, FAULT, SHORTEN_LOCK),
	RULE("oversubscription", run_queue, 10, 1, CPU, FAULT, FEWER_THREADS),
	RULE("cpu_throttled", throttled, 5, 1, CPU, FAULT, RAISE_CPU_LIMIT),
	RULE("spinning", spin, 10, 1, CPU, FAULT, SLEEPING_WAITS),
	RULE("hot_function", hot, 40, 1, CPU, FAULT, CHEAPER_FUNCTION, .general = true),
	RULE("hot_path", path, 20, 0.25, CPU, FAULT, CHEAPER_FUNCTION, .general = true),
	RULE("slow_stage", stage, 40, 1, CPU, FAULT, MOVE_STAGE, .general = true),
	RULE("event_loop_blocked", loop, 10, 1.5, CPU, FAULT, LEAVE_EVENT_LOOP),
	RULE("pool_saturated", pool, 20, 1, CPU, FAULT, MORE_WORKERS),
	RULE("logging", logging, 10, 1.5, CPU, FAULT, LOG_LESS),
	RULE("io_wait", io, 15, 1, CPU, FAULT, READ_AHEAD),
	RULE("sleeping", sleep, 10, 1, CPU, FAULT, AWAIT_EVENT),
	RULE("gc_pauses", gc, 5, 1, MEMORY, FAULT, COLLECT_LESS),
	RULE("chatty_syscalls", syscall, 10, 2, CPU, FAULT, LARGER_TRANSFERS),
	RULE("memory_churn", memory, 10, 1, MEMORY, FAULT, KEEP_BUFFERS),
	RULE("page_faults", page_fault, 5, 1, MEMORY, FAULT, STAY_RESIDENT),
	RULE("swapping", swap, 5, 1.5, MEMORY, FAULT, LEAVE_SWAP),
	RULE("remote_memory", remote, 25, 0.5, MEMORY, FAULT, STAY_ON_NODE),
	RULE("memory_pressure", pressure, 10, 1, MEMORY, FAULT, MORE_MEMORY),
	RULE("memory_near_limit", limit, 90, 1, MEMORY, FAULT, RAISE_MEMORY_LIMIT),
	RULE("downstream", downstream, 25, 1, CPU, LIMIT, NONE),
	RULE("native_compute", native, 25, 1, CPU, LIMIT, NONE),
	RULE("gpu_idle", gpu_idle, 10, 1, CPU, FAULT, FEED_GPU),
	RULE("gpu_sync", gpu_sync, 10, 1.5, CPU, FAULT, FEWER_GPU_WAITS),
	RULE("launch_bound", gpu_launch, 10, 1.5, CPU, FAULT, FEWER_LAUNCHES),
	RULE("gpu_bound", gpu_ratio, 2, 1, GPU, LIMIT, LESS_GPU_WORK),
	RULE("copy_bound", copy, 20, 2, MEMORY, FAULT, COPY_LESS),
	RULE("pcie_saturated", pcie, 10, 2, MEMORY, FAULT, SEND_LESS),
};
#undef RULE
_Static_assert(sizeof(built_in) / sizeof(built_in[0]) <= ISC_RULES_MAX, "room for rules");

void isc_rules_init(isc_rules *rules)
{
	*rules = (isc_rules){.count = sizeof(built_in) / sizeof(built_in[0])};
	memcpy(rules->rule, built_in, sizeof(built_in));
}

void isc_rules_fini(isc_rules *rules)
{
	isc_arena_free(rules->arena);
	rules->arena = NULL;
	rules->count = 0;
}

isc_rule *isc_rules_find(isc_rules *rules, const char *id)
{
	for (size_t i = 0; i < rules->count; i++) {
		if (strcmp(rules->rule[i].id, id) == 0)
			return &rules->rule[i];
	}
	return NULL;
}
