/*
 * part.c - the part of the run that is looked at: all of it by its running
 * totals, or a time or a scope by the events that are still there.
 */
#include <math.h>
#include <string.h>

#include "analyze/build.h"
#include "analyze/time/crossing.h"
#include "analyze/scopes/spans.h"

static uint64_t later(uint64_t x, uint64_t y)
{
	return x > y ? x : y;
}

/* Where the trace ends when nothing says so: at the last thing that it knows of. */
static uint64_t last_known_ns(isc_build *b)
{
	uint64_t last = b->start_ns;
	const isc_trace_process *p;
	const isc_trace_thread *t;
	const isc_total_thread *total;
	isc_trace_switch sw;

	for (size_t i = 0; (p = isc_trace_process_at(b->trace, i)) != NULL; i++)
		last = later(last, p->flags & ISC_PROCESS_ENDED ? p->end_ns : p->start_ns);
	for (size_t i = 0; (t = isc_trace_thread_at(b->trace, i)) != NULL; i++)
		last = later(last, t->flags & 2u ? t->end_ns : t->start_ns);
	for (size_t i = 0; (total = isc_totals_thread_at(b->totals, i)) != NULL; i++)
		last = later(last, isc_trace_ticks_to_ns(b->trace, total->last_ticks));
	isc_trace_rewind(b->trace);
	while (isc_trace_next_switch(b->trace, &sw))
		last = later(last, sw.time_ns);
	return last;
}

/* Over the longest stretch there is.  0 when the clock was never calibrated. */
static double measure_tick(const isc_build *b)
{
	uint64_t first = UINT64_MAX, last = 0, from, to;
	const isc_total_thread *total;

	if (isc_trace_header(b->trace)->clock_source == 0)
		return 1e-3;
	for (size_t i = 0; (total = isc_totals_thread_at(b->totals, i)) != NULL; i++) {
		first = total->first_ticks < first ? total->first_ticks : first;
		last = total->last_ticks > last ? total->last_ticks : last;
	}
	if (last <= first)
		return 0;
	from = isc_trace_ticks_to_ns(b->trace, first);
	to = isc_trace_ticks_to_ns(b->trace, last);
	return to > from ? (double)(to - from) / 1e3 / (double)(last - first) : 0;
}

uint64_t isc_build_thread_end_ns(const isc_build *b, uint32_t thread)
{
	return isc_trace_thread_end_ns(b->trace, thread, b->end_ns);
}

static uint64_t moment_ns(const isc_build *b, double us)
{
	double ns = us * 1e3;

	return ns < (double)(b->end_ns - b->start_ns) ? b->start_ns + (uint64_t)ns : b->end_ns;
}

/* What --delay and --duration left to record is the run, unless another part of it is asked for.  While all of its
 * events are there they are counted again, so that waits and calls end at its edges; else by the totals. */
static void limit_window(isc_build *b)
{
	const isc_analysis_options *o = b->options;
	const isc_facts *f = &b->facts;
	uint64_t from, to;

	if (f->collected_from_us < 0 || (o != NULL && (o->scope != NULL || o->from_us > 0 || o->to_us > 0)))
		return;
	from = moment_ns(b, f->collected_from_us);
	to = f->collected_to_us >= 0 ? moment_ns(b, f->collected_to_us) : b->end_ns;
	if (to <= from)
		return;
	b->limited = true;
	b->cut = b->stats->retired_events == 0;
	b->from_ns = from;
	b->to_ns = to;
	b->a->why = f->collected_to_us >= 0 ? "the time that --delay and --duration chose" : "the time after --delay";
}

isc_status isc_build_window(isc_build *b, isc_error *err)
{
	const isc_analysis_options *options = b->options;
	const isc_trace_snapshot *retained;
	isc_status st = isc_trace_totals(b->trace, &b->totals, err);

	if (st != ISC_OK)
		return st;
	b->start_ns = isc_trace_header(b->trace)->start_ns;
	b->end_ns = later(b->start_ns, b->end != NULL ? b->end->end_ns : last_known_ns(b));
	b->us_per_tick = b->tick_us = measure_tick(b);
	b->from_ns = b->start_ns;
	b->to_ns = b->end_ns;
	b->a->why = "the whole run";
	retained = isc_trace_snapshot_of(b->trace, ISC_BOUNDARY_RETAINED);
	if (retained != NULL && b->stats->retired_events > 0)
		b->retained_ns = isc_trace_ticks_to_ns(b->trace, retained->ticks);
	limit_window(b);
	if (options == NULL)
		return ISC_OK;
	if (!isfinite(options->from_us) || !isfinite(options->to_us) || options->from_us < 0 || options->to_us < 0 ||
	    (options->to_us > 0 && options->to_us <= options->from_us)) {
		isc_fail(err, ISC_ERR_INVALID, "the time asked for ends before it begins");
		isc_hint(err, "give --to a later time than --from");
		return ISC_ERR_INVALID;
	}
	/* Somebody was there until then, even if nothing happened. */
	if (options->alone && options->to_us * 1e3 < (double)INT64_MAX)
		b->end_ns = later(b->end_ns, b->start_ns + (uint64_t)(options->to_us * 1e3) + 1);
	if (options->from_us > 0 || options->to_us > 0) {
		b->cut = true;
		b->from_ns = moment_ns(b, options->from_us);
		if (options->to_us > 0)
			b->to_ns = moment_ns(b, options->to_us);
		b->a->why = "the time asked for";
		if (b->from_ns >= b->to_ns) {
			st = isc_fail(err, ISC_ERR_INVALID, "the trace ends before the time asked for begins");
			isc_hint(err, "it is %.6f s long", (double)(b->end_ns - b->start_ns) / 1e9);
			return st;
		}
	}
	if (options->scope != NULL) {
		b->cut = true;
		b->only = (isc_text){options->scope, strlen(options->scope)};
		b->a->why = "inside the scope asked for";
	}
	return ISC_OK;
}

