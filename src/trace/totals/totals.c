#include "trace/totals/totals.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "trace/sample.h"
#include "trace/totals/totals_lane.h"

/* A leave looks this far down for its enter: deeper than any stack that did not
 * lose leaves, and short enough for one that lost thousands. */
#define SEARCH_MAX 1024u
#define CALLERS_MAX 1024 /* that are looked at for one that has a row */
#define OPEN_MAX 65536u	 /* of one lane: above, the oldest was lost long ago */

isc_status isc_totals_new(isc_totals **out, isc_error *err)
{
	*out = calloc(1, sizeof(**out));
	if (*out == NULL)
		return isc_fail(err, ISC_ERR_NOMEM, "no memory for running totals");
	(*out)->weight_max = ISC_TOTALS_WEIGHT_MAX;
	(*out)->unit_ticks = UINT64_MAX;
	return ISC_OK;
}

void isc_totals_bound(isc_totals *t, uint64_t weight_max)
{
	t->weight_max = weight_max < ISC_TOTALS_WEIGHT_MAX ? weight_max : ISC_TOTALS_WEIGHT_MAX;
}

void isc_totals_free(isc_totals *t)
{
	if (t == NULL)
		return;
	for (size_t i = 0; i < t->scope_count; i++)
		isc_histogram_fini(&t->scopes[i].histogram);
	for (size_t i = 0; i < t->lane_count; i++) {
		isc_totals_calls_free(t->lanes[i]->calls);
		free(t->lanes[i]->open);
		free(t->lanes[i]);
	}
	for (int i = 0; i < ISC_BY_NAMES; i++)
		isc_hashmap_fini(&t->by_name[i]);
	isc_hashmap_fini(&t->by_stack);
	isc_hashmap_fini(&t->by_wait);
	isc_hashmap_fini(&t->by_syscall);
	isc_hashmap_fini(&t->by_thread);
	isc_hashmap_fini(&t->by_lane);
	isc_hashmap_fini(&t->by_process);
	isc_hashmap_fini(&t->by_memory);
	isc_hashmap_fini(&t->by_cpu);
	for (size_t i = 0; i < t->process_count; i++)
		free(t->processes[i].counted);
	free(t->functions);
	free(t->processes);
	free(t->scopes);
	free(t->marks);
	free(t->counters);
	free(t->threads);
	free(t->loads);
	free(t->stacks);
	free(t->waits);
	free(t->syscalls);
	free(t->lanes);
	free(t);
}

/* A row of the program's names: its own, or that of the rest of its kind. */
#define NAME_OF(t, map, process, name, weight, folded, add, array) \
	do { \
		const uint64_t *at_ = isc_hashmap_find(map, isc_hashmap_key(process, name)); \
		if (at_ == NULL && !isc_totals_make_room(t, ISC_PART_NAMES, weight, false)) { \
			isc_totals_note_folded(t, folded, process, name); \
			at_ = isc_hashmap_find(map, isc_hashmap_key(process, ISC_TOTAL_REST)); \
			if (at_ == NULL) \
				return add(t, process, ISC_TOTAL_REST); \
		} \
		return at_ != NULL ? &(array)[*at_] : add(t, process, name); \
	} while (0)

static isc_total_scope *scope_find_or_add(isc_totals *t, uint32_t process, uint32_t name)
{
	NAME_OF(t, &t->by_name[ISC_BY_SCOPE], process, name, ISC_WEIGHT_SCOPE, ISC_FOLDED_SCOPES, isc_totals_add_scope,
		t->scopes);
}

/* A place once found stays good until rows are folded, which forgets these. */
static isc_totals_recent *recent_of(isc_totals *t, uint32_t process, uint32_t name)
{
	return &t->recent[(name ^ process * 61) % ISC_TOTALS_RECENT];
}

/* The row of a name that was used lately; NULL: it has none of its own, or was not. */
static isc_total_scope *recent_scope(isc_totals *t, uint32_t process, uint32_t name)
{
	const isc_totals_recent *recent = recent_of(t, process, name);

	return recent->at_plus_1 != 0 && recent->key == isc_hashmap_key(process, name)
		       ? &t->scopes[recent->at_plus_1 - 1]
		       : NULL;
}

