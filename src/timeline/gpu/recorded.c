#include "timeline/gpu/recorded.h"

#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/hashmap.h"
#include "timeline/gpu/host_times.h"

/* Of one device; more only make a bound better that is good already. */
#define READINGS_MOST (1u << 20)
/* Calls that are looked at to compare clocks that cannot be read. */
#define CALLS_MOST (1u << 18)
/* Calls whose scope is kept: 32 MB at most.  That of others is the one of their thread. */
#define SCOPES_MOST (1u << 20)
/* Definitions of devices: a trace that has more is none of ours. */
#define DEVICES_MOST 4096u
/* Calls bound a clock of which nothing else is known, however little they tell: taken as it is, it would be
 * wrong by any amount. */
#define WIDEST_NS 3600000000000ll

struct recorded_call {
	int64_t start_ns, end_ns; /* end_ns INT64_MAX: it says nothing of the end of its work */
};

struct readings {
	isc_clock_triple *at;
	size_t count, room;
};

struct isc_recorded {
	isc_trace *trace;
	isc_arena *arena;
	isc_recorded_device *devices;
	struct readings *readings; /* one each */
	size_t count, room;
	isc_hashmap device_of; /* process and id -> place + 1 */
	isc_hashmap call_of;   /* correlation and process -> place + 1 */
	struct recorded_call *calls;
	size_t call_count, call_room;
	isc_hashmap scope_of; /* correlation and process -> name and instance of the scope */
	isc_hashmap left_of;  /* process and instance of a scope that another thread left -> when */
	isc_host_times *told;
};

static isc_status no_memory(isc_error *err)
{
	return isc_fail(err, ISC_ERR_NOMEM, "no memory for the records of GPUs");
}

bool isc_recorded_any(const isc_trace *trace)
{
	uint32_t process, id, len;
	uint16_t type;

	for (size_t i = 0; isc_trace_define_at(trace, i, &process, &id, &type, &len) != NULL; i++) {
		if (type == ISC_DEF_GPU || type == ISC_DEF_GPU_SOURCE)
			return true;
	}
	return false;
}

/* A process that was forked speaks of its parent's definitions: one entry for each process that uses it. */
static isc_recorded_device *device_of(isc_recorded *r, uint32_t process, uint32_t id)
{
	uint64_t *place = isc_hashmap_find(&r->device_of, isc_hashmap_key(process, id));

	return place != NULL && *place != 0 ? &r->devices[*place - 1] : NULL;
}

/* NULL: no memory, or there is no such device. */
static isc_recorded_device *add_device(isc_recorded *r, uint32_t process, uint32_t id, bool *failed)
{
	isc_recorded_device *d = device_of(r, process, id);
	isc_text name;
	isc_def_gpu def;
	uint64_t *place;

	if (d != NULL || r->count >= DEVICES_MOST || !isc_trace_gpu_device(r->trace, process, id, &def, &name))
		return d;
	place = isc_hashmap_put(&r->device_of, isc_hashmap_key(process, id), NULL);
	d = place != NULL ? isc_arena_push(r->arena, &r->devices, &r->count, &r->room, sizeof(*d)) : NULL;
	if (d == NULL) {
		*failed = true;
		return NULL;
	}
	*d = (isc_recorded_device){
		.process = process, .id = id, .number = def.number, .api = def.api, .traits = def.traits, .name = name};
	*place = r->count;
	return d;
}

/* ---- readings of clocks ---- */

static int64_t bound_ns(uint64_t ns)
{
	return ns < INT64_MAX / 4 ? (int64_t)ns : INT64_MAX / 4;
}

static bool note_reading(isc_recorded *r, const isc_event *ev, const isc_gpu_reading *reading)
{
	bool failed = false;
	isc_recorded_device *d = add_device(r, ev->process, ev->id, &failed);
	isc_clock_triple triple = {bound_ns(isc_trace_ticks_to_ns(r->trace, reading->before)),
				   bound_ns(reading->device_ns),
				   bound_ns(isc_trace_ticks_to_ns(r->trace, reading->after))};
	struct readings *list;
	isc_clock_triple *wider;

	if (d == NULL)
		return !failed;
	list = &r->readings[d - r->devices];
	if (list->count >= READINGS_MOST)
		return true;
	if (list->count == list->room) {
		size_t room = list->room != 0 ? list->room * 2 : 64;

		wider = realloc(list->at, room * sizeof(*wider));
		if (wider == NULL)
			return false;
		list->at = wider;
		list->room = room;
	}
	list->at[list->count++] = triple;
	d->read++;
	return true;
}

