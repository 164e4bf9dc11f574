#include "cuda/collector.h"

#include <errno.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collect/gpu.h"
#include "cuda/buffers.h"
#include "cuda/calls.h"
#include "cuda/cupti.h"
#include "cuda/scopes.h"
#include "cuda/work.h"
#include "runtime/runtime.h"

#define SOURCE "CUPTI"
#define STACK_BYTES (256u << 10) /* the thread calls into CUPTI and the driver */
#define FLUSH_NS 100000000u	 /* what a killed program loses at most */
#define DELAY_LOOK_NS 10000000	 /* how often --delay is looked at */
#define END_MS 5000u		 /* that the end of the program waits for our thread */

/* Graphs as a whole, when their parts cost our thread more than its share of the budget for so long. */
#define REDUCE_AFTER_NS 2000000000u

static isc_cupti cupti;
static isc_cupti_subscriber *subscriber;
static _Atomic int state;				 /* enum isc_cuda_state */
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER; /* of start and stop; never held by our thread */
static bool clock_registered, exit_registered, is_monotonic;
static pid_t owner;
static _Atomic bool ending;
static _Atomic uint32_t asked, answered; /* times that all buffers were to be read; futexes */
static _Atomic bool running;
static bool reduced;
static bool hangs; /* our thread did not come back from CUPTI: there is no second one */

static const uint32_t kinds[] = {ISC_CUPTI_KERNEL, ISC_CUPTI_MEMCPY, ISC_CUPTI_MEMCPY2, ISC_CUPTI_MEMSET,
				 ISC_CUPTI_SYNC};

static uint64_t clock_ns(clockid_t clock)
{
	struct timespec t = {0, 0};

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

/* ---- what CUPTI calls ---- */

static uint64_t monotonic_ns(void)
{
	return clock_ns(CLOCK_MONOTONIC);
}

static void on_request(uint8_t **buffer, size_t *size, size_t *records_max)
{
	*buffer = isc_buffers_give(size);
	*records_max = 0; /* as many as fit */
}

static void on_complete(void *context, uint32_t stream, uint8_t *buffer, size_t size, size_t valid)
{
	(void)context;
	(void)stream;
	isc_buffers_take(buffer, valid < size ? valid : size);
}

static void flush(uint32_t flags)
{
	static _Atomic bool told;
	isc_cupti_result result = cupti.ActivityFlushAll(flags);

	if (result != ISC_CUPTI_OK && !atomic_exchange(&told, true))
		isc_rt_gpu_source(SOURCE, ISC_GPU_FAILED, result, 1, "cuptiActivityFlushAll");
}

/* What is on the device is gone with its context. */
static void before_reset(void)
{
	flush(ISC_CUPTI_FLUSH_ALL);
}

static isc_calls_reset *const on_reset = before_reset;

/* ---- our thread ---- */

static void disable(void)
{
	isc_scopes_end();
	/* 13.0 hangs in it; off without a subscriber they cost little. */
	if (cupti.version != ISC_CUPTI_13_0)
		for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++)
			cupti.ActivityDisable(kinds[i]);
	if (reduced)
		cupti.ActivityDisable(ISC_CUPTI_GRAPH);
	if (subscriber != NULL)
		cupti.Unsubscribe(subscriber);
	subscriber = NULL;
}

static void tell_lost(void)
{
	size_t dropped = 0;
	uint64_t lost = isc_buffers_lost();

	/* No lock of ours is held: CUPTI may be waiting for one in a callback. */
	if (cupti.ActivityGetNumDroppedRecords != NULL &&
	    cupti.ActivityGetNumDroppedRecords(NULL, 0, &dropped) == ISC_CUPTI_OK && dropped > 0)
		isc_rt_gpu_source(SOURCE, ISC_GPU_DROPPED, 0, dropped, NULL);
	if (lost > 0)
		isc_rt_gpu_source(SOURCE, ISC_GPU_FAILED, 0, lost, "no memory for buffers");
}

