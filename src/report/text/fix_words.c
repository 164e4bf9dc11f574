/*
 * fix_words.c - the remedies: their ids, and what to say of each.
 */
#include "report/text/fix_words.h"

#include <string.h>

static const isc_fix_words fixes[ISC_FIXES] = {
	[ISC_FIX_MOVE_PYTHON_WORK] = {"move_python_work", "Take Python work off the threads that hold the GIL",
				      "running that work in another process, or in code that releases the GIL",
				      "run with only this thread's work: the wait must be gone"},
	[ISC_FIX_SHORTEN_LOCK] = {"shorten_lock", "Hold the lock for less, or split it",
				  "holding the lock only for what needs it, or one lock for each piece of data",
				  "count the waits again with the work moved out of the lock"},
	[ISC_FIX_FEWER_THREADS] =
		{"fewer_threads", "Run fewer threads at once",
		 "as many busy threads as there are CPUs (OMP_NUM_THREADS, torch.set_num_threads(), a smaller pool)",
		 "halve the number of threads, and measure again"},
	[ISC_FIX_RAISE_CPU_LIMIT] = {"raise_cpu_limit", "Raise the CPU limit of the container, or use fewer threads",
				     "a higher CPU limit, or fewer threads at once",
				     "compare nr_throttled in the group's cpu.stat before and after"},
	[ISC_FIX_SLEEPING_WAITS] = {"sleeping_waits", "Let waiting threads sleep",
				    "fewer threads in the pool, or waiting without a CPU (OMP_WAIT_POLICY=passive)",
				    "set OMP_NUM_THREADS to the number of cores that are free, and measure again"},
	[ISC_FIX_CHEAPER_FUNCTION] =
		{"cheaper_function", "Make this function cheaper, or call it less",
		 "doing less in it, keeping its results, or moving it into native code (numpy, a C extension)",
		 "let it return a result that is prepared beforehand, and measure again"},
	[ISC_FIX_MAKE_ONCE] = {"make_once", "Make it once, and keep it",
			       "making it once, before the first request, and keeping it",
			       "run with one that is made beforehand: the time must be gone"},
	[ISC_FIX_MOVE_STAGE] = {"move_stage", "Move this stage out of the way, or into native code",
				"a native implementation of this stage (such as a fast tokeniser), or doing it "
				"beforehand or in another process",
				"run with the results of this stage prepared beforehand"},
	[ISC_FIX_LEAVE_EVENT_LOOP] =
		{"leave_event_loop", "Take synchronous code out of the event loop",
		 "await asyncio.to_thread() or an asynchronous library for it",
		 "run with loop.slow_callback_duration = 0.01 and asyncio's debug mode: it names the same call"},
	[ISC_FIX_MORE_WORKERS] = {"more_workers", "Give the pool more workers, or less to do",
				  "more workers, if they wait, or shorter work for each",
				  "double max_workers, and measure again"},
	[ISC_FIX_LOG_LESS] = {"log_less", "Log less, or in the background",
			      "a higher level, fewer messages, or a QueueHandler", "run once with logging.disable()"},
	[ISC_FIX_READ_AHEAD] = {"read_ahead", "Read ahead, or in the background",
				"reading ahead in another thread, caching, or fewer and larger reads",
				"run again with the data in memory (a warm cache, a RAM disk)"},
	[ISC_FIX_AWAIT_EVENT] = {"await_event", "Wait for the event instead of sleeping",
				 "waiting for what is awaited (a queue, an event, a future) instead of sleeping",
				 "halve the time that it sleeps, and see whether the latency follows"},
	[ISC_FIX_COLLECT_LESS] =
		{"collect_less", "Let garbage be collected less often",
		 "gc.freeze() after loading, a higher gc.set_threshold(), or fewer objects that refer to each other",
		 "run once with gc.disable()"},
	[ISC_FIX_LARGER_TRANSFERS] = {"larger_transfers", "Make fewer, larger reads and writes",
				      "buffering what is read and written in small pieces",
				      "count the calls again with a buffer of 64 KiB"},
	[ISC_FIX_KEEP_BUFFERS] =
		{"keep_buffers", "Keep buffers instead of allocating them again",
		 "buffers that are kept and used again, or an allocator that does (MALLOC_TRIM_THRESHOLD_, jemalloc)",
		 "run with MALLOC_MMAP_THRESHOLD_=4294967296 MALLOC_TRIM_THRESHOLD_=4294967296"},
	[ISC_FIX_STAY_RESIDENT] = {"stay_resident", "Keep the memory that is used in memory",
				   "touching the data before it is needed, more memory, or no swap",
				   "run a second time with everything in memory: the waits must be gone"},
	[ISC_FIX_LEAVE_SWAP] = {"leave_swap", "Keep the program out of swap",
				"more memory, smaller batches or fewer workers, or no swap (swapoff, memory.swap.max)",
				"run with memory.swap.max=0, or with half the batch size: the waits must be gone"},
	[ISC_FIX_STAY_ON_NODE] = {"stay_on_node", "Keep memory on the node that uses it",
				  "running the program on one node (numactl --cpunodebind=N --membind=N), or touching "
				  "memory first where it is used",
				  "run with numactl --cpunodebind=0 --membind=0, and measure again"},
	[ISC_FIX_MORE_MEMORY] = {"more_memory", "Give the program more memory, or let it use less",
				 "a higher memory limit of the container, smaller batches, or fewer workers",
				 "compare memory.pressure of the group before and after"},
	[ISC_FIX_RAISE_MEMORY_LIMIT] =
		{"raise_memory_limit", "Raise the memory limit, or let the program use less",
		 "a higher memory limit of the container, smaller batches, or fewer workers",
		 "run with a limit that is a quarter higher: memory.events and the latency tell whether it mattered"},
	[ISC_FIX_FEED_GPU] = {"feed_gpu", "Give the GPU work sooner",
			      "work that is asked for early enough (larger batches, preparing the next batch "
			      "meanwhile, CUDA graphs)",
			      "run the same with inputs that are prepared beforehand: the GPU must be busy"},
	[ISC_FIX_FEWER_GPU_WAITS] = {"fewer_gpu_waits", "Wait for the GPU less often",
				     "leaving out the waits (item(), cpu(), synchronize()) that are not needed",
				     "take out one wait at a time and compare"},
	[ISC_FIX_FEWER_LAUNCHES] = {"fewer_launches", "Launch fewer kernels",
				    "fewer and larger kernels (CUDA graphs, torch.compile, larger batches)",
				    "double the batch size: if the time stays, launches are what limits"},
	[ISC_FIX_LESS_GPU_WORK] = {"less_gpu_work", "Make the GPU's work smaller",
				   "less or cheaper work on the GPU (lower precision, fused kernels, a smaller model)",
				   "halve the batch size: the time must halve too"},
	[ISC_FIX_COPY_LESS] = {"copy_less", "Copy less between host and GPU",
			       "keeping data on the GPU, pinned memory, and copies that run beside kernels",
			       "run with the inputs already on the GPU"},
	[ISC_FIX_SEND_LESS] = {"send_less", "Send less over the bus",
			       "sending less (smaller types, compressed or kept on the GPU)",
			       "measure with half the input size"},
	[ISC_FIX_RELEASE_MEMORY] = {"release_memory", "Find out whether what grows here is needed", "",
				    "run for twice as long; what is held must not double"},
};

const isc_fix_words *isc_fix_words_of(enum isc_fix fix)
{
	return fixes[fix].id != NULL ? &fixes[fix] : NULL;
}

enum isc_fix isc_fix_named(const char *id)
{
	for (int fix = ISC_FIX_NONE; id != NULL && fix < ISC_FIXES; fix++) {
		if (fixes[fix].id != NULL && strcmp(fixes[fix].id, id) == 0)
			return (enum isc_fix)fix;
	}
	return ISC_FIX_NONE;
}
