/*
 * totals_calls.c - calls, resumes, own and whole time of every function.
 *
 * Each thread and stream has a row of open calls.  An exit ends the call on top;
 * what it took less what its own calls took is its own time, and of calls of the
 * same function inside each other only the outermost adds to the whole time, as
 * in cProfile.  A generator is left by a yield and entered again by a resume.
 *
 * Where events are missing:
 *  - An exit whose call lies deeper ends those above at the same moment.
 *  - An exit without a call is counted as unmatched and nothing else.
 *  - Lost events put a mark on top of the row.  Calls below it may have ended
 *    since; an exit of one shows that it had not, and those between it and the
 *    mark are then taken to have ended when events were last seen.  What is
 *    above the mark when events are lost again ends there too, so there is never
 *    more than one mark.
 * Functions that such a guess is about are marked as estimated.
 *
 * The cache in front of the row knows the function of an id without a lookup in
 * the table of all, and how often it is open on this lane.
 */
#include <stdlib.h>
#include <string.h>

#include "trace/totals/totals_lane.h"

#define CACHE_BITS_LEAST 6u
#define CACHE_BITS_MOST 10u
#define PROBES 4u
#define DEPTH_MAX 65536u    /* open calls of one lane */
#define SEARCH_MAX 1024u    /* for one that has no place in the cache */
#define BRIEF_TICKS 300000u /* that imports may spend in a function whose row is small: 100 us at 3 GHz */

#define UNLIKELY(x) __builtin_expect(!!(x), 0)

/* ---- the cache ---- */

static uint32_t home(const isc_totals_calls *c, uint32_t id)
{
	return (id * 0x9e3779b1u) >> (32 - c->bits);
}

/* The slot of an id; NULL: it has none. */
static isc_totals_slot *slot_of(const isc_totals_calls *c, uint32_t id)
{
	uint32_t at = home(c, id), mask = (1u << c->bits) - 1;

	for (uint32_t i = 0; i < PROBES; i++) {
		isc_totals_slot *s = &c->cache[(at + i) & mask];

		if (s->id == id && s->function != 0)
			return s;
	}
	return NULL;
}

uint32_t isc_totals_calls_active(const isc_totals_calls *c, uint32_t id)
{
	const isc_totals_slot *s = slot_of(c, id);

	return s != NULL ? s->active : 0;
}

/* A slot for a function that has none; NULL: all that it may take are of open calls. */
static isc_totals_slot *take_slot(isc_totals_calls *c, uint32_t id, size_t function)
{
	uint32_t at = home(c, id), mask = (1u << c->bits) - 1;
	isc_totals_slot *found = NULL;

	for (uint32_t i = 0; i < PROBES; i++) {
		isc_totals_slot *s = &c->cache[(at + i) & mask];

		if (s->function == 0) {
			found = s;
			break;
		}
		if (s->active == 0 && found == NULL)
			found = s;
	}
	if (found == NULL)
		return NULL;
	c->evicted += found->function != 0;
	*found = (isc_totals_slot){id, (uint32_t)function + 1, 0};
	return found;
}

/* Twice as many slots; open calls get theirs anew. */
static bool grow_cache(isc_totals_calls *c)
{
	unsigned bits = c->bits == 0 ? CACHE_BITS_LEAST : c->bits + 1;
	isc_totals_slot *bigger = calloc((size_t)1 << bits, sizeof(*bigger));

	if (bigger == NULL)
		return false;
	free(c->cache);
	c->cache = bigger;
	c->bits = bits;
	c->evicted = c->uncached = 0;
	for (size_t i = 0; i < c->depth; i++) {
		isc_totals_call *call = &c->open[i];
		isc_totals_slot *s;

		if (call->id == ISC_CALL_GAP)
			continue;
		s = slot_of(c, call->id);
		s = s != NULL ? s : take_slot(c, call->id, call->function);
		call->slot = s != NULL ? (uint16_t)(s - c->cache) : ISC_CALL_UNCACHED;
		c->uncached += s == NULL;
		if (s != NULL)
			s->active++;
	}
	return true;
}