static isc_total_scope *scope_of(isc_totals *t, uint32_t process, uint32_t name)
{
	isc_total_scope *e = recent_scope(t, process, name);

	if (e != NULL)
		return e;
	e = scope_find_or_add(t, process, name);
	/* One that has no row of its own may get it later. */
	if (e != NULL && e->name == name)
		*recent_of(t, process, name) =
			(isc_totals_recent){isc_hashmap_key(process, name), (size_t)(e - t->scopes) + 1};
	return e;
}

/* For a leave: entered while there was no room for its name, it is among the rest. */
static isc_total_scope *scope_to_leave(isc_totals *t, uint32_t process, uint32_t name)
{
	const isc_hashmap *map = &t->by_name[ISC_BY_SCOPE];
	isc_total_scope *e = recent_scope(t, process, name);
	const uint64_t *rest;

	if (e != NULL)
		return e;
	rest = isc_hashmap_find(map, isc_hashmap_key(process, ISC_TOTAL_REST));
	if (rest != NULL && t->scopes[*rest].open > 0 && isc_hashmap_find(map, isc_hashmap_key(process, name)) == NULL)
		return &t->scopes[*rest];
	return scope_of(t, process, name);
}

static isc_total_mark *mark_of(isc_totals *t, uint32_t process, uint32_t name)
{
	NAME_OF(t, &t->by_name[ISC_BY_MARK], process, name, ISC_WEIGHT_MARK, ISC_FOLDED_MARKS, isc_totals_add_mark,
		t->marks);
}

static isc_total_counter *counter_of(isc_totals *t, uint32_t process, uint32_t name)
{
	NAME_OF(t, &t->by_name[ISC_BY_COUNTER], process, name, ISC_WEIGHT_COUNTER, ISC_FOLDED_COUNTERS,
		isc_totals_add_counter, t->counters);
}

/* Threads are numbered over all processes.  Without room it is the nearest caller's that has a row, or the one
 * that is not known. */
static isc_total_stack *stack_of(isc_totals *t, uint32_t process, uint32_t thread, uint32_t stack)
{
	const uint64_t *at = isc_hashmap_find(&t->by_stack, isc_hashmap_key(thread, stack));

	if (at == NULL && !isc_totals_make_room(t, ISC_PART_STACKS, ISC_WEIGHT_STACK, false)) {
		isc_totals_note_folded(t, ISC_FOLDED_STACKS, process, stack);
		for (int i = 0; i < CALLERS_MAX && at == NULL && stack != 0; i++) {
			stack = isc_totals_caller_of(t, process, stack);
			at = isc_hashmap_find(&t->by_stack, isc_hashmap_key(thread, stack));
		}
		stack = at == NULL ? 0 : stack;
	}
	return at != NULL ? &t->stacks[*at] : isc_totals_add_stack(t, thread, stack);
}

isc_total_wait *isc_totals_wait_of(isc_totals *t, uint32_t thread_and_call, uint32_t stack)
{
	const uint64_t *at = isc_hashmap_find(&t->by_wait, isc_hashmap_key(thread_and_call, stack));

	if (at == NULL && !isc_totals_make_room(t, ISC_PART_WAITS, ISC_WEIGHT_WAIT, false)) {
		isc_totals_note_folded(t, ISC_FOLDED_WAITS, thread_and_call, stack);
		stack = 0;
		at = isc_hashmap_find(&t->by_wait, isc_hashmap_key(thread_and_call, stack));
	}
	return at != NULL ? &t->waits[*at] : isc_totals_add_wait(t, thread_and_call, stack);
}

static isc_total_thread *thread_of(isc_totals *t, uint32_t process, uint32_t thread)
{
	const uint64_t *at = isc_hashmap_find(&t->by_thread, isc_hashmap_key(process, thread));

	return at != NULL ? &t->threads[*at] : isc_totals_add_thread(t, process, thread);
}

static uint64_t lane_key(uint32_t process, uint32_t thread, uint8_t stream)
{
	return (uint64_t)process << 32 | (uint32_t)(thread << 2) | (stream & 3);
}

isc_totals_lane *isc_totals_lane_find(const isc_totals *t, uint32_t process, uint32_t thread, uint8_t stream)
{
	const uint64_t *at = isc_hashmap_find(&t->by_lane, lane_key(process, thread, stream));

	return at != NULL ? t->lanes[*at] : NULL;
}