static bool note_work(isc_recorded *r, const isc_event *ev, const isc_gpu_work *work)
{
	bool failed = false;
	isc_recorded_device *d = add_device(r, ev->process, work->device, &failed);

	if (d != NULL && ISC_GPU_ARG_TIME(ev->arg) == ISC_GPU_TIME_DEVICE && work->end != 0)
		d->own = true;
	if (d != NULL && d->told == NULL && ISC_GPU_ARG_TIME(ev->arg) == ISC_GPU_TIME_MONOTONIC && work->end != 0 &&
	    ISC_GPU_ARG_WHAT(ev->arg) < ISC_JOB_SYNC) {
		d->told = isc_causality_new(bound_ns(isc_trace_header(r->trace)->start_ns));
		failed = d->told == NULL;
	}
	return !failed;
}

static uint64_t call_key(uint32_t process, uint64_t correlation)
{
	return correlation ^ (uint64_t)process << 40;
}

/* ---- scopes ---- */

static bool note_scope(isc_recorded *r, const isc_event *ev, const isc_gpu_scope *scope)
{
	uint64_t *known;

	if (scope->correlation == 0 || ev->id == 0 || r->scope_of.count >= SCOPES_MOST)
		return true;
	known = isc_hashmap_put(&r->scope_of, call_key(ev->process, scope->correlation), NULL);
	if (known == NULL)
		return false;
	*known = (uint64_t)ev->id << 32 | (uint32_t)scope->instance;
	return true;
}

/* The thread that entered it does not know, and goes on to name it. */
static bool note_left(isc_recorded *r, const isc_event *ev)
{
	uint64_t *left;
	isc_span span;

	if (ev->arg != ISC_SPAN_MOVED || ev->extra_len < sizeof(span) || r->left_of.count >= SCOPES_MOST)
		return true;
	memcpy(&span, ev->extra, sizeof(span));
	left = isc_hashmap_put(&r->left_of, isc_hashmap_key(ev->process, (uint32_t)span.instance), NULL);
	if (left == NULL)
		return false;
	*left = ev->time_ns;
	return true;
}

/* Of a call at this time; 0: of its work, which may come any time later. */
static uint32_t scope_of(const isc_recorded *r, uint32_t process, uint64_t correlation, uint64_t call_ns)
{
	uint64_t *known = isc_hashmap_find(&r->scope_of, call_key(process, correlation)), *left;

	if (known == NULL)
		return 0;
	left = isc_hashmap_find(&r->left_of, isc_hashmap_key(process, (uint32_t)*known));
	return left != NULL && call_ns > *left ? 0 : (uint32_t)(*known >> 32);
}

static int by_host(const void *a, const void *b)
{
	const isc_clock_triple *x = a, *y = b;

	return (x->before_ns > y->before_ns) - (x->before_ns < y->before_ns);
}

/* ---- clocks that cannot be read ---- */

static bool note_call(isc_recorded *r, const isc_event *ev)
{
	isc_recorded_item item;
	uint64_t *place;
	struct recorded_call *c;

	if (r->call_count >= CALLS_MOST || !isc_recorded_call(r, ev, &item) || item.correlation == 0)
		return true;
	place = isc_hashmap_put(&r->call_of, call_key(ev->process, item.correlation), NULL);
	if (place == NULL)
		return false;
	if (*place != 0)
		return true; /* of several the first is the outermost */
	c = isc_arena_push(r->arena, &r->calls, &r->call_count, &r->call_room, sizeof(*c));
	if (c == NULL)
		return false;
	*place = r->call_count;
	*c = (struct recorded_call){bound_ns(item.start_ns), item.holds ? bound_ns(item.end_ns) : INT64_MAX};
	return true;
}

