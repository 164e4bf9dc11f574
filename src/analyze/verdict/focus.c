#include "analyze/verdict/focus.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/phases/phases.h"
#include "analyze/verdict/limiter.h"

#define INTERVALS_MAX (1u << 18) /* 4 MiB; then those that follow are one */
#define FIRST_MAX 16u		 /* scopes that may be the warm-up */
#define WARM_SLOWER 2.0		 /* than the median */
#define WARM_SHARE 0.2		 /* of all, at most */
#define WAITS_ONLY 0.1 /* of its time: a thread that does less leaves the work to others, and has no load (verdict.c) */

/* A thread and the times that it was in the scope. */
struct focus_lane {
	uint32_t thread, process;
	uint64_t total_ns, count;
	uint64_t open_ns;
	uint32_t depth;
	isc_interval *at;
	size_t used, room;
	isc_interval first[FIRST_MAX];
	size_t first_count;
};

/* Without scopes: a thread. */
struct plain {
	uint32_t thread, process; /* 0: there is none */
	uint64_t start_ns, end_ns;
};

struct isc_focus_search {
	isc_build *b;
	const isc_analysis_scope *scope;
	isc_hashmap lane_of; /* thread -> rank + 1 */
	struct focus_lane *lane;
	size_t count, room;
	isc_hashmap named; /* process and id -> 1 yes, 2 no */
	size_t intervals;
	struct plain plain;
};
typedef struct isc_focus_search search;

/* ---- intervals ---- */

uint64_t isc_focus_length(const isc_focus *f)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < f->count; i++)
		sum += f->at[i].to_ns - f->at[i].from_ns;
	return sum;
}

/* The first that ends after a moment. */
static size_t interval_after(const isc_focus *f, uint64_t time_ns)
{
	size_t low = 0, high = f->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (f->at[middle].to_ns > time_ns)
			high = middle;
		else
			low = middle + 1;
	}
	return low;
}

bool isc_focus_holds(const isc_focus *f, uint64_t time_ns)
{
	size_t i = time_ns > 0 ? interval_after(f, time_ns - 1) : 0;

	return i < f->count && f->at[i].from_ns <= time_ns;
}

uint64_t isc_focus_overlap(const isc_focus *f, uint64_t from_ns, uint64_t to_ns)
{
	uint64_t sum = 0;

	for (size_t i = interval_after(f, from_ns); i < f->count && f->at[i].from_ns < to_ns; i++) {
		uint64_t from = f->at[i].from_ns > from_ns ? f->at[i].from_ns : from_ns;
		uint64_t to = f->at[i].to_ns < to_ns ? f->at[i].to_ns : to_ns;

		sum += to > from ? to - from : 0;
	}
	return sum;
}

/* They come by their ends; those that overlap are one. */
static bool put_interval(search *s, struct focus_lane *l, uint64_t from, uint64_t to)
{
	isc_interval *at;

	from = from > s->b->from_ns ? from : s->b->from_ns;
	/* Of what is older some threads have lost their events, and others not. */
	from = from > s->b->retained_ns ? from : s->b->retained_ns;
	to = to < s->b->to_ns ? to : s->b->to_ns;
	if (to <= from)
		return true;
	l->count++;
	l->total_ns += to - from;
	if (l->first_count < FIRST_MAX)
		l->first[l->first_count++] = (isc_interval){from, to};
	while (l->used > 0 && l->at[l->used - 1].to_ns >= from) {
		from = l->at[l->used - 1].from_ns < from ? l->at[l->used - 1].from_ns : from;
		to = l->at[l->used - 1].to_ns > to ? l->at[l->used - 1].to_ns : to;
		l->used--;
	}
	if (l->used > 0 && s->intervals >= INTERVALS_MAX) {
		l->at[l->used - 1].to_ns = to;
		return true;
	}
	at = isc_arena_push(s->b->arena, &l->at, &l->used, &l->room, sizeof(*at));
	if (at == NULL)
		return false;
	*at = (isc_interval){from, to};
	s->intervals++;
	return true;
}

/* ---- with scopes ---- */

static const isc_analysis_scope *choose_scope(const isc_build *b)
{
	const isc_analysis *a = b->a;
	const isc_analysis_scope *once = NULL;

	/* Most time first.  One that was entered once is a phase, as loading the model. */
	for (size_t i = 0; i < a->scope_count; i++) {
		const isc_analysis_scope *s = &a->scopes[i];
		bool asked = b->only.at != NULL && s->name.len == b->only.len &&
			     memcmp(s->name.at, b->only.at, s->name.len) == 0;

		if (s->total_us <= 0 || (b->only.at != NULL && !asked))
			continue;
		if (s->count > 1)
			return s;
		once = once == NULL ? s : once;
	}
	return once;
}

static bool is_named(search *s, const isc_event *ev, bool *yes)
{
	uint64_t *known = isc_hashmap_put(&s->named, isc_hashmap_key(ev->process, ev->id), NULL);
	uint32_t len = 0;
	const char *name;

	if (known == NULL)
		return false;
	if (*known == 0) {
		name = isc_build_label(s->b, ev->process, ev->id, &len);
		*known = len == s->scope->name.len && memcmp(name, s->scope->name.at, len) == 0 ? 1 : 2;
	}
	*yes = *known == 1;
	return true;
}

