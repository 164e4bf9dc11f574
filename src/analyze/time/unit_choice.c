#include "analyze/time/unit_choice.h"

#include <math.h>

#include "trace/model.h"

#define LONG_SHARE 0.5 /* of the window: a task that takes more serves all others, and a thread that does is a worker */
#define WORK_SHARE 0.1 /* of what the largest kind takes: one that takes less is beside the work */

bool isc_unit_may_count(const isc_unit_weight *w, double window_ns)
{
	return w->count >= ISC_UNIT_ENOUGH && (w->source == ISC_UNIT_SCOPE || w->longest_ns <= window_ns * LONG_SHARE);
}

size_t isc_unit_choose(const isc_unit_weight *w, size_t n, double window_ns)
{
	size_t best[ISC_UNIT_LOOP + 1] = {SIZE_MAX, SIZE_MAX, SIZE_MAX, SIZE_MAX};
	double most_ns = 0;

	for (size_t i = 0; i < n; i++) {
		size_t *of = &best[w[i].source];

		if (!isc_unit_may_count(&w[i], window_ns))
			continue;
		most_ns = fmax(most_ns, w[i].total_ns);
		if (*of == SIZE_MAX || w[i].total_ns > w[*of].total_ns)
			*of = i;
	}
	for (uint32_t source = ISC_UNIT_SCOPE; source <= ISC_UNIT_LOOP; source++) {
		size_t i = best[source];

		/* Scopes are the program's own word for it. */
		if (i != SIZE_MAX && (source == ISC_UNIT_SCOPE || w[i].total_ns >= most_ns * WORK_SHARE))
			return i;
	}
	return SIZE_MAX;
}