static bool compare(isc_recorded *r, const isc_event *ev, const isc_gpu_work *work)
{
	isc_recorded_device *d = device_of(r, ev->process, work->device);
	uint64_t *place = isc_hashmap_find(&r->call_of, call_key(ev->process, work->correlation));
	const struct recorded_call *c;

	if (d == NULL || d->sync == NULL || d->read > 0 || place == NULL || *place == 0 || work->end < work->start ||
	    work->end == 0 || ISC_GPU_ARG_TIME(ev->arg) != ISC_GPU_TIME_DEVICE)
		return true;
	c = &r->calls[*place - 1];
	d->compared++;
	/* It was told of when it had ended. */
	return isc_clock_sync_asked(d->sync, c->start_ns, bound_ns(work->start)) &&
	       isc_clock_sync_waited(d->sync, bound_ns(ev->time_ns), bound_ns(work->end)) &&
	       (c->end_ns == INT64_MAX || isc_clock_sync_waited(d->sync, c->end_ns, bound_ns(work->end)));
}

static bool compare_work(void *self, const isc_event *ev)
{
	isc_gpu_work work;

	return !isc_trace_gpu_work(ev, &work) || compare(self, ev, &work);
}

static isc_status compare_all(isc_recorded *r, isc_error *err)
{
	isc_walk walk = {0};

	isc_walk_join(&walk, ISC_KIND_BIT(ISC_KIND_GPU_WORK), compare_work, r);
	return isc_walk_run(&walk, r->trace) ? ISC_OK : no_memory(err);
}

/* ---- clocks that a library has turned into the host's ---- */

static isc_causality *told_of(void *self, uint32_t process, uint32_t id)
{
	isc_recorded_device *d = device_of(self, process, id);

	return d != NULL ? d->told : NULL;
}

/* What is bounded by less than the margin, or cannot be right as it is. */
static void fit_told(isc_recorded *r, int64_t margin_ns)
{
	bool any = false;

	for (size_t i = 0; i < r->count; i++)
		any |= r->devices[i].told != NULL;
	if (!any)
		return;
	isc_host_times_compare(r->told, told_of, r);
	for (size_t i = 0; i < r->count; i++) {
		isc_recorded_device *d = &r->devices[i];
		const isc_causality_stats *stats = d->told != NULL ? isc_causality_fit(d->told) : NULL;

		if (stats == NULL)
			continue;
		d->told_error_ns = stats->error_ns;
		if (stats->bounded && (stats->off || stats->error_ns <= margin_ns))
			continue;
		isc_causality_free(d->told);
		d->told = NULL;
	}
}

/* ---- making ---- */

/* Devices of OpenCL are counted from 0 too: where there are others they come behind those. */
static void number_devices(isc_recorded *r)
{
	uint32_t behind = 0, told = 0;

	for (size_t i = 0; i < r->count; i++) {
		const isc_recorded_device *d = &r->devices[i];

		if (d->api == ISC_GPU_CUDA && d->number < UINT32_MAX / 4 && d->number + 1 > behind)
			behind = d->number + 1;
	}
	told = behind;
	for (size_t i = 0; i < r->count; i++) {
		isc_recorded_device *d = &r->devices[i];

		if (d->api == ISC_GPU_OPENCL && d->number < UINT32_MAX / 4) {
			d->number += behind;
			told = d->number + 1 > told ? d->number + 1 : told;
		}
	}
	for (size_t i = 0; i < r->count; i++) {
		isc_recorded_device *d = &r->devices[i];

		if (d->api != ISC_GPU_CUDA && d->api != ISC_GPU_OPENCL && d->number < UINT32_MAX / 4)
			d->number += told;
	}
}

static isc_status fit(isc_recorded *r, int64_t margin_ns, isc_error *err)
{
	bool blind = false;
	isc_status st = ISC_OK;

	for (size_t i = 0; i < r->count && st == ISC_OK; i++) {
		isc_recorded_device *d = &r->devices[i];
		struct readings *list = &r->readings[i];

		if (!d->own)
			continue;
		st = isc_clock_sync_new(&d->sync, err);
		/* Threads are read one after the other. */
		if (list->count > 0)
			qsort(list->at, list->count, sizeof(*list->at), by_host);
		for (size_t k = 0; k < list->count && st == ISC_OK; k++) {
			if (!isc_clock_sync_read(d->sync, &list->at[k]))
				st = no_memory(err);
		}
		blind |= d->read == 0;
	}
	if (st == ISC_OK && blind)
		st = compare_all(r, err);
	for (size_t i = 0; i < r->count && st == ISC_OK; i++) {
		isc_recorded_device *d = &r->devices[i];

		if (d->sync != NULL && !isc_clock_sync_fit(d->sync, d->compared > 0 ? WIDEST_NS : margin_ns))
			st = no_memory(err);
	}
	return st;
}

