/*
 * opencl: the layer between a program and a driver that is made up here, so that it can refuse
 * whatever a driver may refuse, and calls back from threads of its own.  What the layer would write
 * is counted.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "opencl/opencl.h"

/* ---- the runtime, as far as the layer calls it ---- */

static bool asked = true, wanted = true;
static uint32_t abi = ISC_RT_ABI;
static _Atomic uint64_t ticks = 1000, correlations, calls, failed_calls, works, stamped, failed_works, readings,
			dropped;
static _Atomic uint64_t correlation_sum, worked_sum;

uint32_t isc_rt_abi(void)
{
	return abi;
}

bool isc_rt_gpu_asked(void)
{
	return asked;
}

const isc_control *isc_rt_control(void)
{
	return NULL;
}

uint64_t isc_rt_ticks(void)
{
	return atomic_fetch_add(&ticks, 100);
}

uint32_t isc_rt_name(const char *text, size_t len)
{
	return len > 0 ? (uint32_t)(unsigned char)text[len - 1] + (uint32_t)len * 256 : 1;
}

uint32_t isc_rt_gpu_device(uint32_t number, enum isc_gpu_api api, uint32_t traits, const char *name, size_t len)
{
	(void)api;
	(void)traits;
	(void)name;
	(void)len;
	return 77 + number;
}

uint64_t isc_rt_gpu_correlation(void)
{
	return atomic_fetch_add(&correlations, 1) + 1;
}

bool isc_rt_gpu_enter(isc_rt_gpu_spot *spot)
{
	spot->ticks = wanted ? isc_rt_ticks() : 0;
	spot->stack = 0;
	return wanted;
}

void isc_rt_gpu_leave(const isc_rt_gpu_spot *spot, uint32_t name, enum isc_gpu_role role, bool holds,
		      const isc_gpu_called *call)
{
	(void)name;
	(void)role;
	(void)holds;
	assert_true(spot->ticks != 0);
	atomic_fetch_add(&calls, 1);
	atomic_fetch_add(&failed_calls, call->error != 0);
	atomic_fetch_add(&correlation_sum, call->error == 0 ? call->correlation : 0);
}

void isc_rt_gpu_work(uint32_t name, uint16_t arg, const isc_gpu_work *work)
{
	assert_int_equal(ISC_GPU_ARG_TIME(arg), ISC_GPU_TIME_DEVICE);
	assert_true(name != 0 && work->device == 77);
	atomic_fetch_add(&works, 1);
	atomic_fetch_add(&stamped, work->end != 0);
	atomic_fetch_add(&failed_works, work->error != 0);
	atomic_fetch_add(&worked_sum, work->correlation);
}

void isc_rt_gpu_clock(uint32_t device, const isc_gpu_reading *reading)
{
	assert_int_equal(device, 77);
	assert_true(reading->before <= reading->after && reading->device_ns != 0);
	atomic_fetch_add(&readings, 1);
}

void isc_rt_gpu_source(const char *source, enum isc_gpu_news news, uint32_t code, uint64_t count, const char *detail)
{
	(void)source;
	(void)code;
	(void)detail;
	atomic_fetch_add(&dropped, news == ISC_GPU_DROPPED ? count : 0);
}

/* ---- the driver ---- */

struct queue {
	uint64_t properties;
};

struct event {
	_Atomic int holds;
	struct queue *queue;
	uint64_t queued;
};

enum { LATER_MOST = 8192 };
static struct {
	struct event *event;
	void (*function)(cl_event, int32_t, void *);
	void *data;
} later[LATER_MOST];
static _Atomic unsigned later_count, later_done;
static bool no_profiling, no_callbacks, timers, fail_commands;
static _Atomic int live_events;
static struct queue made[64];
static _Atomic unsigned made_count;
static isc_cl_function table[ISC_CL_COUNT];
static const isc_cl_function *layer;

static struct event *event_new(struct queue *queue)
{
	struct event *e = calloc(1, sizeof(*e));

	atomic_store(&e->holds, 1);
	e->queue = queue;
	e->queued = isc_rt_ticks();
	atomic_fetch_add(&live_events, 1);
	return e;
}

