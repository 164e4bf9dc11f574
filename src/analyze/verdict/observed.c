/*
 * observed.c - the focus thread in its window: its states, and where in the program they
 * are.  One pass over the events and one over the switches.
 */
#include "analyze/verdict/observed.h"

#include <string.h>

#include "analyze/time/account.h"
#include "analyze/time/holders.h"
#include "trace/sample.h"

/* A loop that is in one step for longer keeps its other tasks waiting. */
#define STEP_NS 10e6
#define STAGES_DEEP 64u

/* Calls that wait for the other end of a connection. */
#define CONNECTED (1u << ISC_WAIT_RECV | 1u << ISC_WAIT_SEND | 1u << ISC_WAIT_CONNECT)

void isc_observed_drop(isc_build *b)
{
	isc_observed *d = b->observed;

	if (d == NULL)
		return;
	isc_stack_facts_fini(&d->stacks);
	isc_hashmap_fini(&d->place_of);
	isc_hashmap_fini(&d->blame);
	isc_hashmap_fini(&d->worker_of);
	isc_hashmap_fini(&d->stage_of);
	isc_hashmap_fini(&d->in_stage);
	isc_hashmap_fini(&d->wants);
	isc_hashmap_fini(&d->lasts);
	b->observed = NULL;
}

/* ---- places ---- */

/* What, function and line, with the time there. */
bool isc_observed_put(isc_observed *d, unsigned what, isc_stack_place at, double ns)
{
	uint64_t *sum;

	if (at.code == 0 || ns <= 0)
		return true;
	sum = isc_hashmap_put(&d->place_of, (uint64_t)what << 56 | (uint64_t)at.code << 24 | (at.line & 0xffffffu),
			      NULL);
	if (sum == NULL)
		return false;
	*sum += (uint64_t)ns;
	return true;
}

/* ---- waits and samples of the focus ---- */

static bool put_blame(isc_observed *d, const isc_thread_interval *i, double ns)
{
	uint64_t *sum;

	if (i->holder == 0 || (i->state != ISC_STATE_GIL_WAIT && i->state != ISC_STATE_LOCK_WAIT))
		return true;
	sum = isc_hashmap_put(&d->blame,
			      isc_hashmap_key(i->holder | (i->state == ISC_STATE_GIL_WAIT ? 1u << 31 : 0),
					      isc_holders_stack(d->b, i)),
			      NULL);
	if (sum == NULL)
		return false;
	*sum += (uint64_t)ns;
	return true;
}

/* How much of a time lies in the window and not in a wait for a GPU. */
static double own_ns(const isc_observed *d, uint64_t from_ns, uint64_t to_ns)
{
	const isc_focus *g = &d->gpu_waits;
	uint64_t ns = isc_focus_overlap(&d->focus, from_ns, to_ns), inside;

	if (ns == 0 || g->count == 0)
		return (double)ns;
	inside = isc_focus_overlap(g, from_ns, to_ns);
	/* Of a time that crosses an edge of the window nobody knows which part; such are few. */
	return inside < ns ? (double)(ns - inside) : 0;
}

/* Which 64th of the judged time a moment lies in, as a bit. */
static uint64_t moment_of(const isc_observed *d, uint64_t time_ns)
{
	uint64_t from = d->focus.at[0].from_ns, to = d->focus.at[d->focus.count - 1].to_ns;
	double part = to > from && time_ns > from ? (double)(time_ns - from) / (double)(to - from) : 0;

	return 1ull << (part < 1 ? (unsigned)(part * 64) : 63);
}

/* A step of an event loop ends: was it too long for the others? */
static void end_step(isc_observed *d, uint64_t from_ns, uint64_t to_ns)
{
	if (to_ns > from_ns && (double)(to_ns - from_ns) >= STEP_NS)
		d->blocked_ns += (double)isc_focus_overlap(&d->focus, from_ns, to_ns);
}

static bool take_time(isc_observed *d, enum isc_state state, const isc_stack_fact *fact, double ns)
{
	bool good = isc_observed_put(d, state, fact->mine, ns);

	if (good && fact->flags & ISC_STACK_LOGGING) {
		d->logged_ns += state != ISC_STATE_IDLE ? ns : 0;
		good = isc_observed_put(d, ISC_OBSERVED_LOGGED, fact->mine, ns);
	}
	d->loop |= (fact->flags & ISC_STACK_LOOP) != 0;
	if (good && fact->flags & ISC_STACK_LOOP && state != ISC_STATE_IDLE)
		good = isc_observed_put(d, ISC_OBSERVED_LOOP, fact->mine, ns);
	if (state == ISC_STATE_IDLE && fact->flags & ISC_STACK_POOL)
		d->pool_ns += ns;
	return good;
}

