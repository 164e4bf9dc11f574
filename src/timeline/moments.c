/*
 * moments.c - what was marked, and what counters said: when, and on which thread.
 */
#include "timeline/state.h"

int isc_moment_compare(const void *a, const void *b)
{
	const isc_moment_item *x = a, *y = b;

	if (x->thread != y->thread)
		return x->thread < y->thread ? -1 : 1;
	if (x->at_ns != y->at_ns)
		return x->at_ns < y->at_ns ? -1 : 1;
	return (x->order > y->order) - (x->order < y->order);
}

static isc_facts_mark *mark_of(isc_timeline *t, bool counter, uint32_t name)
{
	isc_array *marks = counter ? &t->counters : &t->marks;
	uint64_t *place = isc_hashmap_put(counter ? &t->counter_of : &t->mark_of, name, NULL);
	isc_facts_mark *m;

	if (place == NULL)
		return NULL;
	if (*place == 0) {
		m = isc_arena_push(t->arena, &marks->at, &marks->count, &marks->room, sizeof(*m));
		if (m == NULL)
			return NULL;
		m->name = isc_timeline_text(t, name);
		*place = marks->count;
	}
	return (isc_facts_mark *)marks->at + *place - 1;
}

isc_status isc_timeline_moment(isc_timeline *t, const isc_host_moment *moment, isc_error *err)
{
	isc_moment_item item = {.at_ns = isc_timeline_bounded(moment->at_ns),
				.value = moment->value,
				.order = t->moments_added++,
				.thread = moment->thread,
				.name = moment->name,
				.counter = moment->counter};
	isc_status st = isc_timeline_check_thread(t, moment->thread, err);

	if (st != ISC_OK)
		return st;
	/* Names are listed in the order in which they were met. */
	if (mark_of(t, moment->counter, moment->name) == NULL)
		return isc_timeline_no_memory(err);
	if (!moment->apart)
		isc_timeline_source_covers(t, isc_process_at(t, isc_thread_at(t, moment->thread)->process)->source,
					   item.at_ns, item.at_ns);
	return isc_spool_add(t->moments, &item, err);
}

static void count(isc_timeline *t, const isc_moment_item *item, int64_t at_ns)
{
	isc_facts_mark *m = mark_of(t, item->counter, item->name);

	if (m == NULL) /* it was there when the moment was added */
		return;
	m->min = m->count == 0 || item->value < m->min ? item->value : m->min;
	m->max = m->count == 0 || item->value > m->max ? item->value : m->max;
	m->sum += item->value;
	if (m->count == 0 || at_ns >= m->last_ns) {
		m->last = item->value;
		m->last_ns = at_ns;
	}
	m->count++;
}

static void tell(const isc_timeline *t, const isc_moment_item *item, int64_t at_ns)
{
	const isc_timeline_watch *watch = t->options.watch;
	const isc_facts_thread *thread = isc_thread_at(t, item->thread);
	isc_timeline_seen s = {.start_ns = at_ns,
			       .end_ns = at_ns,
			       .call_ns = ISC_NEVER,
			       .thread = item->thread,
			       .name = item->name,
			       .pid = isc_process_at(t, thread->process)->pid,
			       .tid = thread->tid,
			       .thread_name = thread->name,
			       .value = item->value,
			       .kind = item->counter ? ISC_HOST_COUNTER : ISC_HOST_MARK};

	if (watch == NULL || watch->moment == NULL)
		return;
	watch->moment(watch->self, &s);
}

/* Names that nothing in the window has are not listed. */
static size_t keep_met(isc_array *marks)
{
	isc_facts_mark *at = marks->at;
	size_t kept = 0;

	for (size_t i = 0; i < marks->count; i++) {
		if (at[i].count > 0)
			at[kept++] = at[i];
	}
	return kept;
}

isc_status isc_moments_walk(isc_timeline *t, isc_error *err)
{
	const isc_moment_item *item;
	isc_status st = isc_spool_rewind(t->moments, err);

	if (st != ISC_OK)
		return st;
	while ((item = isc_spool_next(t->moments)) != NULL) {
		uint32_t source = isc_process_at(t, isc_thread_at(t, item->thread)->process)->source;
		int64_t start = item->at_ns, end = item->at_ns;

		if (!isc_timeline_clip(t, source, &start, &end))
			continue;
		count(t, item, start);
		tell(t, item, start);
	}
	t->facts.marks = t->marks.at;
	t->facts.mark_count = keep_met(&t->marks);
	t->facts.counters = t->counters.at;
	t->facts.counter_count = keep_met(&t->counters);
	return isc_spool_failed(t->moments, err);
}
