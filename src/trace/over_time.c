#include "trace/over_time.h"

#include <stdlib.h>
#include <string.h>

#include "base/grow.h"
#include "base/varint.h"
#include "trace/writing.h"

#define ROWS_READ_MAX (1u << 17) /* of a file that says more: no writer of ours does */

void isc_over_time_fini(isc_over_time *o)
{
	free(o->row);
	*o = (isc_over_time){.max = o->max};
}

static void add_sums(isc_trace_period *to, const isc_trace_period *from)
{
	to->samples += from->samples;
	to->sampled_ns += from->sampled_ns;
	to->unattributed_ns += from->unattributed_ns;
	to->events += from->events;
	to->lost += from->lost;
	to->thinned += from->thinned;
	to->cost_ns += from->cost_ns;
	to->units += from->units;
}

static void join(isc_trace_period *to, const isc_trace_period *from)
{
	to->from_ns = from->from_ns < to->from_ns ? from->from_ns : to->from_ns;
	to->to_ns = from->to_ns > to->to_ns ? from->to_ns : to->to_ns;
	add_sums(to, from);
}

/* Of one process the longer of two that begin together comes first. */
static int by_process(const void *a, const void *b)
{
	const isc_trace_period *x = a, *y = b;

	if (x->process != y->process)
		return x->process > y->process ? 1 : -1;
	if (x->from_ns != y->from_ns)
		return x->from_ns > y->from_ns ? 1 : -1;
	return (x->to_ns < y->to_ns) - (x->to_ns > y->to_ns);
}

static int by_time(const void *a, const void *b)
{
	const isc_trace_period *x = a, *y = b;

	if (x->from_ns != y->from_ns)
		return x->from_ns > y->from_ns ? 1 : -1;
	return (x->process > y->process) - (x->process < y->process);
}

static void order(isc_over_time *o, int (*by)(const void *, const void *))
{
	if (o->count > 1)
		qsort(o->row, o->count, sizeof(*o->row), by);
}

/* Every two neighbours become one. */
static void halve(isc_over_time *o)
{
	size_t kept = 0;

	order(o, by_process);
	for (size_t i = 0; i < o->count; i++) {
		o->row[kept] = o->row[i];
		if (i + 1 < o->count && o->row[i + 1].process == o->row[i].process)
			join(&o->row[kept], &o->row[++i]);
		kept++;
	}
	o->count = kept;
	order(o, by_time);
	o->clean = 0;
}

static isc_status push_row(isc_over_time *o, const isc_trace_period *row)
{
	isc_trace_period *bigger = isc_grow(o->row, o->count, &o->room, sizeof(*o->row));

	if (bigger == NULL)
		return ISC_ERR_NOMEM;
	o->row = bigger;
	o->row[o->count++] = *row;
	return ISC_OK;
}

/* More processes than rows: one row is for all that have none. */
static isc_status put_without_room(isc_over_time *o, const isc_trace_period *row)
{
	isc_trace_period rest = *row;

	for (size_t i = 0; i < o->count; i++) {
		if (o->row[i].process == 0) {
			join(&o->row[i], row);
			o->clean = o->clean < i ? o->clean : i;
			return ISC_OK;
		}
	}
	rest.process = 0;
	return push_row(o, &rest);
}

isc_status isc_over_time_put(isc_over_time *o, const isc_trace_period *row)
{
	if (o->max == 0 && o->count >= ROWS_READ_MAX)
		return ISC_ERR_LIMIT;
	if (o->max != 0 && o->count >= o->max)
		halve(o);
	if (o->max != 0 && o->count >= o->max)
		return put_without_room(o, row);
	return push_row(o, row);
}

void isc_over_time_sort(isc_over_time *o)
{
	size_t kept = 0;

	order(o, by_process);
	for (size_t i = 0; i < o->count; i++) {
		const isc_trace_period *last = kept > 0 ? &o->row[kept - 1] : NULL;

		if (last == NULL || last->process != o->row[i].process || o->row[i].to_ns > last->to_ns)
			o->row[kept++] = o->row[i];
	}
	o->count = kept;
	order(o, by_time);
	o->clean = o->count;
}

