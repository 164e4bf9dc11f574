/*
 * totals_pause.c - what the governor left out.
 *
 * It acts in two ways.  A function is not watched any more.  Or all tracing of a
 * process pauses, and goes on in bursts in which everything is seen; the clock of
 * its lanes stands still meanwhile, so that what is open does not seem to do
 * itself what its calls did unseen.  A gate is such a pause too, but calls of
 * code that units begin with are recorded meanwhile and do not end it.  In both, calls are counted for a moment now
 * and then: totals_window.c.
 */
#include "trace/totals/totals_fields.h"
#include "trace/totals/totals_lane.h"

#include <string.h>

#include "base/varint.h"

static isc_total_calls *process_of(const isc_totals *t, const isc_totals_lane *lane)
{
	return &t->processes[lane->calls->process].calls;
}

uint64_t isc_totals_paused(const isc_totals *t, const isc_totals_lane *lane, uint64_t ticks)
{
	const isc_total_calls *p = process_of(t, lane);

	return p->paused_ticks + (p->paused_since != 0 && ticks > p->paused_since ? ticks - p->paused_since : 0);
}

static bool govern_function(isc_totals *t, const isc_totals_lane *lane, const isc_record *r)
{
	uint32_t id = (r->id & ISC_TOTAL_REST) == 0 ? r->id : 0;
	isc_total_function *f = isc_totals_function_of(t, lane->process, id, false);
	struct isc_totals_process *p = &t->processes[lane->calls->process];
	int64_t before = f != NULL ? isc_totals_function_weight(f) : 0;

	if (f == NULL)
		return false;
	/* Of a rest not all are off: their calls are known to be too few, and no more. */
	if (f->code & ISC_TOTAL_REST) {
		f->estimated = p->calls.governed = true;
		return true;
	}
	if (f->off == (r->arg != ISC_GOVERNED_TRACED))
		return true;
	f->off = r->arg != ISC_GOVERNED_TRACED;
	if (!f->off)
		return true;
	f->governed = f->estimated = p->calls.governed = true;
	f->unseen |= r->arg == ISC_GOVERNED_UNSEEN;
	f->startup = false;
	f->tallied |= r->arg == ISC_GOVERNED_COUNTED;
	if (!f->counted)
		f->rate = (isc_total_range){-1, -1, -1};
	isc_totals_weigh(t, ISC_PART_FUNCTIONS, (int64_t)isc_totals_function_weight(f) - before);
	/* Nobody will see those end that are open. */
	for (isc_totals_lane *l = p->lane; l != NULL; l = l->calls->next)
		isc_totals_calls_abandon(t, l, r->id);
	return true;
}

/* What an open call did up to now will be added when it ends. */
static void keep_open(isc_totals *t, const isc_totals_lane *lane, uint64_t now)
{
	const isc_totals_calls *c = lane->calls;

	now = lane->last > now ? lane->last : now;
	for (size_t i = 0; i < c->depth; i++) {
		const isc_totals_call *call = &c->open[i];
		uint64_t until = i + 1 < c->depth ? c->open[i + 1].ticks : now;
		isc_total_function *f = &t->functions[call->function];

		if (call->id == ISC_CALL_GAP)
			continue;
		f->exact_self += until > call->ticks + call->children ? until - call->ticks - call->children : 0;
		if (call->outermost)
			f->exact_total += now > call->ticks ? now - call->ticks : 0;
	}
}

/* From here on only parts of what happens are seen. */
static void keep_exact(isc_totals *t, uint32_t process, const isc_totals_lane *lane, uint64_t now)
{
	uint64_t weight = 0;

	for (size_t i = 0; i < t->function_count; i++) {
		isc_total_function *f = &t->functions[i];

		if (f->process != process)
			continue;
		f->exact_calls = f->calls;
		f->exact_resumes = f->resumes;
		f->exact_self = f->self_ticks;
		f->exact_total = f->total_ticks;
	}
	for (; lane != NULL; lane = lane->calls->next)
		keep_open(t, lane, now);
	for (size_t i = 0; i < t->function_count; i++)
		weight += isc_totals_function_weight(&t->functions[i]);
	isc_totals_weigh(t, ISC_PART_FUNCTIONS, (int64_t)(weight - t->part[ISC_PART_FUNCTIONS]));
}

void isc_totals_resume(isc_totals *t, const isc_totals_lane *lane, uint64_t ticks)
{
	isc_total_calls *p = process_of(t, lane);

	if (p->paused_since == 0 || ticks <= p->paused_since || p->gated)
		return;
	p->paused_ticks += ticks - p->paused_since;
	p->paused_since = 0;
}

bool isc_totals_is_gated(const isc_totals *t, const isc_totals_lane *lane, uint64_t ticks)
{
	const isc_total_calls *p = process_of(t, lane);

	return p->gated && ticks >= p->paused_since;
}

static void govern_all(isc_totals *t, const isc_totals_lane *lane, const isc_record *r)
{
	isc_total_calls *p = process_of(t, lane);
	bool off = r->arg != ISC_GOVERNED_TRACED;

	/* Threads are fed in runs: what an earlier moment says of now is outdated. */
	if (p->gated && r->ticks < p->paused_since)
		return;
	if (off && p->first_pause == 0) {
		p->first_pause = r->ticks;
		keep_exact(t, lane->process, t->processes[lane->calls->process].lane, r->ticks);
		t->pauses = true;
	}
	if (r->arg == ISC_GOVERNED_GATED)
		p->gates += !p->gated;
	p->gated = r->arg == ISC_GOVERNED_GATED;
	p->stopped |= off && !p->gated;
	if (off && p->paused_since == 0) {
		p->paused_since = r->ticks;
	} else if (!off) {
		isc_totals_resume(t, lane, r->ticks);
		p->paused_since = 0;
	}
}

