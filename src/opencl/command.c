/*
 * command.c - commands on their way to a device and back.
 *
 * Every command gets an event, the program's or one of ours.  When it has ended
 * the driver calls back, on a thread of its own as a rule; there its times are read
 * and its record is written.  What is known of a command until then lies in a pool
 * of fixed size; with none left a command is counted and not told of.
 *
 * The clock of a device is read directly where the driver can do that.  Where it
 * cannot, a command's own stamp of when it was put into the queue is a reading:
 * that was between the begin and the end of the call.
 */
#include <stdatomic.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "opencl/opencl.h"

#define POOL 65536u
#define CLOCKS 64u
#define WINDOW_US 10000u
/* At the end of the process: the last callbacks are on their way, as a rule within a millisecond. */
#define PATIENCE_MS 20

typedef int32_t info_fn(const void *, uint32_t, size_t, void *, size_t *);

typedef struct command {
	_Atomic uint32_t next;	/* free list: place + 1 */
	_Atomic uint32_t ready; /* what is below is whole */
	isc_gpu_work work;
	uint64_t before, after; /* ticks around the call; 0: its clock is read otherwise */
	uint32_t name, clock;
	uint16_t arg;
	bool timed;
} command;

static command pool[POOL];
static _Atomic uint64_t free_list; /* turn:32 | place + 1 */
static _Atomic uint32_t fresh;	   /* places that were never used begin here */
static _Atomic uint64_t pending, unseen;
static _Atomic uint32_t owner; /* the process whose commands these are */

/* ---- the pool ---- */

static command *take(void)
{
	uint64_t head = atomic_load_explicit(&free_list, memory_order_acquire);
	uint32_t place;

	while ((uint32_t)head != 0) {
		uint64_t rest = (head >> 32) + 1;

		rest = rest << 32 | atomic_load_explicit(&pool[(uint32_t)head - 1].next, memory_order_relaxed);
		if (atomic_compare_exchange_weak_explicit(&free_list, &head, rest, memory_order_acq_rel,
							  memory_order_acquire))
			return &pool[(uint32_t)head - 1];
	}
	if (atomic_load_explicit(&fresh, memory_order_relaxed) >= POOL)
		return NULL;
	place = atomic_fetch_add_explicit(&fresh, 1, memory_order_relaxed);
	return place < POOL ? &pool[place] : NULL;
}

static void give_back(command *c)
{
	uint32_t place = (uint32_t)(c - pool) + 1;
	uint64_t head = atomic_load_explicit(&free_list, memory_order_relaxed), mine;

	do {
		atomic_store_explicit(&c->next, (uint32_t)head, memory_order_relaxed);
		mine = ((head >> 32) + 1) << 32 | place;
	} while (!atomic_compare_exchange_weak_explicit(&free_list, &head, mine, memory_order_acq_rel,
							memory_order_relaxed));
}

/* ---- clocks ---- */

static struct {
	_Atomic uint64_t until; /* ticks: the window ends */
	_Atomic uint64_t best;	/* the shortest way there and back in it */
	_Atomic uint32_t refused;
} clocks[CLOCKS];

static uint64_t window_ticks(void)
{
	const isc_control *control = isc_rt_control();

	return WINDOW_US * (uint64_t)(control != NULL ? control->ticks_per_us : 1000);
}

/* A window's first reading and every better one are told: a few of thousands. */
static bool is_worth_telling(uint32_t clock, uint64_t now, uint64_t took)
{
	uint64_t until = atomic_load_explicit(&clocks[clock].until, memory_order_relaxed), best;

	if (now >= until && atomic_compare_exchange_strong_explicit(&clocks[clock].until, &until, now + window_ticks(),
								    memory_order_relaxed, memory_order_relaxed)) {
		atomic_store_explicit(&clocks[clock].best, took, memory_order_relaxed);
		return true;
	}
	best = atomic_load_explicit(&clocks[clock].best, memory_order_relaxed);
	return took < best - best / 8 &&
	       atomic_compare_exchange_strong_explicit(&clocks[clock].best, &best, took, memory_order_relaxed,
						       memory_order_relaxed);
}

