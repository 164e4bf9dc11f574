/*
 * unit_loops.c - which function's loop the program's work is done in, and its
 * iterations as units.
 *
 * Every call that took LONG_NS or more is a sign that its caller may loop.  A
 * loop is known by the code of that caller, so threads that each serve one
 * request are one loop too.  Its members are what it calls.
 *
 * Rows are made for the loops that unit_election.c elects.  Each remembers its
 * last calls, so that iterations before the election get their rows with it.
 *
 * A member that follows itself is an iteration alone, and others are no members
 * then: calls in front of it that take long only now and then.  Where none does,
 * an iteration goes on until a member comes that it has already.  Where only
 * calls of members are recorded, callers are not known: a call then belongs to
 * the loop that has its code as a member.
 *
 * A caller in which nothing was called for longer than all that it had called
 * before has begun something else, as a script does after its set-up.
 */
#include <stdlib.h>
#include <string.h>

#include "trace/units/unit_loops.h"
#include "trace/writing.h"

#define LONG_NS 250000u	 /* shorter calls are parts of the work, and too many to look at each */
#define REMEMBERED 256u	 /* calls of a loop: 64 iterations of four members */
#define OPEN 64u	 /* iterations of a loop with several members, each on its thread */
#define ASIDE_NS 10e9	 /* a loop that was not heard of for so long makes room for others */
#define BRIEF_CALLS 16u	 /* of fewer the mean says little */
#define DEPTH_LOOKED 64u /* frames below, for a caller in Python or an import */

static void free_loop(struct isc_unit_loop *l)
{
	if (l != NULL) {
		free(l->ring);
		free(l->open);
	}
	free(l);
}

void isc_unit_log_loops_free(struct isc_unit_loops *loops)
{
	for (uint32_t i = 0; loops != NULL && i < loops->count; i++)
		free_loop(loops->loop[i]);
	free(loops);
}

void isc_unit_log_clock(isc_unit_log *u, isc_totals *t, uint32_t source, isc_clock_pair first, isc_clock_pair last)
{
	u->now = last.ticks > u->now ? last.ticks : u->now;
	/* Pairs are read to about 100 ns. */
	if (source == 0)
		u->ticks_per_ns = 1;
	else if (last.mono_ns > first.mono_ns + 100000 && last.ticks > first.ticks)
		u->ticks_per_ns = (double)(last.ticks - first.ticks) / (double)(last.mono_ns - first.mono_ns);
	t->unit_ticks = u->ticks_per_ns > 0 ? (uint64_t)(LONG_NS * u->ticks_per_ns) : UINT64_MAX;
}

/* ---- iterations ---- */

static void add_row(isc_totals *t, isc_unit_process *p, struct isc_unit_loop *l, const struct isc_unit_iteration *it)
{
	isc_unit_log_add(t->units, p,
			 &(isc_unit_row){.process = p->process,
					 .thread = it->thread,
					 .source = ISC_UNIT_LOOP,
					 .name = it->name,
					 .parent = l->code,
					 .begin = it->begin,
					 .end = it->end});
	l->recent[l->recent_count++ % ISC_UNIT_RECENT] = it->end - it->begin;
	isc_totals_unit_begin(t, it->begin);
	isc_totals_unit_end(t, it->end);
}

static void end_iteration(isc_totals *t, isc_unit_process *p, struct isc_unit_loop *l, uint32_t i)
{
	add_row(t, p, l, &l->open[i]);
	memmove(&l->open[i], &l->open[i + 1], (--l->open_count - i) * sizeof(*l->open));
}

static void end_iterations(isc_totals *t, isc_unit_process *p, struct isc_unit_loop *l)
{
	while (l->open_count > 0)
		end_iteration(t, p, l, 0);
}

static void go_on(isc_totals *t, isc_unit_process *p, struct isc_unit_loop *l, const struct isc_unit_member *m,
		  const struct isc_unit_call *c)
{
	const struct isc_unit_iteration fresh = {c->begin, c->end,    c->instance,
						 c->code,  c->thread, 1u << (m - l->member)};
	uint32_t i = 0;

	if (l->each) {
		add_row(t, p, l, &fresh);
		return;
	}
	if (l->open == NULL)
		l->open = calloc(OPEN, sizeof(*l->open));
	if (l->open == NULL)
		return;
	while (i < l->open_count && l->open[i].thread != c->thread)
		i++;
	if (i < l->open_count) {
		struct isc_unit_iteration *it = &l->open[i];

		if ((it->members & fresh.members) == 0 &&
		    (it->instance == c->instance || it->instance == 0 || c->instance == 0)) {
			it->end = c->end > it->end ? c->end : it->end;
			it->instance = it->instance != 0 ? it->instance : c->instance;
			it->members |= fresh.members;
			return;
		}
		end_iteration(t, p, l, i);
	}
	if (l->open_count == OPEN)
		end_iteration(t, p, l, 0);
	l->open[l->open_count++] = fresh;
}

