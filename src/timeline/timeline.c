/*
 * timeline.c - adding to a timeline, and the order in which it is finished.
 */
#include <stdlib.h>
#include <string.h>

#include "timeline/state.h"

#define MEMORY_BYTES (96u << 20)
#define MARGIN_NS 1000000
/* A quarter of an int64: differences and sums of two of them never overflow. */
#define TIME_MOST (INT64_MAX / 4)

/* ---- order ---- */

static int order(int64_t x, int64_t y)
{
	return (x > y) - (x < y);
}

static int compare_host(const void *a, const void *b)
{
	const isc_host_item *x = a, *y = b;
	int by = order(x->thread, y->thread);

	by = by != 0 ? by : order(x->start_ns, y->start_ns);
	by = by != 0 ? by : order(y->end_ns, x->end_ns);
	/* Of the same time: a scope around Python around an operator around a call. */
	by = by != 0 ? by : order(x->kind == ISC_HOST_CALL, y->kind == ISC_HOST_CALL);
	by = by != 0 ? by : order(x->kind == ISC_HOST_OP, y->kind == ISC_HOST_OP);
	return by != 0 ? by : order(x->name, y->name);
}

static int compare_record(const void *a, const void *b)
{
	const isc_gpu_record *x = a, *y = b;
	int by = order(x->domain, y->domain);

	by = by != 0 ? by : (x->correlation > y->correlation) - (x->correlation < y->correlation);
	by = by != 0 ? by : order(x->start_ns, y->start_ns);
	return by != 0 ? by : order(x->name, y->name);
}

static int compare_call(const void *a, const void *b)
{
	const isc_call_item *x = a, *y = b;
	int by = order(x->domain, y->domain);

	by = by != 0 ? by : (x->correlation > y->correlation) - (x->correlation < y->correlation);
	by = by != 0 ? by : order(x->start_ns, y->start_ns);
	return by != 0 ? by : order(y->end_ns, x->end_ns);
}

static int compare_wait(const void *a, const void *b)
{
	const isc_wait_item *x = a, *y = b;
	int by = order(x->start_ns, y->start_ns);

	by = by != 0 ? by : order(x->thread, y->thread);
	return by != 0 ? by : order(y->end_ns, x->end_ns);
}

static int compare_work(const void *a, const void *b)
{
	const isc_work_item *x = a, *y = b;
	int by = order(x->device, y->device);

	by = by != 0 ? by : order(x->start_ns, y->start_ns);
	by = by != 0 ? by : order(x->end_ns, y->end_ns);
	by = by != 0 ? by : order(x->name, y->name);
	return by != 0 ? by : (x->stream > y->stream) - (x->stream < y->stream);
}

/* ---- making ---- */

isc_status isc_timeline_no_memory(isc_error *err)
{
	return isc_fail(err, ISC_ERR_NOMEM, "no memory to put the trace in order");
}

isc_status isc_timeline_new(const isc_timeline_options *options, isc_timeline **out, isc_error *err)
{
	isc_timeline *t = calloc(1, sizeof(*t));
	size_t most;
	isc_status st;

	*out = t;
	if (t == NULL)
		return isc_timeline_no_memory(err);
	if (options != NULL)
		t->options = *options;
	if (t->options.margin_ns <= 0)
		t->options.margin_ns = MARGIN_NS;
	most = t->options.memory_bytes > 0 ? t->options.memory_bytes : MEMORY_BYTES;
	t->arena = isc_arena_new();
	st = t->arena != NULL ? ISC_OK : isc_timeline_no_memory(err);
	/* At any time at most two of the larger ones are full. */
	if (st == ISC_OK)
		st = isc_spool_new(sizeof(isc_host_item), compare_host, most / 3, &t->host, err);
	if (st == ISC_OK)
		st = isc_spool_new(sizeof(isc_gpu_record), compare_record, most / 3, &t->records, err);
	if (st == ISC_OK)
		st = isc_spool_new(sizeof(isc_call_item), compare_call, most / 6, &t->calls, err);
	if (st == ISC_OK)
		st = isc_spool_new(sizeof(isc_wait_item), compare_wait, most / 6, &t->waits, err);
	if (st == ISC_OK)
		st = isc_spool_new(sizeof(isc_work_item), compare_work, most / 3, &t->work, err);
	if (st == ISC_OK)
		st = isc_spool_new(sizeof(isc_moment_item), isc_moment_compare, most / 8, &t->moments, err);
	if (st != ISC_OK) {
		isc_timeline_free(t);
		*out = NULL;
	}
	return st;
}

