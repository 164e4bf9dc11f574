/*
 * phase_load.c - what the survey adds: when a process used its CPUs and whether samples saw imports then, and when its
 * main thread waited for work.
 */
#include <stdlib.h>
#include <string.h>

#include "analyze/code/stack_facts.h"
#include "analyze/phases/phases.h"
#include "trace/frame.h"

#define SLICES_MAX 4096u      /* of a session: 64 KiB a process */
#define SLICE_NS 10000000u    /* or longer */
#define SLICED_MAX 256u	      /* processes */
#define IDLE_MAX 16384u	      /* times without work, of a process */
#define IDLE_NS 1000000u      /* shorter waits are no time without work */
#define IDLE_JOIN_NS 5000000u /* what is done between two of them is not work */
#define IDLE_SHARE 0.9	      /* of a time in which there is no work */
#define QUIET_NS 200000000u   /* without a sample: what is on either side may have nothing in common */
#define IMPORT_HALF 0.5f      /* of a slice's CPU time: it imports */
#define DEPTH_MAX 512u	      /* as stacks have */
#define OUTERMOST 3u	      /* functions of the program that say what it does */
#define PLACE_SHARE 0.6	      /* of the CPU time: what has less is not what the program does */

/* What is known of a stack, in one number: */
#define KNOWN 1u
#define IMPORTS 2u
#define PYTHON 4u
#define FUNCTIONS(facts) ((facts) >> 3 & 3u) /* of the program, OUTERMOST at most */
#define PLACE(facts) ((uint32_t)((facts) >> 32))

/* ---- stacks ---- */

static bool is_importlib(const isc_frame *f)
{
	static const char frozen[] = "<frozen importlib";

	return f->file.len >= sizeof(frozen) - 1 && memcmp(f->file.at, frozen, sizeof(frozen) - 1) == 0;
}

/* Of a stack from what is known of its caller's. */
static uint64_t add_frame(uint64_t facts, const isc_frame *f)
{
	if (f->kind != ISC_FRAME_PYTHON)
		return facts;
	facts |= PYTHON | (is_importlib(f) ? IMPORTS : 0);
	if (FUNCTIONS(facts) < OUTERMOST && f->code != 0 && !isc_stack_is_installed(&f->file))
		facts = ((uint64_t)(PLACE(facts) * 0x9e3779b1u + f->code) << 32 | (facts & UINT32_MAX)) + 8;
	return facts;
}

/* Every stack on the way to the answer gets its own too: stacks share their callers.  0: no memory. */
static uint64_t facts_of(isc_phases *s, uint32_t process, uint32_t stack)
{
	uint32_t path[DEPTH_MAX], id = stack;
	uint64_t facts = KNOWN, *known = NULL;
	size_t depth = 0;
	isc_frame frame;

	while (id != 0 && depth < DEPTH_MAX) {
		known = isc_hashmap_find(&s->stack_of, isc_hashmap_key(process, id));
		if (known != NULL || !isc_trace_frame(s->b->trace, process, id, &frame))
			break;
		path[depth++] = id;
		id = frame.parent;
	}
	facts = known != NULL ? *known : facts;
	while (depth-- > 0) {
		if (isc_trace_frame(s->b->trace, process, path[depth], &frame))
			facts = add_frame(facts, &frame);
		known = isc_hashmap_put(&s->stack_of, isc_hashmap_key(process, path[depth]), NULL);
		if (known == NULL)
			return 0;
		*known = facts;
	}
	return facts;
}

/* ---- the survey ---- */

static isc_phase_slice *slice_of(isc_phases *s, isc_phase_process *p, uint64_t time_ns)
{
	uint64_t at = time_ns > s->b->start_ns ? (time_ns - s->b->start_ns) / s->slice_ns : 0;

	if (p->slice == NULL && s->sliced < SLICED_MAX) {
		p->slice = isc_arena_array(s->b->arena, s->slices, sizeof(*p->slice));
		s->no_memory |= p->slice == NULL;
		s->sliced++;
	}
	return p->slice != NULL ? &p->slice[at < s->slices ? at : s->slices - 1] : NULL;
}