/* The first look at a function on this lane, or the first in a while. */
static __attribute__((noinline)) bool find_function(isc_totals *t, const isc_totals_lane *lane, uint32_t id,
						    isc_totals_slot **slot, size_t *function)
{
	isc_totals_calls *c = lane->calls;
	isc_total_function *f = isc_totals_function_of(t, lane->process, id, c->importing > 0);

	if (f == NULL)
		return false;
	*function = (size_t)(f - t->functions);
	/* One without a row of its own may get it with the next call. */
	if (f->code & ISC_TOTAL_REST) {
		*slot = NULL;
		return true;
	}
	if (c->evicted >> c->bits != 0 && c->bits < CACHE_BITS_MOST && !grow_cache(c))
		return false;
	*slot = take_slot(c, id, *function);
	return true;
}

/* ---- the row of open calls ---- */

isc_totals_calls *isc_totals_calls_of(isc_totals *t, isc_totals_lane *lane)
{
	uint64_t *at = lane->calls == NULL ? isc_hashmap_find(&t->by_process, lane->process) : NULL;
	struct isc_totals_process *p;
	isc_totals_calls *c;

	if (lane->calls != NULL)
		return lane->calls;
	p = at != NULL ? &t->processes[*at] : isc_totals_add_process(t, lane->process);
	c = p != NULL ? calloc(1, sizeof(*c)) : NULL;
	if (c == NULL || !grow_cache(c)) {
		free(c);
		return NULL;
	}
	c->process = (size_t)(p - t->processes);
	c->next = p->lane;
	p->lane = lane;
	lane->calls = c;
	return c;
}

void isc_totals_calls_free(isc_totals_calls *c)
{
	if (c == NULL)
		return;
	free(c->cache);
	free(c->open);
	free(c);
}

/* Is it open already?  What lies below a mark has mostly ended. */
static __attribute__((noinline)) bool is_open(const isc_totals_calls *c, uint32_t id)
{
	size_t floor = c->depth > SEARCH_MAX ? c->depth - SEARCH_MAX : 0;

	floor = c->gap > floor ? c->gap : floor;
	for (size_t i = c->depth; i-- > floor;) {
		if (c->open[i].id == id)
			return true;
	}
	return false;
}

static __attribute__((noinline)) bool grow_row(isc_totals_calls *c)
{
	size_t room = c->room ? c->room * 2 : 32;
	isc_totals_call *bigger = realloc(c->open, room * sizeof(*bigger));

	if (bigger == NULL)
		return false;
	c->open = bigger;
	c->room = room;
	return true;
}

/* The outermost is the program itself, and so is what runpy runs. */
static bool is_import(const isc_totals *t, const isc_totals_calls *c)
{
	const isc_totals_call *caller = c->depth > 0 ? &c->open[c->depth - 1] : NULL;

	return caller != NULL && (caller->id == ISC_CALL_GAP || !t->functions[caller->function].runner);
}

/* False: no memory. */
static bool push(isc_totals *t, isc_totals_calls *c, uint32_t id, size_t function, isc_totals_slot *slot, uint64_t at,
		 uint64_t begin, unsigned how)
{
	bool outermost = slot != NULL && slot->active == 0;

	if (UNLIKELY(t->functions[function].module) && is_import(t, c)) {
		how |= ISC_CALL_IMPORT;
		c->importing++;
	}
	if (UNLIKELY(slot == NULL || (c->gap != 0 && !outermost)))
		outermost = !is_open(c, id);
	if (UNLIKELY(c->depth == c->room) && !grow_row(c))
		return false;
	c->open[c->depth] = (isc_totals_call){.ticks = at,
					      .id = id,
					      .function = (uint32_t)function,
					      .slot = slot != NULL ? (uint16_t)(slot - c->cache) : ISC_CALL_UNCACHED,
					      .outermost = outermost,
					      .how = (uint8_t)how,
					      .begin = begin};
	c->depth++;
	t->weight += ISC_WEIGHT_OPEN_CALL;
	if (slot != NULL)
		slot->active++;
	else
		c->uncached++;
	return true;
}