void isc_timeline_free(isc_timeline *t)
{
	if (t == NULL)
		return;
	for (size_t i = 0; i < t->facts.scope_count; i++)
		isc_histogram_fini(&t->facts.scopes[i].ns);
	isc_spool_free(t->host);
	isc_spool_free(t->records);
	isc_spool_free(t->calls);
	isc_spool_free(t->waits);
	isc_spool_free(t->work);
	isc_spool_free(t->moments);
	isc_hashmap_fini(&t->process_of);
	isc_hashmap_fini(&t->thread_of);
	isc_hashmap_fini(&t->device_of);
	isc_hashmap_fini(&t->domain_of);
	isc_hashmap_fini(&t->mark_of);
	isc_hashmap_fini(&t->counter_of);
	isc_stacks_fini(&t->stacks);
	isc_strings_fini(&t->strings);
	isc_arena_free(t->arena);
	free(t->call_kinds);
	free(t->classes);
	free(t);
}

/* ---- adding ---- */

int64_t isc_timeline_bounded(int64_t ns)
{
	return ns > TIME_MOST ? TIME_MOST : ns < -TIME_MOST ? -TIME_MOST : ns;
}

int64_t isc_timeline_since(int64_t ns, int64_t origin_ns)
{
	return isc_timeline_bounded(isc_ns_minus(ns, origin_ns));
}

static void widen(int64_t *first, int64_t *last, bool seen, int64_t start, int64_t end)
{
	if (!seen || start < *first)
		*first = start;
	if (!seen || end > *last)
		*last = end;
}

static isc_status no_ids(const isc_timeline *t, isc_error *err)
{
	if (t->starved || t->arena->failed)
		return isc_timeline_no_memory(err);
	isc_fail(err, ISC_ERR_LIMIT, "the trace has more sources, threads or devices than can be told apart");
	isc_hint(err, "analyse its files one by one");
	return ISC_ERR_LIMIT;
}

isc_status isc_timeline_check_thread(const isc_timeline *t, uint32_t thread, isc_error *err)
{
	if (t->arena->failed || t->starved)
		return isc_timeline_no_memory(err);
	return thread < t->threads.count ? ISC_OK : no_ids(t, err);
}

static isc_status add_host(isc_timeline *t, const isc_host_item *item, isc_error *err)
{
	isc_facts_thread *th = isc_thread_at(t, item->thread);
	isc_source_entry *s = isc_source_at(t, isc_process_at(t, th->process)->source);

	widen(&th->first_ns, &th->last_ns, th->events > 0, item->start_ns, item->end_ns);
	th->events++;
	widen(&s->first_ns, &s->last_ns, s->seen, item->start_ns, item->end_ns);
	s->seen = true;
	return isc_spool_add(t->host, item, err);
}

isc_status isc_timeline_span(isc_timeline *t, const isc_host_span *span, isc_error *err)
{
	isc_host_item item = {.start_ns = isc_timeline_bounded(span->start_ns),
			      .end_ns = isc_timeline_bounded(span->end_ns),
			      .thread = span->thread,
			      .name = span->name,
			      .stack = span->stack,
			      .kind = span->kind};
	isc_status st = isc_timeline_check_thread(t, span->thread, err);

	if (st != ISC_OK)
		return st;
	t->facts.spans++;
	isc_source_at(t, isc_process_at(t, isc_thread_at(t, span->thread)->process)->source)->spans++;
	if (item.end_ns < item.start_ns) {
		t->facts.backward++;
		return ISC_OK;
	}
	return add_host(t, &item, err);
}