static bool take_wait(isc_observed *d, const isc_thread_interval *i)
{
	double ns = own_ns(d, i->from_ns, i->to_ns);
	isc_stack_fact *fact;

	if (i->state == ISC_STATE_IDLE) {
		end_step(d, d->step_ns, i->from_ns);
		d->step_ns = i->to_ns;
	}
	if (ns <= 0)
		return true;
	d->account.told[i->state] += ns / 1e3;
	fact = isc_stack_facts_of(&d->stacks, d->b, i->process, i->stack);
	if (fact == NULL)
		return false;
	if (i->state != ISC_STATE_IDLE) {
		fact->waited_ns += ns;
		fact->when |= moment_of(d, i->to_ns);
	}
	if (i->state == ISC_STATE_IO_WAIT && (CONNECTED >> i->call & 1) != 0) {
		d->net_ns += ns;
		if (!isc_observed_put(d, ISC_OBSERVED_NET, fact->mine, ns))
			return false;
	}
	return take_time(d, i->state, fact, ns) && put_blame(d, i, ns);
}

/* Many short waits, told as a sum: where it was told. */
static void take_brief(isc_observed *d, const isc_thread_interval *i)
{
	if (!isc_focus_holds(&d->focus, i->to_ns) || isc_focus_holds(&d->gpu_waits, i->to_ns))
		return;
	if (i->state == ISC_STATE_SYSCALL)
		d->brief += i->count;
	d->account.told[i->state] += (double)(i->to_ns - i->from_ns) / 1e3;
}

/* What of a sample the kernel took to fill pages, and where. */
static bool take_faults(isc_observed *d, const isc_event *ev, const isc_sample *body, const isc_stack_fact *fact,
			double *filled_ns)
{
	isc_sample_counts counts;

	*filled_ns = 0;
	if (!isc_trace_sample_counts(ev->extra, ev->extra_len, &counts) || counts.faults == 0)
		return true;
	*filled_ns = (double)isc_trace_sample_fault_ns(body, &counts, ev->arg);
	d->faults += counts.faults;
	d->fault_ns += *filled_ns;
	d->faulting += *filled_ns > 0;
	return isc_observed_put(d, ISC_STATE_PAGE_FAULT, fact->mine, *filled_ns) &&
	       (fact->own.code == fact->mine.code || isc_observed_put(d, ISC_OBSERVED_FILLED, fact->own, *filled_ns));
}

/* Samples are many and stacks are few: places are looked up once for each of them. */
static bool place_samples(isc_observed *d)
{
	for (size_t i = 0; i < d->stacks.count; i++) {
		isc_stack_fact fact = d->stacks.fact[i];

		if ((fact.ran_ns > 0 && !take_time(d, fact.what.state, &fact, fact.ran_ns)) ||
		    !isc_observed_put(d, ISC_OBSERVED_HOT, fact.own, fact.hot_ns) ||
		    !isc_observed_put(d, ISC_OBSERVED_OTHERS, fact.user, fact.others_ns) ||
		    (fact.flags & ISC_STACK_WORKER &&
		     !isc_observed_put(d, ISC_OBSERVED_POOL, fact.user, fact.others_ns)))
			return false;
	}
	return true;
}