static int32_t event_hold(cl_event event)
{
	atomic_fetch_add(&((struct event *)(void *)event)->holds, 1);
	return 0;
}

static int32_t event_release(cl_event event)
{
	struct event *e = (void *)event;

	if (atomic_fetch_sub(&e->holds, 1) == 1) {
		free(e);
		atomic_fetch_sub(&live_events, 1);
	}
	return 0;
}

static cl_queue queue_create(cl_context context, cl_device device, uint64_t properties, int32_t *error)
{
	struct queue *q = &made[atomic_fetch_add(&made_count, 1) % 64];

	(void)context;
	(void)device;
	if (no_profiling && (properties & CL_PROFILING_ENABLE) != 0) {
		if (error != NULL)
			*error = -35;
		return NULL;
	}
	q->properties = properties;
	if (error != NULL)
		*error = 0;
	return (cl_queue)q;
}

static int32_t queue_info(cl_queue queue, uint32_t what, size_t room, void *value, size_t *needs)
{
	(void)what;
	(void)room;
	(void)needs;
	memcpy(value, &((struct queue *)(void *)queue)->properties, 8);
	return 0;
}

static int32_t any_info(const void *object, uint32_t what, size_t room, void *value, size_t *needs)
{
	const struct event *e = object;

	if (what == CL_EVENT_COMMAND_QUEUE)
		memcpy(value, &e->queue, sizeof(e->queue));
	else if (value != NULL && room > 0)
		memset(value, 0, room);
	if (what == CL_KERNEL_FUNCTION_NAME || what == CL_DEVICE_NAME)
		memcpy(value, "made up", 8);
	if (needs != NULL)
		*needs = 8;
	return 0;
}

static int32_t event_times(cl_event event, uint32_t what, size_t room, void *value, size_t *needs)
{
	const struct event *e = (void *)event;
	uint64_t stamp = e->queued + 10 * (what - CL_PROFILING_QUEUED);

	(void)room;
	(void)needs;
	if ((e->queue->properties & CL_PROFILING_ENABLE) == 0)
		return CL_PROFILING_INFO_NOT_AVAILABLE;
	memcpy(value, &stamp, sizeof(stamp));
	return 0;
}

static int32_t set_callback(cl_event event, int32_t when, void (*function)(cl_event, int32_t, void *), void *data)
{
	unsigned place;

	(void)when;
	if (no_callbacks)
		return -5;
	place = atomic_fetch_add(&later_count, 1);
	assert_true(place < LATER_MOST);
	later[place].event = (void *)event;
	later[place].function = function;
	later[place].data = data;
	return 0;
}

static int32_t enqueue(cl_queue queue, cl_kernel kernel, uint32_t dimensions, const size_t *offset,
		       const size_t *global, const size_t *local, uint32_t n, const cl_event *list, cl_event *event)
{
	(void)kernel;
	(void)dimensions;
	(void)offset;
	(void)global;
	(void)local;
	(void)n;
	(void)list;
	if (fail_commands)
		return -5;
	if (event != NULL)
		*event = (cl_event)event_new((void *)queue);
	return 0;
}

static int32_t device_ids(cl_platform platform, uint64_t type, uint32_t room, cl_device *devices, uint32_t *count)
{
	static int device;

	(void)platform;
	(void)type;
	(void)room;
	devices[0] = (cl_device)&device;
	*count = 1;
	return 0;
}

static int32_t platform_ids(uint32_t room, cl_platform *platforms, uint32_t *count)
{
	static int platform;

	(void)room;
	platforms[0] = (cl_platform)&platform;
	*count = 1;
	return 0;
}

static int32_t timer(cl_device device, uint64_t *device_ns, uint64_t *host_ns)
{
	(void)device;
	*device_ns = *host_ns = isc_rt_ticks();
	return timers ? 0 : -59;
}

static void driver_calls_back(int32_t status)
{
	unsigned from = atomic_load(&later_done), to = atomic_load(&later_count);

	for (unsigned i = from; i < to; i++)
		later[i].function((cl_event)later[i].event, status, later[i].data);
	atomic_store(&later_done, to);
}

#define CALL(name, ...) ((__VA_ARGS__)(layer[ISC_CL_##name] != NULL ? layer[ISC_CL_##name] : table[ISC_CL_##name]))

