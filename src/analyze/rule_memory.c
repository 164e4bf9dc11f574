/*
 * rule_memory.c - memory is taken from the kernel and given back all the time: it has to
 * fill every page anew.
 */
#include <math.h>

#include "analyze/rule.h"
#include "base/units.h"

/* A page costs half a microsecond and more: below this rate it does not matter.  Starting and importing
 * touch many pages too, and are soon over. */
#define FAULTS_A_SECOND 100000
#define FAULTS_ENOUGH 50000

static bool measure(const isc_judge *j, size_t gpu, isc_finding *out)
{
	const isc_analysis *a = j->a;
	double cpu_us = a->user_us + a->system_us, rate, ran = 0;
	isc_buffer text = {0};
	isc_units u;

	(void)gpu;
	if (!j->known || a->minor_faults < 0 || a->user_us < 0 || a->system_us < 0 || cpu_us <= 0)
		return false;
	rate = a->minor_faults / cpu_us * 1e6;
	ran += fmax(j->state_us[ISC_STATE_PYTHON], 0) + fmax(j->state_us[ISC_STATE_NATIVE], 0);
	*out = (isc_finding){.solid = 0.8, .device_id = -1, .where = isc_judge_where(j, &j->at[ISC_STATE_PYTHON])};
	if (rate > FAULTS_A_SECOND && a->minor_faults > FAULTS_ENOUGH)
		out->us = ran * j->stretch * a->system_us / cpu_us;
	out->value = out->share = out->us / j->window_us * 100;
	isc_judge_share(j, out->share, &text);
	isc_buffer_format(&text, " goes to the kernel, which fills %s pages a second of CPU time",
			  isc_units_count(&u, (uint64_t)rate));
	if (out->where.len > 0) {
		isc_buffer_text(&text, ", it seems for ");
		isc_judge_name(&text, out->where);
	}
	out->what = isc_judge_keep(j, &text);
	return true;
}

const isc_metric isc_metric_memory = {
	"page_churn_pct", "%", "in the kernel, while the program touches over 100,000 fresh pages a second of CPU time",
	false, measure};