isc_totals_lane *isc_totals_lane_of(isc_totals *t, uint32_t process, uint32_t thread, uint8_t stream)
{
	isc_totals_lane *lane = t->lane_last, **bigger;
	isc_total_thread *total;

	/* Events come in runs of one thread. */
	if (lane != NULL && lane->thread == thread && lane->process == process && lane->stream == stream)
		return lane;
	lane = isc_totals_lane_find(t, process, thread, stream);
	if (lane != NULL)
		return t->lane_last = lane;
	if (!isc_totals_has_room_for_lane(t)) {
		/* All further lanes share one, on which nothing is pushed. */
		t->missed++;
		isc_totals_note_folded(t, ISC_FOLDED_THREADS, process, thread);
		process = thread = 0;
		stream = 3;
		lane = isc_totals_lane_find(t, 0, 0, 3);
		if (lane != NULL)
			return lane;
	}
	total = thread_of(t, process, thread);
	bigger = total != NULL ? isc_grow(t->lanes, t->lane_count, &t->lane_room, sizeof(*t->lanes)) : NULL;
	if (bigger == NULL)
		return NULL;
	t->lanes = bigger;
	lane = calloc(1, sizeof(*lane));
	if (lane == NULL)
		return NULL;
	*lane = (isc_totals_lane){
		.process = process, .thread = thread, .stream = stream, .total = (size_t)(total - t->threads)};
	if (!isc_totals_enter(&t->by_lane, lane_key(process, thread, stream), t->lane_count)) {
		free(lane);
		return NULL;
	}
	t->lanes[t->lane_count++] = lane;
	t->weight += ISC_WEIGHT_LANE;
	t->thread_weight += ISC_WEIGHT_LANE;
	return lane;
}

bool isc_totals_lane_push(isc_totals_lane *lane, isc_totals_open open)
{
	isc_totals_open *bigger = isc_grow(lane->open, lane->depth, &lane->room, sizeof(open));

	if (bigger == NULL)
		return false;
	lane->open = bigger;
	lane->open[lane->depth++] = open;
	return true;
}

static bool enter_scope(isc_totals *t, isc_totals_lane *lane, const isc_record *r)
{
	isc_total_scope *e = scope_of(t, lane->process, r->id);

	if (e == NULL)
		return false;
	isc_totals_unit_begin(t, r->ticks);
	e->open++;
	if (lane->stream > 1 || lane->depth >= OPEN_MAX || !isc_totals_has_room(t, ISC_WEIGHT_OPEN)) {
		t->missed++;
		return true;
	}
	t->weight += ISC_WEIGHT_OPEN;
	if (lane->depth == 0)
		lane->outer_ticks = r->ticks;
	return isc_totals_lane_push(lane, (isc_totals_open){r->ticks, r->id, r->arg});
}

/* One more that took so long. */
static bool count_scope(isc_totals *t, isc_total_scope *e, uint64_t ticks)
{
	uint64_t octaves = e->histogram.octaves;
	uint32_t buckets = e->histogram.buckets;

	if (isc_totals_has_room_for_bucket(t)) {
		if (!isc_histogram_add(&e->histogram, ticks))
			return false;
	} else {
		if (!isc_histogram_add_rough(&e->histogram, ticks))
			return false;
		t->missed++;
	}
	isc_totals_weigh(t, ISC_PART_NAMES, (int64_t)(e->histogram.buckets - buckets) * ISC_WEIGHT_BUCKET);
	t->memory += e->histogram.octaves != octaves ? ISC_HISTOGRAM_STEPS * sizeof(uint64_t) : 0;
	e->min_ticks = e->count == 0 || ticks < e->min_ticks ? ticks : e->min_ticks;
	e->max_ticks = ticks > e->max_ticks ? ticks : e->max_ticks;
	e->count++;
	e->total_ticks += ticks;
	return true;
}

