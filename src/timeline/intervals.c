#include "timeline/intervals.h"

#include <stdlib.h>
#include <string.h>

#include "timeline/spool.h"

/* Of each of three spools: 300,000 intervals. */
#define MEMORY_BYTES (16u << 20)

struct isc_intervals {
	const isc_trace *trace;
	isc_spool *told; /* states as they were told, by thread and beginning; NULL once they are laid side by side */
	isc_spool *laid; /* those, by thread and end, which is the order that they are laid in */
	isc_spool *samples; /* by thread and end */
	isc_status failed;  /* nothing is added any more */
	isc_error error;
	isc_spool *found; /* where the next one is, ... */
	uint32_t tid;	  /* ... of this thread */
};

/* The first counts, as the contract of the report has it; what no thread tells of is left out. */
static const enum isc_state order[] = {ISC_STATE_GC,	ISC_STATE_GIL_WAIT, ISC_STATE_LOCK_WAIT, ISC_STATE_IO_WAIT,
				       ISC_STATE_SLEEP, ISC_STATE_IDLE,	    ISC_STATE_SPIN,	 ISC_STATE_OTHER};
#define RANKS (sizeof(order) / sizeof(order[0]))

static int compare_numbers(uint64_t x, uint64_t y)
{
	return (x > y) - (x < y);
}

static int by_beginning(const void *a, const void *b)
{
	const isc_thread_interval *x = a, *y = b;

	if (x->tid != y->tid)
		return compare_numbers(x->tid, y->tid);
	if (x->from_ns != y->from_ns)
		return compare_numbers(x->from_ns, y->from_ns);
	if (x->to_ns != y->to_ns)
		return compare_numbers(y->to_ns, x->to_ns);
	return x->state != y->state ? compare_numbers(x->state, y->state) : compare_numbers(x->stack, y->stack);
}

static int by_end(const void *a, const void *b)
{
	const isc_thread_interval *x = a, *y = b;

	if (x->tid != y->tid)
		return compare_numbers(x->tid, y->tid);
	return x->to_ns != y->to_ns ? compare_numbers(x->to_ns, y->to_ns) : compare_numbers(x->from_ns, y->from_ns);
}

isc_status isc_intervals_new(const isc_trace *trace, isc_intervals **out, isc_error *err)
{
	isc_intervals *in = *out = calloc(1, sizeof(*in));
	isc_status st;

	if (in == NULL)
		return isc_fail(err, ISC_ERR_NOMEM, "no memory for the states of threads");
	in->trace = trace;
	st = isc_spool_new(sizeof(isc_thread_interval), by_beginning, MEMORY_BYTES, &in->told, err);
	if (st == ISC_OK)
		st = isc_spool_new(sizeof(isc_thread_interval), by_end, MEMORY_BYTES, &in->laid, err);
	if (st == ISC_OK)
		st = isc_spool_new(sizeof(isc_thread_interval), by_end, MEMORY_BYTES, &in->samples, err);
	return st;
}

void isc_intervals_free(isc_intervals *in)
{
	if (in == NULL)
		return;
	isc_spool_free(in->told);
	isc_spool_free(in->laid);
	isc_spool_free(in->samples);
	free(in);
}

/* ---- gathering ---- */

/* A full disk ends the gathering and not the walk. */
static bool add_to(isc_intervals *in, isc_spool *spool, const isc_thread_interval *i)
{
	if (in->failed == ISC_OK)
		in->failed = isc_spool_add(spool, i, &in->error);
	return in->failed != ISC_ERR_NOMEM;
}

/* What of it lies in the life of its thread; false: nothing. */
static bool clip_to_life(const isc_intervals *in, isc_thread_interval *i)
{
	const isc_trace_thread *t = isc_trace_thread_find(in->trace, i->thread);
	uint64_t end_ns = isc_trace_thread_end_ns(in->trace, i->thread, UINT64_MAX);

	if (t == NULL || i->tid == 0)
		return false;
	i->from_ns = i->from_ns > t->start_ns ? i->from_ns : t->start_ns;
	i->to_ns = i->to_ns < end_ns ? i->to_ns : end_ns;
	return i->from_ns < i->to_ns;
}

static bool take_state(void *self, const isc_thread_interval *told)
{
	isc_intervals *in = self;
	isc_thread_interval i = *told;

	return i.kind == ISC_INTERVAL_BRIEF || !clip_to_life(in, &i) || add_to(in, in->told, &i);
}

static bool take_sample(void *self, const isc_event *ev)
{
	isc_intervals *in = self;
	const isc_trace_thread *t;
	isc_thread_interval i = {.to_ns = ev->time_ns,
				 .process = ev->process,
				 .thread = ev->thread,
				 .stack = ev->id,
				 .stream = ev->stream,
				 .kind = ISC_INTERVAL_SAMPLE,
				 .state = ISC_STATE_OTHER};
	isc_sample body;
	uint64_t ns;

	if (ev->kind != ISC_KIND_SAMPLE || ev->extra_len < sizeof(body) ||
	    (t = isc_trace_thread_find(in->trace, ev->thread)) == NULL || t->tid == 0)
		return true;
	memcpy(&body, ev->extra, sizeof(body));
	ns = (uint64_t)ev->arg * body.period_ns;
	i.from_ns = ns < ev->time_ns ? ev->time_ns - ns : 0;
	i.tid = t->tid;
	return add_to(in, in->samples, &i);
}

void isc_intervals_join(isc_intervals *in, isc_states *states, isc_walk *walk)
{
	isc_states_listen(states, take_state, in);
	isc_walk_join(walk, ISC_WALK_SAMPLES, take_sample, in);
}