/* True: the clock is read this way. */
static bool read_clock(const isc_cl_queue *queue)
{
	int32_t (*timer)(cl_device, uint64_t *, uint64_t *) =
		ISC_CL_REAL(clGetDeviceAndHostTimer, int32_t (*)(cl_device, uint64_t *, uint64_t *));
	isc_gpu_reading reading = {0};
	uint64_t now, until, host;

	if (timer == NULL || queue->clock >= CLOCKS ||
	    atomic_load_explicit(&clocks[queue->clock].refused, memory_order_relaxed) != 0)
		return false;
	now = isc_rt_ticks();
	until = atomic_load_explicit(&clocks[queue->clock].until, memory_order_relaxed);
	if (now < until || !atomic_compare_exchange_strong(&clocks[queue->clock].until, &until, now + window_ticks()))
		return true;
	/* Of a few in a row the shortest: the first one finds cold caches. */
	for (int i = 0; i < 3; i++) {
		isc_gpu_reading again = {.before = isc_rt_ticks()};

		if (timer(isc_cl_clock_device(queue->clock), &again.device_ns, &host) != CL_SUCCESS) {
			atomic_store_explicit(&clocks[queue->clock].until, 0, memory_order_relaxed);
			atomic_store_explicit(&clocks[queue->clock].refused, 1, memory_order_relaxed);
			return false;
		}
		again.after = isc_rt_ticks();
		if (i == 0 || again.after - again.before < reading.after - reading.before)
			reading = again;
	}
	isc_rt_gpu_clock(queue->device, &reading);
	return true;
}

/* ---- the end of a command ---- */

static uint64_t stamp(cl_event event, uint32_t what)
{
	uint64_t ns = 0;

	if (ISC_CL_REAL(clGetEventProfilingInfo, info_fn *)(event, what, sizeof(ns), &ns, NULL) != CL_SUCCESS)
		return 0;
	return ns;
}

static void ended(cl_event event, int32_t status, void *self)
{
	command *c = self;
	isc_gpu_reading reading;
	isc_gpu_work work;

	if (atomic_load_explicit(&c->ready, memory_order_acquire) == 0)
		return;
	work = c->work;
	if (status == CL_COMPLETE && c->timed) {
		work.start = stamp(event, CL_PROFILING_START);
		work.end = stamp(event, CL_PROFILING_END);
		if (work.start == 0)
			work.end = 0;
	}
	work.error = status < 0 ? (uint32_t)status : 0;
	isc_rt_gpu_work(c->name, c->arg, &work);
	if (c->before != 0 && work.end != 0 && c->clock < CLOCKS &&
	    is_worth_telling(c->clock, c->after, c->after - c->before)) {
		reading = (isc_gpu_reading){
			.before = c->before, .device_ns = stamp(event, CL_PROFILING_QUEUED), .after = c->after};
		if (reading.device_ns != 0)
			isc_rt_gpu_clock(work.device, &reading);
	}
	atomic_store_explicit(&c->ready, 0, memory_order_relaxed);
	give_back(c);
	ISC_CL_REAL(clReleaseEvent, int32_t (*)(cl_event))(event);
	atomic_fetch_sub_explicit(&pending, 1, memory_order_release);
}

/* ---- calls ---- */

bool isc_cl_begin(isc_cl_call *c, cl_queue queue, const char *function, enum isc_gpu_job job, enum isc_gpu_role role)
{
	if (!isc_rt_gpu_enter(&c->spot))
		return false;
	c->queue = isc_cl_queue_of(queue);
	c->own = NULL;
	c->bytes = 0;
	c->function = function;
	c->kernel = 0;
	c->job = job;
	c->role = role;
	c->holds = false;
	memset(c->grid, 0, sizeof(c->grid));
	memset(c->block, 0, sizeof(c->block));
	c->correlation = isc_rt_gpu_correlation();
	return true;
}

cl_event *isc_cl_event(isc_cl_call *c, cl_event *event)
{
	return event != NULL ? event : &c->own;
}

