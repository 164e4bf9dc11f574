#include "timeline/gpu/host_times.h"

#include <stdlib.h>

#include "base/hashmap.h"
#include "timeline/walk.h"
#include "trace/gpu.h"

/* Calls that are kept: 40 MB at most.  The clock is compared as far as they reach. */
#define CALLS_MOST (1u << 20)
#define WAITS_MOST (1u << 20)
#define ALL_STREAMS UINT32_MAX /* of a context, as CUPTI says it */

struct host_call {
	int64_t start_ns, end_ns;
	bool holds;
};

struct host_wait {
	uint64_t lane; /* process, context and stream, mixed */
	uint64_t call; /* its key */
	int64_t start_ns, end_ns;
};

struct isc_host_times {
	isc_trace *trace;
	isc_hashmap call_of; /* correlation and process -> place + 1 */
	struct host_call *calls;
	size_t call_count, call_room;
	struct host_wait *waits;
	size_t wait_count, wait_room;
};

static uint64_t call_key(uint32_t process, uint64_t correlation)
{
	return correlation ^ (uint64_t)process << 40;
}

/* Streams of a process are few: that two of them are taken for one does not happen. */
static uint64_t lane_of(uint32_t process, uint32_t context, uint64_t stream)
{
	uint64_t h = ((uint64_t)process << 32 | context) * 0x9e3779b97f4a7c15ull;

	h ^= stream + 0x632be59bd9b4e019ull;
	return (h ^ h >> 29) * 0xbf58476d1ce4e5b9ull;
}

static bool grow(void *list, size_t *room, size_t count, size_t each)
{
	size_t more = *room != 0 ? *room * 2 : 1024;
	void **at = list, *wider;

	if (count < *room)
		return true;
	wider = realloc(*at, more * each);
	if (wider == NULL)
		return false;
	*at = wider;
	*room = more;
	return true;
}

static int64_t signed_ns(uint64_t ns)
{
	return ns < INT64_MAX / 4 ? (int64_t)ns : INT64_MAX / 4;
}

static const struct host_call *find_call(const isc_host_times *t, uint32_t process, uint64_t correlation)
{
	uint64_t *place = isc_hashmap_find(&t->call_of, call_key(process, correlation));

	return place != NULL && *place != 0 ? &t->calls[*place - 1] : NULL;
}

static bool note_call(isc_host_times *t, const isc_event *ev)
{
	isc_gpu_called c;
	uint64_t *place;

	if (!isc_trace_gpu_called(ev, &c) || c.correlation == 0 || t->call_count >= CALLS_MOST ||
	    ISC_GPU_ARG_TIME(ev->arg) != ISC_GPU_TIME_TICKS)
		return true;
	if (!grow(&t->calls, &t->call_room, t->call_count, sizeof(*t->calls)))
		return false;
	place = isc_hashmap_put(&t->call_of, call_key(ev->process, c.correlation), NULL);
	if (place == NULL)
		return false;
	if (*place != 0)
		return true;
	t->calls[t->call_count] = (struct host_call){.start_ns = signed_ns(isc_trace_ticks_to_ns(t->trace, c.start)),
						     .end_ns = signed_ns(isc_trace_ticks_to_ns(t->trace, c.end)),
						     .holds = ISC_GPU_ARG_HOLDS(ev->arg) != 0};
	*place = ++t->call_count;
	return true;
}

/* Its call may be written by a thread that is read later. */
static bool note_wait(isc_host_times *t, const isc_event *ev)
{
	isc_gpu_work w;

	if (ISC_GPU_ARG_WHAT(ev->arg) != ISC_JOB_SYNC || !isc_trace_gpu_work(ev, &w) || t->wait_count >= WAITS_MOST)
		return true;
	if (!grow(&t->waits, &t->wait_room, t->wait_count, sizeof(*t->waits)))
		return false;
	t->waits[t->wait_count++] = (struct host_wait){.lane = lane_of(ev->process, w.context, w.stream),
						       .call = call_key(ev->process, w.correlation)};
	return true;
}

bool isc_host_times_note(isc_host_times *t, const isc_event *ev)
{
	if (ev->kind == ISC_KIND_GPU_CALL)
		return note_call(t, ev);
	return note_wait(t, ev);
}

