/*
 * rule_syscall.c - many transfers that do not wait: each is short, together they are not.
 */
#include <math.h>
#include <string.h>

#include "analyze/names.h"
#include "analyze/rules/rule.h"

#define SHORT_US 10 /* on average: longer ones wait */
#define ENOUGH 10   /* samples that say where calls are made */

/* Of the calls that are short, the one that was made most; NULL: none. */
static const isc_analysis_syscall *made_most(const isc_evidence *j)
{
	const isc_analysis_syscall *most = NULL;

	for (size_t i = 0; i < j->a->syscall_count; i++) {
		const isc_analysis_syscall *s = &j->a->syscalls[i];

		if (s->count > 0 && s->total_us / (double)s->count < SHORT_US &&
		    (most == NULL || s->count > most->count))
			most = s;
	}
	return most;
}

/* The place that makes most of them; NULL: not known. */
static const isc_analysis_syscall_site *maker_of(const isc_analysis_syscall *call)
{
	const isc_analysis_syscall_site *most = NULL;
	double all = 0;

	for (size_t i = 0; call != NULL && i < call->site_count; i++) {
		const isc_analysis_syscall_site *s = &call->sites[i];

		all += s->fast_us;
		if (most == NULL || s->fast_us > most->fast_us)
			most = s;
	}
	if (most == NULL || most->samples < ENOUGH || most->fast_us * 2 < all || most->where.name.len == 0)
		return NULL;
	return most;
}

/* How many calls of the one that is made most, and how large they are. */
static void tell_most(const isc_analysis_syscall *most, isc_claim *c)
{
	if (most == NULL)
		return;
	isc_claim_text(c, ISC_DETAIL_CALL, (isc_text){most->name, strlen(most->name)});
	isc_claim_number(c, ISC_DETAIL_CALLS, (double)most->count);
	isc_claim_number(c, ISC_DETAIL_BYTES_EACH, most->bytes > 0 ? (double)(most->bytes / most->count) : -1);
}

static bool measure(const isc_evidence *j, size_t gpu, isc_finding *out)
{
	const isc_analysis_syscall *most = made_most(j);
	const isc_analysis_syscall_site *maker = maker_of(most);

	(void)gpu;
	if (!isc_evidence_state(j, ISC_STATE_SYSCALL, out))
		return false;
	/* Few large reads take their time too, and would not be better as fewer. */
	isc_evidence_takes(j, fmax(j->state_us[ISC_STATE_SYSCALL] - j->long_calls_us, 0), out);
	tell_most(most, &out->claim);
	/* Without samples of them, the function that runs most is the one that makes them. */
	out->claim.place = maker != NULL ? isc_evidence_at_frame(&maker->where) : isc_evidence_at(&j->hot);
	isc_claim_number(&out->claim, ISC_DETAIL_PLACE_SAMPLES, maker != NULL ? (double)maker->samples : -1);
	if (out->claim.place.function.len == 0)
		return true;
	/* Fewer calls are fewer rounds of the loop that makes them. */
	if (maker == NULL || isc_names_compare(&maker->where.name, &j->hot.name) == 0)
		out->us = fmin(out->us + j->hot.us, j->window_us);
	isc_evidence_sampled(j, out);
	return true;
}

const isc_metric isc_metric_syscall = {"syscall_pct", "%", "reads and writes that did not wait, under 10 us each",
				       false, measure};
