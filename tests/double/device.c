#include "double.h"

#include <dlfcn.h>
#include <math.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_US 1000.0

__thread int device_now;

static pthread_mutex_t queue_lock = PTHREAD_MUTEX_INITIALIZER, truth_lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t free_at[DEVICES_MAX][STREAMS_MAX];
static uint64_t born_ns;
static FILE *truth;
static _Atomic uint32_t correlations;

static uint64_t read_clock(clockid_t clock)
{
	struct timespec t;

	clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

uint64_t host_ns(void)
{
	return read_clock(CLOCK_MONOTONIC);
}

int64_t real_ahead_ns(void)
{
	static _Atomic int64_t ahead;

	/* Once: between two readings the thread may be stopped. */
	if (ahead == 0)
		ahead = (int64_t)(read_clock(CLOCK_REALTIME) - host_ns());
	return ahead;
}

uint64_t stamp_ns(int device, uint64_t host)
{
	double since = (double)(int64_t)(host - born_ns), error;

	error = scripted.offset_us[device] * NS_PER_US + since * scripted.drift_ppm[device] * 1e-6 +
		scripted.wander_us[device] * NS_PER_US * sin(since * 1e-9 / scripted.wander_s * 2 * M_PI);
	if (scripted.step_us != 0 && since >= scripted.step_at_ms * 1e6)
		error += scripted.step_us * NS_PER_US;
	if (!cupti_has_clock())
		error += (double)real_ahead_ns();
	return host + (uint64_t)(int64_t)error;
}

void device_queue(int device, int stream, uint64_t dur_ns, uint64_t *start, uint64_t *end)
{
	uint64_t begin = host_ns() + (uint64_t)(scripted.launch_us * NS_PER_US), *free_ns;

	pthread_mutex_lock(&queue_lock);
	free_ns = &free_at[device][stream];
	*start = begin > *free_ns ? begin : *free_ns;
	*end = *free_ns = *start + dur_ns;
	pthread_mutex_unlock(&queue_lock);
}

uint64_t device_free_at(int device, int stream)
{
	uint64_t most = 0;

	pthread_mutex_lock(&queue_lock);
	for (int s = 0; s < STREAMS_MAX; s++)
		if ((stream < 0 || s == stream) && free_at[device][s] > most)
			most = free_at[device][s];
	pthread_mutex_unlock(&queue_lock);
	return most;
}

void device_hold(int device, int stream, uint64_t until)
{
	pthread_mutex_lock(&queue_lock);
	if (free_at[device][stream] < until)
		free_at[device][stream] = until;
	pthread_mutex_unlock(&queue_lock);
}

/* To the microsecond: sleeps, and spins the rest. */
void device_wait(uint64_t until)
{
	for (;;) {
		int64_t left = (int64_t)(until - host_ns());
		struct timespec t = {left / 1000000000, left % 1000000000};

		if (left <= 0)
			return;
		if (left > 200000) {
			t.tv_nsec -= t.tv_nsec > 100000 ? 100000 : 0;
			nanosleep(&t, NULL);
		}
	}
}

/* "gemm_50us" takes 50 us. */
double kernel_ns_of(const char *name)
{
	size_t len = strlen(name), n = len > 2 && strcmp(name + len - 2, "us") == 0 ? len - 2 : 0;
	size_t digits = n;

	while (digits > 0 && ((name[digits - 1] >= '0' && name[digits - 1] <= '9')))
		digits--;
	if (digits == n || digits == 0 || name[digits - 1] != '_')
		return scripted.kernel_us * NS_PER_US;
	return strtod(name + digits, NULL) * NS_PER_US;
}

/* ---- what is true ---- */

void truth_note(const char *format, ...)
{
	va_list args;

	if (truth == NULL)
		return;
	pthread_mutex_lock(&truth_lock);
	va_start(args, format);
	vfprintf(truth, format, args);
	va_end(args);
	pthread_mutex_unlock(&truth_lock);
}

void truth_tell(const work *w)
{
	static const char *const copies[] = {[ISC_CUPTI_H2D] = "h2d", [ISC_CUPTI_D2H] = "d2h", [ISC_CUPTI_D2D] = "d2d"};
	const char *kind = w->kind == ISC_CUPTI_KERNEL	 ? "kernel"
			   : w->kind == ISC_CUPTI_MEMSET ? "memset"
			   : w->kind == ISC_CUPTI_SYNC	 ? "sync"
			   : w->kind == ISC_CUPTI_GRAPH	 ? "graph"
			   : w->copy == ISC_CUPTI_P2P	 ? "p2p"
							 : copies[w->copy];

	truth_note("%s %d %d %u %llu %llu %llu %llu %s\n", kind, w->device, w->stream, w->correlation,
		   (unsigned long long)w->called, (unsigned long long)w->start, (unsigned long long)w->end,
		   (unsigned long long)w->bytes, w->name != NULL ? w->name : "-");
}

static void finish(void)
{
	if (truth != NULL)
		fclose(truth);
	truth = NULL;
}

/* ---- the machine ---- */

static void inject(void)
{
	const char *path = getenv("CUDA_INJECTION64_PATH");
	void *library = path != NULL ? dlopen(path, RTLD_NOW | RTLD_LOCAL) : NULL;
	int (*start)(void);

	if (path == NULL)
		return;
	if (library == NULL) {
		truth_note("note injection failed: %s\n", dlerror());
		return;
	}
	start = (int (*)(void))dlsym(library, "InitializeInjection");
	if (start != NULL)
		truth_note("note injection %d\n", start());
}

static void start(void)
{
	born_ns = host_ns();
	if (scripted.truth[0] != '\0') {
		/* One file for each process. */
		char path[600];

		snprintf(path, sizeof(path), "%s.%d", scripted.truth, (int)getpid());
		truth = fopen(path, "we");
		if (truth == NULL)
			abort();
		setlinebuf(truth); /* programs may end without an exit */
		atexit(finish);
	}
	inject();
}

void machine_start(void)
{
	static pthread_once_t once = PTHREAD_ONCE_INIT;

	pthread_once(&once, start);
}

/* ---- calls ---- */

void call_begin(call *c, uint32_t domain, uint32_t number, const char *name, const void *parameters)
{
	machine_start();
	*c = (call){.domain = domain, .number = number, .name = name, .parameters = parameters};
	c->correlation = atomic_fetch_add(&correlations, 1) + 1;
	c->began = host_ns();
	cupti_call(domain, number, ISC_CUPTI_ENTER, c, NULL);
	if (scripted.call_us > 0) {
		uint64_t until = host_ns() + (uint64_t)(scripted.call_us * NS_PER_US);

		while (host_ns() < until)
			;
	}
}

uint32_t call_end(call *c, uint32_t result)
{
	external_called(c);
	cupti_call(c->domain, c->number, ISC_CUPTI_EXIT, c, &result);
	return result;
}

void call_work(const call *c, work *w)
{
	double ns =
		w->kind == ISC_CUPTI_KERNEL ? kernel_ns_of(w->name) : (double)w->bytes / scripted.gbps + 2 * NS_PER_US;

	w->correlation = c->correlation;
	w->called = c->began;
	device_queue(w->device, w->stream, (uint64_t)ns, &w->start, &w->end);
	truth_tell(w);
	cupti_work(w);
}

void call_sync(const call *c, uint32_t type, int stream)
{
	call_sync_until(c, type, stream, device_free_at(device_now, stream));
}

void call_sync_until(const call *c, uint32_t type, int stream, uint64_t until)
{
	work w = {.kind = ISC_CUPTI_SYNC, .device = device_now, .stream = stream, .sync_type = type};

	w.correlation = c->correlation;
	w.called = c->began;
	w.start = host_ns();
	device_wait(until);
	w.end = host_ns();
	truth_tell(&w);
	/* 13.0 has no record of a device that is waited for. */
	if (scripted.version != ISC_CUPTI_13_0 || type != ISC_CUPTI_SYNC_CONTEXT)
		cupti_work(&w);
}