static bool leave_scope(isc_totals *t, isc_totals_lane *lane, const isc_record *r)
{
	isc_total_scope *e = scope_to_leave(t, lane->process, r->id);
	size_t floor = lane->depth > SEARCH_MAX ? lane->depth - SEARCH_MAX : 0, i = lane->depth;
	uint64_t ticks, began;

	if (e == NULL)
		return false;
	isc_totals_unit_end(t, r->ticks);
	while (i > floor && (lane->open[i - 1].name != r->id || lane->open[i - 1].arg != r->arg))
		i--;
	if (i == floor) {
		e->unmatched++;
		return true;
	}
	/* A clock that went back a little is no duration of centuries. */
	began = lane->open[i - 1].ticks;
	ticks = r->ticks > began ? r->ticks - began : 0;
	/* One that was inside another, which was left before it, is none of its own. */
	if (t->units != NULL && i == 1 && began == lane->outer_ticks)
		isc_unit_log_scope(t, lane, r->id, began, r->ticks);
	memmove(&lane->open[i - 1], &lane->open[i], (lane->depth - i) * sizeof(*lane->open));
	lane->depth--;
	t->weight -= ISC_WEIGHT_OPEN;
	e->open -= e->open > 0;
	if (lane->depth == 0)
		t->threads[lane->total].scope_ticks += ticks;
	return count_scope(t, e, ticks);
}

static bool enter_span(isc_totals *t, const isc_totals_lane *lane, const isc_record *r, const void *extra,
		       uint32_t extra_len)
{
	isc_total_scope *e = scope_of(t, lane->process, r->id);
	isc_span span;

	if (e == NULL)
		return false;
	isc_totals_unit_begin(t, r->ticks);
	if (t->units != NULL && extra_len >= sizeof(span)) {
		memcpy(&span, extra, sizeof(span));
		isc_unit_log_span_enter(t, lane, r, &span);
	}
	if (e->early > 0)
		e->early--;
	else
		e->open++;
	return true;
}

/*
 * Threads are fed in runs, so that an exit on another thread may come before its
 * enter; on the same thread one without an enter lost it, but knows its time.
 */
static bool leave_span(isc_totals *t, const isc_totals_lane *lane, const isc_record *r, const void *extra,
		       uint32_t extra_len)
{
	isc_total_scope *e = scope_to_leave(t, lane->process, r->id);
	isc_span span;

	if (e == NULL)
		return false;
	isc_totals_unit_end(t, r->ticks);
	if (extra_len < sizeof(span)) {
		e->unmatched++;
		return true;
	}
	memcpy(&span, extra, sizeof(span));
	if (span.more == ISC_SPAN_UNKNOWN) {
		e->unmatched++;
		return true;
	}
	if (t->units != NULL)
		isc_unit_log_span_exit(t, lane, r, &span);
	if (e->open > 0)
		e->open--;
	else if (r->arg == ISC_SPAN_MOVED)
		e->early++;
	t->threads[lane->total].scope_ticks += span.more;
	return count_scope(t, e, span.more);
}

static bool count_sample(isc_totals *t, uint32_t process, uint32_t name, const void *extra, uint32_t extra_len)
{
	isc_total_counter *c;
	double value;

	if (extra_len < sizeof(value))
		return true;
	memcpy(&value, extra, sizeof(value));
	/* One NaN would take the mean and both ends with it for ever. */
	if (!isfinite(value))
		return true;
	c = counter_of(t, process, name);
	if (c == NULL)
		return false;
	c->min = c->count == 0 || value < c->min ? value : c->min;
	c->max = c->count == 0 || value > c->max ? value : c->max;
	c->sum += value;
	c->last = value;
	c->count++;
	return true;
}

static bool add_sample(isc_totals *t, const isc_totals_lane *lane, const isc_record *r, const void *extra,
		       uint32_t extra_len)
{
	isc_sample_counts counts;
	isc_total_stack *s;
	isc_sample body;
	uint64_t *used;

	if (extra_len < sizeof(body))
		return true;
	memcpy(&body, extra, sizeof(body));
	s = stack_of(t, lane->process, lane->thread, isc_trace_sample_stack(r->id, body.flags));
	used = isc_hashmap_put(&t->by_cpu, lane->process, NULL);
	if (s == NULL || used == NULL || !isc_totals_load_sample(t, lane->process, r->id, r->arg, &body))
		return false;
	*used += (uint64_t)r->arg * body.period_ns;
	s->process = s->thread == lane->thread ? lane->process : 0;
	s->flags |= body.flags & ISC_SAMPLE_FLAGS;
	s->samples++;
	s->steps += r->arg;
	s->cpu_ns += (uint64_t)r->arg * body.period_ns;
	t->sample_ns += body.cost_ns;
	if (isc_trace_sample_counts(extra, extra_len, &counts)) {
		uint64_t fault_ns = isc_trace_sample_fault_ns(&body, &counts, r->arg);

		s->grown += counts.grown;
		s->faults += counts.faults;
		s->fault_ns += fault_ns;
		s->faulting += fault_ns > 0;
		if (counts.instructions != ISC_COUNT_UNKNOWN) {
			s->counted++;
			s->instructions += counts.instructions;
			s->cycles += counts.cycles;
		}
	}
	return true;
}

