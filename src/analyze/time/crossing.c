#include "analyze/time/crossing.h"

#define DEPTH_MAX 65536u

void isc_crossing_fini(isc_crossing *r)
{
	isc_hashmap_fini(&r->by_lane);
}

isc_crossing_lane *isc_crossing_lane_of(isc_crossing *r, isc_arena *arena, const isc_event *ev)
{
	isc_crossing_lane *lane = r->last;
	isc_pause pause;
	uint64_t *rank;

	/* Events come in runs of one thread. */
	if (lane == NULL || lane->thread != ev->thread || lane->stream != ev->stream || lane->process != ev->process) {
		rank = isc_hashmap_put(&r->by_lane,
				       (uint64_t)ev->process << 40 ^ (uint64_t)ev->thread << 8 ^ ev->stream, NULL);
		if (rank == NULL)
			return NULL;
		if (*rank == 0) {
			lane = isc_arena_push(arena, &r->lane, &r->count, &r->room, sizeof(*lane));
			if (lane == NULL)
				return NULL;
			*lane = (isc_crossing_lane){.process = ev->process, .thread = ev->thread, .stream = ev->stream};
			*rank = r->count;
		}
		lane = r->last = &r->lane[*rank - 1];
	}
	/* Who was open when calls were not recorded may have ended meanwhile. */
	if (r->unseen != NULL && lane->time_ns != 0 &&
	    isc_unseen_pause(isc_unseen_of(r->unseen, ev->process), &lane->pause, lane->time_ns, ev->time_ns, &pause))
		lane->stale = lane->depth;
	lane->gap = ev->number != lane->expected;
	lane->expected = ev->number + 1;
	return lane;
}

isc_status isc_crossing_enter(isc_crossing_lane *lane, isc_totals *totals, uint64_t ns, isc_error *err)
{
	isc_status st = ISC_OK;

	lane->inside = true;
	for (size_t i = lane->stale; i < lane->depth && st == ISC_OK; i++)
		st = isc_totals_open_call(totals, lane->process, lane->thread, lane->stream, lane->open[i], ns, err);
	if (st == ISC_OK && lane->wait_call != 0)
		st = isc_totals_open_wait(totals, lane->process, lane->thread, lane->stream, lane->wait_call,
					  lane->wait_stack, ns, err);
	return st;
}

void isc_crossing_leave(isc_crossing_lane *lane, isc_totals *totals, uint64_t ns)
{
	lane->inside = false;
	isc_totals_close_calls(totals, lane->process, lane->thread, lane->stream, ns);
}

/* As the totals do: its exit ends it, and so does what only a running thread can tell. */
static void note_wait(isc_crossing_lane *lane, const isc_event *ev)
{
	if (ev->kind == ISC_KIND_WAIT_ENTER && ev->arg < ISC_WAIT_CALLS) {
		lane->wait_call = ev->arg;
		lane->wait_stack = ev->id;
	} else if (ev->kind <= ISC_KIND_MISSED || (ev->kind == ISC_KIND_WAIT_EXIT && ev->arg == lane->wait_call)) {
		lane->wait_call = 0;
	}
}

bool isc_crossing_note(isc_crossing_lane *lane, isc_arena *arena, const isc_event *ev)
{
	size_t i;
	uint32_t *code;

	lane->time_ns = ev->time_ns;
	note_wait(lane, ev);
	switch (ev->kind) {
	case ISC_KIND_CALL_ENTER:
	case ISC_KIND_CALL_RESUME:
	case ISC_KIND_C_ENTER:
		if (lane->depth >= DEPTH_MAX)
			return true;
		code = isc_arena_push(arena, &lane->open, &lane->depth, &lane->room, sizeof(*code));
		if (code != NULL)
			*code = ev->id;
		return code != NULL;
	case ISC_KIND_CALL_EXIT:
	case ISC_KIND_C_EXIT:
		/* Those above it have ended too, unseen; one that is not open says nothing. */
		for (i = lane->depth; i > 0 && lane->open[i - 1] != ev->id;)
			i--;
		lane->depth = i > 0 ? i - 1 : lane->depth;
		/* Who ends now was open all the time, and so was who had called it. */
		if (i > 0 && lane->depth < lane->stale)
			lane->stale = 0;
		return true;
	default:
		return true;
	}
}