static void remember(struct isc_unit_loop *l, const struct isc_unit_call *c)
{
	if (l->ring_count >= l->ring_room && l->ring_room < REMEMBERED) {
		uint32_t room = l->ring_room != 0 ? l->ring_room * 4 : 16;
		struct isc_unit_call *bigger = realloc(l->ring, room * sizeof(*bigger));

		if (bigger == NULL)
			return;
		l->ring = bigger;
		l->ring_room = room;
	}
	l->ring[l->ring_count++ % l->ring_room] = *c;
}

/* Calls before the election.  Where the oldest are gone, the first whole iteration begins with its head. */
static void replay(isc_totals *t, isc_unit_process *p, struct isc_unit_loop *l)
{
	uint32_t n = l->ring_count < l->ring_room ? l->ring_count : l->ring_room;
	bool begun = n == l->ring_count;

	for (uint32_t i = l->ring_count - n; i != l->ring_count; i++) {
		const struct isc_unit_call *c = &l->ring[i % l->ring_room];
		const struct isc_unit_member *m = isc_unit_loop_member(l, c->code);

		begun |= c->code == l->head;
		if (begun && m != NULL)
			go_on(t, p, l, m, c);
	}
	free(l->ring);
	l->ring = NULL;
	l->ring_room = l->ring_count = 0;
}

/* ---- elections ---- */

static void elect_loops(isc_totals *t, isc_unit_process *p)
{
	struct isc_unit_loops *loops = p->loops;

	loops->fresh = false;
	isc_unit_loops_choose(t, p->process, loops);
	for (uint32_t i = 0; i < loops->count; i++) {
		struct isc_unit_loop *l = loops->loop[i];

		if (l->chosen && !l->elected)
			replay(t, p, l);
		else if (!l->chosen && l->elected)
			end_iterations(t, p, l);
		l->elected = l->chosen;
		if (l->looked > ISC_UNIT_RECENT) {
			l->looked /= 2;
			l->inside /= 2;
		}
	}
}

/* Calls that take long for once, as others had the CPU: there is no room for all of those. */
static bool is_brief(const isc_totals *t, const isc_total_function *f)
{
	return f->calls > BRIEF_CALLS && f->total_ticks / f->calls < t->unit_ticks / 4;
}

/* ---- calls ---- */

/* The one that makes room: not heard of for long, or else the deepest that is no loop so far, or else the deepest: what lies
 * inside a loop of many levels is heard of first, and it is the outermost that counts. */
static struct isc_unit_loop **find_victim(const isc_unit_log *u, struct isc_unit_loops *loops, uint64_t now,
					  uint32_t depth)
{
	struct isc_unit_loop **found = NULL, **inside = NULL;

	for (uint32_t i = 0; i < loops->count; i++) {
		struct isc_unit_loop **l = &loops->loop[i];

		if ((*l)->elected)
			continue;
		if (now > (*l)->heard && (double)(now - (*l)->heard) > ASIDE_NS * u->ticks_per_ns)
			return l;
		if (!(*l)->holds && (*l)->depth > depth && (found == NULL || (*l)->depth > (*found)->depth))
			found = l;
		if ((*l)->depth > depth && (inside == NULL || (*l)->depth > (*inside)->depth))
			inside = l;
	}
	return found != NULL ? found : inside;
}

static struct isc_unit_loop *loop_of(const isc_unit_log *u, struct isc_unit_loops *loops, uint32_t code, uint64_t now,
				     uint32_t depth)
{
	struct isc_unit_loop **place = NULL, *l;

	for (uint32_t i = 0; i < loops->count; i++) {
		if (loops->loop[i]->code == code)
			return loops->loop[i];
	}
	place = loops->count < ISC_UNIT_LOOPS ? &loops->loop[loops->count] : find_victim(u, loops, now, depth);
	l = place != NULL ? calloc(1, sizeof(*l)) : NULL;
	if (l == NULL)
		return NULL;
	if (loops->count < ISC_UNIT_LOOPS)
		loops->count++;
	else
		free_loop(*place);
	*place = l;
	l->code = code;
	l->depth = UINT32_MAX;
	l->since = UINT64_MAX;
	return l;
}

static struct isc_unit_member *member_of(struct isc_unit_loop *l, uint32_t code, uint64_t now)
{
	struct isc_unit_member *found = NULL;