static void answer(uint32_t upto)
{
	atomic_store(&answered, upto);
	syscall(SYS_futex, &answered, FUTEX_WAKE_PRIVATE, INT32_MAX, NULL, NULL, 0);
}

/* More than there may be: scopes by the thread and the time of calls, which tell as much; then graphs
 * instead of their parts. */
static void reduce(uint64_t in_graphs)
{
	if (isc_scopes_on() && isc_work_stats_get()->scopes > 0) {
		isc_scopes_end();
	} else if (in_graphs > 0) {
		reduced = true;
		if (cupti.ActivityEnable(ISC_CUPTI_GRAPH) == ISC_CUPTI_OK)
			isc_rt_gpu_source(SOURCE, ISC_GPU_REDUCED, 0, 0, "CUDA graphs as a whole");
	}
}

static void watch_cost(uint64_t *since, uint64_t *cpu, uint64_t *graph_kernels)
{
	const isc_control *control = isc_rt_control();
	const isc_work_stats *stats = isc_work_stats_get();
	uint64_t now = monotonic_ns(), used;
	double share;

	if (reduced || control == NULL || control->budget_pct < 0 || now - *since < REDUCE_AFTER_NS)
		return;
	used = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	share = (double)(used - *cpu) / (double)(now - *since);
	if (share > (double)control->budget_pct / 100)
		reduce(stats->in_graphs - *graph_kernels);
	*since = now;
	*cpu = used;
	*graph_kernels = stats->in_graphs;
}

static bool is_waiting(void)
{
	const isc_control *control = isc_rt_control();

	return control != NULL && atomic_load_explicit(&control->phase, memory_order_relaxed) == ISC_PHASE_WAITING;
}

static bool is_over(void)
{
	return atomic_load(&ending) || !isc_rt_gpu_asked();
}

static void *run(void *unused)
{
	uint64_t flushed = monotonic_ns(), since = flushed, cpu = 0, graph_kernels = 0;

	(void)unused;
	prctl(PR_SET_NAME, "inferscope-gpu");
	for (;;) {
		uint32_t upto = atomic_load(&asked);
		bool over = is_over();

		isc_work_read();
		tell_lost();
		if (upto != atomic_load(&answered))
			answer(upto);
		if (over)
			break;
		isc_buffers_wait(FLUSH_NS);
		isc_scopes_settle();
		if (atomic_load(&asked) == upto && !is_over() && monotonic_ns() - flushed >= FLUSH_NS) {
			flush(0);
			flushed = monotonic_ns();
		}
		watch_cost(&since, &cpu, &graph_kernels);
	}
	atomic_store(&running, false);
	answer(atomic_load(&asked));
	/* The session is over, and nobody is ending us: off is really off. */
	if (!atomic_load(&ending) && pthread_mutex_trylock(&turn) == 0) {
		if (atomic_load(&state) == ISC_CUDA_ON)
			disable();
		atomic_store(&state, ISC_CUDA_OFF);
		pthread_mutex_unlock(&turn);
	}
	return NULL;
}

/* --delay has not passed: nothing is on before that, and what fails is told then. */
static void *wait_for_session(void *unused)
{
	const struct timespec moment = {0, DELAY_LOOK_NS};

	(void)unused;
	prctl(PR_SET_NAME, "inferscope-gpu");
	while (isc_rt_gpu_asked() && !isc_rt_gpu_wanted() && is_waiting())
		syscall(SYS_nanosleep, &moment, NULL);
	isc_cuda_start();
	return NULL;
}

static bool start_thread(void *(*body)(void *))
{
	sigset_t all, before;
	pthread_attr_t attr;
	pthread_t thread;
	bool made;

	if (pthread_attr_init(&attr) != 0)
		return false;
	pthread_attr_setstacksize(&attr, STACK_BYTES);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	made = pthread_create(&thread, &attr, body, NULL) == 0;
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	pthread_attr_destroy(&attr);
	return made;
}