/* The place with more than half of the votes keeps some. */
static void vote(isc_phase_slice *slice, uint32_t place, float ns)
{
	if (slice->place == place) {
		slice->votes += ns;
	} else if (slice->votes >= ns) {
		slice->votes -= ns;
	} else {
		slice->place = place;
		slice->votes = ns - slice->votes;
	}
}

static bool take_sample(isc_phases *s, const isc_event *ev)
{
	isc_phase_process *p = isc_phase_process_of(s, ev->process);
	isc_phase_slice *slice = p != NULL ? slice_of(s, p, ev->time_ns) : NULL;
	isc_sample body;
	uint64_t facts;
	float ns;

	if (slice == NULL || ev->extra_len < sizeof(body))
		return !s->no_memory;
	memcpy(&body, ev->extra, sizeof(body));
	facts = facts_of(s, ev->process, ev->id);
	ns = (float)ev->arg * (float)body.period_ns;
	slice->cpu_ns += ns;
	slice->import_ns += facts & IMPORTS ? ns : 0;
	/* The place of what is no Python is that of nothing. */
	vote(slice, facts & PYTHON ? PLACE(facts) : 0, ns);
	if (!p->called && facts & PYTHON && (p->first_ns == 0 || ev->time_ns < p->first_ns))
		p->first_ns = ev->time_ns;
	return facts != 0;
}

/* For a request, or for children that do the work. */
static bool is_for_others(uint16_t call)
{
	return call == ISC_WAIT_ACCEPT || call == ISC_WAIT_SELECT || call == ISC_WAIT_EPOLL || call == ISC_WAIT_CHILD;
}

static bool add_idle(isc_phases *s, isc_phase_process *p, uint64_t from_ns, uint64_t to_ns)
{
	isc_phase_span *last = p->idle_count > 0 ? &p->idle[p->idle_count - 1] : NULL;

	if (last != NULL && from_ns <= last->to_ns + IDLE_JOIN_NS) {
		last->to_ns = to_ns > last->to_ns ? to_ns : last->to_ns;
		return true;
	}
	if (p->idle_count >= IDLE_MAX)
		return true;
	last = isc_arena_push(s->b->arena, &p->idle, &p->idle_count, &p->idle_room, sizeof(*last));
	if (last != NULL)
		*last = (isc_phase_span){from_ns, to_ns, 0};
	return last != NULL;
}

/* A wait of a main thread. */
static bool take_wait(isc_phases *s, const isc_event *ev)
{
	const isc_trace_thread *t = isc_trace_thread_find(s->b->trace, ev->thread);
	isc_phase_process *p;
	isc_wait wait;
	double ns;

	if (!is_for_others(ev->arg) || ev->extra_len < sizeof(wait) || t == NULL || !(t->flags & ISC_THREAD_MAIN))
		return true;
	memcpy(&wait, ev->extra, sizeof(wait));
	ns = (double)wait.ticks * s->b->tick_us * 1e3;
	if (ns < IDLE_NS || ns > (double)ev->time_ns)
		return true;
	p = isc_phase_process_of(s, ev->process);
	return p != NULL ? add_idle(s, p, ev->time_ns - (uint64_t)ns, ev->time_ns) : !s->no_memory;
}

static bool take_event(void *self, const isc_event *ev)
{
	if (ev->kind == ISC_KIND_SAMPLE)
		return take_sample(self, ev);
	return ev->kind != ISC_KIND_WAIT_EXIT || take_wait(self, ev);
}

void isc_phase_load_join(isc_phases *s, isc_walk *walk)
{
	uint64_t length = s->b->end_ns - s->b->start_ns;

	s->slice_ns = length / SLICES_MAX > SLICE_NS ? length / SLICES_MAX + 1 : SLICE_NS;
	s->slices = length / s->slice_ns + 1;
	isc_walk_join(walk, ISC_WALK_SAMPLES | ISC_WALK_WAITS, take_event, s);
}

/* ---- what it says ---- */

static uint64_t slice_begin(const isc_phases *s, size_t i)
{
	return s->b->start_ns + i * s->slice_ns;
}