/* Takes the call on top off. */
static void pop(isc_totals *t, isc_totals_calls *c, uint64_t at)
{
	const isc_totals_call *call = &c->open[--c->depth];
	isc_total_function *f = &t->functions[call->function];
	/* A clock that went back a little is no duration of centuries. */
	uint64_t took = at > call->ticks ? at - call->ticks : 0;

	if (UNLIKELY(took < call->children))
		took = call->children;
	f->self_ticks += took - call->children;
	if (UNLIKELY(f->code & ISC_TOTAL_REST))
		f->total_ticks = f->self_ticks;
	else if (call->outermost)
		f->total_ticks += took;
	if (c->depth > 0) {
		c->open[c->depth - 1].children += took;
		c->open[c->depth - 1].waited += call->waited;
	}
	c->importing -= (call->how & ISC_CALL_IMPORT) != 0;
	if (call->slot != ISC_CALL_UNCACHED)
		c->cache[call->slot].active--;
	else
		c->uncached--;
	t->weight -= ISC_WEIGHT_OPEN_CALL;
	if (UNLIKELY(f->startup && f->total_ticks > BRIEF_TICKS))
		isc_totals_function_grow(t, call->function);
}

/* Its own end was not seen.  One that is not watched ended soon after it was
 * last heard of. */
static void pop_unseen(isc_totals *t, isc_totals_calls *c, uint64_t at)
{
	const isc_totals_call *call = &c->open[c->depth - 1];
	isc_total_function *f = &t->functions[call->function];

	f->estimated = true;
	pop(t, c, f->off ? call->ticks + call->children : at);
}

/* Takes off the mark, which is on top; what was called above it. */
static uint64_t pop_gap(isc_totals *t, isc_totals_calls *c, uint64_t *at)
{
	c->gap = 0;
	c->depth--;
	t->weight -= ISC_WEIGHT_OPEN_CALL;
	*at = c->open[c->depth].ticks;
	return c->open[c->depth].children;
}

/* Takes off all that lies above a place; what was called beside those below a mark. */
static uint64_t unwind(isc_totals *t, isc_totals_calls *c, size_t depth, uint64_t at)
{
	uint64_t beside = 0;

	while (c->depth > depth) {
		if (c->gap == c->depth)
			beside = pop_gap(t, c, &at);
		else
			pop_unseen(t, c, at);
	}
	return beside;
}

static bool is_kept(const isc_totals *t, const isc_totals_call *call)
{
	return call->how & ISC_CALL_GATED || t->functions[call->function].kept;
}

/* What is open may have ended since the lane was last heard of.  kept: not those whose exits come for sure. */
static bool mark_open(isc_totals *t, isc_totals_lane *lane, bool kept)
{
	isc_totals_calls *c = lane->calls;
	uint64_t at;

	if (c->depth == 0)
		return true;
	at = lane->last - (c->paused < lane->last ? c->paused : 0);
	for (size_t i = 0; i < c->depth; i++) {
		if (c->open[i].id != ISC_CALL_GAP)
			t->functions[c->open[i].function].estimated = true;
	}
	if (c->gap != 0) {
		while (c->depth > c->gap && !(kept && is_kept(t, &c->open[c->depth - 1])))
			pop_unseen(t, c, at);
		return true;
	}
	if (c->depth == c->room && !grow_row(c))
		return false;
	c->open[c->depth++] = (isc_totals_call){.ticks = at, .id = ISC_CALL_GAP, .slot = ISC_CALL_UNCACHED};
	t->weight += ISC_WEIGHT_OPEN_CALL;
	c->gap = c->depth;
	return true;
}

bool isc_totals_lane_lose(isc_totals *t, isc_totals_lane *lane)
{
	lane->lossy = true;
	if (lane->calls == NULL)
		return true;
	lane->calls->task = 0;
	lane->calls->step_end = ISC_STEP_UNSEEN;
	return mark_open(t, lane, false);
}

/* ---- events ---- */

/* A gate was closed before this event of the lane: calls that were open may lack their exits. */
static bool meet_gate(isc_totals *t, isc_totals_lane *lane, uint64_t ticks)
{
	const isc_total_calls *p = &t->processes[lane->calls->process].calls;

	if (lane->calls->gates == p->gates || (p->gated && ticks < p->paused_since))
		return true;
	lane->calls->gates = p->gates;
	return mark_open(t, lane, true);
}