static bool take_sample(isc_observed *d, const isc_event *ev)
{
	double ns, filled_ns;
	isc_sample body;
	isc_stack_fact *fact;
	enum isc_state state;

	if (ev->extra_len < sizeof(body) || !isc_focus_holds(&d->focus, ev->time_ns))
		return true;
	memcpy(&body, ev->extra, sizeof(body));
	ns = (double)ev->arg * body.period_ns;
	fact = isc_stack_facts_of(&d->stacks, d->b, ev->process, ev->id);
	if (fact == NULL)
		return false;
	state = fact->what.state;
	d->samples++;
	d->account.sampled = true;
	/* A driver that waits on its CPU. */
	if (isc_focus_holds(&d->gpu_waits, ev->time_ns))
		return true;
	if (!take_faults(d, ev, &body, fact, &filled_ns))
		return false;
	ns -= filled_ns;
	isc_account_sample(&d->account, &fact->what, ns / 1e3);
	d->recent[d->recent_count++ % ISC_OBSERVED_RECENT] =
		(struct isc_observed_sample){ev->time_ns, ns + filled_ns, fact->mine};
	fact->ran_ns += ns + filled_ns;
	fact->when |= moment_of(d, ev->time_ns);
	/* More than it stands for was told: that is less of others. */
	ns = ns > 0 ? ns : 0;
	fact->hot_ns += state == ISC_STATE_PYTHON || state == ISC_STATE_ON_CPU ? ns : 0;
	d->mapping_ns += fact->flags & ISC_STACK_MAPPING ? ns : 0;
	d->account.placed |= state == ISC_STATE_NATIVE || state == ISC_STATE_SPIN;
	if (state == ISC_STATE_PYTHON && d->depth > 0 && d->depth <= STAGES_DEEP) {
		uint32_t name = d->stage[d->depth - 1].name;
		uint64_t *sum = isc_hashmap_put(&d->stage_of, name, NULL);

		if (sum == NULL)
			return false;
		*sum += (uint64_t)ns;
		sum = isc_hashmap_put(&d->in_stage, isc_hashmap_key(name, fact->own.code), NULL);
		if (sum == NULL)
			return false;
		*sum += (uint64_t)ns;
	}
	return true;
}

/* Scopes inside the judged one, that are open. */
static void take_scope(isc_observed *d, const isc_event *ev)
{
	isc_span span = {0};

	if (ev->extra_len >= sizeof(span))
		memcpy(&span, ev->extra, sizeof(span));
	if (ev->kind == ISC_KIND_SPAN_ENTER || ev->kind == ISC_KIND_SCOPE_ENTER) {
		if (d->depth < STAGES_DEEP)
			d->stage[d->depth] = (struct isc_observed_stage){span.instance, ev->id};
		d->depth++;
		return;
	}
	if (d->depth > STAGES_DEEP) {
		d->depth--;
		return;
	}
	for (uint32_t i = d->depth; i-- > 0;) {
		if (d->stage[i].instance != span.instance || d->stage[i].name != ev->id)
			continue;
		memmove(&d->stage[i], &d->stage[i + 1], (d->depth - i - 1) * sizeof(d->stage[0]));
		d->depth--;
		return;
	}
}

static bool take_focus(isc_observed *d, const isc_event *ev)
{
	switch (ev->kind) {
	case ISC_KIND_SAMPLE:
		return take_sample(d, ev);
	case ISC_KIND_SPAN_ENTER:
	case ISC_KIND_SPAN_EXIT:
	case ISC_KIND_SCOPE_ENTER:
	case ISC_KIND_SCOPE_EXIT:
		take_scope(d, ev);
		return true;
	case ISC_KIND_TASK:
		d->tasks = true;
		end_step(d, d->step_ns, ev->time_ns);
		d->step_ns = ev->time_ns;
		return true;
	case ISC_KIND_GC:
		d->account.collections = true;
		return true;
	default:
		return true;
	}
}

/* ---- the others of its process ---- */

static bool take_other(isc_observed *d, const isc_event *ev)
{
	uint64_t from = d->focus.at[0].from_ns, to = d->focus.at[d->focus.count - 1].to_ns;
	isc_stack_fact *fact;
	isc_sample body;

	if (ev->kind != ISC_KIND_SAMPLE || ev->id == 0 || ev->extra_len < sizeof(body) || ev->time_ns < from ||
	    ev->time_ns > to)
		return true;
	fact = isc_stack_facts_of(&d->stacks, d->b, ev->process, ev->id);
	if (fact == NULL)
		return false;
	memcpy(&body, ev->extra, sizeof(body));
	fact->others_ns += (double)ev->arg * body.period_ns;
	/* One that never waits is a worker too. */
	return !(fact->flags & ISC_STACK_WORKER) || isc_hashmap_put(&d->worker_of, ev->thread, NULL) != NULL;
}