static size_t slice_at(const isc_phases *s, uint64_t time_ns)
{
	size_t i = time_ns > s->b->start_ns ? (time_ns - s->b->start_ns) / s->slice_ns : 0;

	return i < s->slices ? i : s->slices;
}

double isc_phase_load_cpu_ns(const isc_phases *s, const isc_phase_process *p, uint64_t from_ns, uint64_t to_ns)
{
	size_t from = slice_at(s, from_ns), to = slice_at(s, to_ns);
	double ns = 0;

	for (size_t i = from; p->slice != NULL && i < s->slices && i <= to; i++)
		ns += (double)p->slice[i].cpu_ns;
	return ns;
}

/* What follows a slice up to the next one with CPU time is like it: waits for files, and for a CPU. */
static uint64_t slice_end(const isc_phases *s, const isc_phase_process *p, size_t i)
{
	size_t next = i + 1;

	while (next < s->slices && p->slice[next].cpu_ns <= 0)
		next++;
	return next < s->slices && slice_begin(s, next) <= slice_begin(s, i + 1) + QUIET_NS ? slice_begin(s, next)
											    : slice_begin(s, i + 1);
}

bool isc_phase_load_imports(isc_phases *s, isc_phase_process *p)
{
	isc_phase_span *last = NULL;

	for (size_t i = 0; p->slice != NULL && i < s->slices; i++) {
		const isc_phase_slice *slice = &p->slice[i];

		if (slice->import_ns <= 0 || slice->import_ns < slice->cpu_ns * IMPORT_HALF)
			continue;
		if (last == NULL || slice_begin(s, i) > last->to_ns) {
			last = isc_arena_push(s->b->arena, &p->imports, &p->import_count, &p->import_room,
					      sizeof(*last));
			if (last == NULL)
				return false;
			last->from_ns = slice_begin(s, i);
		}
		last->to_ns = slice_end(s, p, i);
	}
	if (p->import_count > 0 && p->imports[0].from_ns < p->first_ns)
		p->imports[0].from_ns = p->first_ns;
	return true;
}

/* CPU time of one place in some slices, and where it is. */
static double weigh_place(const isc_phases *s, const isc_phase_process *p, uint32_t place, size_t from, size_t to,
			  isc_phase_span *out)
{
	double ns = 0;

	*out = (isc_phase_span){0};
	for (size_t i = from; i < to; i++) {
		if (p->slice[i].cpu_ns <= 0 || p->slice[i].place != place)
			continue;
		ns += (double)p->slice[i].cpu_ns;
		out->from_ns = out->from_ns != 0 ? out->from_ns : slice_begin(s, i);
		out->to_ns = slice_end(s, p, i);
	}
	return ns;
}

bool isc_phase_load_serving(const isc_phases *s, const isc_phase_process *p, uint64_t from_ns, uint64_t to_ns,
			    isc_phase_span *out)
{
	size_t from = slice_at(s, from_ns), to = slice_at(s, to_ns);
	isc_phase_slice most = {0};
	double all = 0, inside, its;

	if (p->slice == NULL)
		return false;
	for (size_t i = from; i < to; i++) {
		all += (double)p->slice[i].cpu_ns;
		if (p->slice[i].cpu_ns > 0)
			vote(&most, p->slice[i].place, p->slice[i].cpu_ns);
	}
	its = weigh_place(s, p, most.place, from, to, out);
	inside = its > 0 ? isc_phase_load_cpu_ns(s, p, out->from_ns, out->to_ns - 1) : 0;
	return most.place != 0 && its >= all * PLACE_SHARE && its >= inside * PLACE_SHARE;
}

/* Waits of one thread come in their order and do not overlap. */
uint64_t isc_phase_load_idle_since(const isc_phase_process *p, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t since = to_ns;
	double idle_ns = 0;

	for (size_t i = p->idle_count; i-- > 0;) {
		uint64_t from = p->idle[i].from_ns > from_ns ? p->idle[i].from_ns : from_ns;
		uint64_t to = p->idle[i].to_ns < to_ns ? p->idle[i].to_ns : to_ns;

		if (to <= from)
			continue;
		idle_ns += (double)(to - from);
		if (idle_ns >= (double)(to_ns - from) * IDLE_SHARE)
			since = from;
	}
	return since;
}