static bool count_mark(isc_totals *t, uint32_t process, uint32_t name)
{
	isc_total_mark *m = mark_of(t, process, name);

	if (m != NULL)
		m->count++;
	return m != NULL;
}

bool isc_totals_lane_feed(isc_totals *t, isc_totals_lane *lane, const isc_record *first, const void *extra,
			  uint32_t extra_len)
{
	isc_total_thread *thread = &t->threads[lane->total];

	thread->first_ticks =
		thread->events == 0 || first->ticks < thread->first_ticks ? first->ticks : thread->first_ticks;
	thread->last_ticks = first->ticks > thread->last_ticks ? first->ticks : thread->last_ticks;
	thread->events++;
	lane->events++;
	t->events++;
	/* The program runs, so it has jumped out of the wait. */
	if (__builtin_expect(lane->wait_call != 0, 0) && first->kind <= ISC_KIND_MISSED &&
	    !isc_totals_wait_close(t, lane, first->ticks))
		return false;
	if (first->kind >= ISC_KIND_CALL_ENTER && first->kind <= ISC_KIND_LEAVING) {
		bool fed = isc_totals_calls_feed(t, lane, first, extra, extra_len);

		lane->last = first->ticks;
		return fed;
	}
	lane->last = first->ticks;
	switch (first->kind) {
	case ISC_KIND_SCOPE_ENTER:
		return enter_scope(t, lane, first);
	case ISC_KIND_SCOPE_EXIT:
		return leave_scope(t, lane, first);
	case ISC_KIND_SPAN_ENTER:
		return enter_span(t, lane, first, extra, extra_len);
	case ISC_KIND_SPAN_EXIT:
		return leave_span(t, lane, first, extra, extra_len);
	case ISC_KIND_INSTANT:
		return count_mark(t, lane->process, first->id);
	case ISC_KIND_COUNTER:
		return count_sample(t, lane->process, first->id, extra, extra_len);
	case ISC_KIND_SAMPLE:
		return add_sample(t, lane, first, extra, extra_len);
	case ISC_KIND_WAIT_ENTER:
	case ISC_KIND_WAIT_EXIT:
	case ISC_KIND_WAIT_BRIEF:
	case ISC_KIND_GC:
		return isc_totals_waits_feed(t, lane, first, extra, extra_len);
	case ISC_KIND_SYSCALLS:
	case ISC_KIND_SYSCALL:
	case ISC_KIND_SYSCALL_ERRORS:
	case ISC_KIND_SYSCALL_SAMPLE:
		return isc_totals_syscalls_feed(t, lane, first, extra, extra_len);
	case ISC_KIND_MEMORY_ALLOC:
		t->looked_at++;
		return true;
	case ISC_KIND_MEMORY_TOTAL:
		isc_totals_memory_feed(t, lane, extra, extra_len);
		return true;
	case ISC_KIND_THREAD_NAME:
		thread->name = first->id;
		return true;
	default:
		return true;
	}
}

isc_status isc_totals_feed(isc_totals *t, uint32_t process, uint32_t thread, uint8_t stream, const isc_record *first,
			   const void *extra, uint32_t extra_len, isc_error *err)
{
	isc_totals_lane *lane = isc_totals_lane_of(t, process, thread, stream);

	if (lane == NULL || !isc_totals_lane_feed(t, lane, first, extra, extra_len))
		return isc_fail(err, ISC_ERR_NOMEM, "no memory for running totals");
	return ISC_OK;
}
