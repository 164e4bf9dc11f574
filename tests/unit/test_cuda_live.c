/*
 * cuda_live: the collector of CUDA at work on the double: threads launch and enter scopes, CUPTI calls back on
 * them, our own thread reads.  The runtime is made up here, and counts.  Under the thread sanitizer this is
 * where callbacks would be seen to race.
 */
#include <dlfcn.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include <cmocka.h>

#include "collect/gpu.h"
#include "cuda/collector.h"
#include "runtime/runtime.h"

#define THREADS 3
#define LAUNCHES 4000

/* ---- the runtime, as far as the collector calls it ---- */

static _Atomic uint64_t calls, kernels, correlations, worked, scopes, wrong_scopes, failures, ended;
static _Atomic(const isc_scope_watch *) watch;

uint32_t isc_rt_abi(void)
{
	return ISC_RT_ABI;
}

bool isc_rt_gpu_asked(void)
{
	return true;
}

bool isc_rt_gpu_wanted(void)
{
	return true;
}

const isc_control *isc_rt_control(void)
{
	return NULL;
}

void isc_rt_gpu_rival(void (*come)(void))
{
	(void)come;
}

uint32_t isc_rt_flush_ask(bool forget)
{
	(void)forget;
	return 1;
}

bool isc_rt_flush_wait(uint32_t asked, uint32_t patience_ms)
{
	(void)asked;
	(void)patience_ms;
	return true;
}

uint32_t isc_rt_intern(uint16_t type, const void *data, size_t len)
{
	(void)data;
	return type + (uint32_t)len;
}

uint32_t isc_rt_name(const char *text, size_t len)
{
	(void)text;
	return 1 + (uint32_t)len;
}

uint32_t isc_rt_gpu_device(uint32_t number, enum isc_gpu_api api, uint32_t traits, const char *name, size_t len)
{
	(void)api;
	(void)traits;
	(void)name;
	(void)len;
	return 77 + number;
}

bool isc_rt_gpu_enter(isc_rt_gpu_spot *spot)
{
	*spot = (isc_rt_gpu_spot){.ticks = 1};
	return true;
}

void isc_rt_gpu_leave(const isc_rt_gpu_spot *spot, uint32_t name, enum isc_gpu_role role, bool holds,
		      const isc_gpu_called *call)
{
	(void)name;
	(void)holds;
	assert_int_equal(spot->ticks, 1);
	if (role != ISC_ROLE_LAUNCH)
		return;
	atomic_fetch_add(&calls, 1);
	atomic_fetch_add(&correlations, call->correlation);
}

void isc_rt_gpu_work(uint32_t name, uint16_t arg, const isc_gpu_work *work)
{
	(void)name;
	if (ISC_GPU_ARG_WHAT(arg) != ISC_JOB_KERNEL)
		return;
	atomic_fetch_add(&kernels, 1);
	atomic_fetch_add(&worked, work->correlation);
}

/* Each thread has one name, and an instance that begins with it. */
void isc_rt_gpu_scope(uint32_t name, uint64_t correlation, uint64_t instance)
{
	atomic_fetch_add(&scopes, 1);
	atomic_fetch_add(&wrong_scopes,
			 correlation == 0 || name < 500 || name >= 500 + THREADS || instance / 100000 != name);
}

void isc_rt_scope_watch(const isc_scope_watch *who)
{
	atomic_store(&watch, who);
}

void isc_rt_gpu_source(const char *source, enum isc_gpu_news news, uint32_t code, uint64_t count, const char *detail)
{
	(void)source;
	(void)code;
	(void)count;
	(void)detail;
	atomic_fetch_add(&failures, news != ISC_GPU_STARTED && news != ISC_GPU_ENDED);
	atomic_fetch_add(&ended, news == ISC_GPU_ENDED);
}

/* ---- the program ---- */

typedef struct dim3 {
	unsigned x, y, z;
} dim3;
static unsigned (*launch)(const void *f, dim3 grid, dim3 block, void **args, size_t shared, void *stream);
static unsigned (*synchronize)(void);

static void scope(bool enters, uint32_t name, uint64_t instance)
{
	const isc_scope_watch *w = atomic_load(&watch);

	if (w != NULL)
		(enters ? w->enter : w->leave)(name, instance);
}

static void *program(void *number)
{
	uint32_t name = 500 + (uint32_t)(uintptr_t)number;
	const dim3 one = {1, 1, 1};

	for (uint64_t i = 0; i < LAUNCHES; i++) {
		uint64_t instance = name * 100000ull + i;

		scope(true, name, instance);
		assert_int_equal(launch(number, one, one, NULL, 0, NULL), 0);
		scope(false, name, instance);
		if (i % 500 == 499)
			synchronize();
	}
	return NULL;
}

static void run_threads(void)
{
	pthread_t thread[THREADS];

	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, program, (void *)i), 0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
}

static void all_that_threads_launch_is_read_while_they_do(void **state)
{
	(void)state;
	/* Twice: a collector can be started again. */
	for (uint64_t turn = 1; turn <= 2; turn++) {
		assert_int_equal(isc_cuda_start(), ISC_CUDA_ON);
		run_threads();
		isc_cuda_flush();
		isc_cuda_stop();
		assert_int_equal(calls, turn * THREADS * LAUNCHES);
		assert_int_equal(kernels, turn * THREADS * LAUNCHES);
		assert_int_equal(worked, correlations);
		assert_int_equal(ended, turn);
	}
	assert_true(scopes > THREADS * LAUNCHES / 4);
	assert_int_equal(wrong_scopes, 0);
	assert_int_equal(failures, 0);
}

/* Stop comes from another thread, in the middle of everything. */
static void the_end_may_come_while_threads_launch(void **state)
{
	const struct timespec moment = {0, 3000000};
	pthread_t thread[THREADS];

	(void)state;
	assert_int_equal(isc_cuda_start(), ISC_CUDA_ON);
	for (uintptr_t i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&thread[i], NULL, program, (void *)i), 0);
	for (int i = 0; i < 5; i++) {
		nanosleep(&moment, NULL);
		isc_cuda_stop();
		nanosleep(&moment, NULL);
		assert_int_equal(isc_cuda_start(), ISC_CUDA_ON);
	}
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	isc_cuda_stop();
	assert_int_equal(wrong_scopes, 0);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_that_threads_launch_is_read_while_they_do),
		cmocka_unit_test(the_end_may_come_while_threads_launch),
	};
	void *cuda;

	/* One file is CUDA and CUPTI. */
	setenv("CUDA_DOUBLE", "launch_us=0;kernel_us=1", 1);
	setenv("INFERSCOPE_CUPTI", argc > 1 ? argv[1] : "", 1);
	cuda = dlopen(argc > 1 ? argv[1] : "libcudart.so", RTLD_NOW);
	if (cuda == NULL)
		return 2;
	launch = (__typeof__(launch))dlsym(cuda, "cudaLaunchKernel");
	synchronize = (__typeof__(synchronize))dlsym(cuda, "cudaDeviceSynchronize");
	return cmocka_run_group_tests_name("cuda_live", tests, NULL, NULL);
}
