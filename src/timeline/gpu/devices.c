/*
 * devices.c - every device in the order of time: when it was busy and with what,
 * and for each gap what it waited for.
 *
 * A gap lies between the end of everything before and the start of the next
 * work.  What its time went to is told by the call that asked for that work:
 *
 *	end of work      call begins     call ends    work begins
 *	     |  sync, copy, host_wait | host_wait | kernel_wait |
 *
 * The thread that made the call had not asked yet up to where it begins: it was
 * in a wait or a copy, or did something else.  When the call began before the
 * gap, all of the gap is kernel_wait.  Pieces add up to the gap by construction.
 *
 * Times that are told apart, as those of gaps and unions are, add up to no more than the
 * span of the device.  Those that may overlap, as kernels do, have a bound (base/ns.h).
 */
#include <stdlib.h>
#include <string.h>

#include "timeline/state.h"

/* A longer gap on one stream, with its work asked for, is not only the next kernel's start. */
#define NEXT_KERNEL_NS 30000
#define STREAMS_MOST 4096u
#define AT_ONCE_MOST 1024u
/* Beside the causes: places of host_wait that the host was in, and not in front of. */
#define DURING ((uint32_t)ISC_IDLE_CAUSES)

struct cover { /* a union of intervals, by their start */
	int64_t to, total;
	bool any;
};

struct device {
	isc_timeline *t;
	isc_facts_gpu *gpu;
	uint32_t source;
	int64_t origin_ns;
	int64_t host_ns; /* what is taken from a time of the host to be one of this device, of the origin */
	struct cover busy, kernel, compute, comm, copy, set;
	isc_hashmap where_of; /* cause and place -> time */
	isc_histogram delay;
	int64_t delay_sum;
	isc_hashmap stream_of;
	isc_array streams;
	int64_t *stream_end;
	size_t stream_room;
	int64_t ends[AT_ONCE_MOST];
	unsigned at_once;
	isc_wait_item *open; /* waits that may reach into the next gap */
	size_t open_count, open_room;
	const isc_wait_item *next_wait;
	/* Of the gap that is looked at: where it begins, and the wait of the host that was on then. */
	int64_t gap_ns, drain_start, drain_end;
	uint32_t drain_name;
	isc_hashmap drained; /* name of such a wait -> time */
	bool failed;
};

const char *isc_idle_cause_name(enum isc_idle_cause cause)
{
	static const char *const names[ISC_IDLE_CAUSES] = {"host_wait", "kernel_wait", "sync", "copy", "unknown"};

	return (unsigned)cause < ISC_IDLE_CAUSES ? names[cause] : "?";
}

static void cover(struct cover *c, int64_t start, int64_t end)
{
	if (!c->any || start > c->to) {
		c->total += end - start;
		c->to = end;
	} else if (end > c->to) {
		c->total += end - c->to;
		c->to = end;
	}
	c->any = true;
}

/* ---- causes ---- */

/* How much of a piece lies in each of the bins. */
static void fill_bins(const isc_facts_gpu *g, double *bins, int64_t from, int64_t to)
{
	double width = (double)(g->last_ns - g->first_ns) / ISC_TIMELINE_BINS;

	if (width <= 0 || from < g->first_ns)
		return;
	for (size_t i = (size_t)((double)(from - g->first_ns) / width); i < ISC_TIMELINE_BINS; i++) {
		double begin = (double)g->first_ns + width * (double)i, end = begin + width;
		double left = (double)from > begin ? (double)from : begin, right = (double)to < end ? (double)to : end;

		if (right > left)
			bins[i] += (right - left) / width;
		if ((double)to <= end)
			break;
	}
}

static void add_place(struct device *d, uint32_t cause, uint32_t where, int64_t ns)
{
	uint64_t key = isc_hashmap_key(cause, where), *sum;

	sum = isc_hashmap_find(&d->where_of, key);
	if (sum == NULL && d->where_of.count >= ISC_ROWS_MOST) {
		d->t->folded++;
		return;
	}
	sum = sum != NULL ? sum : isc_hashmap_put(&d->where_of, key, NULL);
	if (sum == NULL)
		d->failed = true;
	else
		*sum += (uint64_t)ns;
}