typedef int32_t enqueue_fn(cl_queue, cl_kernel, uint32_t, const size_t *, const size_t *, const size_t *, uint32_t,
			   const cl_event *, cl_event *);

static void launch(cl_queue queue, cl_event *event)
{
	static int kernel;
	size_t size = 64;

	CALL(clEnqueueNDRangeKernel, enqueue_fn *)(queue, (cl_kernel)&kernel, 1, NULL, &size, &size, 0, NULL, event);
}

static cl_queue queue_of(uint64_t properties)
{
	cl_device device = NULL;
	uint32_t n;

	device_ids(NULL, 0, 1, &device, &n);
	return CALL(clCreateCommandQueue, cl_queue (*)(cl_context, cl_device, uint64_t, int32_t *))(NULL, device,
												    properties, NULL);
}

static int begin(void **state)
{
	uint32_t entries = 0;

	(void)state;
	asked = wanted = true;
	abi = ISC_RT_ABI;
	no_profiling = no_callbacks = timers = fail_commands = false;
	calls = failed_calls = works = stamped = failed_works = readings = dropped = correlation_sum = worked_sum = 0;
	memset(isc_cl_ours, 0, sizeof(isc_cl_ours));
	memset(table, 0, sizeof(table));
	table[ISC_CL_clGetPlatformIDs] = (isc_cl_function)platform_ids;
	table[ISC_CL_clGetDeviceIDs] = (isc_cl_function)device_ids;
	table[ISC_CL_clGetDeviceInfo] = (isc_cl_function)any_info;
	table[ISC_CL_clGetKernelInfo] = (isc_cl_function)any_info;
	table[ISC_CL_clGetEventInfo] = (isc_cl_function)any_info;
	table[ISC_CL_clCreateCommandQueue] = (isc_cl_function)queue_create;
	table[ISC_CL_clGetCommandQueueInfo] = (isc_cl_function)queue_info;
	table[ISC_CL_clGetEventProfilingInfo] = (isc_cl_function)event_times;
	table[ISC_CL_clRetainEvent] = (isc_cl_function)event_hold;
	table[ISC_CL_clReleaseEvent] = (isc_cl_function)event_release;
	table[ISC_CL_clSetEventCallback] = (isc_cl_function)set_callback;
	table[ISC_CL_clEnqueueNDRangeKernel] = (isc_cl_function)enqueue;
	table[ISC_CL_clGetDeviceAndHostTimer] = (isc_cl_function)timer;
	return clInitLayer(ISC_CL_COUNT, table, &entries, &layer);
}

/* ---- claims ---- */

static void the_layer_says_what_it_is(void **state)
{
	uint32_t version = 0;
	char name[32];
	size_t needs = 0;

	(void)state;
	assert_int_equal(clGetLayerInfo(CL_LAYER_API_VERSION, sizeof(version), &version, &needs), 0);
	assert_int_equal(version, 100);
	assert_int_equal(needs, 4);
	assert_int_equal(clGetLayerInfo(CL_LAYER_NAME, sizeof(name), name, NULL), 0);
	assert_string_equal(name, "inferscope");
	assert_int_equal(clGetLayerInfo(CL_LAYER_NAME, 3, name, NULL), CL_INVALID_VALUE);
	assert_int_equal(clGetLayerInfo(7, 3, name, NULL), CL_INVALID_VALUE);
}

static void every_command_is_told_once_when_it_has_ended(void **state)
{
	cl_queue queue = queue_of(0);
	cl_event event = NULL;

	(void)state;
	launch(queue, NULL);
	launch(queue, &event);
	assert_non_null(event);
	assert_int_equal(works, 0);
	driver_calls_back(CL_COMPLETE);
	assert_int_equal(works, 2);
	assert_int_equal(stamped, 2);
	assert_int_equal(correlation_sum, worked_sum);
	/* Ours are given back, the program's is the program's. */
	assert_int_equal(live_events, 1);
	event_release(event);
	assert_int_equal(live_events, 0);
}

