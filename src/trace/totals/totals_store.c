#include <string.h>

#include "base/varint.h"
#include "trace/sample.h"
#include "trace/totals/totals_fields.h"
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

static void write_fields(struct parts *p, const uint64_t *fields, size_t n)
{
	for (size_t i = 0; i < n; i++)
		isc_varint_add(p->out, fields[i]);
}

#define FIELDS(p, ...) \
	write_fields(p, (const uint64_t[]){__VA_ARGS__}, sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

static void write_scope(struct parts *p, const isc_total_scope *e)
{
	isc_total_scope s = *e;

	s.open -= e->early;
	begin_entry(p, SCOPE);
	isc_totals_fields_store(isc_scope_fields, &s, p->out);
	isc_histogram_write(&e->histogram, p->out);
}

static void write_lane(struct parts *p, const isc_totals_lane *l)
{
	/* A deep stack goes on in further entries of the same lane. */
	size_t at = 0;

	do {
		size_t n = l->depth - at < 512 ? l->depth - at : 512;

		begin_entry(p, LANE);
		FIELDS(p, l->process, l->thread, l->stream, l->next, l->events, l->last, l->lossy, n);
		for (; n > 0; n--, at++)
			FIELDS(p, l->open[at].ticks, l->open[at].name, l->open[at].arg);
	} while (at < l->depth);
}

/* Rows that are their numbers and no more. */
static void write_rows(struct parts *p, enum total_entry type, const isc_total_field *fields, const void *rows,
		       size_t count, size_t size)
{
	for (size_t i = 0; i < count; i++) {
		begin_entry(p, type);
		isc_totals_fields_store(fields, (const char *)rows + i * size, p->out);
	}
}

static void write_process(struct parts *p, const isc_total_calls *c)
{
	begin_entry(p, PROCESS);
	isc_totals_fields_store(isc_process_fields, c, p->out);
	FIELDS(p, c->governed | c->gated << 1 | (!c->stopped) << 2);
	isc_totals_fields_store(isc_process_windows_fields, c, p->out);
	if (c->startup_end == 0)
		return;
	begin_entry(p, STARTUP);
	FIELDS(p, c->process);
	isc_totals_fields_store(isc_process_startup_fields, c, p->out);
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

static void write_stack(struct parts *p, const isc_total_stack *s)
{
	begin_entry(p, STACK);
	isc_totals_fields_store(isc_stack_fields, s, p->out);
	if (s->counted != 0 || s->grown != 0) {
		begin_entry(p, COUNTS);
		FIELDS(p, s->thread, s->stack);
		isc_totals_fields_store(isc_stack_counts_fields, s, p->out);
	}
	if (s->faults != 0) {
		begin_entry(p, FAULTS);
		FIELDS(p, s->thread, s->stack);
		isc_totals_fields_store(isc_stack_faults_fields, s, p->out);
	}
}

static void write_facts(struct parts *p, const isc_totals *t)
{
	begin_entry(p, FACTS);
	FIELDS(p, t->weight_max, t->events, t->missed);
	for (unsigned i = 0; i < ISC_FOLDED_KINDS; i++) {
		if (isc_distinct_is_empty(&t->folded_of[i]))
			continue;
		begin_entry(p, FOLDED);
		isc_varint_add(p->out, i);
		isc_buffer_add(p->out, t->folded_of[i].row, sizeof(t->folded_of[i].row));
	}
}

#define ROWS(p, type, fields, rows, count) write_rows(p, type, fields, rows, count, sizeof(*(rows)))

static void write_threads(struct parts *p, const isc_totals *t)
{
	/* Threads before lanes: loading a lane finds its thread. */
	ROWS(p, THREAD, isc_thread_fields, t->threads, t->thread_count);
	for (size_t i = 0; i < t->lane_count; i++)
		write_lane(p, t->lanes[i]);
	for (size_t i = 0; i < t->thread_count; i++) {
		if (t->threads[i].scope_ticks == 0)
			continue;
		begin_entry(p, IN_SCOPES);
		FIELDS(p, t->threads[i].process, t->threads[i].thread, t->threads[i].scope_ticks);
	}
}

static void write_functions(struct parts *p, const isc_totals *t)
{
	/* Open calls find their process, their function and their lane. */
	for (size_t i = 0; i < t->process_count; i++)
		write_process(p, &t->processes[i].calls);
	for (size_t i = 0; i < t->function_count; i++) {
		begin_entry(p, isc_totals_function_is_brief(&t->functions[i]) ? BRIEF : FUNCTION);
		isc_totals_function_write(&t->functions[i], p->out);
	}
	for (size_t i = 0; i < t->lane_count; i++) {
		if (t->lanes[i]->calls != NULL)
			write_calls(p, t->lanes[i]);
	}
}

static void write_waits(struct parts *p, const isc_totals *t)
{
	ROWS(p, WAIT, isc_wait_fields, t->waits, t->wait_count);
	for (size_t i = 0; i < t->lane_count; i++) {
		const isc_totals_lane *l = t->lanes[i];

		if (l->wait_call == 0)
			continue;
		begin_entry(p, OPEN_WAIT);
		FIELDS(p, l->process, l->thread, l->stream, l->wait_call, l->wait_stack, l->wait_ticks);
	}
}

void isc_totals_write(const isc_totals *t, const isc_totals_cover *cover, isc_buffer *out, isc_buffer *ends)
{
	struct parts p = {cover, out, ends, 0};

	begin_part(&p);
	write_facts(&p, t);
	write_threads(&p, t);
	for (size_t i = 0; i < t->scope_count; i++)
		write_scope(&p, &t->scopes[i]);
	write_functions(&p, t);
	for (size_t i = 0; i < t->stack_count; i++)
		write_stack(&p, &t->stacks[i]);
	write_waits(&p, t);
	ROWS(&p, SYSCALL, isc_syscall_fields, t->syscalls, t->syscall_count);
	ROWS(&p, MARK, isc_mark_fields, t->marks, t->mark_count);
	ROWS(&p, COUNTER, isc_counter_fields, t->counters, t->counter_count);
	end_part(&p);
}

/* ---- reading ---- */

static bool get_pair(const uint8_t **at, const uint8_t *end, uint32_t *process, uint32_t *name)
{
	return isc_varint_get32(at, end, process) && isc_varint_get32(at, end, name);
}

/* A row that is its numbers and no more. */
#define READ_ROW(type, fields, add) \
	type row = {0}, *e; \
\
	if (!isc_totals_fields_load(fields, &row, at, end)) \
		return ISC_ERR_CORRUPT; \
	e = add; \
	if (e == NULL) \
		return ISC_ERR_NOMEM; \
	*e = row; \
	return ISC_OK

static isc_status read_mark(isc_totals *t, const uint8_t **at, const uint8_t *end)
{
	READ_ROW(isc_total_mark, isc_mark_fields, isc_totals_add_mark(t, row.process, row.name));
}

static isc_status read_counter(isc_totals *t, const uint8_t **at, const uint8_t *end)
{
	READ_ROW(isc_total_counter, isc_counter_fields, isc_totals_add_counter(t, row.process, row.name));
}

static isc_status read_thread(isc_totals *t, const uint8_t **at, const uint8_t *end)
{
	READ_ROW(isc_total_thread, isc_thread_fields, isc_totals_add_thread(t, row.process, row.thread));
}

static isc_status read_wait(isc_totals *t, const uint8_t **at, const uint8_t *end)
{
	READ_ROW(isc_total_wait, isc_wait_fields,
		 isc_totals_add_wait(t, ISC_WAIT_KEY(row.thread, row.call), row.stack));
}

static isc_status read_syscall(isc_totals *t, const uint8_t **at, const uint8_t *end)
{
	READ_ROW(isc_total_syscall, isc_syscall_fields, isc_totals_add_syscall(t, &row));
}

static isc_status read_scope(isc_totals *t, const uint8_t **at, const uint8_t *end)
{
	isc_total_scope *e;
	isc_total_scope s = {0};

	if (!isc_totals_fields_load(isc_scope_fields, &s, at, end))
		return ISC_ERR_CORRUPT;
	e = isc_totals_add_scope(t, s.process, s.name);
	if (e == NULL)
		return ISC_ERR_NOMEM;
	/* Below zero: as many were left before they were seen to be entered. */
	s.early = s.open > INT64_MAX ? 0 - s.open : 0;
	s.open = s.open > INT64_MAX ? 0 : s.open;
	*e = s;
	if (!isc_histogram_read(&e->histogram, at, end))
		return ISC_ERR_CORRUPT;
	isc_totals_weigh(t, ISC_PART_NAMES, (int64_t)e->histogram.buckets * ISC_WEIGHT_BUCKET);
	t->memory += (uint64_t)__builtin_popcountll(e->histogram.octaves) * ISC_HISTOGRAM_STEPS * sizeof(uint64_t);
	return ISC_OK;
}

static isc_status read_lane(isc_totals *t, const uint8_t **at, const uint8_t *end)
{
	uint32_t process, thread;
	uint64_t stream, next, events, last, lossy, n, arg;
	isc_totals_lane *lane;

	if (!get_pair(at, end, &process, &thread) || !isc_varint_get_max(at, end, 3, &stream) ||
	    !isc_varint_get(at, end, &next) || !isc_varint_get(at, end, &events) || !isc_varint_get(at, end, &last) ||
	    !isc_varint_get_max(at, end, 1, &lossy) || !isc_varint_get_max(at, end, (uint64_t)(end - *at), &n))
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

		if (!isc_varint_get(at, end, &open.ticks) || !isc_varint_get32(at, end, &open.name) ||
		    !isc_varint_get_max(at, end, UINT16_MAX, &arg))
			return ISC_ERR_CORRUPT;
		open.arg = (uint32_t)arg;
		if (!isc_totals_lane_push(lane, open))
			return ISC_ERR_NOMEM;
		t->weight += ISC_WEIGHT_OPEN;
	}
	return ISC_OK;
}

static isc_status read_facts(isc_totals *t, const uint8_t **at, const uint8_t *end)
{
	uint64_t weight_max;

	if (!isc_varint_get(at, end, &weight_max) || !isc_varint_get(at, end, &t->events) ||
	    !isc_varint_get(at, end, &t->missed))
		return ISC_ERR_CORRUPT;
	isc_totals_bound(t, weight_max);
	return ISC_OK;
}

static isc_status read_folded(isc_totals *t, const uint8_t **at, const uint8_t *end)
{
	uint64_t kind;

	if (!isc_varint_get_max(at, end, ISC_FOLDED_KINDS - 1, &kind) ||
	    (size_t)(end - *at) < sizeof(t->folded_of[kind].row))
		return ISC_ERR_CORRUPT;
	memcpy(t->folded_of[kind].row, *at, sizeof(t->folded_of[kind].row));
	*at += sizeof(t->folded_of[kind].row);
	return ISC_OK;
}

static isc_status read_calls(isc_totals *t, const uint8_t **at, const uint8_t *end)
{
	uint32_t process, thread, id;
	uint64_t stream, paused, n, ticks, children;
	isc_totals_lane *lane;

	if (!get_pair(at, end, &process, &thread) || !isc_varint_get_max(at, end, 3, &stream) ||
	    !isc_varint_get(at, end, &paused) || !isc_varint_get_max(at, end, (uint64_t)(end - *at), &n))
		return ISC_ERR_CORRUPT;
	lane = isc_totals_lane_of(t, process, thread, (uint8_t)stream);
	if (lane == NULL || isc_totals_calls_of(t, lane) == NULL)
		return ISC_ERR_NOMEM;
	lane->calls->paused = paused;
	for (; n > 0; n--) {
		if (!isc_varint_get32(at, end, &id) || !isc_varint_get(at, end, &ticks) ||
		    !isc_varint_get(at, end, &children))
			return ISC_ERR_CORRUPT;
		if (!isc_totals_calls_push(t, lane, id, ticks, children))
			return ISC_ERR_NOMEM;
	}
	return ISC_OK;
}

static isc_status read_stack(isc_totals *t, const uint8_t **at, const uint8_t *end)
{
	isc_total_stack s = {0}, *e;

	if (!isc_totals_fields_load(isc_stack_fields, &s, at, end))
		return ISC_ERR_CORRUPT;
	s.stack = isc_trace_total_stack(s.stack, s.flags);
	e = isc_totals_add_stack(t, s.thread, s.stack);
	if (e == NULL)
		return ISC_ERR_NOMEM;
	*e = s;
	return ISC_OK;
}

/* More of a stack that was told of before. */
static isc_status read_more(isc_totals *t, const isc_total_field *fields, const uint8_t **at, const uint8_t *end)
{
	uint32_t thread, stack;
	uint64_t *place = NULL;

	if (get_pair(at, end, &thread, &stack))
		place = isc_hashmap_find(&t->by_stack, isc_hashmap_key(thread, stack));
	return place != NULL && isc_totals_fields_load(fields, &t->stacks[*place], at, end) ? ISC_OK : ISC_ERR_CORRUPT;
}

static isc_status read_counts(isc_totals *t, const uint8_t **at, const uint8_t *end)
{
	return read_more(t, isc_stack_counts_fields, at, end);
}

static isc_status read_faults(isc_totals *t, const uint8_t **at, const uint8_t *end)
{
	return read_more(t, isc_stack_faults_fields, at, end);
}

static isc_status read_in_scopes(isc_totals *t, const uint8_t **at, const uint8_t *end)
{
	uint32_t process, thread;
	uint64_t ticks, *place;

	if (!get_pair(at, end, &process, &thread) || !isc_varint_get(at, end, &ticks))
		return ISC_ERR_CORRUPT;
	place = isc_hashmap_find(&t->by_thread, isc_hashmap_key(process, thread));
	if (place == NULL)
		return ISC_ERR_CORRUPT;
	t->threads[*place].scope_ticks = ticks;
	return ISC_OK;
}

static isc_status read_open_wait(isc_totals *t, const uint8_t **at, const uint8_t *end)
{
	uint32_t process, thread, stack;
	uint64_t stream, call, ticks;

	if (!get_pair(at, end, &process, &thread) || !isc_varint_get_max(at, end, 3, &stream) ||
	    !isc_varint_get_max(at, end, ISC_WAIT_CALLS - 1, &call) || !isc_varint_get32(at, end, &stack) ||
	    !isc_varint_get(at, end, &ticks))
		return ISC_ERR_CORRUPT;
	return isc_totals_open_wait(t, process, thread, (uint8_t)stream, (uint32_t)call, stack, ticks, NULL);
}

bool isc_totals_read_cover(const uint8_t **at, const uint8_t *end, isc_totals_cover *cover)
{
	return isc_varint_get32(at, end, &cover->sequence) && isc_varint_get(at, end, &cover->events);
}

isc_status isc_totals_read(isc_totals *t, const uint8_t *raw, size_t len)
{
	isc_status (*const readers[])(isc_totals *, const uint8_t **,
				      const uint8_t *) = {[SCOPE] = read_scope,
							  [MARK] = read_mark,
							  [COUNTER] = read_counter,
							  [THREAD] = read_thread,
							  [LANE] = read_lane,
							  [FACTS] = read_facts,
							  [FUNCTION] = isc_totals_function_read,
							  [PROCESS] = isc_totals_process_read,
							  [CALLS] = read_calls,
							  [STACK] = read_stack,
							  [WAIT] = read_wait,
							  [OPEN_WAIT] = read_open_wait,
							  [IN_SCOPES] = read_in_scopes,
							  [COUNTS] = read_counts,
							  [SYSCALL] = read_syscall,
							  [FAULTS] = read_faults,
							  [BRIEF] = isc_totals_brief_read,
							  [FOLDED] = read_folded,
							  [STARTUP] = isc_totals_startup_read};
	const uint8_t *at = raw, *end = raw + len;
	isc_totals_cover cover;
	isc_status st = ISC_OK;
	uint64_t type;

	if (!isc_totals_read_cover(&at, end, &cover))
		return ISC_ERR_CORRUPT;
	while (st == ISC_OK && at < end) {
		if (!isc_varint_get_max(&at, end, ENTRIES - 1, &type) || type == END_OF_PART)
			return ISC_ERR_CORRUPT;
		/* Loaded entries weigh as fed ones: a file cannot make us hold more. */
		if (t->weight > 2 * (uint64_t)ISC_TOTALS_WEIGHT_MAX || t->memory > 2 * (uint64_t)ISC_TOTALS_MEMORY_MAX)
			return ISC_ERR_CORRUPT;
		st = readers[type](t, &at, end);
	}
	return st;
}