static void blame(struct device *d, enum isc_idle_cause cause, uint32_t where, int64_t from, int64_t to)
{
	if (to <= from)
		return;
	d->gpu->idle[cause].ns += to - from;
	fill_bins(d->gpu, d->gpu->idle_why[cause], from, to);
	if (where != 0)
		add_place(d, (uint32_t)cause, where, to - from);
}

/* Time of the host before a call: by what it did then, where that is known, else by where the call was made. */
static void blame_before(struct device *d, const isc_work_item *w, int64_t from, int64_t to)
{
	blame(d, ISC_IDLE_HOST_WAIT, w->did == 0 ? w->where : 0, from, to);
	if (w->did != 0 && to > from)
		add_place(d, DURING, w->did, to - from);
}

/* The part of [*from, to) that this wait covers, when it is one of the thread. */
static void blame_wait(struct device *d, const isc_wait_item *w, const isc_work_item *work, int64_t *from, int64_t to)
{
	int64_t start = isc_timeline_since(w->start_ns, d->host_ns), end = isc_timeline_since(w->end_ns, d->host_ns);

	if (w->thread != work->thread || end <= *from || start >= to)
		return;
	end = end < to ? end : to;
	if (w->call == ISC_CALL_SYNC && start < d->gap_ns) {
		d->drain_start = start;
		d->drain_end = end;
		d->drain_name = w->name;
	}
	if (start > *from) {
		blame_before(d, work, *from, start);
		*from = start;
	}
	blame(d, w->call == ISC_CALL_SYNC ? ISC_IDLE_SYNC : ISC_IDLE_COPY, w->name, *from, end);
	*from = end;
}

static bool keep_open(struct device *d, const isc_wait_item *w)
{
	if (d->open_count == d->open_room) {
		size_t room = d->open_room > 0 ? d->open_room * 2 : 64;
		isc_wait_item *open = realloc(d->open, room * sizeof(*open));

		if (open == NULL)
			return false;
		d->open = open;
		d->open_room = room;
	}
	d->open[d->open_count++] = *w;
	return true;
}

/* [from, to): nothing was asked of the device yet.  Waits come by their start; those that end
 * later may matter to the next gap and are kept. */
static void blame_host(struct device *d, const isc_work_item *w, int64_t from, int64_t to)
{
	size_t kept = 0;

	for (size_t i = 0; i < d->open_count; i++) {
		blame_wait(d, &d->open[i], w, &from, to);
		if (isc_timeline_since(d->open[i].end_ns, d->host_ns) > to)
			d->open[kept++] = d->open[i];
	}
	d->open_count = kept;
	while (d->next_wait != NULL && isc_timeline_since(d->next_wait->start_ns, d->host_ns) < to) {
		blame_wait(d, d->next_wait, w, &from, to);
		if (isc_timeline_since(d->next_wait->end_ns, d->host_ns) > to && !keep_open(d, d->next_wait))
			d->failed = true;
		d->next_wait = isc_spool_next(d->t->waits);
	}
	blame_before(d, w, from, to);
}

/* Would the device have had its next work in time, had the host not waited? */
static void note_drain(struct device *d, int64_t called, int64_t to)
{
	uint64_t *sum;

	if (d->drain_end == d->drain_start || called - d->drain_end > d->gap_ns - d->drain_start)
		return;
	d->gpu->drained_ns += to - d->gap_ns;
	if (d->drained.count >= ISC_ROWS_MOST && isc_hashmap_find(&d->drained, d->drain_name) == NULL)
		return;
	sum = isc_hashmap_put(&d->drained, d->drain_name, NULL);
	if (sum == NULL)
		d->failed = true;
	else
		*sum += (uint64_t)(to - d->gap_ns);
}

static void explain_gap(struct device *d, const isc_work_item *w, int64_t from, int64_t to)
{
	bool known = w->call_ns != ISC_NEVER;
	int64_t call = known ? isc_timeline_since(w->call_ns, d->host_ns) : 0,
		called = known ? isc_timeline_since(w->called_ns, d->host_ns) : 0;
	enum isc_idle_cause cause = ISC_IDLE_HOST_WAIT;

	fill_bins(d->gpu, d->gpu->idle_over_time, from, to);
	if (!known) {
		cause = ISC_IDLE_UNKNOWN;
		blame(d, cause, w->name, from, to);
	} else if (call <= from) {
		cause = ISC_IDLE_KERNEL_WAIT;
		blame(d, cause, w->name, from, to);
	} else {
		call = call < to ? call : to;
		called = called < to ? called : to;
		d->gap_ns = from;
		d->drain_start = d->drain_end = 0;
		blame_host(d, w, from, call);
		note_drain(d, called, to);
		/* Making the call is the host's time; what a copy takes in it is the copy's. */
		blame(d, isc_gpu_is_copy(w->kind) ? ISC_IDLE_COPY : ISC_IDLE_HOST_WAIT, w->where, call, called);
		blame(d, ISC_IDLE_KERNEL_WAIT, w->name, called, to);
	}
	d->gpu->idle[cause].gaps++;
}

