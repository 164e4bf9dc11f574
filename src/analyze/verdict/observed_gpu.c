/*
 * observed_gpu.c - when the focus thread waited for GPUs.  Read before all else of it: what the
 * driver did meanwhile, in locks, system calls or loops, is then no longer the program's.
 */
#include "analyze/gpu/gpu_waits.h"
#include "analyze/verdict/observed.h"

/* They come by their ends, and may lie in each other. */
static bool put(isc_observed *d, uint64_t from, uint64_t to)
{
	isc_focus *f = &d->gpu_waits;
	isc_interval *at;

	while (f->count > 0 && f->at[f->count - 1].to_ns >= from) {
		from = f->at[f->count - 1].from_ns < from ? f->at[f->count - 1].from_ns : from;
		to = f->at[f->count - 1].to_ns > to ? f->at[f->count - 1].to_ns : to;
		f->count--;
	}
	at = isc_arena_push(d->b->arena, &f->at, &f->count, &f->room, sizeof(*at));
	if (at != NULL)
		*at = (isc_interval){from, to};
	return at != NULL;
}

bool isc_observed_gpu_read(isc_observed *d)
{
	const isc_gpu_wait_list *list = d->b->gpu_waits;
	const isc_stack_fact *fact;

	if (!d->b->gpu_calls)
		return true;
	d->account.gpu = true;
	for (size_t i = 0; i < list->count; i++) {
		const isc_gpu_wait *wait = &list->at[i];
		double ns = wait->thread == d->focus.thread
				    ? (double)isc_focus_overlap(&d->focus, wait->from_ns, wait->to_ns)
				    : 0;

		if (ns <= 0)
			continue;
		if (!put(d, wait->from_ns, wait->to_ns))
			return false;
		fact = wait->stack != 0 ? isc_stack_facts_of(&d->stacks, d->b, d->focus.process, wait->stack) : NULL;
		if (wait->stack != 0 && (fact == NULL || !isc_observed_put(d, ISC_STATE_GPU_WAIT, fact->user, ns)))
			return false;
	}
	for (size_t i = 0; i < d->gpu_waits.count; i++) {
		const isc_interval *at = &d->gpu_waits.at[i];

		d->account.told[ISC_STATE_GPU_WAIT] +=
			(double)isc_focus_overlap(&d->focus, at->from_ns, at->to_ns) / 1e3;
	}
	return true;
}