static bool take_event(void *self, const isc_event *ev)
{
	isc_gpu_reading reading;
	isc_gpu_scope scope;
	isc_recorded *r = self;
	isc_gpu_work work;

	switch (ev->kind) {
	case ISC_KIND_SPAN_EXIT:
		return note_left(r, ev);
	case ISC_KIND_GPU_CALL:
		return note_call(r, ev) && isc_host_times_note(r->told, ev);
	case ISC_KIND_GPU_WORK:
		return !isc_trace_gpu_work(ev, &work) || (note_work(r, ev, &work) && isc_host_times_note(r->told, ev));
	default:
		if (isc_trace_gpu_scope(ev, &scope))
			return note_scope(r, ev, &scope);
		return !isc_trace_gpu_reading(ev, &reading) || note_reading(r, ev, &reading);
	}
}

isc_status isc_recorded_begin(isc_trace *trace, isc_recorded **out, isc_error *err)
{
	isc_recorded *r;
	isc_status st;

	*out = NULL;
	if (!isc_recorded_any(trace))
		return ISC_OK;
	r = calloc(1, sizeof(*r));
	if (r == NULL)
		return no_memory(err);
	r->trace = trace;
	r->arena = isc_arena_new();
	r->readings = calloc(DEVICES_MOST, sizeof(*r->readings));
	st = r->arena != NULL && r->readings != NULL ? isc_host_times_new(trace, &r->told, err) : no_memory(err);
	if (st == ISC_OK)
		*out = r;
	else
		isc_recorded_free(r);
	return st;
}

void isc_recorded_join(isc_recorded *r, isc_walk *walk)
{
	isc_walk_join(walk, ISC_KIND_BIT(ISC_KIND_SPAN_EXIT) | ISC_WALK_GPU, take_event, r);
}

isc_status isc_recorded_end(isc_recorded *r, int64_t margin_ns, isc_error *err)
{
	isc_status st;

	number_devices(r);
	st = fit(r, margin_ns, err);
	if (st == ISC_OK)
		fit_told(r, margin_ns);
	return st;
}

isc_status isc_recorded_new(isc_trace *trace, int64_t margin_ns, isc_recorded **out, isc_error *err)
{
	isc_walk walk = {0};
	isc_status st = isc_recorded_begin(trace, out, err);

	if (st != ISC_OK || *out == NULL)
		return st;
	isc_recorded_join(*out, &walk);
	st = isc_walk_run(&walk, trace) ? isc_recorded_end(*out, margin_ns, err) : no_memory(err);
	if (st != ISC_OK) {
		isc_recorded_free(*out);
		*out = NULL;
	}
	return st;
}

void isc_recorded_free(isc_recorded *r)
{
	if (r == NULL)
		return;
	for (size_t i = 0; i < r->count; i++) {
		isc_clock_sync_free(r->devices[i].sync);
		isc_causality_free(r->devices[i].told);
	}
	isc_host_times_free(r->told);
	for (size_t i = 0; r->readings != NULL && i < DEVICES_MOST; i++)
		free(r->readings[i].at);
	free(r->readings);
	isc_hashmap_fini(&r->device_of);
	isc_hashmap_fini(&r->call_of);
	isc_hashmap_fini(&r->scope_of);
	isc_hashmap_fini(&r->left_of);
	isc_arena_free(r->arena);
	free(r);
}

const isc_recorded_device *isc_recorded_device_at(const isc_recorded *r, size_t i)
{
	return i < r->count ? &r->devices[i] : NULL;
}

/* ---- records ---- */

/* A time of the host that is not the device's. */
static bool host_time(const isc_recorded *r, unsigned time, uint64_t start, uint64_t end, isc_recorded_item *out)
{
	if (time == ISC_GPU_TIME_MONOTONIC) {
		out->start_ns = start;
		out->end_ns = end;
		return true;
	}
	if (time != ISC_GPU_TIME_TICKS)
		return false;
	out->start_ns = isc_trace_ticks_to_ns(r->trace, start);
	out->end_ns = isc_trace_ticks_to_ns(r->trace, end);
	return true;
}