static struct focus_lane *lane_of(search *s, const isc_event *ev)
{
	uint64_t *rank = isc_hashmap_put(&s->lane_of, ev->thread, NULL);
	struct focus_lane *l;

	if (rank == NULL)
		return NULL;
	if (*rank == 0) {
		l = isc_arena_push(s->b->arena, &s->lane, &s->count, &s->room, sizeof(*l));
		if (l == NULL)
			return NULL;
		l->thread = ev->thread;
		l->process = ev->process;
		*rank = s->count;
	}
	return &s->lane[*rank - 1];
}

static bool take_scope(void *self, const isc_event *ev)
{
	search *s = self;
	struct focus_lane *l;
	isc_span span;
	double ns;
	bool yes;

	if (!is_named(s, ev, &yes))
		return false;
	l = yes ? lane_of(s, ev) : NULL;
	if (l == NULL)
		return !yes;
	if (ev->kind == ISC_KIND_SCOPE_ENTER) {
		if (l->depth++ == 0)
			l->open_ns = ev->time_ns;
		return true;
	}
	if (ev->kind == ISC_KIND_SCOPE_EXIT) {
		if (l->depth == 0 || --l->depth > 0)
			return true;
		return put_interval(s, l, l->open_ns, ev->time_ns);
	}
	if (ev->extra_len < sizeof(span))
		return true;
	memcpy(&span, ev->extra, sizeof(span));
	ns = (double)span.more * s->b->tick_us * 1e3;
	if (span.more == ISC_SPAN_UNKNOWN || ns >= (double)ev->time_ns)
		return true;
	return put_interval(s, l, ev->time_ns - (uint64_t)ns, ev->time_ns);
}

/* The first few, while each takes far longer than the median does. */
static void leave_out_warm_up(isc_focus *f, const search *s, const struct focus_lane *l)
{
	double slow_us = s->scope->p50_us * WARM_SLOWER;
	size_t most = (size_t)((double)l->count * WARM_SHARE), n = 0, kept = 0;
	uint64_t until;

	while (n < l->first_count && n < most && s->scope->p50_us > 0 &&
	       (double)(l->first[n].to_ns - l->first[n].from_ns) / 1e3 > slow_us)
		n++;
	if (n == 0 || n == l->first_count)
		return;
	until = l->first[n - 1].to_ns;
	for (size_t i = 0; i < n; i++)
		f->warm_up_us += (double)(l->first[i].to_ns - l->first[i].from_ns) / 1e3;
	f->warm_ups = n;
	f->scopes -= n;
	for (size_t i = 0; i < f->count; i++) {
		if (f->at[i].to_ns <= until)
			continue;
		f->at[kept] = f->at[i];
		if (f->at[kept].from_ns < until)
			f->at[kept].from_ns = until;
		kept++;
	}
	f->count = kept;
}

static void find_scoped(isc_focus *f, const search *s)
{
	const struct focus_lane *most = NULL;

	for (size_t i = 0; i < s->count; i++) {
		if (most == NULL || s->lane[i].total_ns > most->total_ns)
			most = &s->lane[i];
	}
	if (most == NULL || most->used == 0)
		return;
	f->thread = most->thread;
	f->process = most->process;
	f->at = most->at;
	f->count = most->used;
	f->room = most->room;
	f->scope = s->scope->name;
	f->scopes = most->count;
	/* Who chose the time with --delay and --duration has it whole. */
	if (!s->b->limited)
		leave_out_warm_up(f, s, most);
}

/* ---- without ---- */

/* What a thread did, or had to wait for: neither for work nor of its own will. */
static double occupied_us(const isc_analysis_thread *t)
{
	static const int apart[] = {ISC_STATE_IDLE, ISC_STATE_SLEEP, ISC_STATE_OTHER};
	double us = t->wall_us;

	for (size_t i = 0; i < sizeof(apart) / sizeof(apart[0]); i++)
		us -= t->state_us[apart[i]] > 0 ? t->state_us[apart[i]] : 0;
	return us > t->on_cpu_us ? us : t->on_cpu_us;
}

/* The thread of the breakdown, or the most occupied one of its process when that one only waits for others. */
static uint32_t choose_tid(const isc_analysis *a)
{
	const isc_analysis_thread *own = NULL, *most = NULL;

	for (size_t i = 0; i < a->thread_count; i++) {
		const isc_analysis_thread *t = &a->threads[i];

		if (t->pid != a->breakdown.pid)
			continue;
		if (t->tid == a->breakdown.tid)
			own = t;
		if (most == NULL || occupied_us(t) > occupied_us(most))
			most = t;
	}
	if (own == NULL || !a->breakdown.known)
		return 0;
	if (own->on_cpu_us >= 0 && occupied_us(own) < own->wall_us * WAITS_ONLY &&
	    occupied_us(most) > own->wall_us * 2 * WAITS_ONLY)
		own = most;
	return own->tid;
}

