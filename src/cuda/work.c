#include "cuda/work.h"

#include <dlfcn.h>
#include <string.h>
#include <time.h>

#include "collect/gpu.h"
#include "cuda/activity.h"
#include "cuda/buffers.h"
#include "cuda/scopes.h"
#include "runtime/runtime.h"

#define NAME_MAX_BYTES 4096u /* a mangled name of templates; longer ones are cut */
#define DEVICES 64u
#define CONTEXTS 64u /* a power of two */

/* A new pool holds 8 MiB, and what is not read yet is overwritten: after so much the
 * recorder is asked to read. */
#define UNREAD_BYTES (512u << 10)
#define FAR_NS 3600000000000ull /* no clock is off by so much */
#define PATIENCE_MS 2000u	/* then the recorder is gone, or hangs: go on */

static const isc_cupti *cupti;
static bool is_monotonic;
static int64_t to_monotonic_ns;
static uint64_t begun_ns; /* before it there was no work that we would be told of */
static uint32_t devices[DEVICES];
static struct {
	uint32_t context, device;
} contexts[CONTEXTS];
static uint32_t unread_bytes;
static isc_work_stats stats;

static int64_t clock_ns(clockid_t clock)
{
	struct timespec t = {0, 0};

	clock_gettime(clock, &t);
	return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

void isc_work_begin(const isc_cupti *opened, bool monotonic)
{
	cupti = opened;
	is_monotonic = monotonic;
	begun_ns = (uint64_t)clock_ns(CLOCK_MONOTONIC);
	memset(devices, 0, sizeof(devices));
}

const isc_work_stats *isc_work_stats_get(void)
{
	return &stats;
}

/* The driver is loaded and initialised, or there would be no work of it. */
static size_t name_device(uint32_t number, char *to, size_t room)
{
	void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
	int (*get)(int *device, int ordinal);
	int (*name)(char *name, int room, int device);
	int device = 0;

	to[0] = '\0';
	if (driver == NULL)
		return 0;
	get = (__typeof__(get))dlsym(driver, "cuDeviceGet");
	name = (__typeof__(name))dlsym(driver, "cuDeviceGetName");
	if (get == NULL || name == NULL || get(&device, (int)number) != 0 || name(to, (int)room, device) != 0)
		to[0] = '\0';
	dlclose(driver);
	return strnlen(to, room);
}

static uint32_t device_of(uint32_t number)
{
	char name[200];
	size_t len;

	if (number < DEVICES && devices[number] != 0)
		return devices[number];
	len = name_device(number, name, sizeof(name));
	if (number >= DEVICES)
		return isc_rt_gpu_device(number, ISC_GPU_CUDA, 0, name, len);
	return devices[number] = isc_rt_gpu_device(number, ISC_GPU_CUDA, 0, name, len);
}

static void note_context(uint32_t context, uint32_t device)
{
	contexts[context % CONTEXTS].context = context;
	contexts[context % CONTEXTS].device = device;
}

static uint32_t device_of_context(uint32_t context)
{
	return contexts[context % CONTEXTS].context == context ? contexts[context % CONTEXTS].device : 0;
}

/* When the clock of CUPTI was set twice its first records are off by a day: no time is better than such a one. */
static void check_times(isc_gpu_work *work)
{
	uint64_t now = (uint64_t)clock_ns(CLOCK_MONOTONIC);

	if (work->end < work->start || work->start + FAR_NS < begun_ns || work->end > now + FAR_NS)
		work->start = work->end = 0;
}

static void turn_clock(isc_gpu_work *work)
{
	if (work->start == 0 && work->end == 0)
		return;
	work->start += (uint64_t)to_monotonic_ns;
	work->end += (uint64_t)to_monotonic_ns;
}

static uint32_t name_of(const isc_activity *a)
{
	static const char *const jobs[ISC_JOBS] = {
		[ISC_JOB_H2D] = "Memcpy HtoD", [ISC_JOB_D2H] = "Memcpy DtoH", [ISC_JOB_D2D] = "Memcpy DtoD",
		[ISC_JOB_P2P] = "Memcpy PtoP", [ISC_JOB_COPY] = "Memcpy",     [ISC_JOB_MEMSET] = "Memset",
		[ISC_JOB_SYNC] = "Sync",
	};
	const char *name = a->kind == ISC_CUPTI_GRAPH ? "CUDA graph"
			   : a->job == ISC_JOB_KERNEL ? a->name
						      : jobs[a->job];

	if (name == NULL)
		return 0;
	if (name == a->name)
		return isc_rt_intern(ISC_DEF_KERNEL, name, (uint32_t)strnlen(name, NAME_MAX_BYTES));
	return isc_rt_name(name, strlen(name));
}

static void tell_scope(const isc_activity *a)
{
	uint32_t name;
	uint64_t instance;

	if (a->number != ISC_CUPTI_EXTERNAL_CUSTOM2 || a->work.correlation == 0)
		return;
	name = isc_scopes_read(a->scope, &instance);
	isc_rt_gpu_scope(name, a->work.correlation, instance);
	stats.scopes++;
	unread_bytes += sizeof(isc_record) + sizeof(isc_gpu_scope);
}

static void tell(isc_activity *a)
{
	if (a->kind == ISC_CUPTI_DEVICE)
		return;
	if (a->kind == ISC_CUPTI_EXTERNAL) {
		tell_scope(a);
		return;
	}
	if (a->number != ISC_ACTIVITY_NO_DEVICE) {
		a->work.device = device_of(a->number);
		note_context(a->work.context, a->work.device);
	} else {
		a->work.device = device_of_context(a->work.context);
	}
	if (!is_monotonic)
		turn_clock(&a->work);
	check_times(&a->work);
	isc_rt_gpu_work(name_of(a), ISC_GPU_ARG(a->job, ISC_GPU_TIME_MONOTONIC, a->page, 0), &a->work);
	stats.records++;
	stats.kernels += a->job == ISC_JOB_KERNEL;
	stats.in_graphs += a->job == ISC_JOB_KERNEL && a->work.graph != 0;
	unread_bytes += sizeof(isc_record) + sizeof(isc_gpu_work);
}

static void read_one(const isc_buffer_full *full)
{
	isc_activity_reader reader = {.buffer = full->at,
				      .valid = full->valid,
				      .version = cupti->version,
				      .next = cupti->ActivityGetNextRecord};
	isc_activity a;

	while (isc_activity_next(&reader, &a)) {
		tell(&a);
		if (unread_bytes >= UNREAD_BYTES) {
			unread_bytes = 0;
			if (isc_rt_gpu_wanted())
				isc_rt_flush_wait(isc_rt_flush_ask(false), PATIENCE_MS);
		}
	}
	if (reader.damaged || reader.failed != ISC_CUPTI_OK) {
		stats.damaged++;
		isc_rt_gpu_source("CUPTI", ISC_GPU_FAILED, reader.failed, 1, "cuptiActivityGetNextRecord");
	}
}

void isc_work_read(void)
{
	isc_buffer_full full;

	while (isc_buffers_next(&full)) {
		if (!is_monotonic)
			to_monotonic_ns = clock_ns(CLOCK_MONOTONIC) - clock_ns(CLOCK_REALTIME);
		read_one(&full);
		isc_buffers_reuse(&full);
	}
}
