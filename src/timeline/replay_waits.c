/*
 * replay_waits.c - waits, slow system calls and collections of garbage as slices.
 *
 * All three are told of at their end and say how long they took.  A system call that was a
 * wait is told of twice by the program, the wait first: here they are one slice.
 */
#include <string.h>

#include "base/syscall.h"
#include "timeline/replay.h"
#include "trace/kinds.h"

static uint64_t began(const isc_replay *s, const isc_event *ev, uint64_t ticks)
{
	double ns = (double)ticks * s->ns_per_tick;

	return ns < (double)ev->time_ns ? ev->time_ns - (uint64_t)ns : 0;
}

/* pprof adds waits to the time of their stack. */
static void tell_sample(isc_replay *s, const isc_slice *slice)
{
	isc_listener_sample sample = {.on = slice->on,
				      .stack = slice->stack,
				      .task = slice->task,
				      .cpu = slice->cpu,
				      .state = slice->name.at,
				      .time_ns = slice->start_ns,
				      .wait_ns = slice->end_ns - slice->start_ns};

	if (slice->kind == ISC_SLICE_WAIT && slice->stack != 0 && s->class->sample != NULL)
		s->class->sample(s->self, &sample);
}

static void tell_piece(isc_replay *s, isc_replay_lane *l, isc_slice *slice, uint64_t from_ns, uint64_t to_ns)
{
	isc_slice *around = l->depth > 0 ? &l->open[l->depth - 1].slice : NULL;

	slice->start_ns = isc_replay_since_start(s, from_ns);
	/* It began inside the call that it ends in. */
	if (around != NULL && slice->start_ns < around->start_ns)
		slice->start_ns = around->start_ns;
	slice->end_ns = slice->start_ns;
	if (s->class->open != NULL)
		s->class->open(s->self, slice);
	slice->end_ns = isc_replay_since_start(s, to_ns);
	slice->end_ns = slice->end_ns > slice->start_ns ? slice->end_ns : slice->start_ns;
	/* Calls that were made in a collection are in there already. */
	if (around != NULL && slice->kind != ISC_SLICE_GC)
		around->inner_ns += slice->end_ns - slice->start_ns;
	s->counts->slices++;
	s->counts->unfinished += (slice->flags & ISC_SLICE_UNFINISHED) != 0;
	if (s->class->close != NULL)
		s->class->close(s->self, slice);
	tell_sample(s, slice);
}

/* What of it lies inside, stretch by stretch, in the order of time with the calls around it. */
static void tell(isc_replay *s, isc_replay_lane *l, const isc_slice *whole, uint64_t from_ns, uint64_t to_ns)
{
	for (size_t i = isc_cut_find(s->cut, from_ns); i < s->cut->count && s->cut->stretch[i].from_ns <= to_ns; i++) {
		const isc_stretch *part = &s->cut->stretch[i];
		uint64_t from = part->from_ns > from_ns ? part->from_ns : from_ns;
		uint64_t to = part->to_ns < to_ns ? part->to_ns : to_ns;
		isc_slice piece = *whole;

		if (from > from_ns || to < to_ns) {
			piece.flags |= ISC_SLICE_CUT;
			if (from == to)
				continue;
		}
		isc_replay_advance(s, l, from);
		tell_piece(s, l, &piece, from, to);
	}
}

static isc_slice slice_of(const isc_replay_lane *l, uint8_t kind, uint32_t id, uint32_t stack, const char *name)
{
	return (isc_slice){.on = l->on,
			   .kind = kind,
			   .id = id,
			   .stack = stack,
			   .name = {name, (uint32_t)strlen(name)},
			   .stream = l->stream,
			   .depth = (uint16_t)l->depth,
			   .task = l->task,
			   .cpu = l->cpu};
}

static void let_go(isc_replay *s, isc_replay_lane *l)
{
	if (!l->held.there)
		return;
	l->held.there = false;
	tell(s, l, &l->held.slice, l->held.from_ns, l->held.to_ns);
}

