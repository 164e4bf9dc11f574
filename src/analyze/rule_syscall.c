/*
 * rule_syscall.c - many transfers that do not wait: each is short, together they are not.
 */
#include <math.h>

#include "analyze/rule.h"
#include "base/units.h"

#define SHORT_US 10 /* on average: longer ones wait */

/* " (read: 40,010 calls, 16 bytes each)": of the calls that are short, the one that was made most. */
static void add_most(const isc_judge *j, isc_buffer *text)
{
	const isc_analysis_syscall *most = NULL;
	isc_units count, bytes;

	for (size_t i = 0; i < j->a->syscall_count; i++) {
		const isc_analysis_syscall *s = &j->a->syscalls[i];

		if (s->count > 0 && s->total_us / (double)s->count < SHORT_US &&
		    (most == NULL || s->count > most->count))
			most = s;
	}
	if (most == NULL)
		return;
	isc_buffer_format(text, " (%s: %s calls", most->name, isc_units_count(&count, most->count));
	if (most->bytes > 0)
		isc_buffer_format(text, ", %s bytes each", isc_units_count(&bytes, most->bytes / most->count));
	isc_buffer_text(text, ")");
}

static bool measure(const isc_judge *j, size_t gpu, isc_finding *out)
{
	isc_buffer text = {0};

	(void)gpu;
	if (!isc_judge_state(j, ISC_STATE_SYSCALL, out))
		return false;
	/* Few large reads take their time too, and would not be better as fewer. */
	out->us = fmax(j->state_us[ISC_STATE_SYSCALL] - j->long_calls_us, 0);
	out->value = out->share = out->us / j->window_us * 100;
	isc_judge_share(j, out->share, &text);
	isc_buffer_text(&text, " goes to many short system calls");
	add_most(j, &text);
	/* They are told as a sum, without a stack: the function that runs most is the one that makes them. */
	out->where = isc_judge_where(j, &j->hot);
	if (out->where.len > 0) {
		/* Fewer calls are fewer rounds of the loop that makes them. */
		out->us = fmin(out->us + j->hot.us, j->window_us);
		isc_judge_sampled(j, out);
		isc_buffer_text(&text, ", it seems in ");
		isc_judge_name(&text, out->where);
	}
	out->what = isc_judge_keep(j, &text);
	return true;
}

const isc_metric isc_metric_syscall = {"syscall_pct", "%", "reads and writes that did not wait, under 10 us each",
				       false, measure};
