#include <string.h>

#include "base/varint.h"
#include "trace/sample.h"
#include "trace/totals/totals_lane.h"

/* A part is closed behind the entry that takes it past this: the largest entry
 * then still fits into the smallest segment. */
#define PART_BYTES (16u << 10)

enum total_entry {
	END_OF_PART,
	SCOPE,
	MARK,
	COUNTER,
	THREAD,
	LANE,
	FACTS,
	FUNCTION,
	PROCESS,
	CALLS,
	STACK,
	WAIT,
	OPEN_WAIT,
	IN_SCOPES,
	COUNTS,
	SYSCALL,
	FAULTS,
	BRIEF,
	FOLDED,
	STARTUP,
	ENTRIES
};

struct parts {
	const isc_totals_cover *cover;
	isc_buffer *out;
	isc_buffer *ends;
	size_t start;
};

static void begin_part(struct parts *p)
{
	p->start = p->out->len;
	isc_varint_add(p->out, p->cover->sequence);
	isc_varint_add(p->out, p->cover->events);
}

static void end_part(struct parts *p)
{
	size_t end = p->out->len;

	isc_buffer_add(p->ends, &end, sizeof(end));
}

static void begin_entry(struct parts *p, enum total_entry type)
{
	if (p->out->len - p->start > PART_BYTES) {
		end_part(p);
		begin_part(p);
	}
	isc_varint_add(p->out, type);
}

static void add_double(isc_buffer *b, double value)
{
	isc_buffer_add(b, &value, sizeof(value));
}

static void write_scope(struct parts *p, const struct isc_totals_scope_entry *e)
{
	const isc_total_scope *s = &e->scope;
	const uint64_t fields[] = {s->process,	 s->name,	 s->count,     s->open - e->early,
				   s->unmatched, s->total_ticks, s->min_ticks, s->max_ticks};

	begin_entry(p, SCOPE);
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		isc_varint_add(p->out, fields[i]);
	isc_histogram_write(&e->histogram, p->out);
}

static void write_lane(struct parts *p, const isc_totals_lane *l)
{
	/* A deep stack goes on in further entries of the same lane. */
	size_t at = 0;

	do {
		size_t n = l->depth - at < 512 ? l->depth - at : 512;

		begin_entry(p, LANE);
		isc_varint_add(p->out, l->process);
		isc_varint_add(p->out, l->thread);
		isc_varint_add(p->out, l->stream);
		isc_varint_add(p->out, l->next);
		isc_varint_add(p->out, l->events);
		isc_varint_add(p->out, l->last);
		isc_varint_add(p->out, l->lossy);
		isc_varint_add(p->out, n);
		for (; n > 0; n--, at++) {
			isc_varint_add(p->out, l->open[at].ticks);
			isc_varint_add(p->out, l->open[at].name);
			isc_varint_add(p->out, l->open[at].arg);
		}
	} while (at < l->depth);
}

static void write_fields(struct parts *p, const uint64_t *fields, size_t n)
{
	for (size_t i = 0; i < n; i++)
		isc_varint_add(p->out, fields[i]);
}

