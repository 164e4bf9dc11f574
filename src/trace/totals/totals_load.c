/*
 * totals_load.c - how many samples each process has, and how many of them say nothing of where it was.
 */
#include "base/grow.h"
#include "trace/totals/totals_lane.h"

/* Processes are few, and samples of one come in runs. */
static isc_total_load *load_of(isc_totals *t, uint32_t process)
{
	isc_total_load *bigger;

	if (t->load_last < t->load_count && t->loads[t->load_last].process == process)
		return &t->loads[t->load_last];
	for (t->load_last = 0; t->load_last < t->load_count; t->load_last++) {
		if (t->loads[t->load_last].process == process)
			return &t->loads[t->load_last];
	}
	bigger = isc_grow(t->loads, t->load_count, &t->load_room, sizeof(*t->loads));
	if (bigger == NULL)
		return NULL;
	t->loads = bigger;
	t->loads[t->load_count] = (isc_total_load){.process = process};
	return &t->loads[t->load_count++];
}

/* No stack, and not because there is no Python on a thread whose native code is not looked at. */
static bool is_unattributed(uint32_t stack, uint32_t flags)
{
	uint32_t unknown = ISC_SAMPLE_FAULT | ISC_SAMPLE_BLIND | ISC_SAMPLE_OTHER;

	return stack == 0 && (!(flags & ISC_SAMPLE_NO_PYTHON) || (flags & unknown) != 0);
}

bool isc_totals_load_sample(isc_totals *t, uint32_t process, uint32_t stack, uint32_t steps, const isc_sample *body)
{
	isc_total_load *load = load_of(t, process);
	uint64_t ns = (uint64_t)steps * body->period_ns;

	if (load == NULL)
		return false;
	load->samples++;
	load->sampled_ns += ns;
	load->unattributed_ns += is_unattributed(stack, body->flags) ? ns : 0;
	load->cost_ns += body->cost_ns;
	return true;
}