/* Waits get the times of their calls; those without one go. */
static void place_waits(isc_host_times *t)
{
	size_t kept = 0;

	for (size_t i = 0; i < t->wait_count; i++) {
		const uint64_t *place = isc_hashmap_find(&t->call_of, t->waits[i].call);
		const struct host_call *c = place != NULL && *place != 0 ? &t->calls[*place - 1] : NULL;

		if (c == NULL || c->end_ns < c->start_ns)
			continue;
		t->waits[kept] = t->waits[i];
		t->waits[kept].start_ns = c->start_ns;
		t->waits[kept++].end_ns = c->end_ns;
	}
	t->wait_count = kept;
}

static int by_lane(const void *a, const void *b)
{
	const struct host_wait *x = a, *y = b;

	if (x->lane != y->lane)
		return x->lane < y->lane ? -1 : 1;
	return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

/* The end of the first wait in a lane that began after this. */
static int64_t waited(const isc_host_times *t, uint64_t lane, int64_t after_ns)
{
	size_t low = 0, high = t->wait_count;

	while (low < high) {
		size_t at = low + (high - low) / 2;
		const struct host_wait *w = &t->waits[at];

		if (w->lane < lane || (w->lane == lane && w->start_ns < after_ns))
			low = at + 1;
		else
			high = at;
	}
	return low < t->wait_count && t->waits[low].lane == lane ? t->waits[low].end_ns : ISC_CAUSALITY_NEVER;
}

struct host_comparison {
	isc_host_times *times;
	isc_host_times_device *device;
	void *self;
};

static bool compare(void *self, const isc_event *ev)
{
	const struct host_comparison *by = self;
	isc_host_times *t = by->times;
	isc_causality *causality;
	const struct host_call *c;
	int64_t until, all;
	isc_gpu_work w;

	if (ev->kind != ISC_KIND_GPU_WORK || ISC_GPU_ARG_TIME(ev->arg) != ISC_GPU_TIME_MONOTONIC ||
	    ISC_GPU_ARG_WHAT(ev->arg) >= ISC_JOB_SYNC || !isc_trace_gpu_work(ev, &w) || w.end < w.start || w.end == 0)
		return true;
	causality = by->device(by->self, ev->process, w.device);
	c = causality != NULL ? find_call(t, ev->process, w.correlation) : NULL;
	if (c == NULL)
		return true;
	until = waited(t, lane_of(ev->process, w.context, w.stream), c->end_ns);
	all = waited(t, lane_of(ev->process, w.context, ALL_STREAMS), c->end_ns);
	until = all < until ? all : until;
	if (c->holds && c->end_ns < until)
		until = c->end_ns;
	isc_causality_add(causality, c->start_ns, until, signed_ns(w.start), signed_ns(w.end));
	return true;
}

isc_status isc_host_times_new(isc_trace *trace, isc_host_times **out, isc_error *err)
{
	isc_host_times *t = calloc(1, sizeof(*t));

	*out = t;
	if (t == NULL)
		return isc_fail(err, ISC_ERR_NOMEM, "no memory to compare the clocks of GPUs");
	t->trace = trace;
	return ISC_OK;
}

void isc_host_times_compare(isc_host_times *t, isc_host_times_device *device, void *self)
{
	struct host_comparison by = {t, device, self};
	isc_walk walk = {0};

	place_waits(t);
	if (t->wait_count > 0)
		qsort(t->waits, t->wait_count, sizeof(*t->waits), by_lane);
	isc_walk_join(&walk, ISC_KIND_BIT(ISC_KIND_GPU_WORK), compare, &by);
	isc_walk_run(&walk, t->trace);
}

void isc_host_times_free(isc_host_times *t)
{
	if (t == NULL)
		return;
	isc_hashmap_fini(&t->call_of);
	free(t->calls);
	free(t->waits);
	free(t);
}

bool isc_host_times_called(const isc_host_times *t, uint32_t process, uint64_t correlation, int64_t *ns)
{
	const struct host_call *c = find_call(t, process, correlation);

	if (c != NULL)
		*ns = c->start_ns;
	return c != NULL;
}