static void follow(const isc_cl_call *c, cl_event event, uint32_t name, uint64_t now)
{
	bool direct = c->queue.timed && c->queue.device != 0 && read_clock(&c->queue);
	command *mine = take();

	if (mine == NULL) {
		atomic_fetch_add_explicit(&unseen, 1, memory_order_relaxed);
		ISC_CL_REAL(clReleaseEvent, int32_t (*)(cl_event))(event);
		return;
	}
	mine->work = (isc_gpu_work){.correlation = c->correlation,
				    .bytes = c->bytes,
				    .stream = c->queue.number,
				    .device = c->queue.device,
				    .context = 1};
	memcpy(mine->work.grid, c->grid, sizeof(mine->work.grid));
	memcpy(mine->work.block, c->block, sizeof(mine->work.block));
	mine->before = direct ? 0 : c->spot.ticks;
	mine->after = now;
	mine->name = name;
	mine->clock = c->queue.clock;
	mine->arg = ISC_GPU_ARG(c->job, ISC_GPU_TIME_DEVICE, 0, 0);
	mine->timed = c->queue.timed;
	if (atomic_load_explicit(&owner, memory_order_relaxed) == 0)
		atomic_store_explicit(&owner, (uint32_t)getpid(), memory_order_relaxed);
	atomic_fetch_add_explicit(&pending, 1, memory_order_relaxed);
	atomic_store_explicit(&mine->ready, 1, memory_order_release);
	if (ISC_CL_REAL(clSetEventCallback, int32_t (*)(cl_event, int32_t, void (*)(cl_event, int32_t, void *),
							void *))(event, CL_COMPLETE, ended, mine) == CL_SUCCESS)
		return;
	atomic_store_explicit(&mine->ready, 0, memory_order_relaxed);
	give_back(mine);
	ISC_CL_REAL(clReleaseEvent, int32_t (*)(cl_event))(event);
	atomic_fetch_sub_explicit(&pending, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&unseen, 1, memory_order_relaxed);
}

int32_t isc_cl_end(isc_cl_call *c, int32_t status, cl_event *event)
{
	isc_gpu_called call = {.correlation = c->correlation, .device = c->queue.device, .error = (uint32_t)status};
	uint64_t now = isc_rt_ticks();
	uint32_t name = isc_rt_name(c->function, strlen(c->function));
	cl_event mine;

	isc_rt_gpu_leave(&c->spot, name, c->role, c->holds, &call);
	if (status != CL_SUCCESS)
		return status;
	mine = event != NULL ? *event : c->own;
	if (mine == NULL)
		return status;
	/* The program's event is the program's: ours is one more hold on it. */
	if (event != NULL && ISC_CL_REAL(clRetainEvent, int32_t (*)(cl_event))(mine) != CL_SUCCESS)
		return status;
	if (c->queue.device == 0) {
		ISC_CL_REAL(clReleaseEvent, int32_t (*)(cl_event))(mine);
		return status;
	}
	follow(c, mine, c->kernel != 0 ? c->kernel : name, now);
	return status;
}

void isc_cl_waited(const isc_rt_gpu_spot *spot, const char *function, enum isc_gpu_role role, uint32_t device,
		   int32_t status)
{
	isc_gpu_called call = {.device = device, .error = (uint32_t)status};

	isc_rt_gpu_leave(spot, isc_rt_name(function, strlen(function)), role, role == ISC_ROLE_SYNC, &call);
}

/* ---- the end of the process ---- */

__attribute__((destructor)) static void end(void)
{
	const struct timespec moment = {0, 1000000};
	uint64_t lost;

	if (atomic_load_explicit(&owner, memory_order_relaxed) != (uint32_t)getpid())
		return;
	for (int i = 0; i < PATIENCE_MS && atomic_load_explicit(&pending, memory_order_acquire) > 0; i++)
		syscall(SYS_nanosleep, &moment, NULL);
	lost = atomic_load_explicit(&pending, memory_order_relaxed) +
	       atomic_load_explicit(&unseen, memory_order_relaxed);
	if (lost > 0)
		isc_rt_gpu_source("OpenCL", ISC_GPU_DROPPED, 0, lost, NULL);
	isc_rt_gpu_source("OpenCL", ISC_GPU_ENDED, 0, 0, NULL);
}
