/* dump_totals.c - running totals as lines of a dump. */
#include <inttypes.h>
#include <string.h>

#include "base/record.h"
#include "trace/dump/dump_text.h"
#include "trace/model.h"

static void dump_total_name(struct dump *d, enum isc_folded kind, uint32_t process, uint32_t name)
{
	if (name == ISC_TOTAL_REST)
		isc_buffer_format(&d->line, " %s", isc_totals_rest_text(kind));
	else
		isc_dump_name(d, process, name);
}

static void dump_functions(struct dump *d, const isc_totals *totals)
{
	const isc_total_function *f;
	const isc_total_calls *p;

	for (size_t i = 0; (f = isc_totals_function_at(totals, i)) != NULL; i++) {
		uint32_t len = 0;
		const void *code =
			isc_trace_define(d->trace, f->process, f->code & ~ISC_TOTAL_REST, ISC_DEF_CODE, &len);
		bool rest = (f->code & ISC_TOTAL_REST) != 0;

		isc_buffer_format(&d->line, "total function p%u", f->process);
		isc_buffer_text(&d->line, rest && code == NULL ? " (other functions)"
					  : rest	       ? " others of the file of"
							       : "");
		isc_buffer_text(&d->line, code != NULL ? " " : "");
		if (code != NULL)
			isc_dump_code(d, code, len);
		else if (!rest)
			isc_dump_name(d, f->process, f->code);
		isc_buffer_format(&d->line,
				  " calls %" PRIu64 " resumes %" PRIu64 " self_ticks %" PRIu64 " total_ticks %" PRIu64
				  " unmatched %" PRIu64 "%s",
				  f->calls, f->resumes, f->self_ticks, f->total_ticks, f->unmatched,
				  f->estimated ? " estimated" : "");
		if (f->governed || f->window_calls > 0)
			isc_buffer_format(&d->line, " window_calls %" PRIu64 " between %.0f %.0f %.0f spread %.3g",
					  f->window_calls, f->between.least, f->between.likely, f->between.most,
					  f->spread);
		isc_dump_finish(d);
	}
	for (size_t i = 0; (p = isc_totals_calls_at(totals, i)) != NULL; i++) {
		isc_buffer_format(&d->line,
				  "total calls p%u tasks %" PRIu64 " stacks_full %" PRIu64 " unmatched %" PRIu64
				  " paused_ticks %" PRIu64 " cost_ns %u.%02u",
				  p->process, p->tasks, p->missed, p->unmatched, p->paused_ticks, p->cost / 16,
				  p->cost % 16 * 100 / 16);
		if (p->windows > 0)
			isc_buffer_format(&d->line,
					  " windows %" PRIu64 " inside_ns %" PRIu64 " between_ns %" PRIu64
					  " farthest_ns %" PRIu64,
					  p->windows, p->inside_ns, p->between_ns, p->farthest_ns);
		isc_dump_finish(d);
	}
}

static void dump_stacks(struct dump *d, const isc_totals *totals)
{
	const isc_total_stack *s;

	for (size_t i = 0; (s = isc_totals_stack_at(totals, i)) != NULL; i++) {
		isc_buffer_format(&d->line, "total stack p%u t%u samples %" PRIu64 " steps %" PRIu64 " cpu_ns %" PRIu64,
				  s->process, s->thread, s->samples, s->steps, s->cpu_ns);
		isc_dump_sample_flags(d, s->flags);
		isc_dump_stack(d, s->process, s->stack);
		isc_dump_finish(d);
	}
}

bool isc_dump_totals(struct dump *d, isc_error *err)
{
	const isc_total_scope *s;
	const isc_total_mark *m;
	const isc_total_counter *c;
	const isc_total_thread *t;
	isc_totals *totals;

	if (isc_trace_totals(d->trace, &totals, err) != ISC_OK)
		return false;
	for (size_t i = 0; (t = isc_totals_thread_at(totals, i)) != NULL; i++) {
		isc_buffer_format(&d->line, "total thread p%u t%u events %" PRIu64 " first ", t->process, t->thread,
				  t->events);
		isc_dump_time(d, isc_trace_ticks_to_ns(d->trace, t->first_ticks));
		isc_buffer_text(&d->line, " last ");
		isc_dump_time(d, isc_trace_ticks_to_ns(d->trace, t->last_ticks));
		isc_dump_finish(d);
	}
	for (size_t i = 0; (s = isc_totals_scope_at(totals, i)) != NULL; i++) {
		isc_buffer_format(&d->line, "total scope p%u", s->process);
		dump_total_name(d, ISC_FOLDED_SCOPES, s->process, s->name);
		isc_buffer_format(
			&d->line,
			" count %" PRIu64 " open %" PRIu64 " unmatched %" PRIu64 " total_ticks %" PRIu64
			" min_ticks %" PRIu64 " max_ticks %" PRIu64 " p50_ticks %" PRIu64 " p99_ticks %" PRIu64,
			s->count, s->open, s->unmatched, s->total_ticks, s->min_ticks, s->max_ticks,
			isc_histogram_percentile(&s->histogram, 0.5), isc_histogram_percentile(&s->histogram, 0.99));
		isc_dump_finish(d);
	}
	for (size_t i = 0; (m = isc_totals_mark_at(totals, i)) != NULL; i++) {
		isc_buffer_format(&d->line, "total mark p%u", m->process);
		dump_total_name(d, ISC_FOLDED_MARKS, m->process, m->name);
		isc_buffer_format(&d->line, " count %" PRIu64, m->count);
		isc_dump_finish(d);
	}
	for (size_t i = 0; (c = isc_totals_counter_at(totals, i)) != NULL; i++) {
		isc_buffer_format(&d->line, "total counter p%u", c->process);
		dump_total_name(d, ISC_FOLDED_COUNTERS, c->process, c->name);
		isc_buffer_format(&d->line, " count %" PRIu64 " min %.17g max %.17g sum %.17g last %.17g", c->count,
				  c->min, c->max, c->sum, c->last);
		isc_dump_finish(d);
	}
	dump_functions(d, totals);
	dump_stacks(d, totals);
	isc_dump_waits(d, totals);
	isc_dump_syscalls(d, totals);
	isc_buffer_format(&d->line, "total events %" PRIu64, isc_totals_events(totals));
	isc_dump_finish(d);
	isc_totals_free(totals);
	return true;
}
