#include "timeline/walk.h"

#include <assert.h>
#include <string.h>

#define GROUPS 32u /* of kinds; there are no kinds behind them */

void isc_walk_join(isc_walk *w, uint32_t groups, isc_walk_fn take, void *self)
{
	assert(w->count < ISC_WALK_PARTS);
	w->part[w->count++] = (struct isc_walk_part){take, self, groups};
}

bool isc_walk_run(const isc_walk *w, isc_trace *trace)
{
	uint32_t wanted[GROUPS] = {0}; /* a bit for each part */
	isc_event ev;

	_Static_assert(ISC_WALK_PARTS <= 32, "a bit for each part");
	if (w->count == 0)
		return true;
	for (size_t i = 0; i < w->count; i++) {
		for (size_t group = 0; group < GROUPS; group++)
			wanted[group] |= (w->part[i].groups >> group & 1u) << i;
	}
	isc_trace_rewind(trace);
	while (isc_trace_next(trace, &ev)) {
		uint32_t parts = ev.kind >> 3 < GROUPS ? wanted[ev.kind >> 3] : 0;

		for (; parts != 0; parts &= parts - 1) {
			const struct isc_walk_part *part = &w->part[__builtin_ctz(parts)];

			if (!part->take(part->self, &ev))
				return false;
		}
	}
	return true;
}