/* ---- streams ---- */

/* By the times that the source gives, as others tell it of the same trace. */
static void follow_stream(struct device *d, const isc_work_item *w)
{
	uint64_t *place = isc_hashmap_find(&d->stream_of, w->stream);
	isc_facts_stream *s;
	int64_t gap, last;

	if (d->failed)
		return;
	if (place == NULL) {
		if (d->streams.count >= STREAMS_MOST) {
			d->t->folded++;
			return;
		}
		place = isc_hashmap_put(&d->stream_of, w->stream, NULL);
		s = isc_arena_push(d->t->arena, &d->streams.at, &d->streams.count, &d->streams.room, sizeof(*s));
		if (place == NULL || s == NULL) {
			d->failed = true;
			return;
		}
		*place = d->streams.count - 1;
		s->stream = w->stream;
		if (d->streams.count > d->stream_room) {
			int64_t *ends = realloc(d->stream_end, d->streams.room * sizeof(*ends));

			if (ends == NULL) {
				d->failed = true;
				return;
			}
			d->stream_end = ends;
			d->stream_room = d->streams.room;
		}
		d->stream_end[*place] = w->end_ns;
		s->count = 1;
		return;
	}
	s = (isc_facts_stream *)d->streams.at + *place;
	last = d->stream_end[*place];
	gap = w->start_ns - last;
	s->count++;
	if (w->end_ns > last)
		d->stream_end[*place] = w->end_ns;
	if (gap <= 0)
		return;
	s->idle_ns += gap;
	if (w->call_ns != ISC_NEVER && isc_timeline_since(w->call_ns, d->origin_ns) > last)
		s->host_wait_ns += gap;
	else if (gap < NEXT_KERNEL_NS)
		s->kernel_wait_ns += gap;
	else
		s->other_ns += gap;
}

/* ---- work ---- */

static void count_at_once(struct device *d, int64_t start, int64_t end)
{
	unsigned n = 0;

	for (unsigned i = 0; i < d->at_once; i++) {
		if (d->ends[i] > start)
			d->ends[n++] = d->ends[i];
	}
	d->at_once = n;
	if (d->at_once < AT_ONCE_MOST && end > start)
		d->ends[d->at_once++] = end;
	if (d->at_once > d->gpu->most_at_once)
		d->gpu->most_at_once = d->at_once;
}

static void add_delay(struct device *d, const isc_work_item *w)
{
	int64_t delay;

	if (w->call_ns == ISC_NEVER) {
		d->gpu->unlinked++;
		return;
	}
	delay = w->start_ns - (isc_timeline_since(w->called_ns, d->host_ns));
	delay = delay > 0 ? delay : 0;
	isc_ns_add(&d->delay_sum, delay);
	if (!isc_histogram_add(&d->delay, (uint64_t)delay))
		d->failed = true;
}

static void count_kind(isc_facts_gpu *g, const isc_work_item *w)
{
	uint64_t *bytes = w->kind == ISC_GPU_H2D ? &g->h2d_bytes : w->kind == ISC_GPU_D2H ? &g->d2h_bytes : NULL;

	if (bytes != NULL)
		*bytes = isc_count_plus(*bytes, w->bytes);
	if (w->kind == ISC_GPU_KERNEL) {
		g->kernels++;
		isc_ns_add(&g->class_ns[w->class], w->end_ns - w->start_ns);
		g->class_count[w->class]++;
	} else if (w->kind == ISC_GPU_MEMSET) {
		g->sets++;
	} else {
		g->copies++;
	}
}