static isc_status add_call(isc_timeline *t, const isc_gpu_record *r, isc_error *err)
{
	isc_host_item item = {.start_ns = isc_timeline_bounded(r->start_ns),
			      .end_ns = isc_timeline_bounded(r->end_ns),
			      .correlation = r->correlation,
			      .domain = r->domain,
			      .thread = r->thread,
			      .name = r->name,
			      .stack = r->stack,
			      .scope = r->scope,
			      .kind = ISC_HOST_CALL};
	isc_status st = isc_timeline_check_thread(t, r->thread, err);

	if (st != ISC_OK)
		return st;
	t->facts.calls++;
	if (item.end_ns < item.start_ns) {
		t->facts.backward++;
		return ISC_OK;
	}
	return add_host(t, &item, err);
}

isc_status isc_timeline_add(isc_timeline *t, const isc_gpu_record *r, isc_error *err)
{
	isc_gpu_record record = *r;
	isc_device_entry *d;
	isc_source_entry *s;

	if (r->kind == ISC_GPU_API)
		return add_call(t, r, err);
	if (t->arena->failed || t->starved)
		return isc_timeline_no_memory(err);
	if (r->device >= t->devices.count)
		return no_ids(t, err);
	d = isc_device_at(t, r->device);
	s = isc_source_at(t, d->source);
	t->facts.records++;
	s->records++;
	d->syncs += r->kind == ISC_GPU_SYNC;
	if (!isc_gpu_is_work(r->kind))
		return ISC_OK;
	if (r->kind == ISC_GPU_KERNEL)
		record.class = (uint8_t)isc_timeline_class(t, r->name);
	record.start_ns = isc_timeline_bounded(r->start_ns);
	record.end_ns = isc_timeline_bounded(r->end_ns);
	if (record.end_ns < record.start_ns || (record.start_ns == 0 && record.end_ns == 0)) {
		d->unstamped++;
		return ISC_OK;
	}
	widen(&s->first_ns, &s->last_ns, s->seen, record.start_ns, record.end_ns);
	s->seen = true;
	widen(&s->work_first_ns, &s->work_last_ns, s->worked, record.start_ns, record.end_ns);
	s->worked = true;
	return isc_spool_add(t->records, &record, err);
}

void isc_timeline_source_covers(isc_timeline *t, uint32_t source, int64_t first_ns, int64_t last_ns)
{
	isc_source_entry *s;

	if (source >= t->sources.count)
		return;
	s = isc_source_at(t, source);
	widen(&s->first_ns, &s->last_ns, s->seen, isc_timeline_bounded(first_ns), isc_timeline_bounded(last_ns));
	s->seen = true;
}

/* ---- finishing ---- */

/* One origin when every source overlaps with what the others cover together. */
static void choose_origins(isc_timeline *t)
{
	int64_t first = 0, last = 0, widest = 0;
	bool any = false, apart = false;

	for (size_t i = 0; i < t->sources.count; i++) {
		const isc_source_entry *s = isc_source_at(t, i);

		if (!s->seen)
			continue;
		if (any && (s->first_ns + s->base_ns > last || s->last_ns + s->base_ns < first))
			apart = true;
		widen(&first, &last, any, s->first_ns + s->base_ns, s->last_ns + s->base_ns);
		any = true;
	}
	for (size_t i = 0; i < t->sources.count; i++) {
		isc_source_entry *s = isc_source_at(t, i);

		s->origin_ns = apart ? s->first_ns : first - s->base_ns;
		if (s->seen && isc_timeline_since(s->last_ns, s->origin_ns) > widest)
			widest = isc_timeline_since(s->last_ns, s->origin_ns);
	}
	t->facts.apart = apart;
	t->from_ns = 0;
	t->to_ns = widest;
}