static void a_queue_without_profiling_has_none_to_the_program(void **state)
{
	cl_queue plain = queue_of(0), timed = queue_of(CL_PROFILING_ENABLE);
	int32_t (*info)(cl_queue, uint32_t, size_t, void *, size_t *) =
		CALL(clGetCommandQueueInfo, int32_t (*)(cl_queue, uint32_t, size_t, void *, size_t *));
	int32_t (*times)(cl_event, uint32_t, size_t, void *, size_t *) =
		CALL(clGetEventProfilingInfo, int32_t (*)(cl_event, uint32_t, size_t, void *, size_t *));
	uint64_t value = 9;
	cl_event event;

	(void)state;
	assert_true((((struct queue *)(void *)plain)->properties & CL_PROFILING_ENABLE) != 0);
	assert_int_equal(info(plain, CL_QUEUE_PROPERTIES, 8, &value, NULL), 0);
	assert_int_equal(value, 0);
	assert_int_equal(info(timed, CL_QUEUE_PROPERTIES, 8, &value, NULL), 0);
	assert_int_equal(value, CL_PROFILING_ENABLE);
	assert_int_equal(info(timed, CL_QUEUE_PROPERTIES, 4, &value, NULL), CL_INVALID_VALUE);
	launch(plain, &event);
	assert_int_equal(times(event, CL_PROFILING_END, 8, &value, NULL), CL_PROFILING_INFO_NOT_AVAILABLE);
	event_release(event);
	launch(timed, &event);
	assert_int_equal(times(event, CL_PROFILING_END, 8, &value, NULL), 0);
	event_release(event);
	driver_calls_back(CL_COMPLETE);
	assert_int_equal(live_events, 0);
}

static void a_driver_that_refuses_profiling_is_used_without(void **state)
{
	cl_queue queue;

	(void)state;
	no_profiling = true;
	queue = queue_of(0);
	assert_non_null(queue);
	launch(queue, NULL);
	driver_calls_back(CL_COMPLETE);
	assert_int_equal(works, 1);
	assert_int_equal(stamped, 0);
	assert_null(queue_of(CL_PROFILING_ENABLE));
}

static void a_driver_that_calls_nobody_back_costs_no_event(void **state)
{
	(void)state;
	no_callbacks = true;
	launch(queue_of(0), NULL);
	assert_int_equal(live_events, 0);
	assert_int_equal(calls, 1);
	assert_int_equal(works, 0);
}

static void what_fails_is_told_and_asks_for_nothing(void **state)
{
	cl_queue queue = queue_of(0);

	(void)state;
	fail_commands = true;
	launch(queue, NULL);
	assert_int_equal(failed_calls, 1);
	fail_commands = false;
	launch(queue, NULL);
	driver_calls_back(-14);
	assert_int_equal(works, 1);
	assert_int_equal(failed_works, 1);
	assert_int_equal(stamped, 0);
	assert_int_equal(live_events, 0);
}

/* Comes first: a clock that was refused once is not asked again. */
static void a_clock_that_can_be_read_is_read(void **state)
{
	cl_queue queue;

	(void)state;
	timers = true;
	queue = queue_of(0);
	launch(queue, NULL);
	launch(queue, NULL);
	assert_int_equal(readings, 1);
	atomic_fetch_add(&ticks, 20000000);
	launch(queue, NULL);
	assert_int_equal(readings, 2);
	driver_calls_back(CL_COMPLETE);
	assert_int_equal(works, 3);
	/* Then a command's own stamp says no more. */
	assert_int_equal(readings, 2);
	timers = false;
	atomic_fetch_add(&ticks, 20000000);
	launch(queue, NULL);
	driver_calls_back(CL_COMPLETE);
	assert_int_equal(readings, 3);
}

static void nothing_is_put_in_front_when_nobody_asks(void **state)
{
	uint32_t entries = 0;

	(void)state;
	memset(isc_cl_ours, 0, sizeof(isc_cl_ours));
	asked = false;
	assert_int_equal(clInitLayer(ISC_CL_COUNT, table, &entries, &layer), 0);
	for (int i = 0; i < ISC_CL_COUNT; i++)
		assert_null(layer[i]);
	asked = true;
	abi++;
	assert_int_equal(clInitLayer(ISC_CL_COUNT, table, &entries, &layer), 0);
	assert_null(layer[ISC_CL_clEnqueueNDRangeKernel]);
	assert_int_equal(clInitLayer(ISC_CL_COUNT, NULL, &entries, &layer), CL_INVALID_VALUE);
}

