/*
 * rule_memory.c - memory is taken from the kernel and given back all the time: it has to
 * fill every page anew.
 */
#include <math.h>

#include "analyze/names.h"
#include "analyze/rules/rule.h"

/* Where samples do not tell: a page costs half a microsecond and more, below this rate it does not matter.  Starting and
 * importing touch many pages too, and are soon over. */
#define FAULTS_A_SECOND 100000
#define FAULTS_ENOUGH 50000
#define MOST 0.5 /* of the bytes that were taken: then it is one place that takes them */

static bool measure_run(const isc_evidence *j, isc_finding *out)
{
	const isc_analysis *a = j->a;
	double cpu_us = a->user_us + a->system_us, rate;
	bool many;

	if (a->minor_faults < 0 || a->user_us < 0 || a->system_us < 0 || cpu_us <= 0)
		return false;
	rate = a->minor_faults / cpu_us * 1e6;
	many = rate > FAULTS_A_SECOND && a->minor_faults > FAULTS_ENOUGH;
	*out = isc_evidence_finding(j, 0.8);
	isc_evidence_takes(j, many ? isc_evidence_ran(j) * j->stretch * a->system_us / cpu_us : 0, out);
	out->claim.place = isc_evidence_at(&j->at[j->merged ? ISC_STATE_ON_CPU : ISC_STATE_PYTHON]);
	isc_claim_number(&out->claim, ISC_DETAIL_PAGES_PER_CPU_S, floor(rate));
	return true;
}

static bool is_same(const isc_claim_place *x, const isc_claim_place *y)
{
	return x->line == y->line && isc_names_compare(&x->function, &y->function) == 0 &&
	       isc_names_compare(&x->file, &y->file) == 0;
}

/* The place that takes most of the memory, where that is another one than the one that fills it. */
static isc_claim_place taker(const isc_evidence *j, const isc_claim_place *filler)
{
	const isc_analysis_memory *m = &j->a->memory;
	const isc_analysis_site *s = m->site_count > 0 ? &m->sites[0] : NULL;
	isc_claim_place place = {0};

	if (s == NULL || s->bytes < MOST * (double)(m->bytes + m->mapped_bytes))
		return place;
	place = isc_evidence_at_frame(&s->at);
	return is_same(&place, filler) ? (isc_claim_place){0} : place;
}

static bool measure(const isc_evidence *j, size_t gpu, isc_finding *out)
{
	bool used = j->filled_us > 0;

	(void)gpu;
	if (!j->known)
		return false;
	if (!j->fills)
		return measure_run(j, out);
	*out = isc_evidence_finding(j, 0.8);
	/* Who keeps its buffers neither takes nor gives them back. */
	isc_evidence_takes(j, used ? fmin((j->filled_us + j->mapping_us) * j->stretch, j->window_us) : 0, out);
	isc_evidence_sampled(j, out);
	out->claim.place = isc_evidence_at(&j->at[ISC_STATE_PAGE_FAULT]);
	out->claim.holder = taker(j, &out->claim.place);
	isc_claim_number(&out->claim, ISC_DETAIL_PAGES_PER_S, floor(j->faults / j->window_us * 1e6));
	isc_claim_text(&out->claim, ISC_DETAIL_UNDER, j->filled_for.name);
	return true;
}

const isc_metric isc_metric_memory = {"page_churn_pct", "%",
				      "in the kernel, which gives the program fresh pages and takes them back", false,
				      measure};