/* Times of w are of the origin and inside the window. */
static void tell(const struct device *d, const isc_work_item *w)
{
	const isc_timeline_watch *watch = d->t->options.watch;
	isc_timeline_seen seen = {.start_ns = w->start_ns,
				  .end_ns = w->end_ns,
				  .call_ns = w->call_ns != ISC_NEVER ? isc_timeline_since(w->call_ns, d->host_ns)
								     : ISC_NEVER,
				  .thread = w->thread,
				  .name = w->name,
				  .device = w->device,
				  .number = d->gpu->number,
				  .device_name = d->gpu->name,
				  .stream = w->stream,
				  .bytes = w->bytes,
				  .memory = w->memory,
				  .kind = w->kind,
				  .class = w->class};

	if (watch == NULL)
		return;
	if (w->thread != ISC_GPU_UNKNOWN)
		seen.tid = isc_thread_at(d->t, w->thread)->tid;
	watch->work(watch->self, &seen);
}

static void add_work(struct device *d, const isc_work_item *w)
{
	tell(d, w);
	if (d->busy.any && w->start_ns > d->busy.to)
		explain_gap(d, w, d->busy.to, w->start_ns);
	cover(&d->busy, w->start_ns, w->end_ns);
	if (w->kind == ISC_GPU_KERNEL) {
		cover(&d->kernel, w->start_ns, w->end_ns);
		cover(w->class == ISC_CLASS_COMM ? &d->comm : &d->compute, w->start_ns, w->end_ns);
	} else {
		cover(w->kind == ISC_GPU_MEMSET ? &d->set : &d->copy, w->start_ns, w->end_ns);
	}
	count_kind(d->gpu, w);
	count_at_once(d, w->start_ns, w->end_ns);
	follow_stream(d, w);
	add_delay(d, w);
}

static void begin(struct device *d, isc_timeline *t, size_t i)
{
	const isc_device_entry *e = isc_device_at(t, i);
	isc_facts_gpu *g = &t->facts.gpus[e->place];
	int64_t soon = isc_ns_plus(e->soon_ns, e->shift_ns), late = isc_ns_plus(e->late_ns, e->shift_ns);

	*d = (struct device){.t = t, .gpu = g, .source = e->source};
	d->origin_ns = isc_source_at(t, e->source)->origin_ns;
	d->host_ns = isc_ns_plus(d->origin_ns, e->shift_ns);
	*g = (isc_facts_gpu){.source = e->source,
			     .number = e->number,
			     .name = isc_timeline_text(t, e->name),
			     .syncs = e->syncs,
			     .unstamped = e->unstamped,
			     .early = e->early,
			     .shift_ns = e->shift_ns,
			     .first_ns = e->first_ns,
			     .last_ns = e->last_ns};
	/* A bound that is wider than the margin says less than the margin does. */
	soon = isc_ns_minus(0, soon);
	g->error_ns = late > soon ? late : soon;
	g->bounded = e->late_known && e->soon_known && -soon <= late && g->error_ns <= t->options.margin_ns;
	if (!g->bounded)
		g->error_ns = t->options.margin_ns;
	if (e->synced) {
		g->error_ns = e->error_ns;
		g->bounded = e->method != ISC_CLOCK_ASSUMED;
		g->direct = e->method == ISC_CLOCK_DIRECT;
		g->fixed = e->fixed;
	}
	g->seen = e->seen;
}

static void take_places(struct device *d)
{
	uint64_t key, sum, most = 0;
	size_t at = 0;

	while (isc_hashmap_next(&d->where_of, &at, &key, &sum)) {
		bool during = key >> 32 == DURING;
		isc_facts_idle *idle = &d->gpu->idle[during ? ISC_IDLE_HOST_WAIT : key >> 32];
		isc_text where = isc_timeline_text(d->t, (uint32_t)key);

		if ((int64_t)sum < idle->where_ns ||
		    ((int64_t)sum == idle->where_ns && strcmp(where.at, idle->where.at) > 0))
			continue;
		idle->where_ns = (int64_t)sum;
		idle->where = where;
		idle->during = during;
	}
	for (at = 0; isc_hashmap_next(&d->drained, &at, &key, &sum);) {
		isc_text where = isc_timeline_text(d->t, (uint32_t)key);

		if (sum > most || (sum == most && strcmp(where.at, d->gpu->drained_where.at) < 0)) {
			most = sum;
			d->gpu->drained_where = where;
		}
	}
}