static bool enter(isc_totals *t, isc_totals_lane *lane, const isc_record *r)
{
	isc_totals_calls *c = lane->calls;
	uint32_t id = (r->id & ISC_TOTAL_REST) == 0 ? r->id : 0;
	isc_totals_slot *slot = &c->cache[home(c, id)];
	unsigned how = r->kind == ISC_KIND_C_ENTER	 ? ISC_CALL_OF_C
		       : r->kind == ISC_KIND_CALL_RESUME ? ISC_CALL_RESUMED
							 : 0;
	size_t function;
	isc_total_function *f;

	/* Before anything is looked up: what it ends may fold rows. */
	if (UNLIKELY(t->pauses) && !meet_gate(t, lane, r->ticks))
		return false;
	if (UNLIKELY(c->unnamed) && r->kind != ISC_KIND_C_ENTER)
		isc_unit_log_task_called(t, lane, r);
	if (UNLIKELY(slot->id != id || slot->function == 0))
		slot = slot_of(c, id);
	if (slot != NULL)
		function = slot->function - 1;
	else if (!find_function(t, lane, id, &slot, &function))
		return false;
	if (UNLIKELY(t->functions[function].startup && c->importing == 0))
		function = isc_totals_function_grow(t, function);
	f = &t->functions[function];
	if (UNLIKELY(f->calls == 0)) {
		f->first_ticks = r->ticks;
		f->paused_before = t->pauses ? isc_totals_paused(t, lane, r->ticks) : 0;
	}
	f->calls++;
	f->resumes += r->kind == ISC_KIND_CALL_RESUME;
	if (UNLIKELY(t->pauses)) {
		isc_totals_resume(t, lane, r->ticks);
		if (isc_totals_is_gated(t, lane, r->ticks)) {
			how |= ISC_CALL_GATED;
			f->kept = true;
		}
	}
	if (UNLIKELY(lane->stream > 1 || c->depth >= DEPTH_MAX || t->weight + ISC_WEIGHT_OPEN_CALL > t->weight_max)) {
		/* Past the bound a call is counted and its time is not. */
		t->missed++;
		f->estimated = true;
		return true;
	}
	return push(t, c, id, function, slot, isc_totals_clock(t, lane, r->ticks), r->ticks, how);
}

/* Takes off the call on top, whose exit this is. */
static inline void pop_seen(isc_totals *t, const isc_totals_lane *lane, const isc_record *r, uint64_t at)
{
	isc_totals_calls *c = lane->calls;
	const isc_totals_call *call = &c->open[c->depth - 1];

	if (UNLIKELY(c->task != 0 && (call->how & ISC_CALL_RESUMED || r->arg == ISC_CALL_YIELDED)))
		isc_unit_log_awaited(t, lane, r);
	if (UNLIKELY(r->ticks - call->begin > t->unit_ticks))
		isc_unit_log_called(t, lane, r);
	pop(t, c, at);
}

/* Not the one on top. */
static __attribute__((noinline)) bool leave_other(isc_totals *t, isc_totals_lane *lane, const isc_record *r,
						  uint32_t id, uint64_t at)
{
	isc_totals_calls *c = lane->calls;
	const isc_totals_slot *slot = slot_of(c, id);
	size_t floor = slot == NULL && c->depth > SEARCH_MAX ? c->depth - SEARCH_MAX : 0, i = floor;
	isc_total_function *f;
	uint64_t beside;

	if (slot != NULL ? slot->active > 0 : c->uncached > 0) {
		for (i = c->depth; i > floor && c->open[i - 1].id != id;)
			i--;
	}
	if (i > floor) {
		beside = unwind(t, c, i, at);
		c->open[c->depth - 1].children += beside;
		pop_seen(t, lane, r, at);
		return true;
	}
	f = slot != NULL ? &t->functions[slot->function - 1]
			 : isc_totals_function_of(t, lane->process, id, c->importing > 0);
	if (f == NULL)
		return false;
	f->unmatched++;
	/* One that began before tracing did is not in the figures and takes nothing from them. */
	f->estimated |= lane->lossy;
	t->processes[c->process].calls.unmatched += lane->lossy;
	return true;
}

static bool leave(isc_totals *t, isc_totals_lane *lane, const isc_record *r)
{
	isc_totals_calls *c = lane->calls;
	uint32_t id = (r->id & ISC_TOTAL_REST) == 0 ? r->id : 0;
	uint64_t at = isc_totals_clock(t, lane, r->ticks);

	if (UNLIKELY(t->pauses) && !meet_gate(t, lane, r->ticks))
		return false;
	if (UNLIKELY(c->depth == 0 || c->open[c->depth - 1].id != id)) {
		if (!leave_other(t, lane, r, id, at))
			return false;
	} else {
		pop_seen(t, lane, r, at);
	}
	/* One that it called with the same code lies above it. */
	if (UNLIKELY(r->id == c->step_code && c->depth <= c->step_depth) && r->kind == ISC_KIND_CALL_EXIT)
		c->step_end = r->arg == ISC_CALL_YIELDED ? ISC_STEP_YIELDED : ISC_STEP_LEFT;
	return true;
}

