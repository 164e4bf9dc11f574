#include "analyze/time/tracks.h"

bool isc_gaps_note(isc_gaps *gaps, isc_arena *arena, const isc_trace_switch *sw)
{
	uint64_t last = gaps->count > 0 ? gaps->gap[gaps->count - 1].end_ns : 0;
	isc_gap *gap;

	if (sw->kind == ISC_SWITCH_GAP_END) {
		if (gaps->open && sw->time_ns > gaps->gap[gaps->count - 1].begin_ns)
			gaps->gap[gaps->count - 1].end_ns = sw->time_ns;
		gaps->open = false;
		return true;
	}
	if (gaps->open)
		return true;
	gap = isc_arena_push(arena, &gaps->gap, &gaps->count, &gaps->room, sizeof(*gap));
	if (gap == NULL)
		return false;
	gap->begin_ns = gap->end_ns = sw->time_ns > last ? sw->time_ns : last;
	gaps->open = true;
	return true;
}

/* The state holds from since_ns to here. */
static void spend(isc_track *t, const isc_build *b, int state, uint64_t to_ns)
{
	uint64_t from = t->since_ns > b->from_ns ? t->since_ns : b->from_ns;
	uint64_t to = to_ns < b->to_ns ? to_ns : b->to_ns;

	if (to > from)
		t->in_ns[state] += to - from;
	if (to_ns > t->since_ns)
		t->since_ns = to_ns;
}

/* Steps over the gaps since the last switch; true when there were any. */
static bool cross_gaps(isc_track *t, const isc_build *b, const isc_gaps *gaps)
{
	if (t->gaps >= gaps->count)
		return false;
	spend(t, b, t->state != ISC_TRACK_UNSEEN ? t->state : ISC_TRACK_UNWATCHED, gaps->gap[t->gaps].begin_ns);
	spend(t, b, ISC_TRACK_UNWATCHED, gaps->gap[gaps->count - 1].end_ns);
	t->gaps = gaps->count;
	t->state = ISC_TRACK_UNWATCHED;
	return true;
}

/* What the thread did until this switch. */
static int state_before(const isc_track *t, bool in, bool after_gap)
{
	if (after_gap)
		return in ? ISC_TRACK_UNWATCHED : ISC_TRACK_RUNNING;
	switch (t->state) {
	case ISC_TRACK_UNSEEN:
		return !in ? ISC_TRACK_RUNNING : t->fresh ? ISC_TRACK_QUEUED : ISC_TRACK_UNWATCHED;
	case ISC_TRACK_RUNNING:
		return in ? ISC_TRACK_UNWATCHED : ISC_TRACK_RUNNING;
	default:
		return in ? t->state : ISC_TRACK_UNWATCHED;
	}
}

void isc_track_switch(isc_track *t, const isc_build *b, const isc_gaps *gaps, const isc_trace_switch *sw)
{
	bool in = sw->kind == ISC_SWITCH_IN, after_gap;
	int before;

	if (gaps->open)
		return;
	/* A thread is often found a little after it began, and its end before its last switch. */
	if (sw->time_ns < t->start_ns && t->state == ISC_TRACK_UNSEEN)
		t->start_ns = sw->time_ns;
	if (t->state == ISC_TRACK_UNSEEN)
		t->since_ns = t->start_ns;
	if (sw->time_ns > t->end_ns)
		t->end_ns = sw->time_ns;
	after_gap = cross_gaps(t, b, gaps);
	before = state_before(t, in, after_gap);
	t->waited_ns = t->in_ns[ISC_TRACK_WAITING];
	spend(t, b, before, sw->time_ns);
	t->waited_ns = t->in_ns[ISC_TRACK_WAITING] - t->waited_ns;
	t->state = in ? ISC_TRACK_RUNNING : sw->kind == ISC_SWITCH_OUT_PREEMPT ? ISC_TRACK_QUEUED : ISC_TRACK_WAITING;
	if (sw->time_ns >= b->from_ns && sw->time_ns <= b->to_ns)
		t->switches++;
}

void isc_track_fault(isc_track *t)
{
	if (t->state != ISC_TRACK_RUNNING)
		return;
	t->fault_ns += t->waited_ns;
	t->waited_ns = 0;
}

void isc_track_finish(isc_track *t, const isc_build *b, const isc_gaps *gaps)
{
	if (t->state == ISC_TRACK_UNSEEN)
		return;
	cross_gaps(t, b, gaps);
	spend(t, b, t->state, t->end_ns);
}