static int by_stream(const void *a, const void *b)
{
	const isc_facts_stream *x = a, *y = b;

	return (x->stream > y->stream) - (x->stream < y->stream);
}

static void end(struct device *d)
{
	isc_facts_gpu *g = d->gpu;

	g->busy_ns = d->busy.total;
	g->kernel_ns = d->kernel.total;
	g->compute_ns = d->compute.total;
	g->comm_ns = d->comm.total;
	g->copy_ns = d->copy.total;
	g->set_ns = d->set.total;
	g->delays = d->delay.count;
	if (g->delays > 0) {
		g->delay_mean_ns = d->delay_sum / (int64_t)g->delays;
		g->delay_p50_ns = (int64_t)isc_histogram_percentile(&d->delay, 0.50);
		g->delay_p90_ns = (int64_t)isc_histogram_percentile(&d->delay, 0.90);
		g->delay_p99_ns = (int64_t)isc_histogram_percentile(&d->delay, 0.99);
		g->delay_max_ns = (int64_t)d->delay.max;
	}
	if (d->streams.count > 0)
		qsort(d->streams.at, d->streams.count, sizeof(isc_facts_stream), by_stream);
	g->streams = d->streams.at;
	g->stream_count = d->streams.count;
	take_places(d);
	isc_hashmap_fini(&d->where_of);
	isc_hashmap_fini(&d->drained);
	isc_hashmap_fini(&d->stream_of);
	isc_histogram_fini(&d->delay);
	free(d->stream_end);
	free(d->open);
}

/* All work of one device; *w is its first and becomes the first of the next. */
static isc_status walk_device(isc_timeline *t, isc_tally *y, const isc_work_item **w, isc_error *err)
{
	struct device *d = malloc(sizeof(*d));
	uint32_t number = (*w)->device;
	isc_status st = d != NULL ? isc_spool_rewind(t->waits, err) : isc_timeline_no_memory(err);

	if (st != ISC_OK) {
		free(d);
		return st;
	}
	begin(d, t, number);
	d->next_wait = isc_spool_next(t->waits);
	for (; *w != NULL && (*w)->device == number; *w = isc_spool_next(t->work)) {
		isc_work_item item = **w;

		if (!isc_timeline_clip(t, d->source, &item.start_ns, &item.end_ns))
			continue;
		add_work(d, &item);
		if (!isc_tally_add(t, y, isc_device_at(t, number)->place, &item))
			d->failed = true;
	}
	if (d->failed || t->arena->failed)
		st = isc_timeline_no_memory(err);
	end(d);
	free(d);
	return st == ISC_OK ? isc_spool_failed(t->waits, err) : st;
}

/* In reports devices stand by source and number, in whatever order they were met. */
static void choose_places(isc_timeline *t)
{
	for (size_t i = 0; i < t->devices.count; i++) {
		isc_device_entry *e = isc_device_at(t, i);

		e->place = 0;
		for (size_t k = 0; k < t->devices.count; k++) {
			const isc_device_entry *o = isc_device_at(t, k);

			e->place += o->source < e->source || (o->source == e->source && o->number < e->number);
		}
	}
}

isc_status isc_devices_walk(isc_timeline *t, isc_error *err)
{
	const isc_work_item *w;
	isc_tally y = {0};
	struct device *none = malloc(sizeof(*none));
	isc_status st = none != NULL ? isc_spool_rewind(t->work, err) : isc_timeline_no_memory(err);

	t->facts.gpus = isc_arena_array(t->arena, t->devices.count, sizeof(*t->facts.gpus));
	if (st == ISC_OK && t->facts.gpus == NULL)
		st = isc_timeline_no_memory(err);
	choose_places(t);
	/* Those without work have a name all the same. */
	for (size_t i = 0; st == ISC_OK && i < t->devices.count; i++)
		begin(none, t, i);
	free(none);
	if (st == ISC_OK)
		t->facts.gpu_count = t->devices.count;
	w = st == ISC_OK ? isc_spool_next(t->work) : NULL;
	while (st == ISC_OK && w != NULL)
		st = walk_device(t, &y, &w, err);
	if (st == ISC_OK)
		st = isc_spool_failed(t->work, err);
	if (st == ISC_OK && !isc_tally_finish(t, &y))
		st = isc_timeline_no_memory(err);
	isc_tally_fini(&y);
	return st;
}