	for (uint32_t i = 0; i < l->members; i++) {
		struct isc_unit_member *m = &l->member[i];

		if (m->code == code)
			return m;
		if (found == NULL || m->count < found->count || (m->count == found->count && m->took < found->took))
			found = m;
	}
	if (l->members < ISC_UNIT_MEMBERS)
		found = &l->member[l->members++];
	else
		l->other += found->took;
	*found = (struct isc_unit_member){.code = code, .born = now};
	return found;
}

/* Is it made inside a member of another loop that is elected? */
static bool is_inside(const struct isc_unit_loops *loops, struct isc_unit_loop *l, const isc_totals_calls *c,
		      uint32_t own)
{
	for (uint32_t i = 0; i < loops->code_count; i++) {
		uint32_t code = loops->codes[i];

		if (isc_unit_loop_member(l, code) == NULL && isc_totals_calls_active(c, code) > (code == own))
			return true;
	}
	return false;
}

/* What it did so far was set-up. */
static void begin_anew(struct isc_unit_loop *l)
{
	l->span = l->other = 0;
	l->since = UINT64_MAX;
	l->members = l->looked = l->inside = l->ring_count = 0;
}

static void count_call(isc_totals *t, isc_unit_process *p, const isc_totals_calls *c, isc_totals_call *parent,
		       uint32_t depth, uint64_t waited, const struct isc_unit_call *made)
{
	struct isc_unit_loop *l = loop_of(t->units, p->loops, parent->id, made->end, depth);
	uint64_t took = made->end - made->begin, between = 0;
	uint64_t idle = parent->waited > parent->told ? parent->waited - parent->told : 0;
	struct isc_unit_member *m;
	bool again;

	if (l == NULL)
		return;
	if (parent->until != 0 && parent->until < made->begin)
		between = made->begin - parent->until;
	/* Less waits of the caller itself, and of what is no member. */
	between -= idle < between ? idle : between;
	if (!l->elected && between > l->span) {
		begin_anew(l);
		between = 0;
	}
	parent->until = made->end;
	parent->told = parent->waited + waited;
	again = parent->long_call == made->code;
	parent->long_call = made->code;
	l->depth = depth < l->depth ? depth : l->depth;
	l->since = made->begin < l->since ? made->begin : l->since;
	l->heard = made->end > l->heard ? made->end : l->heard;
	l->span += between + took;
	m = member_of(l, made->code, made->end);
	m->count++;
	m->again += again;
	m->took += took;
	m->waited += waited;
	l->looked++;
	l->inside += is_inside(p->loops, l, c, made->code);
	p->loops->fresh = true;
	if (!l->elected)
		remember(l, made);
	else if (m->in)
		go_on(t, p, l, m, made);
	/* At 3, 4 and every power of two. */
	if (m->count == ISC_UNIT_LEAST_COUNT || (m->count > ISC_UNIT_LEAST_COUNT && (m->count & (m->count - 1)) == 0))
		elect_loops(t, p);
}

/* Its caller is not known: the elected loop that it is a member of. */
static void count_orphan(isc_totals *t, isc_unit_process *p, const struct isc_unit_call *made)
{
	for (uint32_t i = 0; i < p->loops->count; i++) {
		struct isc_unit_loop *l = p->loops->loop[i];

		struct isc_unit_member *m = l->elected ? isc_unit_loop_member(l, made->code) : NULL;

		if (m != NULL) {
			/* It goes on to count, or loops inside its iterations would seem to do more than it. */
			m->count++;
			m->took += made->end - made->begin;
			l->span += made->end - made->begin;
			l->looked++;
			l->heard = made->end > l->heard ? made->end : l->heard;
			go_on(t, p, l, m, made);
			return;
		}
	}
}

/* A module's body is an import, unless it was begun when the process had not started: that is the program. */
static bool is_import(const isc_totals *t, const isc_totals_calls *c)
{
	uint64_t started = t->processes[c->process].calls.startup_end;
	size_t floor = c->depth > DEPTH_LOOKED ? c->depth - DEPTH_LOOKED : 1;

	for (size_t i = c->depth; c->importing > 0 && i-- > floor;) {
		const isc_totals_call *call = &c->open[i];

		if (call->id != ISC_CALL_GAP && t->functions[call->function].module &&
		    (started == 0 || call->begin > started))
			return true;
	}
	return false;
}

/* The frame that made the call on top; NULL: it was not seen. */
static isc_totals_call *find_caller(const isc_totals_calls *c, uint32_t *depth)
{
	size_t floor = c->depth > DEPTH_LOOKED ? c->depth - DEPTH_LOOKED : 0;

	for (size_t i = c->depth - 1; i-- > floor;) {
		if (c->open[i].id == ISC_CALL_GAP)
			return NULL;
		if (!(c->open[i].how & ISC_CALL_OF_C)) {
			*depth = (uint32_t)i;
			return &c->open[i];
		}
	}
	return NULL;
}

