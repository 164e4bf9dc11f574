/*
 * totals_room.c - how much of the bound each kind of row may take.
 *
 * A part may take more than its share while the others leave room, and gives it
 * back: who asks within his share makes the one fold that is furthest above its own.
 * An eighth of the bound is for what is not folded: threads, and what is open.
 */
#include "trace/totals/totals_lane.h"

/* Of each part, in sixteenths of what rows may weigh. */
static const unsigned share[ISC_PARTS] = {
	[ISC_PART_FUNCTIONS] = 8, [ISC_PART_STACKS] = 4, [ISC_PART_NAMES] = 2, [ISC_PART_WAITS] = 2};

/* Where folding gave less than a sixteenth, it is not tried again for that many events. */
#define PATIENCE 65536u

static uint64_t rows_max(const isc_totals *t)
{
	return t->weight_max - t->weight_max / 8;
}

static uint64_t share_of(const isc_totals *t, int part)
{
	return rows_max(t) / 16 * share[part];
}

bool isc_totals_has_room(const isc_totals *t, unsigned weight)
{
	return t->weight + weight <= t->weight_max;
}

/* A percentile that is a little rough is what hurts least. */
bool isc_totals_has_room_for_bucket(const isc_totals *t)
{
	bool own = t->part[ISC_PART_NAMES] + ISC_WEIGHT_BUCKET <= share_of(t, ISC_PART_NAMES) / 4 * 3;

	return t->memory < ISC_TOTALS_MEMORY_MAX && t->weight + ISC_WEIGHT_BUCKET <= rows_max(t) &&
	       (own || t->weight + ISC_WEIGHT_BUCKET <= t->weight_max - t->weight_max / 4);
}

/* What threads take is never given back, so they may not take all of it. */
bool isc_totals_has_room_for_lane(const isc_totals *t)
{
	return t->thread_weight + ISC_WEIGHT_LANE + ISC_WEIGHT_THREAD <= t->weight_max / 2 &&
	       isc_totals_has_room(t, ISC_WEIGHT_LANE + ISC_WEIGHT_THREAD);
}

void isc_totals_weigh(isc_totals *t, enum isc_totals_part part, int64_t weight)
{
	t->weight += (uint64_t)weight;
	t->part[part] += (uint64_t)weight;
}

unsigned isc_totals_function_weight(const isc_total_function *f)
{
	bool sampled = (f->exact_calls | f->exact_resumes | f->exact_self | f->exact_total) != 0;
	bool windowed = f->window_calls != 0 || f->window != 0 || f->governed;

	if (f->startup && !sampled && !windowed)
		return ISC_WEIGHT_BRIEF;
	return ISC_WEIGHT_FUNCTION + (windowed ? ISC_WEIGHT_WINDOWED : 0u) + (sampled ? ISC_WEIGHT_SAMPLED : 0u);
}

/* The part that is to give: the one that asks, unless it is within its share. */
static enum isc_totals_part giver(const isc_totals *t, enum isc_totals_part asks, unsigned weight)
{
	enum isc_totals_part found = asks;
	uint64_t most = 0;

	if (t->part[asks] + weight > share_of(t, asks))
		return asks;
	for (int i = 0; i < ISC_PARTS; i++) {
		uint64_t over = t->part[i] > share_of(t, i) ? t->part[i] - share_of(t, i) : 0;

		if (over > most) {
			most = over;
			found = (enum isc_totals_part)i;
		}
	}
	return found;
}

/* False: nothing came of it, or nothing would. */
static bool try_fold(isc_totals *t, enum isc_totals_part part, bool startup_only)
{
	uint64_t before = t->part[part], *full_until = &t->full_until[startup_only ? ISC_PARTS : part];

	if (t->events < *full_until || !isc_totals_fold(t, part, startup_only))
		return false;
	if (t->part[part] + before / 16 > before)
		*full_until = t->events + PATIENCE;
	return t->part[part] < before;
}

bool isc_totals_make_room(isc_totals *t, enum isc_totals_part part, unsigned weight, bool startup)
{
	for (int i = 0; i <= ISC_PARTS; i++) {
		enum isc_totals_part from;

		if (part == ISC_PART_NAMES && t->memory >= ISC_TOTALS_MEMORY_MAX)
			from = part;
		else if (t->weight + weight <= rows_max(t))
			return true;
		else
			from = giver(t, part, weight);
		if (!try_fold(t, from, startup && from == ISC_PART_FUNCTIONS))
			return false;
	}
	return false;
}