/* ---- side by side ---- */

/* Those of one thread that go on at a moment, at most one of a state. */
struct laying {
	isc_intervals *in;
	isc_thread_interval active[RANKS]; /* to_ns: not later than now, there is none */
	uint64_t now_ns;		   /* up to here all is laid */
	isc_thread_interval any;	   /* of the thread; tid 0: none yet */
};

static size_t rank_of(enum isc_state state)
{
	size_t rank = 0;

	while (rank < RANKS - 1 && order[rank] != state)
		rank++;
	return rank;
}

/* The one that counts now; RANKS: none does. */
static size_t leading(const struct laying *l)
{
	size_t rank = 0;

	while (rank < RANKS && l->active[rank].to_ns <= l->now_ns)
		rank++;
	return rank;
}

static bool lay_piece(struct laying *l, const isc_thread_interval *of, uint64_t to_ns)
{
	isc_thread_interval piece = *of;

	piece.from_ns = l->now_ns;
	piece.to_ns = to_ns;
	l->now_ns = to_ns;
	return piece.from_ns >= piece.to_ns || add_to(l->in, l->in->laid, &piece);
}

/* Nothing was told of the time up to then. */
static bool lay_gap(struct laying *l, uint64_t to_ns)
{
	isc_thread_interval gap = {
		.process = l->any.process, .thread = l->any.thread, .tid = l->any.tid, .state = ISC_STATE_OTHER};

	return lay_piece(l, &gap, to_ns);
}

/* All that ends up to then. */
static bool lay_ended(struct laying *l, uint64_t to_ns)
{
	for (size_t rank = leading(l); rank < RANKS; rank = leading(l)) {
		if (l->active[rank].to_ns > to_ns)
			return true;
		if (!lay_piece(l, &l->active[rank], l->active[rank].to_ns))
			return false;
	}
	return to_ns <= l->now_ns || lay_gap(l, to_ns);
}

static bool end_thread(struct laying *l)
{
	uint64_t last_ns = l->now_ns, end_ns;

	if (l->any.tid == 0)
		return true;
	for (size_t rank = 0; rank < RANKS; rank++)
		last_ns = l->active[rank].to_ns > last_ns ? l->active[rank].to_ns : last_ns;
	end_ns = isc_trace_thread_end_ns(l->in->trace, l->any.thread, last_ns);
	return lay_ended(l, end_ns > last_ns ? end_ns : last_ns);
}

/* A tid may be given to another thread later: that begins when this one has ended. */
static bool begin_thread(struct laying *l, const isc_thread_interval *first)
{
	const isc_trace_thread *t = isc_trace_thread_find(l->in->trace, first->thread);
	uint64_t start_ns = t != NULL ? t->start_ns : first->from_ns;
	bool other = l->any.tid != first->tid;

	if (!end_thread(l))
		return false;
	*l = (struct laying){.in = l->in, .any = *first, .now_ns = other ? start_ns : l->now_ns};
	l->now_ns = start_ns > l->now_ns ? start_ns : l->now_ns;
	return true;
}

static bool lay_one(struct laying *l, const isc_thread_interval *i)
{
	size_t rank = rank_of(i->state), lead;

	if ((l->any.tid != i->tid || l->any.thread != i->thread) && !begin_thread(l, i))
		return false;
	if (!lay_ended(l, i->from_ns))
		return false;
	/* It lies inside one of the same state. */
	if (l->active[rank].to_ns >= i->to_ns)
		return true;
	lead = leading(l);
	if (lead < RANKS && rank <= lead && !lay_piece(l, &l->active[lead], i->from_ns))
		return false;
	l->active[rank] = *i;
	return true;
}

static isc_status lay_out(isc_intervals *in, isc_error *err)
{
	isc_status st = isc_spool_rewind(in->told, err);
	struct laying l = {.in = in};
	const isc_thread_interval *i;
	bool good = true;

	while (st == ISC_OK && good && (i = isc_spool_next(in->told)) != NULL)
		good = lay_one(&l, i);
	if (st == ISC_OK && good)
		(void)end_thread(&l);
	return st == ISC_OK ? isc_spool_failed(in->told, err) : st;
}

isc_status isc_intervals_end(isc_intervals *in, isc_error *err)
{
	isc_status st = in->failed == ISC_OK ? lay_out(in, err) : ISC_OK;

	isc_spool_free(in->told);
	in->told = NULL;
	if (st == ISC_OK && in->failed != ISC_OK) {
		if (err != NULL)
			*err = in->error;
		st = in->failed;
	}
	if (st == ISC_OK)
		st = isc_spool_rewind(in->laid, err);
	return st == ISC_OK ? isc_spool_rewind(in->samples, err) : st;
}

/* ---- reading ---- */

const isc_thread_interval *isc_intervals_next(isc_intervals *in)
{
	const isc_thread_interval *i = isc_spool_next(in->found);

	return i != NULL && i->tid == in->tid ? i : NULL;
}

const isc_thread_interval *isc_intervals_find(isc_intervals *in, uint32_t tid, enum isc_interval_kind kind,
					      uint64_t time_ns)
{
	isc_thread_interval wanted = {.tid = tid, .to_ns = time_ns};

	in->tid = tid;
	in->found = kind == ISC_INTERVAL_SAMPLE ? in->samples : in->laid;
	return isc_spool_seek(in->found, &wanted, NULL) == ISC_OK ? isc_intervals_next(in) : NULL;
}

isc_status isc_intervals_failed(const isc_intervals *in, isc_error *err)
{
	isc_status st = isc_spool_failed(in->laid, err);

	return st == ISC_OK ? isc_spool_failed(in->samples, err) : st;
}