/* The caller's last iteration ends with it. */
static void end_caller(isc_totals *t, isc_unit_process *p, const isc_totals_lane *lane, const isc_totals_call *call)
{
	for (uint32_t i = 0; i < p->loops->count; i++) {
		struct isc_unit_loop *l = p->loops->loop[i];

		for (uint32_t k = 0; l->code == call->id && k < l->open_count; k++) {
			if (l->open[k].thread == lane->thread && l->open[k].instance == call->begin) {
				end_iteration(t, p, l, k);
				return;
			}
		}
	}
}

/* The call on top of a lane. */
static void count_made(isc_totals *t, isc_unit_process *p, const isc_totals_calls *c, uint64_t waited,
		       struct isc_unit_call *made)
{
	uint32_t depth = 0;
	isc_totals_call *parent = c->open[c->depth - 1].how & ISC_CALL_GATED ? NULL : find_caller(c, &depth);

	if (parent == NULL) {
		count_orphan(t, p, made);
		return;
	}
	/* A coroutine has a frame for each of its steps. */
	made->instance = c->task != 0 ? c->task_key : parent->begin;
	count_call(t, p, c, parent, depth, waited, made);
}

void isc_unit_log_called(isc_totals *t, const isc_totals_lane *lane, const isc_record *r)
{
	const isc_totals_calls *c = lane->calls;
	const isc_totals_call *call = &c->open[c->depth - 1];
	struct isc_unit_call made = {call->begin, r->ticks, 0, call->id, lane->thread};
	isc_unit_process *p = isc_unit_log_of(t->units, lane->process);
	const isc_total_function *f = &t->functions[call->function];

	if (p == NULL || r->ticks <= call->begin)
		return;
	isc_unit_log_passed(t, p, lane, r);
	if (p->loops == NULL && (p->loops = calloc(1, sizeof(*p->loops))) == NULL)
		return;
	end_caller(t, p, lane, call);
	if (call->how & (ISC_CALL_OF_C | ISC_CALL_RESUMED) || r->arg == ISC_CALL_YIELDED || !call->outermost ||
	    f->module || f->code & ISC_TOTAL_REST || is_brief(t, f) || is_import(t, c))
		return;
	count_made(t, p, c, call->waited, &made);
}

void isc_unit_log_loops_await(isc_totals *t, isc_unit_process *p, const isc_totals_lane *lane, uint64_t begin,
			      uint64_t end, uint64_t waited)
{
	const isc_totals_calls *c = lane->calls;
	struct isc_unit_call made = {begin, end, 0, c->open[c->depth - 1].id, lane->thread};

	if ((p->loops != NULL || (p->loops = calloc(1, sizeof(*p->loops))) != NULL) && !is_import(t, c))
		count_made(t, p, c, waited, &made);
}

void isc_unit_log_loops_flush(isc_totals *t, isc_unit_process *p, bool last)
{
	if (p->loops == NULL)
		return;
	if (p->loops->fresh)
		elect_loops(t, p);
	for (uint32_t i = 0; last && i < p->loops->count; i++)
		end_iterations(t, p, p->loops->loop[i]);
}

/* ---- what the recorder asks ---- */

static const struct isc_unit_loops *loops_of(const isc_writer *w, uint32_t process)
{
	const uint64_t *at = isc_hashmap_find(&w->units->by_process, process);

	return at != NULL ? w->units->processes[*at]->loops : NULL;
}

size_t isc_writer_unit_codes(const isc_writer *w, uint32_t process, uint32_t codes[8])
{
	const struct isc_unit_loops *loops = loops_of(w, process);

	if (loops == NULL)
		return 0;
	memcpy(codes, loops->codes, loops->code_count * sizeof(*codes));
	return loops->code_count;
}

static int by_length(const void *a, const void *b)
{
	const uint64_t *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

uint64_t isc_writer_unit_ns(const isc_writer *w, uint32_t process)
{
	const struct isc_unit_loops *loops = loops_of(w, process);
	const struct isc_unit_loop *l = loops != NULL ? loops->winner : NULL;
	uint32_t n = l == NULL ? 0 : l->recent_count < ISC_UNIT_RECENT ? l->recent_count : ISC_UNIT_RECENT;
	uint64_t sorted[ISC_UNIT_RECENT];

	if (n == 0)
		return 0;
	memcpy(sorted, l->recent, n * sizeof(*sorted));
	qsort(sorted, n, sizeof(*sorted), by_length);
	return (uint64_t)((double)sorted[(n - 1) * 9 / 10] / w->units->ticks_per_ns);
}