static bool take_others_wait(isc_observed *d, const isc_thread_interval *i)
{
	uint64_t from = d->focus.at[0].from_ns, to = d->focus.at[d->focus.count - 1].to_ns;
	uint64_t begin = i->from_ns > from ? i->from_ns : from, end = i->to_ns < to ? i->to_ns : to;
	uint64_t ns = end > begin ? end - begin : 0, *idle;
	const isc_stack_fact *fact;

	if (i->kind != ISC_INTERVAL_STATE || i->stack == 0 || i->to_ns < from)
		return true;
	fact = isc_stack_facts_of(&d->stacks, d->b, i->process, i->stack);
	if (fact == NULL || !(fact->flags & ISC_STACK_WORKER))
		return fact != NULL;
	idle = isc_hashmap_put(&d->worker_of, i->thread, NULL);
	if (idle == NULL)
		return false;
	if (i->state != ISC_STATE_IDLE)
		return isc_observed_put(d, ISC_OBSERVED_POOL, fact->user, (double)ns);
	*idle += ns;
	return true;
}

/* A collection begins wherever the program takes memory: the samples inside it tell where. */
static bool take_collection(isc_observed *d, const isc_thread_interval *i)
{
	unsigned kept = d->recent_count < ISC_OBSERVED_RECENT ? d->recent_count : ISC_OBSERVED_RECENT;

	d->account.told[ISC_STATE_GC] += (double)isc_focus_overlap(&d->focus, i->from_ns, i->to_ns) / 1e3;
	for (unsigned n = 0; n < kept; n++) {
		const struct isc_observed_sample *s = &d->recent[n];

		if (s->time_ns >= i->from_ns && s->time_ns <= i->to_ns &&
		    !isc_observed_put(d, ISC_STATE_GC, s->at, s->ns))
			return false;
	}
	return true;
}

static bool take_interval(void *self, const isc_thread_interval *i)
{
	isc_observed *d = self;

	if (i->thread != d->focus.thread)
		return i->process != d->focus.process || take_others_wait(d, i);
	if (i->kind == ISC_INTERVAL_BRIEF)
		take_brief(d, i);
	else if (i->state == ISC_STATE_GC)
		return take_collection(d, i);
	else
		return take_wait(d, i);
	return true;
}

static void take_rate(isc_analysis_samples *s, const isc_event *ev)
{
	double hz = ev->id > 0 ? 1e9 / ev->id : -1;

	s->ended += ev->arg == ISC_SAMPLE_RATE_ENDED;
	s->refused += ev->arg == ISC_SAMPLE_RATE_REFUSED;
	if (ev->arg == ISC_SAMPLE_RATE_GOVERNED && hz > 0 && (s->least_hz < 0 || hz < s->least_hz))
		s->least_hz = hz;
}

/* What recording took of the CPU time before the window: calls by the cost that the program measured, samples by theirs. */
static void take_start_up(isc_observed *d, const isc_event *ev)
{
	isc_sample body;

	if (ev->process != d->focus.process || ev->time_ns >= d->focus.at[0].from_ns)
		return;
	if (ev->kind == ISC_KIND_GOVERNED && ev->arg == ISC_GOVERNED_COST)
		d->call_ns = (double)ev->id / 16;
	d->start_up_calls +=
		ev->kind == ISC_KIND_CALL_ENTER || ev->kind == ISC_KIND_CALL_RESUME || ev->kind == ISC_KIND_C_ENTER;
	if (ev->kind != ISC_KIND_SAMPLE || ev->extra_len < sizeof(body))
		return;
	memcpy(&body, ev->extra, sizeof(body));
	d->start_up_samples++;
	d->start_up_ns += (double)ev->arg * body.period_ns;
	d->start_up_own_ns += body.cost_ns;
}

static bool take_event(void *self, const isc_event *ev)
{
	isc_observed *d = self;

	if (d->focus.start_up_us > 0)
		take_start_up(d, ev);
	if (ev->kind >= ISC_KIND_CALL_ENTER && ev->kind <= ISC_KIND_C_EXIT)
		return true;
	if (ev->kind == ISC_KIND_SAMPLE_RATE)
		take_rate(&d->b->a->samples, ev);
	if (ev->thread == d->focus.thread)
		return take_focus(d, ev);
	return ev->process != d->focus.process || take_other(d, ev);
}

/* ---- switches ---- */

enum { UNKNOWN, RUNNING, QUEUED, WAITING };