static void a_short_table_is_not_read_past_its_end(void **state)
{
	uint32_t entries = 0;

	(void)state;
	memset(isc_cl_ours, 0, sizeof(isc_cl_ours));
	memset(isc_cl_real, 0, sizeof(isc_cl_real));
	/* The first version had no callbacks. */
	assert_int_equal(clInitLayer(ISC_CL_clSetEventCallback, table, &entries, &layer), 0);
	for (int i = 0; i < ISC_CL_COUNT; i++)
		assert_null(layer[i]);
	assert_int_equal(clInitLayer(ISC_CL_clSetEventCallback + 1, table, &entries, &layer), 0);
	assert_non_null(layer[ISC_CL_clEnqueueNDRangeKernel]);
	assert_null(layer[ISC_CL_clEnqueueFillBuffer]);
}

static void while_nothing_records_commands_pass(void **state)
{
	(void)state;
	wanted = false;
	launch(queue_of(0), NULL);
	assert_int_equal(calls + works, 0);
	assert_int_equal(live_events, 0);
}

/* ---- many at once ---- */

enum { THREADS = 4, EACH = 1000 };
static _Atomic bool over;

static void *launches(void *arg)
{
	cl_queue queue = queue_of(0);

	(void)arg;
	for (int i = 0; i < EACH; i++) {
		cl_event event = NULL;

		launch(queue, i % 2 ? &event : NULL);
		if (event != NULL)
			event_release(event);
	}
	return NULL;
}

/* Entries are whole in the order of their places here, not in that of a real driver's. */
static pthread_mutex_t order = PTHREAD_MUTEX_INITIALIZER;

static int32_t set_callback_in_order(cl_event event, int32_t when, void (*function)(cl_event, int32_t, void *),
				     void *data)
{
	int32_t status;

	pthread_mutex_lock(&order);
	status = set_callback(event, when, function, data);
	pthread_mutex_unlock(&order);
	return status;
}

static void *calls_back(void *arg)
{
	(void)arg;
	while (!atomic_load(&over)) {
		pthread_mutex_lock(&order);
		driver_calls_back(CL_COMPLETE);
		pthread_mutex_unlock(&order);
	}
	return NULL;
}

static void threads_and_callbacks_lose_nothing(void **state)
{
	pthread_t thread[THREADS], driver;

	(void)state;
	atomic_store(&later_count, 0);
	atomic_store(&later_done, 0);
	isc_cl_real[ISC_CL_clSetEventCallback] = (isc_cl_function)set_callback_in_order;
	pthread_create(&driver, NULL, calls_back, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&thread[i], NULL, launches, NULL);
	for (int i = 0; i < THREADS; i++)
		pthread_join(thread[i], NULL);
	atomic_store(&over, true);
	pthread_join(driver, NULL);
	driver_calls_back(CL_COMPLETE);
	assert_int_equal(works, THREADS * EACH);
	assert_int_equal(stamped, THREADS * EACH);
	assert_int_equal(correlation_sum, worked_sum);
	assert_int_equal(live_events, 0);
}

#define CLAIM(name) cmocka_unit_test_setup(name, begin)

int main(void)
{
	const struct CMUnitTest tests[] = {
		CLAIM(the_layer_says_what_it_is),
		CLAIM(a_clock_that_can_be_read_is_read),
		CLAIM(every_command_is_told_once_when_it_has_ended),
		CLAIM(a_queue_without_profiling_has_none_to_the_program),
		CLAIM(a_driver_that_refuses_profiling_is_used_without),
		CLAIM(a_driver_that_calls_nobody_back_costs_no_event),
		CLAIM(what_fails_is_told_and_asks_for_nothing),
		CLAIM(while_nothing_records_commands_pass),
		CLAIM(threads_and_callbacks_lose_nothing),
		CLAIM(nothing_is_put_in_front_when_nobody_asks),
		CLAIM(a_short_table_is_not_read_past_its_end),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
