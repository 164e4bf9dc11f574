/*
 * rules.c - the rules that are built in, and the metrics that rules can be about.
 * docs/rules.md explains each; a file of rules may change every number here.
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
	&isc_metric_swap,      &isc_metric_limit,
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

/* Shares are of time that the program itself can win back, so 10% is worth a word; a weight above
 * 1 lets a special cause win over a general one that it is part of. */
static const isc_rule built_in[] = {
	{"gil_contention", &isc_metric_gil, 10, 1, ISC_BOUND_CPU, "Take Python work off the threads that hold the GIL",
	 "running that work in another process, or in code that releases the GIL",
	 "run with only this thread's work: the wait must be gone", false},
	{"lock_contention", &isc_metric_lock, 10, 1, ISC_BOUND_CPU, "Hold the lock for less, or split it",
	 "holding the lock only for what needs it, or one lock for each piece of data",
	 "count the waits again with the work moved out of the lock", false},
	{"oversubscription", &isc_metric_run_queue, 10, 1, ISC_BOUND_CPU, "Run fewer threads at once",
	 "as many busy threads as there are CPUs (OMP_NUM_THREADS, torch.set_num_threads(), a smaller pool)",
	 "halve the number of threads, and measure again", false},
	{"cpu_throttled", &isc_metric_throttled, 5, 1, ISC_BOUND_CPU,
	 "Raise the CPU limit of the container, or use fewer threads", "a higher CPU limit, or fewer threads at once",
	 "compare nr_throttled in the group's cpu.stat before and after", false},
	{"spinning", &isc_metric_spin, 10, 1, ISC_BOUND_CPU, "Let waiting threads sleep",
	 "fewer threads in the pool, or waiting without a CPU (OMP_WAIT_POLICY=passive)",
	 "set OMP_NUM_THREADS to the number of cores that are free, and measure again", false},
	{"hot_function", &isc_metric_hot, 30, 1, ISC_BOUND_CPU, "Make this function cheaper, or call it less",
	 "doing less in it, keeping its results, or moving it into native code (numpy, a C extension)",
	 "let it return a result that is prepared beforehand, and measure again", false},
	{"slow_stage", &isc_metric_stage, 40, 1, ISC_BOUND_CPU, "Move this stage out of the way, or into native code",
	 "a native implementation of this stage (such as a fast tokeniser), or doing it beforehand or in another "
	 "process",
	 "run with the results of this stage prepared beforehand", false},
	{"event_loop_blocked", &isc_metric_loop, 10, 1.5, ISC_BOUND_CPU, "Take synchronous code out of the event loop",
	 "await asyncio.to_thread() or an asynchronous library for it",
	 "run with loop.slow_callback_duration = 0.01 and asyncio's debug mode: it names the same call", false},
	{"pool_saturated", &isc_metric_pool, 20, 1, ISC_BOUND_CPU, "Give the pool more workers, or less to do",
	 "more workers, if they wait, or shorter work for each", "double max_workers, and measure again", false},
	{"logging", &isc_metric_logging, 10, 1.5, ISC_BOUND_CPU, "Log less, or in the background",
	 "a higher level, fewer messages, or a QueueHandler", "run once with logging.disable()", false},
	{"io_wait", &isc_metric_io, 15, 1, ISC_BOUND_CPU, "Read ahead, or in the background",
	 "reading ahead in another thread, caching, or fewer and larger reads",
	 "run again with the data in memory (a warm cache, a RAM disk)", false},
	{"sleeping", &isc_metric_sleep, 10, 1, ISC_BOUND_CPU, "Wait for the event instead of sleeping",
	 "waiting for what is awaited (a queue, an event, a future) instead of sleeping",
	 "halve the time that it sleeps, and see whether the latency follows", false},
	{"gc_pauses", &isc_metric_gc, 5, 1, ISC_BOUND_MEMORY, "Let garbage be collected less often",
	 "gc.freeze() after loading, a higher gc.set_threshold(), or fewer objects that refer to each other",
	 "run once with gc.disable()", false},
	{"chatty_syscalls", &isc_metric_syscall, 10, 2, ISC_BOUND_CPU, "Make fewer, larger reads and writes",
	 "buffering what is read and written in small pieces", "count the calls again with a buffer of 64 KiB", false},
	{"memory_churn", &isc_metric_memory, 10, 1, ISC_BOUND_MEMORY, "Keep buffers instead of allocating them again",
	 "buffers that are kept and used again, or an allocator that does (MALLOC_TRIM_THRESHOLD_, jemalloc)",
	 "run with MALLOC_MMAP_THRESHOLD_=4294967296 MALLOC_TRIM_THRESHOLD_=4294967296", false},
	{"page_faults", &isc_metric_page_fault, 5, 1, ISC_BOUND_MEMORY, "Keep the memory that is used in memory",
	 "touching the data before it is needed, more memory, or no swap",
	 "run a second time with everything in memory: the waits must be gone", false},
	{"swapping", &isc_metric_swap, 5, 1.5, ISC_BOUND_MEMORY, "Keep the program out of swap",
	 "more memory, smaller batches or fewer workers, or no swap (swapoff, memory.swap.max)",
	 "run with memory.swap.max=0, or with half the batch size: the waits must be gone", false},
	{"remote_memory", &isc_metric_remote, 25, 0.5, ISC_BOUND_MEMORY, "Keep memory on the node that uses it",
	 "running the program on one node (numactl --cpunodebind=N --membind=N), or touching memory first where it is "
	 "used",
	 "run with numactl --cpunodebind=0 --membind=0, and measure again", false},
	{"memory_pressure", &isc_metric_pressure, 10, 1, ISC_BOUND_MEMORY,
	 "Give the program more memory, or let it use less",
	 "a higher memory limit of the container, smaller batches, or fewer workers",
	 "compare memory.pressure of the group before and after", false},
	{"memory_near_limit", &isc_metric_limit, 90, 1, ISC_BOUND_MEMORY,
	 "Raise the memory limit, or let the program use less",
	 "a higher memory limit of the container, smaller batches, or fewer workers",
	 "run with a limit that is a quarter higher: memory.events and the latency tell whether it mattered", false},
	{"gpu_idle", &isc_metric_gpu_idle, 10, 1, ISC_BOUND_CPU, "Give the GPU work sooner",
	 "work that is asked for early enough (larger batches, preparing the next batch meanwhile, CUDA graphs)",
	 "run the same with inputs that are prepared beforehand: the GPU must be busy", false},
	{"gpu_sync", &isc_metric_gpu_sync, 10, 1.5, ISC_BOUND_CPU, "Wait for the GPU less often",
	 "leaving out the waits (item(), cpu(), synchronize()) that are not needed",
	 "take out one wait at a time and compare", false},
	{"launch_bound", &isc_metric_gpu_launch, 10, 1.5, ISC_BOUND_CPU, "Launch fewer kernels",
	 "fewer and larger kernels (CUDA graphs, torch.compile, larger batches)",
	 "double the batch size: if the time stays, launches are what limits", false},
	{"gpu_bound", &isc_metric_gpu_ratio, 2, 1, ISC_BOUND_GPU, "Make the GPU's work smaller",
	 "less or cheaper work on the GPU (lower precision, fused kernels, a smaller model)",
	 "halve the batch size: the time must halve too", false},
	{"copy_bound", &isc_metric_copy, 20, 2, ISC_BOUND_MEMORY, "Copy less between host and GPU",
	 "keeping data on the GPU, pinned memory, and copies that run beside kernels",
	 "run with the inputs already on the GPU", false},
	{"pcie_saturated", &isc_metric_pcie, 10, 2, ISC_BOUND_MEMORY, "Send less over the bus",
	 "sending less (smaller types, compressed or kept on the GPU)", "measure with half the input size", false},
};
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
