/*
 * tail_switches.c - when scopes had a CPU.  Switches come in the order of time: of each
 * thread they are summed up, and at the moments where its scopes begin and end the sums
 * are looked at.
 */
#include <stdlib.h>

#include "analyze/scopes/tails.h"
#include "analyze/time/tracks.h"

enum { FAULT = ISC_TRACK_STATES, SUMS };

/* A scope begins (sign -1) or ends (1). */
struct point {
	uint64_t ns;
	uint32_t tid;
	uint32_t watch;
	int8_t sign;
};

struct switch_tally {
	isc_track track;
	size_t at, end; /* its points that are not passed yet */
	bool seen;
	double before[SUMS]; /* at `since` */
	uint64_t since_ns;
};

struct switch_look {
	isc_tails *t;
	struct point *point;
	size_t points;
	struct switch_tally *tally;
	size_t tallies, tally_room;
	isc_hashmap by_tid; /* tid -> rank + 1 */
	isc_gaps gaps;
};

static int by_moment(const void *x, const void *y)
{
	const struct point *p = x, *q = y;

	if (p->tid != q->tid)
		return p->tid < q->tid ? -1 : 1;
	if (p->ns != q->ns)
		return p->ns < q->ns ? -1 : 1;
	return (p->watch > q->watch) - (p->watch < q->watch);
}

static bool make_points(struct switch_look *k)
{
	isc_tails *t = k->t;

	k->point = isc_arena_array(t->b->arena, t->watch_count, 2 * sizeof(*k->point));
	if (k->point == NULL)
		return false;
	for (uint32_t i = 0; i < t->watch_count; i++) {
		const isc_trace_thread *thread = isc_trace_thread_find(t->b->trace, t->watch[i].thread);

		if (thread == NULL)
			continue;
		k->point[k->points++] = (struct point){t->watch[i].from_ns, thread->tid, i, -1};
		k->point[k->points++] = (struct point){t->watch[i].to_ns, thread->tid, i, 1};
	}
	qsort(k->point, k->points, sizeof(*k->point), by_moment);
	return true;
}

static bool make_tallies(struct switch_look *k)
{
	isc_build *b = k->t->b;

	for (size_t i = 0; i < k->points;) {
		struct switch_tally *tally =
			isc_arena_push(b->arena, &k->tally, &k->tallies, &k->tally_room, sizeof(*tally));
		uint64_t *rank = isc_hashmap_put(&k->by_tid, k->point[i].tid, NULL);
		const isc_trace_thread *thread = isc_trace_thread_find(b->trace, k->t->watch[k->point[i].watch].thread);

		if (tally == NULL || rank == NULL)
			return false;
		*rank = k->tallies;
		tally->at = i;
		while (i < k->points && k->point[i].tid == k->point[tally->at].tid)
			i++;
		tally->end = i;
		tally->track.start_ns = tally->since_ns = thread->start_ns;
		tally->track.end_ns = b->to_ns;
		tally->track.fresh = b->a->exit_known;
	}
	return true;
}

static void sums_of(const isc_track *track, double *sums)
{
	for (int i = 0; i < ISC_TRACK_STATES; i++)
		sums[i] = (double)track->in_ns[i];
	sums[FAULT] = (double)track->fault_ns;
}

static void add(isc_tail_group *g, const double *sums, double factor)
{
	g->on_cpu_us += sums[ISC_TRACK_RUNNING] * factor;
	g->queue_us += sums[ISC_TRACK_QUEUED] * factor;
	g->blocked_us += sums[ISC_TRACK_WAITING] * factor;
	g->unwatched_us += sums[ISC_TRACK_UNWATCHED] * factor;
	g->fault_us += sums[FAULT] * factor;
}

static void take_point(struct switch_look *k, const struct point *p, const double *sums)
{
	const isc_tail_watch *watch = &k->t->watch[p->watch];
	isc_tail *tail = &k->t->tail[watch->tail];
	double us = (double)(watch->to_ns - watch->from_ns) / 1e3;

	for (int i = 0; i < ISC_TAIL_GROUPS; i++) {
		if (i != ISC_TAIL_ALL && i != watch->group)
			continue;
		add(&tail->group[i], sums, p->sign / 1e3);
		if (p->sign > 0)
			tail->group[i].watched_us += us;
	}
}

/* The points up to now; between two switches time passes evenly. */
static void pass(struct switch_look *k, struct switch_tally *tally, uint64_t now_ns)
{
	double now[SUMS], then[SUMS];
	double length = now_ns > tally->since_ns ? (double)(now_ns - tally->since_ns) : 0;

	sums_of(&tally->track, now);
	for (; tally->at < tally->end && k->point[tally->at].ns <= now_ns; tally->at++) {
		const struct point *p = &k->point[tally->at];
		double part = length > 0 && p->ns > tally->since_ns ? (double)(p->ns - tally->since_ns) / length : 0;

		for (int i = 0; i < SUMS; i++)
			then[i] = tally->before[i] + (now[i] - tally->before[i]) * part;
		/* A wait was for memory or was not. */
		then[FAULT] = tally->before[FAULT];
		take_point(k, p, then);
	}
	for (int i = 0; i < SUMS; i++)
		tally->before[i] = now[i];
	tally->since_ns = now_ns > tally->since_ns ? now_ns : tally->since_ns;
}

static bool read_switches(struct switch_look *k)
{
	isc_build *b = k->t->b;
	isc_trace_switch sw;

	isc_trace_rewind(b->trace);
	while (isc_trace_next_switch(b->trace, &sw)) {
		const uint64_t *rank;
		struct switch_tally *tally;

		if (sw.kind == ISC_SWITCH_GAP_BEGIN || sw.kind == ISC_SWITCH_GAP_END) {
			if (!isc_gaps_note(&k->gaps, b->arena, &sw))
				return false;
			continue;
		}
		rank = isc_hashmap_find(&k->by_tid, sw.tid);
		if (rank == NULL || sw.kind > ISC_SWITCH_FAULT || sw.kind < ISC_SWITCH_IN)
			continue;
		tally = &k->tally[*rank - 1];
		if (sw.kind == ISC_SWITCH_FAULT) {
			isc_track_fault(&tally->track);
			continue;
		}
		tally->seen = true;
		isc_track_switch(&tally->track, b, &k->gaps, &sw);
		pass(k, tally, sw.time_ns);
	}
	if (k->gaps.open)
		k->gaps.gap[k->gaps.count - 1].end_ns = b->end_ns;
	k->gaps.open = false;
	return true;
}

bool isc_tails_switches(isc_tails *t)
{
	struct switch_look k = {.t = t};
	bool good = t->watch_count == 0 || (make_points(&k) && make_tallies(&k) && read_switches(&k));

	for (size_t i = 0; good && i < k.tallies; i++) {
		/* Without one it is not known whether a thread ran or slept. */
		if (!k.tally[i].seen)
			continue;
		isc_track_finish(&k.tally[i].track, t->b, &k.gaps);
		pass(&k, &k.tally[i], t->b->to_ns);
	}
	isc_hashmap_fini(&k.by_tid);
	return good;
}