void isc_record_put_period(isc_buffer *b, const isc_trace_period *p)
{
	const uint64_t fields[] = {p->process, p->from_ns,    p->to_ns - p->from_ns,
				   p->samples, p->sampled_ns, p->unattributed_ns,
				   p->events,  p->lost,	      p->thinned,
				   p->cost_ns, p->units};

	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++)
		isc_varint_add(b, fields[i]);
}

bool isc_record_get_period(isc_byte_range *b, bool older, isc_trace_period *p)
{
	uint64_t *const fields[] = {&p->from_ns, &p->to_ns, &p->samples, &p->sampled_ns, &p->unattributed_ns,
				    &p->events,	 &p->lost,  &p->thinned, &p->cost_ns};

	if (!isc_varint_get32(&b->at, b->end, &p->process))
		return false;
	for (size_t i = 0; i < sizeof(fields) / sizeof(fields[0]); i++) {
		if (!isc_varint_get(&b->at, b->end, fields[i]))
			return false;
	}
	p->units = 0;
	if (!older && !isc_varint_get(&b->at, b->end, &p->units))
		return false;
	/* How long it is stands in the file. */
	p->to_ns = p->to_ns > UINT64_MAX - p->from_ns ? UINT64_MAX : p->from_ns + p->to_ns;
	return true;
}

/* ---- sums of processes ---- */

void isc_period_sums_fini(isc_period_sums *s)
{
	free(s->of);
	isc_hashmap_fini(&s->by_process);
	*s = (isc_period_sums){0};
}

static isc_trace_period *sums_of(isc_period_sums *s, uint32_t process)
{
	uint64_t *at = isc_hashmap_put(&s->by_process, process, NULL);
	isc_trace_period *bigger;

	if (at == NULL)
		return NULL;
	if (*at != 0)
		return &s->of[*at - 1];
	bigger = isc_grow(s->of, s->count, &s->room, sizeof(*s->of));
	if (bigger == NULL)
		return NULL;
	s->of = bigger;
	s->of[s->count] = (isc_trace_period){.process = process};
	*at = ++s->count;
	return &s->of[*at - 1];
}

static bool add_functions(isc_period_sums *s, const isc_totals *t)
{
	for (size_t i = 0; i < t->function_count; i++) {
		const isc_total_function *f = &t->functions[i];
		const uint64_t *at = isc_hashmap_find(&t->by_process, f->process);
		const isc_total_calls *calls = at != NULL ? &t->processes[*at].calls : NULL;
		/* A process that says what its calls took has said it all. */
		double cost = calls != NULL && calls->spent_ns == 0 ? calls->cost / 16.0 : 0;
		isc_trace_period *p = sums_of(s, f->process);

		if (p == NULL)
			return false;
		p->cost_ns += (uint64_t)(cost * ((double)f->calls + (double)f->window_calls));
		p->thinned += f->window_calls + (uint64_t)(f->between.likely > 0 ? f->between.likely : 0);
	}
	return true;
}

