/*
 * rule_memory.c - memory is taken from the kernel and given back all the time: it has to
 * fill every page anew.
 */
#include <math.h>
#include <string.h>

#include "analyze/rules/rule.h"
#include "base/units.h"

/* Where samples do not tell: a page costs half a microsecond and more, below this rate it does not matter.  Starting and
 * importing touch many pages too, and are soon over. */
#define FAULTS_A_SECOND 100000
#define FAULTS_ENOUGH 50000
#define MOST 0.5 /* of the bytes that were taken: then it is one place that takes them */

static bool measure_run(const isc_evidence *j, isc_finding *out)
{
	const isc_analysis *a = j->a;
	double cpu_us = a->user_us + a->system_us, rate;
	isc_buffer text = {0};
	isc_units u;

	if (a->minor_faults < 0 || a->user_us < 0 || a->system_us < 0 || cpu_us <= 0)
		return false;
	rate = a->minor_faults / cpu_us * 1e6;
	*out = (isc_finding){.solid = 0.8, .device_id = -1};
	out->where = isc_evidence_where(j, &j->at[j->merged ? ISC_STATE_ON_CPU : ISC_STATE_PYTHON]);
	if (rate > FAULTS_A_SECOND && a->minor_faults > FAULTS_ENOUGH)
		out->us = isc_evidence_ran(j) * j->stretch * a->system_us / cpu_us;
	out->value = out->share = out->us / j->window_us * 100;
	isc_evidence_share(j, out->share, &text);
	isc_buffer_format(&text, " goes to the kernel, which fills %s pages a second of CPU time",
			  isc_units_count(&u, (uint64_t)rate));
	if (out->where.len > 0) {
		isc_buffer_text(&text, ", it seems for ");
		isc_evidence_name(&text, out->where);
	}
	out->what = isc_evidence_keep(j, &text);
	return true;
}

/* The place that takes most of the memory, where that is another one than the one that fills it. */
static void add_taker(const isc_evidence *j, const isc_finding *out, isc_buffer *text)
{
	const isc_analysis_memory *m = &j->a->memory;
	const isc_analysis_site *s = m->site_count > 0 ? &m->sites[0] : NULL;
	isc_place place;
	isc_text where;

	if (s == NULL || s->at.name.len == 0 || s->bytes < MOST * (double)(m->bytes + m->mapped_bytes))
		return;
	place = (isc_place){.name = s->at.name, .file = s->at.file, .line = s->at.line};
	where = isc_evidence_where(j, &place);
	if (where.len == 0 || (where.len == out->where.len && memcmp(where.at, out->where.at, where.len) == 0))
		return;
	isc_buffer_text(text, ", of memory that is taken in ");
	isc_evidence_name(text, where);
}

static bool measure(const isc_evidence *j, size_t gpu, isc_finding *out)
{
	isc_buffer text = {0};
	isc_units u;

	(void)gpu;
	if (!j->known)
		return false;
	if (!j->fills)
		return measure_run(j, out);
	*out = (isc_finding){
		.solid = 0.8, .device_id = -1, .where = isc_evidence_where(j, &j->at[ISC_STATE_PAGE_FAULT])};
	/* Who keeps its buffers neither takes nor gives them back. */
	if (j->filled_us > 0)
		out->us = fmin((j->filled_us + j->mapping_us) * j->stretch, j->window_us);
	out->value = out->share = out->us / j->window_us * 100;
	isc_evidence_sampled(j, out);
	isc_evidence_share(j, out->share, &text);
	isc_buffer_format(&text, " is page faults (%s fresh pages a second)",
			  isc_units_count(&u, (uint64_t)(j->faults / j->window_us * 1e6)));
	if (j->filled_for.name.len > 0) {
		isc_buffer_text(&text, " under ");
		isc_evidence_name(&text, j->filled_for.name);
	}
	isc_evidence_in(out, &text);
	add_taker(j, out, &text);
	out->what = isc_evidence_keep(j, &text);
	return true;
}

const isc_metric isc_metric_memory = {"page_churn_pct", "%",
				      "in the kernel, which gives the program fresh pages and takes them back", false,
				      measure};