/* ---- events of the window ---- */

struct part_walk {
	isc_spans spans;
	isc_crossing replay;
	isc_totals *totals;
	uint64_t first_ns, last_ns;
};

static bool is_inside(const isc_crossing_lane *lane)
{
	return lane->scopes > 0 || lane->within;
}

/* Is this event inside the scope, on its own thread?  After lost events that is
 * not known, and then it is not. */
static bool step(isc_build *b, struct part_walk *in, isc_crossing_lane *lane, const isc_event *ev, bool *take)
{
	bool span = ev->kind == ISC_KIND_SPAN_ENTER || ev->kind == ISC_KIND_SPAN_EXIT, it = false, part = false;
	bool scope = span || ev->kind == ISC_KIND_SCOPE_ENTER || ev->kind == ISC_KIND_SCOPE_EXIT;

	if (lane->gap) {
		lane->scopes = lane->span_count = 0;
		lane->within = false;
	}
	if (scope && !isc_spans_named(&in->spans, b, ev, &it))
		return false;
	if (it)
		b->only_found = true;
	if (it && ev->kind == ISC_KIND_SCOPE_ENTER)
		lane->scopes++;
	if (!isc_spans_step(&in->spans, b->arena, lane, ev, &part))
		return false;
	*take = is_inside(lane) || part;
	if (it && ev->kind == ISC_KIND_SCOPE_EXIT && lane->scopes > 0)
		lane->scopes--;
	return true;
}

/* The totals of the window count in nanoseconds: so does what a span took.  One
 * that was entered before it has no time in it. */
static void convert(const isc_build *b, const isc_event *ev, isc_span *span)
{
	double ns;

	memcpy(span, ev->extra, sizeof(*span));
	ns = (double)span->more * b->us_per_tick * 1e3;
	if (b->us_per_tick <= 0 || ns > (double)(ev->time_ns - b->from_ns) + 1)
		span->more = ISC_SPAN_UNKNOWN;
	else
		span->more = (uint64_t)(ns + 0.5);
}

/* A wait or a collection, as much of it as lies inside the window; false: nothing of it does. */
static bool clip(const isc_build *b, const isc_event *ev, isc_record *first, isc_wait *wait)
{
	double ns;
	uint64_t from, to = ev->time_ns < b->to_ns ? ev->time_ns : b->to_ns;

	if (ev->extra_len < sizeof(*wait) || b->us_per_tick <= 0)
		return false;
	memcpy(wait, ev->extra, sizeof(*wait));
	ns = (double)wait->ticks * b->us_per_tick * 1e3;
	/* When brief waits were is not known: where they are told of. */
	if (ev->kind == ISC_KIND_WAIT_BRIEF) {
		wait->ticks = (uint64_t)ns;
		return ev->time_ns >= b->from_ns && ev->time_ns <= b->to_ns;
	}
	from = ns < (double)ev->time_ns ? ev->time_ns - (uint64_t)ns : 0;
	from = from > b->from_ns ? from : b->from_ns;
	wait->ticks = to > from ? to - from : 0;
	first->ticks = to;
	return to > from;
}