/* The index of a thread of a tid that told of most; 0: none told of anything. */
static uint32_t index_of(const isc_build *b, uint32_t tid)
{
	const isc_total_thread *total;
	uint64_t events = 0;
	uint32_t found = 0;

	for (size_t i = 0; tid != 0 && (total = isc_totals_thread_at(b->totals, i)) != NULL; i++) {
		const isc_trace_thread *t = isc_trace_thread_find(b->trace, total->thread);

		if (t == NULL || t->tid != tid || (found != 0 && total->events <= events))
			continue;
		found = total->thread;
		events = total->events;
	}
	return found;
}

/* What is to be judged of a process, whichever thread it is of. */
static bool judged_span(const isc_build *b, uint32_t process, uint64_t *from_ns, uint64_t *to_ns)
{
	isc_phase_span judged;
	bool serving;

	*from_ns = b->from_ns;
	*to_ns = b->to_ns;
	if (!isc_build_is_part(b) && isc_phases_judged(b, process, &judged, &serving)) {
		*from_ns = judged.from_ns;
		*to_ns = judged.to_ns;
	}
	return true;
}

static void choose_plain(search *s)
{
	struct plain *p = &s->plain;
	isc_build *b = s->b;
	uint32_t given = index_of(b, choose_tid(b->a)), found = isc_limiter_choose(b, given, judged_span);
	const isc_trace_thread *t = isc_trace_thread_find(b->trace, found != 0 ? found : given);

	if (t == NULL)
		return;
	p->thread = t->thread;
	p->process = t->process;
	p->start_ns = t->start_ns > b->from_ns ? t->start_ns : b->from_ns;
	p->start_ns = b->retained_ns > p->start_ns ? b->retained_ns : p->start_ns;
	p->end_ns = isc_build_thread_end_ns(b, p->thread);
	p->end_ns = p->end_ns < b->to_ns ? p->end_ns : b->to_ns;
}

static uint64_t earlier(uint64_t x, uint64_t y)
{
	return x < y ? x : y;
}

/* What the phases of its process leave of a thread's time; all of it where they leave nothing, and where somebody
 * asks for a time. */
static isc_interval plain_time(isc_focus *f, const search *s)
{
	const struct plain *p = &s->plain;
	isc_interval all = {p->start_ns, p->end_ns}, at = all;
	isc_phase_span judged;
	bool serving;

	if (isc_build_is_part(s->b) || !isc_phases_judged(s->b, p->process, &judged, &serving))
		return all;
	at.from_ns = judged.from_ns > at.from_ns ? judged.from_ns : at.from_ns;
	at.to_ns = earlier(at.to_ns, judged.to_ns);
	if (at.to_ns <= at.from_ns)
		return all;
	/* Of what was dropped before it nothing was judged. */
	f->serving = serving && s->b->retained_ns <= judged.from_ns;
	return at;
}

static bool find_plain(isc_focus *f, const search *s)
{
	const struct plain *p = &s->plain;
	isc_interval *at, time;

	f->thread = p->thread;
	f->process = p->process;
	if (p->thread == 0 || p->end_ns <= p->start_ns)
		return true;
	time = plain_time(f, s);
	at = isc_arena_push(s->b->arena, &f->at, &f->count, &f->room, sizeof(*at));
	if (at != NULL)
		*at = time;
	return at != NULL;
}

bool isc_focus_join(isc_build *b, isc_walk *walk)
{
	search *s = isc_arena_alloc(b->arena, sizeof(*s));

	if (s == NULL)
		return false;
	b->search = s;
	s->b = b;
	s->scope = choose_scope(b);
	if (s->scope != NULL && b->tick_us > 0)
		isc_walk_join(walk,
			      ISC_KIND_BIT(ISC_KIND_SCOPE_ENTER) | ISC_KIND_BIT(ISC_KIND_SCOPE_EXIT) |
				      ISC_KIND_BIT(ISC_KIND_SPAN_EXIT),
			      take_scope, s);
	return true;
}

void isc_focus_drop(isc_build *b)
{
	search *s = b->search;

	if (s == NULL)
		return;
	isc_hashmap_fini(&s->lane_of);
	isc_hashmap_fini(&s->named);
	b->search = NULL;
}

bool isc_focus_find(isc_focus *f, isc_build *b)
{
	const isc_trace_thread *t;
	bool good = true;

	*f = (isc_focus){0};
	find_scoped(f, b->search);
	if (f->count == 0) {
		*f = (isc_focus){0};
		choose_plain(b->search);
		good = find_plain(f, b->search);
	}
	if (!good || f->count == 0)
		return good;
	t = isc_trace_thread_find(b->trace, f->thread);
	f->tid = t != NULL ? t->tid : 0;
	if (!isc_build_is_part(b) && f->at[0].from_ns > b->start_ns)
		f->start_up_us = (double)(f->at[0].from_ns - b->start_ns) / 1e3 - f->warm_up_us;
	f->start_up_us = f->start_up_us > 0 ? f->start_up_us : 0;
	return true;
}