bool isc_timeline_clip(const isc_timeline *t, uint32_t source, int64_t *start_ns, int64_t *end_ns)
{
	int64_t origin = isc_source_at(t, source)->origin_ns;

	*start_ns = isc_timeline_since(*start_ns, origin);
	*end_ns = isc_timeline_since(*end_ns, origin);
	if (!t->cut)
		return true;
	if (*end_ns < t->from_ns || *start_ns > t->to_ns)
		return false;
	*start_ns = *start_ns > t->from_ns ? *start_ns : t->from_ns;
	*end_ns = *end_ns < t->to_ns ? *end_ns : t->to_ns;
	return true;
}

static bool take_sources(isc_timeline *t)
{
	isc_timeline_facts *f = &t->facts;

	f->sources = isc_arena_array(t->arena, t->sources.count, sizeof(*f->sources));
	if (f->sources == NULL)
		return false;
	for (size_t i = 0; i < t->sources.count; i++) {
		const isc_source_entry *s = isc_source_at(t, i);

		f->sources[i] = (isc_facts_source){.label = isc_timeline_text(t, s->label),
						   .rank = s->rank,
						   .origin_ns = s->origin_ns,
						   .first_ns = isc_timeline_since(s->first_ns, s->origin_ns),
						   .last_ns = isc_timeline_since(s->last_ns, s->origin_ns),
						   .records = s->records,
						   .spans = s->spans};
	}
	f->source_count = t->sources.count;
	return true;
}

static void take_threads(isc_timeline *t)
{
	isc_timeline_facts *f = &t->facts;

	f->processes = t->processes.at;
	f->process_count = t->processes.count;
	f->threads = t->threads.at;
	f->thread_count = t->threads.count;
	for (size_t i = 0; i < f->thread_count; i++) {
		isc_facts_thread *th = &f->threads[i];
		isc_facts_process *p = &f->processes[th->process];
		int64_t origin = isc_source_at(t, p->source)->origin_ns;

		th->first_ns = isc_timeline_since(th->first_ns, origin);
		th->last_ns = isc_timeline_since(th->last_ns, origin);
		if (th->events == 0)
			continue;
		widen(&p->first_ns, &p->last_ns, p->events > 0, th->first_ns, th->last_ns);
		p->events += th->events;
	}
}

static isc_status cut_window(isc_timeline *t, const isc_timeline_window *w, isc_error *err)
{
	if (w == NULL || (w->from_ns <= 0 && w->to_ns <= 0))
		return ISC_OK;
	t->cut = true;
	t->from_ns = w->from_ns > 0 ? w->from_ns : 0;
	if (w->to_ns > 0 && w->to_ns < t->to_ns)
		t->to_ns = w->to_ns;
	if (t->from_ns < t->to_ns)
		return ISC_OK;
	isc_fail(err, ISC_ERR_INVALID, "there is nothing in the time that was asked for");
	isc_hint(err, "see the length of the trace in a report of the whole");
	return ISC_ERR_INVALID;
}

isc_status isc_timeline_finish(isc_timeline *t, const isc_timeline_window *window, const isc_timeline_facts **out,
			       isc_error *err)
{
	isc_status st;

	*out = &t->facts;
	if (t->arena->failed || t->starved)
		return isc_timeline_no_memory(err);
	if (t->overflow)
		return no_ids(t, err);
	choose_origins(t);
	st = cut_window(t, window, err);
	if (st == ISC_OK)
		st = isc_threads_walk(t, window != NULL ? window->scope : NULL, err);
	if (st == ISC_OK)
		st = isc_moments_walk(t, err);
	if (st == ISC_OK)
		st = isc_calls_match(t, err);
	if (st == ISC_OK)
		st = isc_devices_walk(t, err);
	if (st == ISC_OK && (!take_sources(t) || !isc_lists_fold(t)))
		st = isc_timeline_no_memory(err);
	if (st == ISC_OK)
		take_threads(t);
	if (!t->cut) {
		t->facts.stacks = t->stacks.node;
		t->facts.stack_count = t->stacks.count;
		isc_stacks_rest(t, &t->facts);
	}
	t->facts.from_ns = t->from_ns;
	t->facts.to_ns = t->to_ns;
	t->facts.folded = t->folded + t->strings.folded;
	return st;
}
