/*
 * sample_warnings.c - what to doubt about samples: how many there are, and whose stacks are not known.
 */
#include <string.h>

#include "analyze/build.h"
#include "base/units.h"

#define NO_WORD "the trace does not say why"
/* Of the sampled time so much may be without a stack before it is said. */
#define UNKNOWN_SHARE 0.05
/* With so much of the rate that was asked for it was kept, but for a moment. */
#define RATE_KEPT 0.9

enum { NOTE = 0, GRAVE = 1 };

/* Time on a CPU of which the stack, or part of it, is not known. */
static void about_stacks(isc_build *b)
{
	const isc_analysis_samples *s = &b->a->samples;
	double unsampled_us = s->unattributed_us[ISC_UNATTRIBUTED_UNSAMPLED];
	int why = 0;
	isc_units n, pct;

	for (int i = 1; i < ISC_UNATTRIBUTED_UNSAMPLED; i++)
		why = s->unattributed_us[i] > s->unattributed_us[why] ? i : why;
	if (s->unknown_us > s->us * UNKNOWN_SHARE)
		isc_build_warn(
			b, GRAVE, "unknown_stacks", isc_unattributed_remedy((enum isc_unattributed)why),
			"%s of the sampled CPU time (%s) has no known stack and is unattributed, mostly because %s",
			isc_units_percent(&pct, s->unknown_us / s->us * 100), isc_units_time(&n, s->unknown_us),
			isc_unattributed_words((enum isc_unattributed)why));
	if (unsampled_us > (s->us + unsampled_us) * UNKNOWN_SHARE)
		isc_build_warn(
			b, NOTE, "not_sampled", isc_unattributed_remedy(ISC_UNATTRIBUTED_UNSAMPLED),
			"threads ran for %s of CPU time (%s of all) without a single sample: that time is unattributed",
			isc_units_time(&n, unsampled_us),
			isc_units_percent(&pct, unsampled_us / (s->us + unsampled_us) * 100));
	if (s->cut_us > s->us * UNKNOWN_SHARE)
		isc_build_warn(
			b, NOTE, "cut_stacks", isc_unattributed_remedy(ISC_UNATTRIBUTED_TABLE),
			"of %s of the sampled CPU time (%s) only the outer frames are known, because %s: the rest is "
			"(deeper frames not recorded)",
			isc_units_percent(&pct, s->cut_us / s->us * 100), isc_units_time(&n, s->cut_us),
			isc_unattributed_words(ISC_UNATTRIBUTED_TABLE));
	if (b->facts.native_off)
		isc_build_warn(
			b, NOTE, "no_native_frames", "run with --native on or --native leaf",
			"native frames were not recorded (--native off): python and native are null, on_cpu has both, "
			"and no rule names a Python function as hot");
}

void isc_sample_warnings(isc_build *b)
{
	const isc_analysis_samples *s = &b->a->samples;
	double mean_hz = s->us > 0 ? (double)s->steps / s->us * 1e6 : -1;
	bool lowered = s->least_hz >= 0 && mean_hz >= 0 && mean_hz < s->rate_hz * RATE_KEPT;
	isc_units n;

	if (s->refused > 0)
		isc_build_warn(b, GRAVE, "threads_not_sampled",
			       "raise the limit of pending signals (ulimit -i): each thread takes one",
			       "%s %s threads that are not sampled: the kernel gave them no timer",
			       isc_units_count(&n, s->refused), s->refused == 1 ? "process has" : "processes have");
	if (s->count == 0)
		return;
	if (lowered)
		isc_build_warn(b, NOTE, "rate_lowered",
			       "allow more with --budget, or make samples cheaper with --native leaf",
			       "to stay inside the budget there were %.0f samples a second on average and %.0f at the "
			       "least, of "
			       "%.0f "
			       "that were asked for",
			       mean_hz, s->least_hz, s->rate_hz);
	if (s->count < ISC_SAMPLES_ENOUGH)
		isc_build_warn(b, NOTE, "few_samples",
			       lowered ? "let the program run longer, or allow more with --budget"
				       : "let the program run longer, or sample more often with --rate",
			       "there are only %s samples: shares of the CPU time are rough",
			       isc_units_count(&n, s->count));
	if (s->ended > 0)
		isc_build_warn(
			b, GRAVE, "sampling_ended", NULL,
			"%s %s not sampled to the end: the program gave up rights (PR_SET_NO_NEW_PRIVS, seccomp), from "
			"where "
			"waits and allocations are not told either, or it fetches SIGURG itself",
			isc_units_count(&n, s->ended), s->ended == 1 ? "process was" : "processes were");
	about_stacks(b);
	if (b->facts.counters_stand_in)
		isc_build_warn(
			b, GRAVE, "no_counters", "run without INFERSCOPE_TEST_COUNTERS",
			"instructions and cycles of stacks are none: other events stand for them, as tests asked for");
	else if (s->counted == 0)
		isc_build_warn(b, NOTE, "no_counters",
			       b->facts.counters_remedy.len > 0 ? b->facts.counters_remedy.at : NULL,
			       "instructions were not counted: %.*s",
			       b->facts.counters_known && !b->facts.counters_ok ? (int)b->facts.counters.len
										: (int)strlen(NO_WORD),
			       b->facts.counters_known && !b->facts.counters_ok ? b->facts.counters.at : NO_WORD);
	if (s->scope.len == 0)
		isc_build_warn(
			b, NOTE, "no_slow_scopes", "mark what repeats, a request or a step, as a scope",
			"no scope was entered 20 times and took different times: us_median and us_slow of stacks are "
			"empty");
}
