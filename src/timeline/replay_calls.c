/*
 * replay_calls.c - calls of a thread as slices that open and close, also at edges of what is read.
 */
#include "timeline/replay.h"

#define DEPTH_MAX 65535u /* fits the depth of a slice */

static void tell_open(isc_replay *s, isc_replay_open *o, uint64_t ns)
{
	o->slice.start_ns = isc_replay_since_start(s, ns);
	o->slice.inner_ns = 0;
	o->told = true;
	if (s->class->open != NULL)
		s->class->open(s->self, &o->slice);
}

static void tell_close(isc_replay *s, isc_replay_lane *l, size_t rank, uint64_t ns, uint8_t flags)
{
	isc_replay_open *o = &l->open[rank];
	isc_slice closed = o->slice;

	if (!o->told)
		return;
	closed.end_ns = isc_replay_since_start(s, ns);
	closed.end_ns = closed.end_ns > closed.start_ns ? closed.end_ns : closed.start_ns;
	closed.flags |= flags;
	if (rank > 0)
		l->open[rank - 1].slice.inner_ns += closed.end_ns - closed.start_ns;
	o->told = false;
	s->counts->slices++;
	s->counts->unfinished += (closed.flags & ISC_SLICE_UNFINISHED) != 0;
	if (s->class->close != NULL)
		s->class->close(s->self, &closed);
}

static void close_all(isc_replay *s, isc_replay_lane *l, uint64_t ns, uint8_t flags)
{
	for (size_t i = l->depth; i > 0; i--)
		tell_close(s, l, i - 1, ns, flags);
}

static void open_all(isc_replay *s, isc_replay_lane *l, uint64_t ns)
{
	for (size_t i = 0; i < l->depth; i++) {
		l->open[i].slice.flags |= ISC_SLICE_CUT;
		tell_open(s, &l->open[i], ns);
	}
}

bool isc_replay_advance(isc_replay *s, isc_replay_lane *l, uint64_t ns)
{
	size_t to;

	if (s->cut->whole)
		return true;
	to = isc_cut_at(s->cut, ns, l->at);
	for (; l->at < to; l->at++) {
		const isc_stretch *past = &s->cut->stretch[l->at];

		/* Not told: nothing happened since it began. */
		if (l->depth > 0 && !l->open[0].told)
			open_all(s, l, past->from_ns);
		close_all(s, l, past->to_ns, ISC_SLICE_CUT);
	}
	if (to == s->cut->count || ns < s->cut->stretch[to].from_ns)
		return false;
	if (l->depth > 0 && !l->open[0].told)
		open_all(s, l, s->cut->stretch[to].from_ns);
	return true;
}

static void describe(const isc_replay *s, isc_slice *slice)
{
	isc_frame code = {0};

	if (slice->kind == ISC_SLICE_CALL) {
		if (isc_trace_code(s->trace, slice->on->process, slice->id, &code)) {
			slice->name = code.name;
			slice->file = code.file;
			slice->line = code.first_line;
		} else {
			slice->name = (isc_text){"?", 1};
		}
		return;
	}
	slice->name = isc_trace_name(s->trace, slice->on->process, slice->id);
}

void isc_replay_enter(isc_replay *s, isc_replay_lane *l, const isc_event *ev, bool inside)
{
	isc_replay_open *o;

	if (l->depth >= DEPTH_MAX)
		return;
	o = isc_arena_push(s->arena, &l->open, &l->depth, &l->room, sizeof(*o));
	if (o == NULL) {
		s->failed = true;
		return;
	}
	o->told = false;
	o->slice = (isc_slice){.on = l->on,
			       .id = ev->id,
			       .task = l->task,
			       .cpu = l->cpu,
			       .stream = l->stream,
			       .depth = (uint16_t)(l->depth - 1),
			       .kind = ev->kind == ISC_KIND_C_ENTER ? ISC_SLICE_C_CALL : ISC_SLICE_CALL};
	if (ev->kind == ISC_KIND_CALL_RESUME)
		o->slice.flags = (uint8_t)(ISC_SLICE_RESUMED | (ev->arg == ISC_CALL_THROWN ? ISC_SLICE_THROWN : 0));
	if (s->class->texts)
		describe(s, &o->slice);
	if (inside)
		tell_open(s, o, ev->time_ns);
}

void isc_replay_leave(isc_replay *s, isc_replay_lane *l, const isc_event *ev)
{
	size_t i = l->depth;
	uint8_t flags = 0;

	/* Those above it have ended too, unseen; one that is not open began before the trace did. */
	while (i > 0 && l->open[i - 1].slice.id != ev->id)
		i--;
	if (i == 0) {
		s->counts->unmatched++;
		return;
	}
	for (; l->depth > i; l->depth--)
		tell_close(s, l, l->depth - 1, ev->time_ns, ISC_SLICE_UNFINISHED);
	flags |= ev->arg == ISC_CALL_YIELDED ? ISC_SLICE_YIELDED : 0;
	flags |= ev->arg == ISC_CALL_RAISED ? ISC_SLICE_RAISED : 0;
	tell_close(s, l, i - 1, ev->time_ns, flags);
	l->depth = i - 1;
}

void isc_replay_end(isc_replay *s, isc_replay_lane *l, uint64_t ns)
{
	isc_replay_advance(s, l, ns);
	close_all(s, l, ns, ISC_SLICE_UNFINISHED);
}
