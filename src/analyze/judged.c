/*
 * judged.c - the focus thread in the part of the run that is judged, and the verdict on it.
 */
#include "analyze/build.h"
#include "analyze/verdict.h"

static const isc_analysis_thread *focus_of(const isc_analysis *a)
{
	for (size_t i = 0; a->breakdown.known && i < a->thread_count; i++) {
		if (a->threads[i].tid == a->breakdown.tid && a->threads[i].pid == a->breakdown.pid)
			return &a->threads[i];
	}
	return NULL;
}

static void take_thread(isc_judge *j, const isc_analysis_thread *t)
{
	if (t == NULL || t->wall_us <= 0)
		return;
	j->known = true;
	j->window_us = t->wall_us;
	j->samples = t->samples;
	for (int s = 0; s < ISC_STATES; s++) {
		j->state_us[s] = t->state_us[s];
		j->source[s] = t->source[s];
	}
}

isc_status isc_build_verdict(isc_build *b, isc_error *err)
{
	isc_judge j = {.a = b->a, .arena = b->arena};
	isc_rules own;

	take_thread(&j, focus_of(b->a));
	if (b->options != NULL && b->options->rules != NULL)
		return isc_verdict_reach(&j, b->options->rules, b->a, err);
	isc_rules_init(&own);
	return isc_verdict_reach(&j, &own, b->a, err);
}
