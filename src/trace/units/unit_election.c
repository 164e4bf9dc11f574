/*
 * unit_election.c - which of a process's loops its work is done in.
 *
 * Members of a loop are those called at least half as often as the most frequent
 * one, that do not wait most of their time, and whose calls are mostly long.  Where
 * some follow themselves, others are none: calls in front of them that take long
 * only now and then.  It is a loop if a member was called ISC_UNIT_LEAST_COUNT times and
 * members cover half of its time, less what it waited.
 *
 * The loop that covers most time is the process's; of those that cover nearly
 * as much the shallowest, for it has the others inside.  One whose calls all run
 * side by side goes round once: it is that many workers, each as long as the
 * program, and what they do again and again counts, be it a part of their time.
 * Further ones are elected beside it when they are not inside the members of one
 * that is: other threads, other phases.
 */
#include "trace/units/unit_loops.h"

#define ROUND_SHARE 8u /* part of the time of workers that what they do again and again has, at least */
#define AGAIN_SHARE 8u /* part of its calls in which a member follows itself, at least */

struct isc_unit_member *isc_unit_loop_member(struct isc_unit_loop *l, uint32_t code)
{
	for (uint32_t i = 0; i < l->members; i++) {
		if (l->member[i].code == code && l->member[i].in)
			return &l->member[i];
	}
	return NULL;
}

static bool is_mostly_long(const isc_totals *t, uint32_t process, const struct isc_unit_member *m)
{
	const uint64_t *at = isc_hashmap_find(&t->by_name[ISC_BY_FUNCTION], isc_hashmap_key(process, m->code));

	return at == NULL || t->functions[*at].calls - t->functions[*at].resumes <= 4ull * m->count;
}

/* It waits to be given work, as queue.get() and select() do.  One that does some of its own each time waits for others to do
 * it, and is work all the same. */
static bool is_waiting(const isc_totals *t, const struct isc_unit_member *m)
{
	uint64_t own = m->took > m->waited ? m->took - m->waited : 0;

	return own < m->took / 5 && own < t->unit_ticks / 2 * m->count;
}

/* So many calls would come one after the other in the time that it was seen, if each took what they take on average. */
static bool goes_round(const struct isc_unit_loop *l, const struct isc_unit_member *m)
{
	return (double)m->count * (double)(l->heard - l->since) >= ISC_UNIT_LEAST_COUNT * (double)m->took;
}

static bool follows_itself(const struct isc_unit_member *m)
{
	return m->again * AGAIN_SHARE >= m->count;
}

/* Of those that are called as often as any, the ones that follow themselves, if there are such. */
static void choose_members(const isc_totals *t, uint32_t process, struct isc_unit_loop *l)
{
	uint32_t most = 0;

	for (uint32_t i = 0; i < l->members; i++) {
		if (!is_waiting(t, &l->member[i]))
			most = l->member[i].count > most ? l->member[i].count : most;
	}
	l->each = false;
	for (uint32_t i = 0; i < l->members; i++) {
		struct isc_unit_member *m = &l->member[i];

		m->in = (uint64_t)m->count * 2 >= most && !is_waiting(t, m) && is_mostly_long(t, process, m);
		l->each |= m->in && follows_itself(m);
	}
	for (uint32_t i = 0; l->each && i < l->members; i++)
		l->member[i].in &= follows_itself(&l->member[i]);
}

/* Which members are in, and whether it is a loop. */
static void judge_loop(const isc_totals *t, uint32_t process, struct isc_unit_loop *l)
{
	uint64_t born = UINT64_MAX, out = l->other, span;
	uint32_t count = 0;

	choose_members(t, process, l);
	l->covered = l->in_count = 0;
	l->rounds = false;
	for (uint32_t i = 0; i < l->members; i++) {
		struct isc_unit_member *m = &l->member[i];

		if (!m->in) {
			out += m->took;
			continue;
		}
		l->in_count++;
		l->covered += m->took;
		count = m->count > count ? m->count : count;
		l->rounds |= goes_round(l, m);
		if (m->born < born) {
			born = m->born;
			l->head = m->code;
		}
	}
	l->each |= l->in_count == 1;
	span = l->span > out ? l->span - out : 0;
	l->holds = l->in_count > 0 && count >= ISC_UNIT_LEAST_COUNT && l->covered >= span / 2;
}

static bool take_codes(struct isc_unit_loops *loops, const struct isc_unit_loop *l)
{
	if (loops->code_count + l->in_count > ISC_UNIT_CODES)
		return false;
	for (uint32_t i = 0; i < l->members; i++) {
		if (l->member[i].in)
			loops->codes[loops->code_count++] = l->member[i].code;
	}
	return true;
}

static uint64_t most_covered(const struct isc_unit_loops *loops, bool rounds)
{
	uint64_t best = 0;

	for (uint32_t i = 0; i < loops->count; i++) {
		const struct isc_unit_loop *l = loops->loop[i];

		if (l->holds && (l->rounds || !rounds) && l->covered > best)
			best = l->covered;
	}
	return best;
}

static struct isc_unit_loop *find_winner(const struct isc_unit_loops *loops)
{
	uint64_t best = most_covered(loops, false), rounds = most_covered(loops, true);
	bool round = rounds > 0 && rounds >= best / ROUND_SHARE;
	struct isc_unit_loop *found = NULL;

	best = round ? rounds : best;
	for (uint32_t i = 0; i < loops->count; i++) {
		struct isc_unit_loop *l = loops->loop[i];

		if (!l->holds || (round && !l->rounds) || l->covered < best - best / 10)
			continue;
		if (found == NULL || l->depth < found->depth ||
		    (l->depth == found->depth && l->covered > found->covered))
			found = l;
	}
	return found;
}

/* The next best that is not inside another; one of which that is not known yet waits. */
static struct isc_unit_loop *find_next(const struct isc_unit_loops *loops)
{
	struct isc_unit_loop *found = NULL;

	for (uint32_t i = 0; i < loops->count; i++) {
		struct isc_unit_loop *l = loops->loop[i];

		if (l->holds && l->rounds && !l->chosen && (l->elected || l->looked > 0) &&
		    l->inside * 2 <= l->looked && (found == NULL || l->covered > found->covered))
			found = l;
	}
	return found;
}

void isc_unit_loops_choose(const isc_totals *t, uint32_t process, struct isc_unit_loops *loops)
{
	struct isc_unit_loop *l;

	loops->code_count = 0;
	for (uint32_t i = 0; i < loops->count; i++) {
		loops->loop[i]->chosen = false;
		judge_loop(t, process, loops->loop[i]);
	}
	l = find_winner(loops);
	loops->winner = l;
	while (l != NULL && take_codes(loops, l)) {
		l->chosen = true;
		l = find_next(loops);
	}
}