/* Until our thread has read all that CUPTI gave back, and not for ever. */
static void wait_read(void)
{
	uint32_t want = atomic_fetch_add(&asked, 1) + 1;
	uint64_t until = monotonic_ns() + END_MS * 1000000ull;

	isc_buffers_wake();
	while (atomic_load(&running)) {
		uint32_t done = atomic_load(&answered);
		uint64_t now = monotonic_ns();
		struct timespec rest;

		if ((int32_t)(done - want) >= 0 || now >= until)
			return;
		rest = (struct timespec){(time_t)((until - now) / 1000000000u), (long)((until - now) % 1000000000u)};
		syscall(SYS_futex, &answered, FUTEX_WAIT_PRIVATE, done, &rest, NULL, 0);
	}
}

/* It has been told to end: the next one must not meet it. */
static bool wait_ended(void)
{
	const struct timespec moment = {0, 200000};
	uint64_t until = monotonic_ns() + END_MS * 1000000ull;

	while (atomic_load(&running) && monotonic_ns() < until)
		syscall(SYS_nanosleep, &moment, NULL);
	return !atomic_load(&running);
}

/* ---- begin and end ---- */

static int fail(enum isc_gpu_news news, uint32_t code, const char *what)
{
	isc_rt_gpu_source(SOURCE, news, code, 0, what);
	return ISC_CUDA_FAILED;
}

static void set_buffers(void)
{
	size_t size = sizeof(uint8_t);
	uint8_t zeroed = 1;

	if (cupti.ActivitySetAttribute != NULL)
		cupti.ActivitySetAttribute(ISC_CUPTI_ATTRIBUTE_ZEROED, &size, &zeroed);
	if (cupti.ActivityFlushPeriod != NULL)
		cupti.ActivityFlushPeriod(FLUSH_NS / 1000000u);
}

/* Once in a process and before anything is on: a second time the first records are wrong. */
static void set_clock(void)
{
	if (!clock_registered && cupti.ActivityRegisterTimestampCallback != NULL)
		is_monotonic = cupti.ActivityRegisterTimestampCallback(monotonic_ns) == ISC_CUPTI_OK;
	clock_registered = true;
	isc_work_begin(&cupti, is_monotonic);
}

static const char *kind_name(uint32_t kind)
{
	switch (kind) {
	case ISC_CUPTI_MEMCPY:
		return "cuptiActivityEnable: copies";
	case ISC_CUPTI_MEMCPY2:
		return "cuptiActivityEnable: copies between devices";
	case ISC_CUPTI_MEMSET:
		return "cuptiActivityEnable: memset";
	default:
		return "cuptiActivityEnable: synchronization";
	}
}

static int begin(void)
{
	const char *wrong = cupti.handle == NULL ? isc_cupti_open(&cupti) : NULL;
	isc_cupti_result result;

	if (wrong != NULL)
		return fail(ISC_GPU_ABSENT, 0, wrong);
	if (hangs)
		return fail(ISC_GPU_FAILED, 0, "cuptiActivityFlushAll");
	/* The first: whoever has subscribed keeps the others out. */
	result = cupti.Subscribe(&subscriber, isc_calls_told, (void *)(uintptr_t)&on_reset);
	if (result == ISC_CUPTI_HELD) {
		subscriber = NULL;
		return fail(ISC_GPU_BUSY, result, NULL);
	}
	if (result != ISC_CUPTI_OK) {
		subscriber = NULL;
		return fail(ISC_GPU_ABSENT, result, "cuptiSubscribe");
	}
	set_clock();
	result = cupti.ActivityRegisterCallbacks(on_request, on_complete);
	if (result != ISC_CUPTI_OK) {
		disable();
		return fail(ISC_GPU_ABSENT, result, "cuptiActivityRegisterCallbacks");
	}
	set_buffers();
	result = cupti.ActivityEnable(ISC_CUPTI_KERNEL);
	if (result != ISC_CUPTI_OK) {
		disable();
		return fail(ISC_GPU_ABSENT, result, "cuptiActivityEnable");
	}
	for (size_t i = 1; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		result = cupti.ActivityEnable(kinds[i]);
		if (result != ISC_CUPTI_OK)
			fail(ISC_GPU_FAILED, result, kind_name(kinds[i]));
	}
	if (isc_calls_enable(&cupti, subscriber) == 0)
		fail(ISC_GPU_FAILED, 0, "cuptiEnableCallback");
	atomic_store(&ending, false);
	atomic_store(&running, true);
	if (!start_thread(run)) {
		atomic_store(&running, false);
		disable();
		return fail(ISC_GPU_FAILED, (uint32_t)errno, "pthread_create");
	}
	isc_rt_gpu_source(SOURCE, ISC_GPU_STARTED, cupti.version, 0, NULL);
	isc_scopes_begin(&cupti);
	return ISC_CUDA_ON;
}