/* One event, and the calls that cross the edges of the window. */
static isc_status feed_one(isc_build *b, struct part_walk *in, const isc_event *ev, isc_error *err)
{
	/* The window's totals count in nanoseconds. */
	isc_record first = {ev->time_ns, ev->id, ev->kind, 1, ev->arg};
	isc_crossing_lane *lane = isc_crossing_lane_of(&in->replay, b->arena, ev);
	bool take = true, was_in = lane != NULL && (b->only.at == NULL || is_inside(lane));
	const void *extra = ev->extra;
	isc_status st = ISC_OK;
	isc_wait wait;
	isc_span span;

	if (lane == NULL || (b->only.at != NULL && !step(b, in, lane, ev, &take)))
		return isc_build_no_memory(err);
	if (ev->kind >= ISC_KIND_WAIT_EXIT && ev->kind <= ISC_KIND_GC) {
		take &= clip(b, ev, &first, &wait);
		extra = &wait;
	} else {
		take &= ev->time_ns >= b->from_ns && ev->time_ns <= b->to_ns;
	}
	if (lane->gap && lane->inside)
		st = isc_totals_lose(in->totals, ev->process, ev->thread, ev->stream, err);
	/* They were on their way when the window began, or lasted all through it. */
	if (st == ISC_OK && !lane->inside && (take || (was_in && ev->time_ns > b->to_ns && lane->time_ns < b->from_ns)))
		st = isc_crossing_enter(lane, in->totals, was_in ? b->from_ns : ev->time_ns, err);
	if (st == ISC_OK && take) {
		in->first_ns = first.ticks < in->first_ns ? first.ticks : in->first_ns;
		in->last_ns = later(in->last_ns, first.ticks);
		if (ev->kind == ISC_KIND_SPAN_EXIT && ev->extra_len >= sizeof(span)) {
			convert(b, ev, &span);
			extra = &span;
		}
		st = isc_totals_feed(in->totals, ev->process, ev->thread, ev->stream, &first, extra, ev->extra_len,
				     err);
	} else if (st == ISC_OK && (ev->kind == ISC_KIND_GOVERNED || ev->kind == ISC_KIND_BURST ||
				    (ev->kind == ISC_KIND_GC && ev->arg == ISC_GC_WATCHED))) {
		first.ticks = ev->time_ns < b->from_ns ? b->from_ns : ev->time_ns < b->to_ns ? ev->time_ns : b->to_ns;
		st = isc_totals_recall(in->totals, ev->process, ev->thread, ev->stream, &first, ev->extra,
				       ev->extra_len, err);
	}
	if (lane->inside && (!take || (b->only.at != NULL && !is_inside(lane))))
		isc_crossing_leave(lane, in->totals, ev->time_ns < b->to_ns ? ev->time_ns : b->to_ns);
	if (b->options != NULL && b->options->alone && ev->time_ns < b->from_ns)
		return st;
	if (!isc_crossing_note(lane, b->arena, ev))
		return isc_build_no_memory(err);
	return st;
}

static isc_status feed(isc_build *b, struct part_walk *in, isc_error *err)
{
	isc_event ev;
	isc_status st = ISC_OK;
	uint64_t done = 0;

	isc_trace_rewind(b->trace);
	while (st == ISC_OK && isc_trace_next(b->trace, &ev)) {
		isc_build_progress(b, ++done, b->a->events);
		st = feed_one(b, in, &ev, err);
	}
	/* Threads that were last heard of before the window, in the middle of a call. */
	for (size_t i = 0; st == ISC_OK && b->only.at == NULL && i < in->replay.count; i++) {
		isc_crossing_lane *lane = &in->replay.lane[i];

		if (!lane->inside && lane->time_ns < b->from_ns &&
		    isc_build_thread_end_ns(b, lane->thread) > b->from_ns)
			st = isc_crossing_enter(lane, in->totals, b->from_ns, err);
	}
	return st;
}

/* What has to be known before the events of the window are counted. */
static bool look_ahead(isc_build *b, struct part_walk *in)
{
	isc_walk walk = {0};
	bool good;

	isc_unseen_join(&b->unseen, b, &walk);
	if (b->only.at != NULL)
		isc_spans_join(&in->spans, b, &walk);
	good = isc_walk_run(&walk, b->trace);
	isc_unseen_end(&b->unseen);
	return good && (b->only.at == NULL || isc_spans_end(&in->spans));
}

isc_status isc_build_totals(isc_build *b, isc_error *err)
{
	struct part_walk in = {.first_ns = UINT64_MAX, .replay = {.unseen = &b->unseen}};
	isc_status st;

	if (!b->cut)
		return ISC_OK;
	st = isc_totals_new(&in.totals, err);
	if (st == ISC_OK)
		isc_trace_relate(b->trace, in.totals);
	if (st == ISC_OK && !look_ahead(b, &in))
		st = isc_build_no_memory(err);
	if (st == ISC_OK)
		st = feed(b, &in, err);
	isc_spans_fini(&in.spans);
	isc_crossing_fini(&in.replay);
	if (st == ISC_OK && b->only.at != NULL && !b->only_found) {
		st = isc_fail(err, ISC_ERR_INVALID, "the trace has no scope named \"%.100s\"", b->only.at);
		isc_hint(err, "analyze without --scope lists the scopes there are");
	}
	if (st != ISC_OK) {
		isc_totals_free(in.totals);
		return st;
	}
	isc_totals_free(b->totals);
	b->totals = in.totals;
	b->us_per_tick = 1e-3;
	if (b->only.at != NULL && in.last_ns >= in.first_ns) {
		b->from_ns = in.first_ns;
		b->to_ns = in.last_ns;
	}
	return ISC_OK;
}