#define FIELDS(p, ...) \
	write_fields(p, (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

static void write_process(struct parts *p, const isc_total_calls *c)
{
	begin_entry(p, PROCESS);
	FIELDS(p, c->process, c->cost, c->tasks, c->missed, c->unmatched, c->first_pause, c->paused_since,
	       c->paused_ticks, c->governed | c->gated << 1 | (!c->stopped) << 2, c->windows, c->window_ticks,
	       c->window_ns, c->apart_ns, c->farthest_ns, c->between_ns, c->inside_ns, c->end_ns);
	if (c->startup_end == 0)
		return;
	begin_entry(p, STARTUP);
	isc_totals_startup_write(c, p->out);
}

static void write_calls(struct parts *p, const isc_totals_lane *l)
{
	const isc_totals_calls *c = l->calls;
	size_t at = 0;

	do {
		size_t n = c->depth - at < 512 ? c->depth - at : 512;

		begin_entry(p, CALLS);
		FIELDS(p, l->process, l->thread, l->stream, c->paused, n);
		for (; n > 0; n--, at++)
			FIELDS(p, c->open[at].id, c->open[at].ticks, c->open[at].children);
	} while (at < c->depth);
}

void isc_totals_write(const isc_totals *t, const isc_totals_cover *cover, isc_buffer *out, isc_buffer *ends)
{
	struct parts p = {cover, out, ends, 0};

	begin_part(&p);
	begin_entry(&p, FACTS);
	isc_varint_add(out, t->weight_max);
	isc_varint_add(out, t->events);
	isc_varint_add(out, t->missed);
	for (unsigned i = 0; i < ISC_FOLDED_KINDS; i++) {
		if (isc_distinct_is_empty(&t->folded_of[i]))
			continue;
		begin_entry(&p, FOLDED);
		isc_varint_add(out, i);
		isc_buffer_add(out, t->folded_of[i].row, sizeof(t->folded_of[i].row));
	}
	/* Threads before lanes: loading a lane finds its thread. */
	for (size_t i = 0; i < t->thread_count; i++) {
		const isc_total_thread *e = &t->threads[i];

		begin_entry(&p, THREAD);
		FIELDS(&p, e->process, e->thread, e->events, e->first_ticks, e->last_ticks, e->name);
	}
	for (size_t i = 0; i < t->lane_count; i++)
		write_lane(&p, t->lanes[i]);
	for (size_t i = 0; i < t->thread_count; i++) {
		if (t->threads[i].scope_ticks == 0)
			continue;
		begin_entry(&p, IN_SCOPES);
		FIELDS(&p, t->threads[i].process, t->threads[i].thread, t->threads[i].scope_ticks);
	}
	for (size_t i = 0; i < t->scope_count; i++)
		write_scope(&p, &t->scopes[i]);
	/* Open calls find their process, their function and their lane. */
	for (size_t i = 0; i < t->process_count; i++)
		write_process(&p, &t->processes[i].calls);
	for (size_t i = 0; i < t->function_count; i++) {
		begin_entry(&p, isc_totals_function_is_brief(&t->functions[i]) ? BRIEF : FUNCTION);
		isc_totals_function_write(&t->functions[i], out);
	}
	for (size_t i = 0; i < t->lane_count; i++) {
		if (t->lanes[i]->calls != NULL)
			write_calls(&p, t->lanes[i]);
	}
	for (size_t i = 0; i < t->stack_count; i++) {
		const isc_total_stack *s = &t->stacks[i];

		begin_entry(&p, STACK);
		FIELDS(&p, s->process, s->thread, s->stack, s->samples, s->steps, s->cpu_ns, s->flags);
		if (s->counted != 0 || s->grown != 0) {
			begin_entry(&p, COUNTS);
			FIELDS(&p, s->thread, s->stack, s->counted, s->instructions, s->cycles, s->grown);
		}
		if (s->faults != 0) {
			begin_entry(&p, FAULTS);
			FIELDS(&p, s->thread, s->stack, s->faults, s->fault_ns, s->faulting);
		}
	}
	for (size_t i = 0; i < t->wait_count; i++) {
		const isc_total_wait *w = &t->waits[i];

		begin_entry(&p, WAIT);
		FIELDS(&p, w->process, w->thread, w->call, w->stack, w->count, w->ticks, w->max_ticks, w->brief_ticks,
		       w->unseen, w->holder, w->holder_stack);
	}
	for (size_t i = 0; i < t->lane_count; i++) {
		const isc_totals_lane *l = t->lanes[i];

		if (l->wait_call == 0)
			continue;
		begin_entry(&p, OPEN_WAIT);
		FIELDS(&p, l->process, l->thread, l->stream, l->wait_call, l->wait_stack, l->wait_ticks);
	}
	for (size_t i = 0; i < t->syscall_count; i++) {
		begin_entry(&p, SYSCALL);
		isc_totals_syscall_write(&t->syscalls[i], out);
	}
	for (size_t i = 0; i < t->mark_count; i++) {
		begin_entry(&p, MARK);
		isc_varint_add(out, t->marks[i].process);
		isc_varint_add(out, t->marks[i].name);
		isc_varint_add(out, t->marks[i].count);
	}
	for (size_t i = 0; i < t->counter_count; i++) {
		const isc_total_counter *c = &t->counters[i];

		begin_entry(&p, COUNTER);
		isc_varint_add(out, c->process);
		isc_varint_add(out, c->name);
		isc_varint_add(out, c->count);
		add_double(out, c->min);
		add_double(out, c->max);
		add_double(out, c->sum);
		add_double(out, c->last);
	}
	end_part(&p);
}

struct totals_reading {
	const uint8_t *at, *end;
};

static bool get(struct totals_reading *r, uint64_t *value)
{
	return isc_varint_get(&r->at, r->end, value);
}

static bool get_pair(struct totals_reading *r, uint32_t *process, uint32_t *name)
{
	return isc_varint_get32(&r->at, r->end, process) && isc_varint_get32(&r->at, r->end, name);
}

static isc_status read_scope(isc_totals *t, struct totals_reading *r)
{
	struct isc_totals_scope_entry *e;
	uint32_t process, name;
	isc_total_scope s;

	if (!get_pair(r, &process, &name) || !get(r, &s.count) || !get(r, &s.open) || !get(r, &s.unmatched) ||
	    !get(r, &s.total_ticks) || !get(r, &s.min_ticks) || !get(r, &s.max_ticks))
		return ISC_ERR_CORRUPT;
	e = isc_totals_add_scope(t, process, name);
	if (e == NULL)
		return ISC_ERR_NOMEM;
	s.process = process;
	s.name = name;
	s.histogram = NULL;
	/* Below zero: as many were left before they were seen to be entered. */
	e->early = s.open > INT64_MAX ? 0 - s.open : 0;
	s.open = s.open > INT64_MAX ? 0 : s.open;
	e->scope = s;
	if (!isc_histogram_read(&e->histogram, &r->at, r->end))
		return ISC_ERR_CORRUPT;
	isc_totals_weigh(t, ISC_PART_NAMES, (int64_t)e->histogram.buckets * ISC_WEIGHT_BUCKET);
	t->memory += (uint64_t)__builtin_popcountll(e->histogram.octaves) * ISC_HISTOGRAM_STEPS * sizeof(uint64_t);
	return ISC_OK;
}

static isc_status read_mark(isc_totals *t, struct totals_reading *r)
{
	uint32_t process, name;
	uint64_t count;
	isc_total_mark *m;

	if (!get_pair(r, &process, &name) || !get(r, &count))
		return ISC_ERR_CORRUPT;
	m = isc_totals_add_mark(t, process, name);
	if (m == NULL)
		return ISC_ERR_NOMEM;
	m->count = count;
	return ISC_OK;
}

static isc_status read_counter(isc_totals *t, struct totals_reading *r)
{
	uint32_t process, name;
	uint64_t count;
	double value[4];
	isc_total_counter *c;

	if (!get_pair(r, &process, &name) || !get(r, &count) || (size_t)(r->end - r->at) < sizeof(value))
		return ISC_ERR_CORRUPT;
	memcpy(value, r->at, sizeof(value));
	r->at += sizeof(value);
	c = isc_totals_add_counter(t, process, name);
	if (c == NULL)
		return ISC_ERR_NOMEM;
	c->count = count;
	c->min = value[0];
	c->max = value[1];
	c->sum = value[2];
	c->last = value[3];
	return ISC_OK;
}

static isc_status read_thread(isc_totals *t, struct totals_reading *r)
{
	uint32_t process, thread, name;
	uint64_t events, first, last;
	isc_total_thread *e;

	if (!get_pair(r, &process, &thread) || !get(r, &events) || !get(r, &first) || !get(r, &last) ||
	    !isc_varint_get32(&r->at, r->end, &name))
		return ISC_ERR_CORRUPT;
	e = isc_totals_add_thread(t, process, thread);
	if (e == NULL)
		return ISC_ERR_NOMEM;
	e->events = events;
	e->first_ticks = first;
	e->last_ticks = last;
	e->name = name;
	return ISC_OK;
}

static isc_status read_lane(isc_totals *t, struct totals_reading *r)
{
	uint32_t process, thread;
	uint64_t stream, next, events, last, lossy, n, arg;
	isc_totals_lane *lane;

	if (!get_pair(r, &process, &thread) || !isc_varint_get_max(&r->at, r->end, 3, &stream) || !get(r, &next) ||
	    !get(r, &events) || !get(r, &last) || !isc_varint_get_max(&r->at, r->end, 1, &lossy) ||
	    !isc_varint_get_max(&r->at, r->end, (uint64_t)(r->end - r->at), &n))
		return ISC_ERR_CORRUPT;
	lane = isc_totals_lane_of(t, process, thread, (uint8_t)stream);
	if (lane == NULL)
		return ISC_ERR_NOMEM;
	lane->next = next;
	lane->events = events;
	lane->last = last;
	lane->lossy = lossy;
	for (; n > 0; n--) {
		isc_totals_open open;

		if (!get(r, &open.ticks) || !isc_varint_get32(&r->at, r->end, &open.name) ||
		    !isc_varint_get_max(&r->at, r->end, UINT16_MAX, &arg))
			return ISC_ERR_CORRUPT;
		open.arg = (uint32_t)arg;
		if (!isc_totals_lane_push(lane, open))
			return ISC_ERR_NOMEM;
		t->weight += ISC_WEIGHT_OPEN;
	}
	return ISC_OK;
}

static isc_status read_facts(isc_totals *t, struct totals_reading *r)
{
	uint64_t weight_max;

	if (!get(r, &weight_max) || !get(r, &t->events) || !get(r, &t->missed))
		return ISC_ERR_CORRUPT;
	isc_totals_bound(t, weight_max);
	return ISC_OK;
}

static isc_status read_function(isc_totals *t, struct totals_reading *r)
{
	return isc_totals_function_read(t, &r->at, r->end);
}

static isc_status read_brief(isc_totals *t, struct totals_reading *r)
{
	return isc_totals_brief_read(t, &r->at, r->end);
}

static isc_status read_folded(isc_totals *t, struct totals_reading *r)
{
	uint64_t kind;

	if (!isc_varint_get_max(&r->at, r->end, ISC_FOLDED_KINDS - 1, &kind) ||
	    (size_t)(r->end - r->at) < sizeof(t->folded_of[kind].row))
		return ISC_ERR_CORRUPT;
	memcpy(t->folded_of[kind].row, r->at, sizeof(t->folded_of[kind].row));
	r->at += sizeof(t->folded_of[kind].row);
	return ISC_OK;
}

static isc_status read_process(isc_totals *t, struct totals_reading *r)
{
	return isc_totals_process_read(t, &r->at, r->end);
}

static isc_status read_startup(isc_totals *t, struct totals_reading *r)
{
	return isc_totals_startup_read(t, &r->at, r->end);
}

static isc_status read_calls(isc_totals *t, struct totals_reading *r)
{
	uint32_t process, thread, id;
	uint64_t stream, paused, n, ticks, children;
	isc_totals_lane *lane;

	if (!get_pair(r, &process, &thread) || !isc_varint_get_max(&r->at, r->end, 3, &stream) || !get(r, &paused) ||
	    !isc_varint_get_max(&r->at, r->end, (uint64_t)(r->end - r->at), &n))
		return ISC_ERR_CORRUPT;
	lane = isc_totals_lane_of(t, process, thread, (uint8_t)stream);
	if (lane == NULL || isc_totals_calls_of(t, lane) == NULL)
		return ISC_ERR_NOMEM;
	lane->calls->paused = paused;
	for (; n > 0; n--) {
		if (!isc_varint_get32(&r->at, r->end, &id) || !get(r, &ticks) || !get(r, &children))
			return ISC_ERR_CORRUPT;
		if (!isc_totals_calls_push(t, lane, id, ticks, children))
			return ISC_ERR_NOMEM;
	}
	return ISC_OK;
}

static isc_status read_stack(isc_totals *t, struct totals_reading *r)
{
	isc_total_stack s = {0}, *e;

	if (!get_pair(r, &s.process, &s.thread) || !isc_varint_get32(&r->at, r->end, &s.stack) || !get(r, &s.samples) ||
	    !get(r, &s.steps) || !get(r, &s.cpu_ns) || !isc_varint_get32(&r->at, r->end, &s.flags))
		return ISC_ERR_CORRUPT;
	s.stack = isc_trace_total_stack(s.stack, s.flags);
	e = isc_totals_add_stack(t, s.thread, s.stack);
	if (e == NULL)
		return ISC_ERR_NOMEM;
	*e = s;
	return ISC_OK;
}

/* A stack that was told of before; NULL: it was not. */
static isc_total_stack *known_stack(isc_totals *t, struct totals_reading *r)
{
	uint32_t thread, stack;
	uint64_t *at =
		get_pair(r, &thread, &stack) ? isc_hashmap_find(&t->by_stack, isc_hashmap_key(thread, stack)) : NULL;

	return at != NULL ? &t->stacks[*at] : NULL;
}

static isc_status read_counts(isc_totals *t, struct totals_reading *r)
{
	isc_total_stack *s = known_stack(t, r);

	return s != NULL && get(r, &s->counted) && get(r, &s->instructions) && get(r, &s->cycles) && get(r, &s->grown)
		       ? ISC_OK
		       : ISC_ERR_CORRUPT;
}

static isc_status read_faults(isc_totals *t, struct totals_reading *r)
{
	isc_total_stack *s = known_stack(t, r);

	return s != NULL && get(r, &s->faults) && get(r, &s->fault_ns) && get(r, &s->faulting) ? ISC_OK
											       : ISC_ERR_CORRUPT;
}

static isc_status read_wait(isc_totals *t, struct totals_reading *r)
{
	isc_total_wait w = {0}, *e;
	uint64_t call;

	if (!get_pair(r, &w.process, &w.thread) || !isc_varint_get_max(&r->at, r->end, ISC_WAIT_GC, &call) ||
	    !isc_varint_get32(&r->at, r->end, &w.stack) || !get(r, &w.count) || !get(r, &w.ticks) ||
	    !get(r, &w.max_ticks) || !get(r, &w.brief_ticks) || !get(r, &w.unseen) ||
	    !get_pair(r, &w.holder, &w.holder_stack))
		return ISC_ERR_CORRUPT;
	w.call = (uint32_t)call;
	e = isc_totals_add_wait(t, ISC_WAIT_KEY(w.thread, w.call), w.stack);
	if (e == NULL)
		return ISC_ERR_NOMEM;
	*e = w;
	return ISC_OK;
}

static isc_status read_syscall(isc_totals *t, struct totals_reading *r)
{
	return isc_totals_syscall_read(t, &r->at, r->end);
}

static isc_status read_in_scopes(isc_totals *t, struct totals_reading *r)
{
	uint32_t process, thread;
	uint64_t ticks, *at;

	if (!get_pair(r, &process, &thread) || !get(r, &ticks))
		return ISC_ERR_CORRUPT;
	at = isc_hashmap_find(&t->by_thread, isc_hashmap_key(process, thread));
	if (at == NULL)
		return ISC_ERR_CORRUPT;
	t->threads[*at].scope_ticks = ticks;
	return ISC_OK;
}

static isc_status read_open_wait(isc_totals *t, struct totals_reading *r)
{
	uint32_t process, thread, stack;
	uint64_t stream, call, ticks;

	if (!get_pair(r, &process, &thread) || !isc_varint_get_max(&r->at, r->end, 3, &stream) ||
	    !isc_varint_get_max(&r->at, r->end, ISC_WAIT_CALLS - 1, &call) ||
	    !isc_varint_get32(&r->at, r->end, &stack) || !get(r, &ticks))
		return ISC_ERR_CORRUPT;
	return isc_totals_open_wait(t, process, thread, (uint8_t)stream, (uint32_t)call, stack, ticks, NULL);
}

bool isc_totals_read_cover(const uint8_t **at, const uint8_t *end, isc_totals_cover *cover)
{
	return isc_varint_get32(at, end, &cover->sequence) && isc_varint_get(at, end, &cover->events);
}

isc_status isc_totals_read(isc_totals *t, const uint8_t *raw, size_t len)
{
	isc_status (*const readers[])(isc_totals *, struct totals_reading *) = {
		[SCOPE] = read_scope,	      [MARK] = read_mark,	[COUNTER] = read_counter,
		[THREAD] = read_thread,	      [LANE] = read_lane,	[FACTS] = read_facts,
		[FUNCTION] = read_function,   [PROCESS] = read_process, [CALLS] = read_calls,
		[STACK] = read_stack,	      [WAIT] = read_wait,	[OPEN_WAIT] = read_open_wait,
		[IN_SCOPES] = read_in_scopes, [COUNTS] = read_counts,	[SYSCALL] = read_syscall,
		[FAULTS] = read_faults,	      [BRIEF] = read_brief,	[FOLDED] = read_folded,
		[STARTUP] = read_startup};
	struct totals_reading r = {raw, raw + len};
	isc_totals_cover cover;
	isc_status st = ISC_OK;
	uint64_t type;

	if (!isc_totals_read_cover(&r.at, r.end, &cover))
		return ISC_ERR_CORRUPT;
	while (st == ISC_OK && r.at < r.end) {
		if (!isc_varint_get_max(&r.at, r.end, ENTRIES - 1, &type) || type == END_OF_PART)
			return ISC_ERR_CORRUPT;
		/* Loaded entries weigh as fed ones: a file cannot make us hold more. */
		if (t->weight > 2 * (uint64_t)ISC_TOTALS_WEIGHT_MAX || t->memory > 2 * (uint64_t)ISC_TOTALS_MEMORY_MAX)
			return ISC_ERR_CORRUPT;
		st = readers[type](t, &r);
	}
	return st;
}