/* One that was begun and has no end of its own. */
static void abandon(isc_replay *s, isc_replay_lane *l, uint64_t ns)
{
	isc_slice slice;

	if (l->wait.call == 0)
		return;
	slice = slice_of(l, ISC_SLICE_WAIT, l->wait.call, l->wait.stack, isc_wait_name(l->wait.call));
	slice.flags = ISC_SLICE_UNFINISHED;
	l->wait.call = 0;
	if (ns > l->wait.since_ns)
		tell(s, l, &slice, l->wait.since_ns, ns);
}

static void wait_began(isc_replay_lane *l, const isc_event *ev)
{
	if (isc_wait_name(ev->arg) == NULL)
		return;
	l->wait.call = ev->arg;
	l->wait.stack = ev->id;
	l->wait.since_ns = ev->time_ns;
}

static void wait_ended(isc_replay *s, isc_replay_lane *l, const isc_event *ev)
{
	const char *name = isc_wait_name(ev->arg);
	uint32_t stack = ev->id;
	isc_wait body;

	if (ev->extra_len < sizeof(body) || name == NULL)
		return;
	memcpy(&body, ev->extra, sizeof(body));
	if (l->wait.call == ev->arg) {
		stack = stack != 0 ? stack : l->wait.stack;
		l->wait.call = 0;
	}
	l->held.slice = slice_of(l, ISC_SLICE_WAIT, ev->arg, stack, name);
	l->held.slice.holder = body.holder;
	l->held.from_ns = began(s, ev, body.ticks);
	l->held.to_ns = ev->time_ns;
	l->held.ticks = body.ticks;
	l->held.there = true;
}

static void syscall_ended(isc_replay *s, isc_replay_lane *l, const isc_event *ev)
{
	const char *name = isc_syscall_name(ev->arg);
	isc_syscall_slow body;
	isc_slice slice;

	if (ev->extra_len < sizeof(body) || name == NULL)
		return;
	memcpy(&body, ev->extra, sizeof(body));
	slice = slice_of(l, ISC_SLICE_SYSCALL, ev->arg, ev->id, name);
	if (l->held.there && l->held.to_ns == ev->time_ns && l->held.ticks == body.ticks) {
		l->held.slice.call = slice.name;
		l->held.slice.bytes = body.bytes;
		l->held.slice.error = body.error;
		let_go(s, l);
		return;
	}
	let_go(s, l);
	slice.call = slice.name;
	slice.bytes = body.bytes;
	slice.error = body.error;
	tell(s, l, &slice, began(s, ev, body.ticks), ev->time_ns);
}

static void collected(isc_replay *s, isc_replay_lane *l, const isc_event *ev)
{
	isc_slice slice = slice_of(l, ISC_SLICE_GC, ev->arg, 0, "garbage collection");
	isc_gc body;

	if (ev->extra_len < sizeof(body) || ev->arg == ISC_GC_WATCHED)
		return;
	memcpy(&body, ev->extra, sizeof(body));
	tell(s, l, &slice, began(s, ev, body.ticks), ev->time_ns);
}

bool isc_replay_pause(isc_replay *s, isc_replay_lane *l, const isc_event *ev)
{
	/* Sums of system calls may stand between a wait and its call. */
	if (ev->kind < ISC_KIND_SYSCALLS || ev->kind > ISC_KIND_SYSCALL_ERRORS)
		let_go(s, l);
	/* The program runs, or waits for something else: it has jumped out of the wait. */
	if (ev->kind <= ISC_KIND_MISSED || ev->kind == ISC_KIND_WAIT_ENTER)
		abandon(s, l, ev->time_ns);
	switch (ev->kind) {
	case ISC_KIND_WAIT_ENTER:
		wait_began(l, ev);
		return true;
	case ISC_KIND_WAIT_EXIT:
		wait_ended(s, l, ev);
		return true;
	case ISC_KIND_SYSCALL:
		syscall_ended(s, l, ev);
		return true;
	case ISC_KIND_GC:
		collected(s, l, ev);
		return true;
	default:
		return false;
	}
}

void isc_replay_end_pauses(isc_replay *s, isc_replay_lane *l, uint64_t ns)
{
	let_go(s, l);
	abandon(s, l, ns);
}
