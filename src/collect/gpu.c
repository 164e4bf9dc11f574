#include "collect/gpu.h"

#include <errno.h>
#include <string.h>

#include "collect/sample/sample.h"
#include "runtime/budget.h"
#include "runtime/image.h"
#include "runtime/runtime.h"
#include "runtime/write.h"

/* Of one call; what took longer was interrupted.  In ticks, of either clock. */
#define COST_MOST 250000u

static _Atomic uint64_t correlations;

bool isc_rt_gpu_asked(void)
{
	const isc_control *control = atomic_load_explicit(&isc_image_self.control, memory_order_acquire);

	return control != NULL && (isc_image_self.flags & ISC_CONTROL_GPU) != 0 &&
	       atomic_load_explicit(&control->phase, memory_order_relaxed) != ISC_PHASE_DONE;
}

bool isc_rt_gpu_wanted(void)
{
	return (isc_image_self.flags & ISC_CONTROL_GPU) != 0 && isc_rt_active();
}

uint32_t isc_rt_gpu_device(uint32_t number, enum isc_gpu_api api, uint32_t traits, const char *name, size_t len)
{
	struct {
		isc_def_gpu head;
		char name[240];
	} def = {.head = {number, (uint32_t)api, traits, 0}};
	int error = errno;
	uint32_t id;

	len = len < sizeof(def.name) ? len : sizeof(def.name);
	memcpy(def.name, name, len);
	def.head.name_len = (uint32_t)len;
	id = isc_rt_intern(ISC_DEF_GPU, &def, sizeof(def.head) + len);
	errno = error;
	return id;
}

uint64_t isc_rt_gpu_correlation(void)
{
	return atomic_fetch_add_explicit(&correlations, 1, memory_order_relaxed) + 1;
}

/* A stack costs about a microsecond: without a budget, and while it lasts. */
static bool affordable(void)
{
	return atomic_load_explicit(&isc_budget_self.most, memory_order_relaxed) == 0 || isc_budget_left() > 0;
}

static void spend(uint64_t ticks)
{
	ticks = ticks < COST_MOST ? ticks : COST_MOST;
	isc_budget_take((int64_t)ticks);
	isc_sample_cost_add(ticks);
}

bool isc_rt_gpu_enter(isc_rt_gpu_spot *spot)
{
	int error = errno;
	uint64_t begin;

	spot->ticks = 0;
	if (!isc_rt_gpu_wanted())
		return false;
	begin = isc_ticks();
	spot->stack = affordable() ? isc_sample_here(0, NULL) : 0;
	spot->ticks = isc_ticks();
	spot->spent = spot->ticks - begin;
	errno = error;
	return true;
}

static void put(uint64_t now, uint32_t name, uint8_t kind, uint16_t arg, const void *body, uint32_t bytes)
{
	isc_record record[1 + sizeof(isc_gpu_work) / sizeof(isc_record)];
	uint32_t slots = 1 + bytes / (uint32_t)sizeof(isc_record);

	record[0] = (isc_record){.ticks = now, .id = name, .kind = kind, .slots = (uint8_t)slots, .arg = arg};
	memcpy(&record[1], body, bytes);
	isc_write(record, slots);
}

void isc_rt_gpu_leave(const isc_rt_gpu_spot *spot, uint32_t name, enum isc_gpu_role role, bool holds,
		      const isc_gpu_called *call)
{
	uint64_t now = isc_ticks();
	isc_gpu_called body = {.start = spot->ticks, .end = now, .stack = spot->stack};
	int error = errno;

	if (spot->ticks == 0)
		return;
	body.correlation = call->correlation;
	body.device = call->device;
	body.error = call->error;
	put(now, name, ISC_KIND_GPU_CALL, ISC_GPU_ARG(role, ISC_GPU_TIME_TICKS, 0, holds), &body, sizeof(body));
	spend(spot->spent + isc_ticks() - now);
	errno = error;
}

void isc_rt_gpu_call(uint32_t name, uint16_t arg, const isc_gpu_called *call)
{
	int error = errno;

	if (isc_rt_gpu_wanted())
		put(isc_ticks(), name, ISC_KIND_GPU_CALL, arg, call, sizeof(*call));
	errno = error;
}

void isc_rt_gpu_work(uint32_t name, uint16_t arg, const isc_gpu_work *work)
{
	int error = errno;

	if (isc_rt_gpu_wanted())
		put(isc_ticks(), name, ISC_KIND_GPU_WORK, arg, work, sizeof(*work));
	errno = error;
}

void isc_rt_gpu_clock(uint32_t device, const isc_gpu_reading *reading)
{
	int error = errno;

	if (isc_rt_gpu_wanted())
		put(isc_ticks(), device, ISC_KIND_GPU_CLOCK, 0, reading, sizeof(*reading));
	errno = error;
}

void isc_rt_gpu_scope(uint32_t name, uint64_t correlation, uint64_t instance)
{
	isc_gpu_scope body = {correlation, instance};
	int error = errno;

	if (isc_rt_gpu_wanted())
		put(isc_ticks(), name, ISC_KIND_GPU_SCOPE, 0, &body, sizeof(body));
	errno = error;
}

void isc_rt_gpu_source(const char *source, enum isc_gpu_news news, uint32_t code, uint64_t count, const char *detail)
{
	isc_gpu_source body = {.count = count, .code = code};
	int error = errno;

	if (isc_rt_gpu_wanted()) {
		body.detail = detail != NULL ? isc_rt_name(detail, strlen(detail)) : 0;
		put(isc_ticks(), isc_rt_intern(ISC_DEF_GPU_SOURCE, source, strlen(source)), ISC_KIND_GPU_SOURCE,
		    (uint16_t)news, &body, sizeof(body));
	}
	errno = error;
}
