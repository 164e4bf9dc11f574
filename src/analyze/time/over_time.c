/*
 * over_time.c - what recording saw, missed and cost, period by period and process by process.
 */
#include <stdlib.h>

#include "analyze/build.h"

/* Images of one process that follow each other by exec are one process to people. */
static bool is_same(const isc_analysis_period *x, const isc_analysis_period *y)
{
	return x->pid == y->pid && x->from_us == y->from_us && x->to_us == y->to_us;
}

static int by_time_and_pid(const void *a, const void *b)
{
	const isc_analysis_period *x = a, *y = b;

	if (x->from_us != y->from_us)
		return x->from_us > y->from_us ? 1 : -1;
	if (x->pid != y->pid)
		return x->pid > y->pid ? 1 : -1;
	return (x->to_us > y->to_us) - (x->to_us < y->to_us);
}

static void add_to(isc_analysis_period *to, const isc_analysis_period *from)
{
	to->samples += from->samples;
	to->sampled_us += from->sampled_us;
	to->unattributed_us += from->unattributed_us;
	to->events += from->events;
	to->lost += from->lost;
	to->thinned += from->thinned;
	to->cost_us += from->cost_us;
}

isc_status isc_build_over_time(isc_build *b, isc_error *err)
{
	isc_analysis *a = b->a;
	const isc_trace_period *p;
	size_t n = 0, kept = 0;

	while (isc_trace_period_at(b->trace, n) != NULL)
		n++;
	a->over_time = isc_arena_array(b->arena, n, sizeof(*a->over_time));
	if (a->over_time == NULL && n > 0)
		return isc_build_no_memory(err);
	for (size_t i = 0; (p = isc_trace_period_at(b->trace, i)) != NULL; i++) {
		const isc_trace_process *image = isc_trace_process_find(b->trace, p->process);

		a->over_time[i] = (isc_analysis_period){.pid = image != NULL ? image->pid : 0,
							.from_us = isc_build_us(b, p->from_ns),
							.to_us = isc_build_us(b, p->to_ns),
							.samples = p->samples,
							.sampled_us = (double)p->sampled_ns / 1e3,
							.unattributed_us = (double)p->unattributed_ns / 1e3,
							.events = p->events,
							.lost = p->lost,
							.thinned = p->thinned,
							.cost_us = (double)p->cost_ns / 1e3};
	}
	if (n > 1)
		qsort(a->over_time, n, sizeof(*a->over_time), by_time_and_pid);
	for (size_t i = 0; i < n; i++) {
		if (kept > 0 && is_same(&a->over_time[kept - 1], &a->over_time[i]))
			add_to(&a->over_time[kept - 1], &a->over_time[i]);
		else
			a->over_time[kept++] = a->over_time[i];
	}
	a->over_time_count = kept;
	return ISC_OK;
}

bool isc_period_is_bad(const isc_analysis_period *p)
{
	return p->lost > 0 || (p->samples >= ISC_PERIOD_SAMPLES &&
			       p->unattributed_us > p->sampled_us * ISC_PERIOD_UNATTRIBUTED_PCT / 100);
}