bool isc_totals_govern(isc_totals *t, isc_totals_lane *lane, const isc_record *r)
{
	if (r->arg == ISC_GOVERNED_COST) {
		process_of(t, lane)->cost = r->id;
		return true;
	}
	if (r->arg == ISC_GOVERNED_SPENT) {
		process_of(t, lane)->spent_ns += r->id;
		return true;
	}
	if (r->arg > ISC_GOVERNED_GATED || (r->arg == ISC_GOVERNED_GATED && r->id != 0))
		return true;
	if (t->units != NULL)
		isc_unit_log_governed(t->units, lane->process, r);
	if (r->id != 0)
		return govern_function(t, lane, r);
	govern_all(t, lane, r);
	return true;
}

void isc_totals_started(isc_totals *t, const isc_totals_lane *lane, const isc_record *r, const void *extra,
			uint32_t len)
{
	isc_total_calls *p = process_of(t, lane);
	isc_startup startup;

	if (len < sizeof(startup))
		return;
	memcpy(&startup, extra, sizeof(startup));
	/* A later one has all that was before in it: the process imported again. */
	if (p->startup_end != 0 && startup.worked_ns < p->startup_worked_ns)
		return;
	p->startup_end = p->startup_end != 0 ? p->startup_end : r->ticks;
	p->startup_cost_ns = startup.cost_ns;
	p->startup_worked_ns = startup.worked_ns;
}

isc_status isc_totals_process_read(isc_totals *t, const uint8_t **at, const uint8_t *end)
{
	isc_total_calls c = {0};
	struct isc_totals_process *p;
	uint64_t governed;

	if (!isc_totals_fields_load(isc_process_fields, &c, at, end) || !isc_varint_get_max(at, end, 7, &governed) ||
	    !isc_totals_fields_load(isc_process_windows_fields, &c, at, end))
		return ISC_ERR_CORRUPT;
	p = isc_totals_add_process(t, c.process);
	if (p == NULL)
		return ISC_ERR_NOMEM;
	c.governed = governed & 1;
	c.gated = governed >> 1 & 1;
	/* Files that know no gates lack the bit: there a pause is a pause. */
	c.stopped = c.first_pause != 0 && (governed & 4) == 0;
	p->calls = c;
	t->pauses |= c.first_pause != 0;
	return ISC_OK;
}

/* Of a process that was named before. */
isc_status isc_totals_startup_read(isc_totals *t, const uint8_t **at, const uint8_t *end)
{
	const uint64_t *found;
	uint64_t process;

	if (!isc_varint_get(at, end, &process))
		return ISC_ERR_CORRUPT;
	found = isc_hashmap_find(&t->by_process, process);
	return found != NULL && isc_totals_fields_load(isc_process_startup_fields, &t->processes[*found].calls, at, end)
		       ? ISC_OK
		       : ISC_ERR_CORRUPT;
}

void isc_totals_memory_feed(isc_totals *t, const isc_totals_lane *lane, const void *extra, uint32_t extra_len)
{
	isc_memory_total total;
	uint64_t *last;

	if (extra_len < sizeof(total))
		return;
	memcpy(&total, extra, sizeof(total));
	total.calls += total.frees;
	last = isc_hashmap_put(&t->by_memory, lane->process, NULL);
	/* Without memory the cost that is told is lower; several threads may tell, in any order. */
	if (last == NULL || total.calls <= *last)
		return;
	t->allocations += total.calls - *last;
	*last = total.calls;
}

double isc_totals_at_once(const isc_totals *t, uint64_t wall_ns)
{
	double at_once = 0;
	uint64_t process, ns;

	for (size_t at = 0; wall_ns > 0 && isc_hashmap_next(&t->by_cpu, &at, &process, &ns);)
		at_once += ns < wall_ns ? (double)ns / (double)wall_ns : 1;
	return at_once > 1 ? at_once : 1;
}

uint64_t isc_totals_cpu_ns(const isc_totals *t)
{
	uint64_t sum = 0, process, ns;

	for (size_t at = 0; isc_hashmap_next(&t->by_cpu, &at, &process, &ns);)
		sum += ns;
	return sum;
}

isc_totals_cost isc_totals_calls_cost(const isc_totals *t)
{
	isc_totals_cost all = {
		.sample_ns = (double)t->sample_ns, .looked_at = t->looked_at, .allocations = t->allocations};

	for (size_t i = 0; i < t->function_count; i++) {
		const isc_total_function *f = &t->functions[i];
		const uint64_t *at = isc_hashmap_find(&t->by_process, f->process);
		const isc_total_calls *p = at != NULL ? &t->processes[*at].calls : NULL;

		if (p == NULL || p->cost == 0)
			continue;
		/* What a process says that calls took has all of it; one that was too short to say so knows what one costs. */
		if (p->spent_ns == 0)
			all.ns += p->cost / 16.0 * ((double)f->calls + (double)f->window_calls);
		all.events += 2 * f->calls;
	}
	for (size_t i = 0; i < t->process_count; i++)
		all.ns += (double)t->processes[i].calls.spent_ns;
	for (size_t i = 0; i < t->wait_count; i++)
		all.collections += t->waits[i].call == ISC_WAIT_GC ? t->waits[i].count : 0;
	for (size_t i = 0; i < t->syscall_count; i++)
		all.syscalls += t->syscalls[i].kind == ISC_SYSCALL_ALL ? t->syscalls[i].count : 0;
	return all;
}
