#include "trace/totals.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "trace/sample.h"
#include "trace/totals_lane.h"

/* A leave looks this far down for its enter: deeper than any stack that did not
 * lose leaves, and short enough for one that lost thousands. */
#define SEARCH_MAX 1024u
#define COLD_TICKS 5000u /* without a record: the caches are full of other things by then */
#define OPEN_MAX 65536u	 /* of one lane: above, the oldest was lost long ago */

isc_status isc_totals_new(isc_totals **out, isc_error *err)
{
	*out = calloc(1, sizeof(**out));
	if (*out == NULL)
		return isc_fail(err, ISC_ERR_NOMEM, "no memory for running totals");
	(*out)->weight_max = ISC_TOTALS_WEIGHT_MAX;
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
	for (int i = 0; i < 4; i++)
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

bool isc_totals_enter(isc_hashmap *map, uint64_t key, size_t index)
{
	uint64_t *value = isc_hashmap_put(map, key, NULL);

	if (value != NULL)
		*value = index;
	return value != NULL;
}

#define ADD(t, array, count_, room_, map, key, weigh) \
	do { \
		void *bigger_ = isc_grow((t)->array, (t)->count_, &(t)->room_, sizeof(*(t)->array)); \
		if (bigger_ == NULL) \
			return NULL; \
		(t)->array = bigger_; \
		if (!isc_totals_enter(map, key, (t)->count_)) \
			return NULL; \
		memset(&(t)->array[(t)->count_], 0, sizeof(*(t)->array)); \
		(t)->count_++; \
		(t)->weight += (weigh); \
	} while (0)

struct isc_totals_scope_entry *isc_totals_add_scope(isc_totals *t, uint32_t process, uint32_t name)
{
	struct isc_totals_scope_entry *e;

	ADD(t, scopes, scope_count, scope_room, &t->by_name[ISC_TOTALS_SCOPES], isc_hashmap_key(process, name),
	    ISC_WEIGHT_SCOPE);
	e = &t->scopes[t->scope_count - 1];
	e->scope.process = process;
	e->scope.name = name;
	return e;
}

isc_total_mark *isc_totals_add_mark(isc_totals *t, uint32_t process, uint32_t name)
{
	ADD(t, marks, mark_count, mark_room, &t->by_name[ISC_TOTALS_MARKS], isc_hashmap_key(process, name),
	    ISC_WEIGHT_MARK);
	t->marks[t->mark_count - 1] = (isc_total_mark){.process = process, .name = name};
	return &t->marks[t->mark_count - 1];
}

isc_total_counter *isc_totals_add_counter(isc_totals *t, uint32_t process, uint32_t name)
{
	ADD(t, counters, counter_count, counter_room, &t->by_name[ISC_TOTALS_COUNTERS], isc_hashmap_key(process, name),
	    ISC_WEIGHT_COUNTER);
	t->counters[t->counter_count - 1] = (isc_total_counter){.process = process, .name = name};
	return &t->counters[t->counter_count - 1];
}

isc_total_thread *isc_totals_add_thread(isc_totals *t, uint32_t process, uint32_t thread)
{
	ADD(t, threads, thread_count, thread_room, &t->by_thread, isc_hashmap_key(process, thread), ISC_WEIGHT_THREAD);
	t->threads[t->thread_count - 1] = (isc_total_thread){.process = process, .thread = thread};
	return &t->threads[t->thread_count - 1];
}

isc_total_function *isc_totals_add_function(isc_totals *t, uint32_t process, uint32_t code)
{
	ADD(t, functions, function_count, function_room, &t->by_name[ISC_TOTALS_FUNCTIONS],
	    isc_hashmap_key(process, code), ISC_WEIGHT_FUNCTION);
	t->functions[t->function_count - 1] = (isc_total_function){.process = process, .code = code};
	return &t->functions[t->function_count - 1];
}

isc_total_stack *isc_totals_add_stack(isc_totals *t, uint32_t thread, uint32_t stack)
{
	ADD(t, stacks, stack_count, stack_room, &t->by_stack, isc_hashmap_key(thread, stack), ISC_WEIGHT_STACK);
	t->stacks[t->stack_count - 1] = (isc_total_stack){.thread = thread, .stack = stack};
	return &t->stacks[t->stack_count - 1];
}

isc_total_wait *isc_totals_add_wait(isc_totals *t, uint32_t thread_and_call, uint32_t stack)
{
	ADD(t, waits, wait_count, wait_room, &t->by_wait, isc_hashmap_key(thread_and_call, stack), ISC_WEIGHT_WAIT);
	t->waits[t->wait_count - 1] =
		(isc_total_wait){.thread = thread_and_call >> 5, .call = thread_and_call & 31, .stack = stack};
	return &t->waits[t->wait_count - 1];
}

struct isc_totals_process *isc_totals_add_process(isc_totals *t, uint32_t process)
{
	ADD(t, processes, process_count, process_room, &t->by_process, process, ISC_WEIGHT_CALLS);
	t->processes[t->process_count - 1].calls.process = process;
	return &t->processes[t->process_count - 1];
}

/*
 * What would hurt most is refused last: without a bucket a percentile is rough,
 * without a name two scopes are one, without an open scope a duration is missed.
 */
bool isc_totals_has_room(const isc_totals *t, unsigned weight)
{
	bool name = weight == ISC_WEIGHT_SCOPE || weight == ISC_WEIGHT_MARK || weight == ISC_WEIGHT_COUNTER ||
		    weight == ISC_WEIGHT_FUNCTION || weight == ISC_WEIGHT_STACK || weight == ISC_WEIGHT_WAIT ||
		    weight == ISC_WEIGHT_SYSCALL;
	uint64_t spared = weight == ISC_WEIGHT_BUCKET ? t->weight_max / 4 : name ? t->weight_max / 8 : 0;

	return t->weight + weight <= t->weight_max - spared && (spared == 0 || t->memory < ISC_TOTALS_MEMORY_MAX);
}

uint64_t isc_totals_key_within(isc_totals *t, const isc_hashmap *map, uint32_t process, uint32_t name, unsigned weight)
{
	if (isc_totals_has_room(t, weight))
		return isc_hashmap_key(process, name);
	t->folded++;
	return isc_hashmap_find(map, isc_hashmap_key(process, 0)) != NULL ? isc_hashmap_key(process, 0) : 0;
}

#define FIND_OR_ADD(t, map, process, name, weigh, add, array) \
	do { \
		const uint64_t *at_ = isc_hashmap_find(map, isc_hashmap_key(process, name)); \
		if (at_ == NULL) { \
			uint64_t key_ = isc_totals_key_within(t, map, process, name, weigh); \
			at_ = isc_hashmap_find(map, key_); \
			if (at_ == NULL) \
				return add(t, (uint32_t)(key_ >> 32), (uint32_t)key_); \
		} \
		return &(array)[*at_]; \
	} while (0)

static struct isc_totals_scope_entry *scope_find_or_add(isc_totals *t, uint32_t process, uint32_t name)
{
	FIND_OR_ADD(t, &t->by_name[ISC_TOTALS_SCOPES], process, name, ISC_WEIGHT_SCOPE, isc_totals_add_scope,
		    t->scopes);
}

/* Entries never move in their order, so a place once found stays good. */
static struct isc_totals_scope_entry *scope_of(isc_totals *t, uint32_t process, uint32_t name)
{
	isc_totals_recent *recent = &t->recent[(name ^ process * 61) % ISC_TOTALS_RECENT];
	uint64_t key = isc_hashmap_key(process, name);
	struct isc_totals_scope_entry *e;

	if (recent->at_plus_1 != 0 && recent->key == key)
		return &t->scopes[recent->at_plus_1 - 1];
	e = scope_find_or_add(t, process, name);
	if (e != NULL)
		*recent = (isc_totals_recent){key, (size_t)(e - t->scopes) + 1};
	return e;
}

static isc_total_mark *mark_of(isc_totals *t, uint32_t process, uint32_t name)
{
	FIND_OR_ADD(t, &t->by_name[ISC_TOTALS_MARKS], process, name, ISC_WEIGHT_MARK, isc_totals_add_mark, t->marks);
}

static isc_total_counter *counter_of(isc_totals *t, uint32_t process, uint32_t name)
{
	FIND_OR_ADD(t, &t->by_name[ISC_TOTALS_COUNTERS], process, name, ISC_WEIGHT_COUNTER, isc_totals_add_counter,
		    t->counters);
}

isc_total_function *isc_totals_function_of(isc_totals *t, uint32_t process, uint32_t code)
{
	FIND_OR_ADD(t, &t->by_name[ISC_TOTALS_FUNCTIONS], process, code, ISC_WEIGHT_FUNCTION, isc_totals_add_function,
		    t->functions);
}

/* Threads are numbered over all processes. */
static isc_total_stack *stack_of(isc_totals *t, uint32_t thread, uint32_t stack)
{
	FIND_OR_ADD(t, &t->by_stack, thread, stack, ISC_WEIGHT_STACK, isc_totals_add_stack, t->stacks);
}

isc_total_wait *isc_totals_wait_of(isc_totals *t, uint32_t thread_and_call, uint32_t stack)
{
	FIND_OR_ADD(t, &t->by_wait, thread_and_call, stack, ISC_WEIGHT_WAIT, isc_totals_add_wait, t->waits);
}

static isc_total_thread *thread_of(isc_totals *t, uint32_t process, uint32_t thread)
{
	FIND_OR_ADD(t, &t->by_thread, process, thread, ISC_WEIGHT_THREAD, isc_totals_add_thread, t->threads);
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
	isc_totals_lane *lane = isc_totals_lane_find(t, process, thread, stream), **bigger;
	isc_total_thread *total;

	if (lane != NULL)
		return lane;
	if (!isc_totals_has_room(t, ISC_WEIGHT_LANE)) {
		/* All further lanes share one, on which nothing is pushed. */
		t->folded++;
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
	struct isc_totals_scope_entry *e = scope_of(t, lane->process, r->id);

	if (e == NULL)
		return false;
	isc_totals_unit_begin(t, r->ticks);
	e->scope.open++;
	if (lane->stream > 1 || lane->depth >= OPEN_MAX || !isc_totals_has_room(t, ISC_WEIGHT_OPEN)) {
		t->folded++;
		return true;
	}
	t->weight += ISC_WEIGHT_OPEN;
	return isc_totals_lane_push(lane, (isc_totals_open){r->ticks, r->id, r->arg});
}

/* One more that took so long. */
static bool count_scope(isc_totals *t, struct isc_totals_scope_entry *e, uint64_t ticks)
{
	uint64_t octaves = e->histogram.octaves;
	uint32_t buckets = e->histogram.buckets;

	if (isc_totals_has_room(t, ISC_WEIGHT_BUCKET)) {
		if (!isc_histogram_add(&e->histogram, ticks))
			return false;
	} else {
		if (!isc_histogram_add_rough(&e->histogram, ticks))
			return false;
		t->folded++;
	}
	t->weight += (uint64_t)(e->histogram.buckets - buckets) * ISC_WEIGHT_BUCKET;
	t->memory += e->histogram.octaves != octaves ? ISC_HISTOGRAM_STEPS * sizeof(uint64_t) : 0;
	e->scope.min_ticks = e->scope.count == 0 || ticks < e->scope.min_ticks ? ticks : e->scope.min_ticks;
	e->scope.max_ticks = ticks > e->scope.max_ticks ? ticks : e->scope.max_ticks;
	e->scope.count++;
	e->scope.total_ticks += ticks;
	return true;
}

static bool leave_scope(isc_totals *t, isc_totals_lane *lane, const isc_record *r)
{
	struct isc_totals_scope_entry *e = scope_of(t, lane->process, r->id);
	size_t floor = lane->depth > SEARCH_MAX ? lane->depth - SEARCH_MAX : 0, i = lane->depth;
	uint64_t ticks;

	if (e == NULL)
		return false;
	isc_totals_unit_end(t, r->ticks);
	while (i > floor && (lane->open[i - 1].name != r->id || lane->open[i - 1].arg != r->arg))
		i--;
	if (i == floor) {
		e->scope.unmatched++;
		return true;
	}
	/* A clock that went back a little is no duration of centuries. */
	ticks = r->ticks > lane->open[i - 1].ticks ? r->ticks - lane->open[i - 1].ticks : 0;
	memmove(&lane->open[i - 1], &lane->open[i], (lane->depth - i) * sizeof(*lane->open));
	lane->depth--;
	t->weight -= ISC_WEIGHT_OPEN;
	e->scope.open -= e->scope.open > 0;
	if (lane->depth == 0)
		t->threads[lane->total].scope_ticks += ticks;
	return count_scope(t, e, ticks);
}
static bool enter_span(isc_totals *t, const isc_totals_lane *lane, const isc_record *r)
{
	struct isc_totals_scope_entry *e = scope_of(t, lane->process, r->id);

	if (e == NULL)
		return false;
	isc_totals_unit_begin(t, r->ticks);
	if (e->early > 0)
		e->early--;
	else
		e->scope.open++;
	return true;
}

/*
 * Threads are fed in runs, so that an exit on another thread may come before its
 * enter; on the same thread one without an enter lost it, but knows its time.
 */
static bool leave_span(isc_totals *t, const isc_totals_lane *lane, const isc_record *r, const void *extra,
		       uint32_t extra_len)
{
	struct isc_totals_scope_entry *e = scope_of(t, lane->process, r->id);
	isc_span span;

	if (e == NULL)
		return false;
	isc_totals_unit_end(t, r->ticks);
	if (extra_len < sizeof(span)) {
		e->scope.unmatched++;
		return true;
	}
	memcpy(&span, extra, sizeof(span));
	if (span.more == ISC_SPAN_UNKNOWN) {
		e->scope.unmatched++;
		return true;
	}
	if (e->scope.open > 0)
		e->scope.open--;
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
	s = stack_of(t, lane->thread, isc_trace_sample_stack(r->id, body.flags));
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
	if (first->kind >= ISC_KIND_CALL_ENTER && first->kind <= ISC_KIND_BURST) {
		bool fed = isc_totals_calls_feed(t, lane, first, extra, extra_len);

		if (first->kind <= ISC_KIND_CALL_RESUME && lane->last != 0 && first->ticks > lane->last + COLD_TICKS)
			t->cold_calls++;
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
		return enter_span(t, lane, first);
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