static void tell_missed(isc_totals *t, const isc_totals_lane *lane, const isc_record *r)
{
	isc_totals_calls *c = lane->calls;

	/* Where its begin was lost it is not known since when. */
	if (r->arg == 0 && c->missed_since == 0)
		isc_unit_log_gap(t->units, lane->process, ISC_GAP_LOST, t->threads[lane->total].first_ticks, r->ticks);
	else if (r->arg == 0 || c->missed_since == 0)
		isc_unit_log_missed(t->units, lane->process, c->missed_since, r);
	if (r->arg == 0 || c->missed_since == 0)
		c->missed_since = r->arg != 0 ? r->ticks : 0;
}

bool isc_totals_calls_feed(isc_totals *t, isc_totals_lane *lane, const isc_record *r, const void *extra,
			   uint32_t extra_len)
{
	if (UNLIKELY(lane->calls == NULL) && isc_totals_calls_of(t, lane) == NULL)
		return false;
	switch (r->kind) {
	case ISC_KIND_CALL_ENTER:
	case ISC_KIND_CALL_RESUME:
	case ISC_KIND_C_ENTER:
		return enter(t, lane, r);
	case ISC_KIND_CALL_EXIT:
	case ISC_KIND_C_EXIT:
		return leave(t, lane, r);
	case ISC_KIND_TASK:
		if (t->units != NULL)
			isc_unit_log_task(t, lane, r);
		t->processes[lane->calls->process].calls.tasks++;
		return true;
	case ISC_KIND_GOVERNED:
		return isc_totals_govern(t, lane, r);
	case ISC_KIND_BURST:
		return isc_totals_window(t, lane, r, extra, extra_len, false);
	case ISC_KIND_STARTUP:
		isc_totals_started(t, lane, r, extra, extra_len);
		return true;
	case ISC_KIND_LEAVING:
		isc_unit_log_leaving(t, lane, r);
		return true;
	default:
		t->processes[lane->calls->process].calls.missed += r->arg != 0;
		if (t->units != NULL)
			tell_missed(t, lane, r);
		return true;
	}
}

bool isc_totals_calls_push(isc_totals *t, isc_totals_lane *lane, uint32_t id, uint64_t ticks, uint64_t children)
{
	isc_totals_calls *c = lane->calls;
	isc_totals_slot *slot;
	size_t function = 0;

	if (id == ISC_CALL_GAP) {
		if (c->gap != 0 || (c->depth == c->room && !grow_row(c)))
			return c->gap != 0;
		c->open[c->depth++] =
			(isc_totals_call){.ticks = ticks, .children = children, .id = id, .slot = ISC_CALL_UNCACHED};
		t->weight += ISC_WEIGHT_OPEN_CALL;
		c->gap = c->depth;
		return true;
	}
	slot = slot_of(c, id);
	if (slot != NULL)
		function = slot->function - 1;
	else if (!find_function(t, lane, id, &slot, &function))
		return false;
	if (c->depth >= DEPTH_MAX)
		return true;
	if (!push(t, c, id, function, slot, ticks, ticks + c->paused, 0))
		return false;
	c->open[c->depth - 1].children = children;
	return true;
}

void isc_totals_calls_abandon(isc_totals *t, isc_totals_lane *lane, uint32_t id)
{
	isc_totals_calls *c = lane->calls;
	const isc_totals_slot *slot = slot_of(c, id);
	uint64_t at = lane->last > c->paused ? lane->last - c->paused : 0;

	/* What it called goes on, and is taken off by its own exit or with others. */
	while (c->depth > 0 && c->open[c->depth - 1].id == id && (slot == NULL || slot->active > 0)) {
		t->functions[c->open[c->depth - 1].function].estimated = true;
		pop(t, c, at);
	}
}

/* All of it ends; those below a mark when they were last heard of. */
void isc_totals_lane_close(isc_totals *t, isc_totals_lane *lane, uint64_t ticks)
{
	isc_totals_calls *c = lane->calls;
	uint64_t at = isc_totals_clock(t, lane, ticks);

	while (c->depth > 0) {
		if (c->gap == c->depth)
			pop_gap(t, c, &at);
		else
			pop(t, c, at);
	}
}
