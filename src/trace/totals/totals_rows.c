/* totals_rows.c - what totals hold, row by row. */
#include "trace/totals/totals_lane.h"

const isc_total_scope *isc_totals_scope_at(const isc_totals *t, size_t i)
{
	return i < t->scope_count ? &t->scopes[i] : NULL;
}

const isc_total_mark *isc_totals_mark_at(isc_totals *t, size_t i)
{
	return i < t->mark_count ? &t->marks[i] : NULL;
}

const isc_total_counter *isc_totals_counter_at(isc_totals *t, size_t i)
{
	return i < t->counter_count ? &t->counters[i] : NULL;
}

const isc_total_thread *isc_totals_thread_at(isc_totals *t, size_t i)
{
	return i < t->thread_count ? &t->threads[i] : NULL;
}

const isc_total_stack *isc_totals_stack_at(const isc_totals *t, size_t i)
{
	return i < t->stack_count ? &t->stacks[i] : NULL;
}

const isc_total_wait *isc_totals_wait_at(const isc_totals *t, size_t i)
{
	return i < t->wait_count ? &t->waits[i] : NULL;
}

const isc_total_function *isc_totals_function_at(const isc_totals *t, size_t i)
{
	return i < t->function_count ? &t->functions[i] : NULL;
}

const isc_total_calls *isc_totals_calls_at(const isc_totals *t, size_t i)
{
	return i < t->process_count ? &t->processes[i].calls : NULL;
}

uint64_t isc_totals_events(const isc_totals *t)
{
	return t->events;
}

uint64_t isc_totals_missed(const isc_totals *t)
{
	return t->missed;
}