bool isc_period_sums_take(isc_period_sums *s, const isc_totals *t, const isc_trace_account *accounts, size_t n)
{
	uint64_t process, units;
	isc_trace_period *p;

	for (size_t i = 0; i < t->lane_count; i++) {
		p = sums_of(s, t->lanes[i]->process);
		if (p == NULL)
			return false;
		p->events += t->lanes[i]->events;
	}
	for (size_t i = 0; i < t->load_count; i++) {
		const isc_total_load *load = &t->loads[i];

		p = sums_of(s, load->process);
		if (p == NULL)
			return false;
		p->samples += load->samples;
		p->sampled_ns += load->sampled_ns;
		p->unattributed_ns += load->unattributed_ns;
		p->cost_ns += load->cost_ns;
	}
	for (size_t i = 0; i < n; i++) {
		p = sums_of(s, accounts[i].process);
		if (p == NULL)
			return false;
		p->lost += accounts[i].lost;
	}
	for (size_t i = 0; t->units != NULL && i < t->units->process_count; i++) {
		p = sums_of(s, t->units->processes[i]->process);
		if (p == NULL)
			return false;
		p->units = t->units->processes[i]->count;
	}
	for (size_t at = 0; t->units != NULL && isc_hashmap_next(&t->units->counted, &at, &process, &units);) {
		p = sums_of(s, (uint32_t)process);
		if (p == NULL)
			return false;
		p->units = units;
	}
	for (size_t i = 0; i < t->process_count; i++) {
		const isc_total_calls *calls = &t->processes[i].calls;

		p = calls->spent_ns != 0 ? sums_of(s, calls->process) : NULL;
		if (p == NULL && calls->spent_ns != 0)
			return false;
		if (p != NULL)
			p->cost_ns += calls->spent_ns;
	}
	return add_functions(s, t);
}

bool isc_period_sums_add(isc_period_sums *s, const isc_over_time *o)
{
	for (size_t i = 0; i < o->count; i++) {
		isc_trace_period *p = sums_of(s, o->row[i].process);

		if (p == NULL)
			return false;
		add_sums(p, &o->row[i]);
	}
	return true;
}

static uint64_t since(uint64_t now, uint64_t before)
{
	return now > before ? now - before : 0;
}

bool isc_period_since(const isc_trace_period *now, const isc_period_sums *before, isc_trace_period *row)
{
	static const isc_trace_period nothing;
	const uint64_t *at = isc_hashmap_find(&before->by_process, now->process);
	const isc_trace_period *was = at != NULL ? &before->of[*at - 1] : &nothing;

	row->process = now->process;
	row->samples = since(now->samples, was->samples);
	row->sampled_ns = since(now->sampled_ns, was->sampled_ns);
	row->unattributed_ns = since(now->unattributed_ns, was->unattributed_ns);
	row->events = since(now->events, was->events);
	row->lost = since(now->lost, was->lost);
	row->thinned = since(now->thinned, was->thinned);
	row->cost_ns = since(now->cost_ns, was->cost_ns);
	row->units = since(now->units, was->units);
	return (row->samples | row->events | row->lost | row->thinned | row->cost_ns | row->units) != 0;
}

void isc_writer_cost_apart(isc_writer *w, double ns)
{
	/* A part of it is an estimate, which may fall. */
	if (ns > (double)w->cost_apart_ns && ns < (double)UINT64_MAX)
		w->cost_apart_ns = (uint64_t)ns;
}

static bool take_periods(isc_period_sums *s, const isc_writer *w)
{
	isc_trace_period *all = w->cost_apart_ns > 0 ? sums_of(s, 0) : NULL;

	if (all != NULL)
		all->cost_ns += w->cost_apart_ns;
	return (all != NULL || w->cost_apart_ns == 0) &&
	       isc_period_sums_take(s, w->totals, w->state.accounts, w->state.account_count);
}

isc_status isc_writer_over_time(isc_writer *w, uint64_t from_ns, uint64_t to_ns, isc_error *err)
{
	isc_over_time *o = &w->state.over_time;
	isc_period_sums now = {0};
	isc_status st = ISC_OK;

	if (!take_periods(&now, w))
		st = ISC_ERR_NOMEM;
	w->state.weight -= o->count * ISC_PERIOD_WEIGHT;
	for (size_t i = 0; st == ISC_OK && i < now.count; i++) {
		isc_trace_period row = {.from_ns = from_ns, .to_ns = to_ns};

		if (isc_period_since(&now.of[i], &w->periods, &row))
			st = isc_over_time_put(o, &row);
	}
	w->state.weight += o->count * ISC_PERIOD_WEIGHT;
	if (st != ISC_OK) {
		isc_period_sums_fini(&now);
		return isc_fail(err, st, "no memory for what recording saw");
	}
	isc_period_sums_fini(&w->periods);
	w->periods = now;
	return ISC_OK;
}
