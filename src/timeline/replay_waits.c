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

static void hold(isc_replay_lane *l, const isc_slice *slice, const isc_thread_interval *i)
{
	l->held.slice = *slice;
	l->held.from_ns = i->from_ns;
	l->held.to_ns = i->to_ns;
	l->held.there = true;
}

bool isc_replay_interval(void *self, const isc_thread_interval *i)
{
	isc_replay *s = self;
	isc_replay_lane *l = s->pausing;
	isc_slice slice;

	if (i->kind == ISC_INTERVAL_BRIEF)
		return true;
	slice = i->state == ISC_STATE_GC ? slice_of(l, ISC_SLICE_GC, i->generation, 0, "garbage collection")
					 : slice_of(l, ISC_SLICE_WAIT, i->call, i->stack, isc_wait_name(i->call));
	slice.state = i->state;
	slice.holder = i->holder;
	slice.flags = i->open ? ISC_SLICE_UNFINISHED : 0;
	if (i->state == ISC_STATE_GC || i->open)
		tell(s, l, &slice, i->from_ns, i->to_ns);
	else
		hold(l, &slice, i);
	return true;
}

static void syscall_ended(isc_replay *s, isc_replay_lane *l, const isc_event *ev)
{
	const char *name = isc_syscall_name(ev->arg);
	isc_syscall_slow body;
	uint64_t from_ns;
	isc_slice slice;

	if (ev->extra_len < sizeof(body) || name == NULL)
		return;
	memcpy(&body, ev->extra, sizeof(body));
	from_ns = isc_states_began_ns(&s->states, ev->time_ns, body.ticks);
	slice = slice_of(l, ISC_SLICE_SYSCALL, ev->arg, ev->id, name);
	if (l->held.there && l->held.to_ns == ev->time_ns && l->held.from_ns == from_ns) {
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
	tell(s, l, &slice, from_ns, ev->time_ns);
}

bool isc_replay_pause(isc_replay *s, isc_replay_lane *l, const isc_event *ev)
{
	/* Sums of system calls may stand between a wait and its call. */
	if (ev->kind < ISC_KIND_SYSCALLS || ev->kind > ISC_KIND_SYSCALL_ERRORS)
		let_go(s, l);
	s->pausing = l;
	s->failed |= !isc_states_take(&s->states, ev);
	if (ev->kind == ISC_KIND_SYSCALL)
		syscall_ended(s, l, ev);
	return ev->kind == ISC_KIND_WAIT_ENTER || ev->kind == ISC_KIND_WAIT_EXIT || ev->kind == ISC_KIND_GC ||
	       ev->kind == ISC_KIND_SYSCALL;
}

void isc_replay_end_pauses(isc_replay *s, isc_replay_lane *l, uint64_t ns)
{
	let_go(s, l);
	s->pausing = l;
	s->failed |= l->on != NULL && !isc_states_end_open(&s->states, l->on->thread, l->stream, ns);
}