/* turn is held.  Nothing of CUPTI is used behind it. */
static void end(void)
{
	flush(ISC_CUPTI_FLUSH_ALL);
	wait_read();
	disable();
	atomic_store(&ending, true);
	isc_buffers_wake();
	hangs = !wait_ended();
	isc_rt_gpu_source(SOURCE, ISC_GPU_ENDED, 0, isc_work_stats_get()->records, NULL);
}

static bool is_ours(void)
{
	return owner == getpid();
}

/* CUDA cannot be used in a child that was forked, and what is held here may be held for ever. */
static bool is_forked(void)
{
	return owner != 0 && owner != getpid();
}

/* Before the driver's own: it was registered later. */
static void at_exit(void)
{
	if (is_ours() && atomic_load(&state) == ISC_CUDA_ON)
		isc_cuda_stop();
}

int isc_cuda_start(void)
{
	int now;

	if (isc_rt_abi() != ISC_RT_ABI || !isc_rt_gpu_asked() || is_forked())
		return ISC_CUDA_OFF;
	if (!isc_rt_gpu_wanted()) {
		/* Not now; or this process is not followed, and that is never. */
		if (is_waiting())
			start_thread(wait_for_session);
		return ISC_CUDA_OFF;
	}
	pthread_mutex_lock(&turn);
	if (atomic_load(&state) != ISC_CUDA_ON) {
		owner = getpid();
		atomic_store(&state, begin());
		if (!exit_registered && atomic_load(&state) == ISC_CUDA_ON)
			exit_registered = atexit(at_exit) == 0;
		isc_rt_gpu_rival(isc_cuda_give_way);
	}
	now = atomic_load(&state);
	pthread_mutex_unlock(&turn);
	return now;
}

void isc_cuda_stop(void)
{
	if (is_forked())
		return;
	pthread_mutex_lock(&turn);
	if (is_ours() && atomic_load(&state) == ISC_CUDA_ON) {
		end();
		atomic_store(&state, ISC_CUDA_OFF);
	}
	pthread_mutex_unlock(&turn);
}

void isc_cuda_flush(void)
{
	if (!is_ours() || atomic_load(&state) != ISC_CUDA_ON)
		return;
	flush(ISC_CUPTI_FLUSH_ALL);
	wait_read();
}

void isc_cuda_give_way(void)
{
	if (is_forked())
		return;
	pthread_mutex_lock(&turn);
	if (is_ours() && atomic_load(&state) == ISC_CUDA_ON) {
		end();
		isc_rt_gpu_source(SOURCE, ISC_GPU_BUSY, 0, isc_work_stats_get()->records, "the program's own profiler");
		atomic_store(&state, ISC_CUDA_GAVE_WAY);
	}
	pthread_mutex_unlock(&turn);
}

int InitializeInjection(void)
{
	isc_cuda_start();
	return 1;
}
