#include "collect/sample/pace.h"

#define KEPT_PART 0.8

/* Calls are thinned out first, which takes a moment: samples wait until a whole bucket is owed, unless they alone
 * cost more than there is. */
#define GOOD_PART 4 /* of the share: below a quarter of it fewer samples would not help */

uint32_t isc_pace_cut(const isc_pace_sums *sums)
{
	double all = 0, covered = 0;
	uint32_t size = ISC_PACE_SIZES;

	for (uint32_t i = 0; i < ISC_PACE_SIZES; i++)
		all += (double)sums->ns[i];
	while (size > 1 && covered < all * KEPT_PART)
		covered += (double)sums->ns[--size];
	return size < ISC_PACE_SIZES ? size : 1;
}

static uint32_t longer(uint32_t step_ns, uint32_t level)
{
	while (level-- > 0 && step_ns < ISC_PACE_MOST_NS)
		step_ns *= 2;
	return step_ns < ISC_PACE_MOST_NS ? step_ns : ISC_PACE_MOST_NS;
}

uint32_t isc_pace_level_most(uint32_t asked_ns)
{
	uint32_t level = 0;

	while (longer(asked_ns, level) < ISC_PACE_MOST_NS)
		level++;
	return level + 1;
}

uint32_t isc_pace_step_ns(uint32_t asked_ns, uint32_t level, bool kept)
{
	uint32_t step, floor = level < isc_pace_level_most(asked_ns) ? ISC_PACE_KEPT_NS : ISC_PACE_LEAST_NS;

	/* Asked for fewer than the fewest: nobody gets more. */
	if (asked_ns >= ISC_PACE_MOST_NS)
		return asked_ns;
	step = longer(asked_ns, level);
	floor = floor > asked_ns ? floor : asked_ns;
	return kept && step > floor ? floor : step;
}

uint32_t isc_pace_next(uint32_t asked_ns, uint32_t level, const isc_pace_look *look)
{
	bool owes = look->left < -look->most && look->left <= look->then && look->samples > look->share / GOOD_PART;
	bool alone = look->left < 0 && look->samples > look->share;

	if (owes || alone)
		return level < isc_pace_level_most(asked_ns) ? level + 1 : level;
	/* Twice as many must fit as well. */
	if (level > 0 && look->left > look->most / 2 && look->samples * 2 < look->share)
		return level - 1;
	return level;
}