static uint64_t to_unsigned(int64_t ns)
{
	return ns > 0 ? (uint64_t)ns : 0;
}

static const isc_recorded_device *known_device(const isc_recorded *r, uint32_t process, uint32_t id)
{
	uint64_t *place = isc_hashmap_find(&r->device_of, isc_hashmap_key(process, id));

	return place != NULL && *place != 0 ? &r->devices[*place - 1] : NULL;
}

static void turn_told(const isc_recorded *r, const isc_event *ev, isc_recorded_item *out)
{
	int64_t start = bound_ns(out->start_ns), dur = bound_ns(out->end_ns - out->start_ns), called, placed;

	if (!isc_host_times_called(r->told, ev->process, out->correlation, &called))
		called = start;
	placed = isc_causality_place(out->device->told, called, start, &out->error_ns);
	/* As far as the clock may be off, it began behind its call, for everybody who asks. */
	out->mended = (start < called || placed < called) && placed >= called - out->error_ns;
	placed = placed < called && placed >= called - out->error_ns ? called : placed;
	out->start_ns = to_unsigned(placed);
	out->end_ns = out->start_ns + (uint64_t)dur;
}

bool isc_recorded_work(const isc_recorded *r, const isc_event *ev, isc_recorded_item *out)
{
	unsigned time = ISC_GPU_ARG_TIME(ev->arg);
	isc_gpu_work w;
	int64_t error = 0;

	if (!isc_trace_gpu_work(ev, &w))
		return false;
	*out = (isc_recorded_item){.correlation = w.correlation,
				   .bytes = w.bytes,
				   .stream = w.stream,
				   .device = known_device(r, ev->process, w.device),
				   .context = w.context,
				   .scope = scope_of(r, ev->process, w.correlation, 0),
				   .error = w.error,
				   .job = (uint8_t)ISC_GPU_ARG_WHAT(ev->arg),
				   .page = (uint8_t)ISC_GPU_ARG_PAGE(ev->arg)};
	memcpy(out->grid, w.grid, sizeof(out->grid));
	memcpy(out->block, w.block, sizeof(out->block));
	if (out->device == NULL || out->job >= ISC_JOBS)
		return false;
	/* No time stamp, or none that can be: told of, and without times. */
	if (w.end < w.start || w.end == 0)
		return true;
	if (host_time(r, time, w.start, w.end, out)) {
		if (time == ISC_GPU_TIME_MONOTONIC && out->job < ISC_JOB_SYNC && out->device->told != NULL)
			turn_told(r, ev, out);
		return true;
	}
	if (time != ISC_GPU_TIME_DEVICE || out->device->sync == NULL)
		return false;
	out->start_ns =
		to_unsigned(isc_clock_sync_map(out->device->sync, bound_ns(w.start), ISC_CLOCK_ANY, &out->error_ns));
	out->end_ns = to_unsigned(isc_clock_sync_map(out->device->sync, bound_ns(w.end), ISC_CLOCK_ANY, &error));
	out->error_ns = error > out->error_ns ? error : out->error_ns;
	out->end_ns = out->end_ns > out->start_ns ? out->end_ns : out->start_ns;
	return true;
}

bool isc_recorded_call(const isc_recorded *r, const isc_event *ev, isc_recorded_item *out)
{
	isc_gpu_called c;

	if (!isc_trace_gpu_called(ev, &c))
		return false;
	*out = (isc_recorded_item){.correlation = c.correlation,
				   .device = known_device(r, ev->process, c.device),
				   .tid = c.tid,
				   .stack = c.stack,
				   .error = c.error,
				   .role = (uint8_t)ISC_GPU_ARG_WHAT(ev->arg),
				   .holds = ISC_GPU_ARG_HOLDS(ev->arg) != 0};
	if (!host_time(r, ISC_GPU_ARG_TIME(ev->arg), c.start, c.end, out) || out->end_ns < out->start_ns)
		return false;
	out->scope = scope_of(r, ev->process, c.correlation, out->start_ns);
	return true;
}
