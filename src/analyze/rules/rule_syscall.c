/*
 * rule_syscall.c - many transfers that do not wait: each is short, together they are not.
 */
#include <math.h>
#include <string.h>

#include "analyze/rules/rule.h"
#include "base/units.h"

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

/* The place that makes most of them; name empty: not known. */
static isc_place maker_of(const isc_analysis_syscall *call)
{
	const isc_analysis_syscall_site *most = NULL;
	double all = 0;

	for (size_t i = 0; call != NULL && i < call->site_count; i++) {
		const isc_analysis_syscall_site *s = &call->sites[i];

		all += s->fast_us;
		if (most == NULL || s->fast_us > most->fast_us)
			most = s;
	}
	if (most == NULL || most->samples < ENOUGH || most->fast_us * 2 < all)
		return (isc_place){0};
	return (isc_place){.name = most->where.name, .file = most->where.file, .line = most->where.line};
}

static bool is_same(isc_text x, isc_text y)
{
	return x.len == y.len && memcmp(x.at, y.at, x.len) == 0;
}

/* " (read: 40,010 calls, 16 bytes each)" */
static void add_most(const isc_analysis_syscall *most, isc_buffer *text)
{
	isc_units count, bytes;

	if (most == NULL)
		return;
	isc_buffer_format(text, " (%s: %s calls", most->name, isc_units_count(&count, most->count));
	if (most->bytes > 0)
		isc_buffer_format(text, ", %s bytes each", isc_units_count(&bytes, most->bytes / most->count));
	isc_buffer_text(text, ")");
}

static bool measure(const isc_evidence *j, size_t gpu, isc_finding *out)
{
	const isc_analysis_syscall *most = made_most(j);
	isc_place maker = maker_of(most);
	isc_buffer text = {0};

	(void)gpu;
	if (!isc_evidence_state(j, ISC_STATE_SYSCALL, out))
		return false;
	/* Few large reads take their time too, and would not be better as fewer. */
	out->us = fmax(j->state_us[ISC_STATE_SYSCALL] - j->long_calls_us, 0);
	out->value = out->share = out->us / j->window_us * 100;
	isc_evidence_share(j, out->share, &text);
	isc_buffer_text(&text, " goes to many short system calls");
	add_most(most, &text);
	/* Without samples of them, the function that runs most is the one that makes them. */
	out->where = isc_evidence_where(j, maker.name.len > 0 ? &maker : &j->hot);
	if (out->where.len > 0) {
		/* Fewer calls are fewer rounds of the loop that makes them. */
		if (maker.name.len == 0 || is_same(maker.name, j->hot.name))
			out->us = fmin(out->us + j->hot.us, j->window_us);
		isc_evidence_sampled(j, out);
		isc_buffer_text(&text, maker.name.len > 0 ? ", most of them in " : ", it seems in ");
		isc_evidence_name(&text, out->where);
	}
	out->what = isc_evidence_keep(j, &text);
	return true;
}

const isc_metric isc_metric_syscall = {"syscall_pct", "%", "reads and writes that did not wait, under 10 us each",
				       false, measure};