static void pass(isc_observed *d, uint64_t to_ns)
{
	double us = (double)isc_focus_overlap(&d->focus, d->since_ns, to_ns) / 1e3;

	if (d->running == RUNNING)
		d->account.on_cpu += us;
	else if (d->running == QUEUED)
		d->account.queue += us;
	else if (d->running == WAITING)
		d->account.blocked += us;
	d->waited_us = d->running == WAITING ? us : d->waited_us;
	d->since_ns = to_ns;
}

/* How many threads of the program want a CPU: each is one from when it is woken to when it waits. */
static bool want(isc_observed *d, const isc_trace_switch *sw)
{
	uint64_t from = d->focus.at[0].from_ns, to = d->focus.at[d->focus.count - 1].to_ns;
	uint64_t *since = isc_hashmap_put(&d->wants, sw->tid, NULL), begin, end;

	uint64_t *last = isc_hashmap_put(&d->lasts, sw->tid, NULL);

	if (since == NULL || last == NULL)
		return false;
	*last = sw->time_ns;
	if (sw->cpu < 8 * sizeof(d->cpu_seen) && sw->kind == ISC_SWITCH_IN)
		d->cpu_seen[sw->cpu / 64] |= 1ull << sw->cpu % 64;
	if (sw->kind == ISC_SWITCH_IN && *since == 0)
		*since = sw->time_ns;
	if (sw->kind != ISC_SWITCH_OUT || *since == 0)
		return true;
	begin = *since > from ? *since : from;
	end = sw->time_ns < to ? sw->time_ns : to;
	d->wanted_ns += end > begin ? (double)(end - begin) : 0;
	*since = 0;
	return true;
}

static bool read_switches(isc_observed *d)
{
	uint64_t from = d->focus.at[0].from_ns, to = d->focus.at[d->focus.count - 1].to_ns, tid, since;
	size_t at = 0;
	isc_trace_switch sw;

	isc_trace_rewind(d->b->trace);
	while (isc_trace_next_switch(d->b->trace, &sw)) {
		bool gap = sw.kind == ISC_SWITCH_GAP_BEGIN || sw.kind == ISC_SWITCH_GAP_END;

		if (!gap && sw.kind <= ISC_SWITCH_OUT_PREEMPT && !want(d, &sw))
			return false;
		if (!gap && sw.tid != d->focus.tid)
			continue;
		if (sw.kind == ISC_SWITCH_FAULT) {
			d->account.told[ISC_STATE_PAGE_FAULT] += d->waited_us;
			d->waited_us = 0;
			continue;
		}
		/* What came before the first switch follows from it. */
		if (!gap && !d->switched) {
			d->running = sw.kind == ISC_SWITCH_IN ? UNKNOWN : RUNNING;
			d->since_ns = d->focus.at[0].from_ns < sw.time_ns ? d->focus.at[0].from_ns : sw.time_ns;
			d->switched = true;
		}
		pass(d, sw.time_ns);
		d->running = gap			 ? UNKNOWN
			     : sw.kind == ISC_SWITCH_IN	 ? RUNNING
			     : sw.kind == ISC_SWITCH_OUT ? WAITING
							 : QUEUED;
	}
	pass(d, to);
	while (isc_hashmap_next(&d->wants, &at, &tid, &since)) {
		/* A thread that is gone was last heard of when it ran. */
		const uint64_t *last = isc_hashmap_find(&d->lasts, tid);
		uint64_t end = last != NULL && *last < to ? *last : to;

		since = since > 0 && since < from ? from : since;
		d->wanted_ns += since > 0 && since < end ? (double)(end - since) : 0;
	}
	return true;
}

bool isc_observed_join(isc_build *b, isc_states *states, isc_walk *walk)
{
	isc_observed *d = isc_arena_alloc(b->arena, sizeof(*d));

	if (d == NULL)
		return false;
	b->observed = d;
	d->b = b;
	if (!isc_focus_find(&d->focus, b))
		return false;
	if (d->focus.count == 0)
		return true;
	d->step_ns = d->focus.at[0].from_ns;
	isc_states_listen(states, take_interval, d);
	isc_walk_join(walk, ISC_WALK_MARKS | ISC_WALK_CALLS | ISC_WALK_SAMPLES | ISC_WALK_WAITS, take_event, d);
	return isc_observed_gpu_read(d);
}

bool isc_observed_end(isc_build *b)
{
	return b->observed->focus.count == 0 || (place_samples(b->observed) && read_switches(b->observed));
}
