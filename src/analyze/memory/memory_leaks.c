/*
 * memory_leaks.c - memory that grows to the end of the run.
 *
 * What a site still holds at the end is looked at by when it was taken.  A model
 * was loaded once, a request's buffers are recent, a cache that has filled up has stopped
 * taking: none of them has left something from nearly every part of the time in which
 * the site was at work, up to the end.  A leak has.
 */
#include "analyze/memory/memory.h"

#include <stdlib.h>

#include "analyze/names.h"

#define SLICES 10u	  /* of the time from a site's first record to the end */
#define SLICES_LEAST 7u	  /* that have left something */
#define SAMPLES_LEAST 10u /* fewer say nothing of when */
#define BYTES_LEAST 1048576.0
#define HALF_LEAST 0.2	 /* of it: from each half of that time */
#define ACTIVE_LEAST 0.2 /* of the run: a site that has just begun may be anything */
#define LASTING 0.85	 /* of the run: it still grew then */
#define KEPT_LEAST 0.02	 /* of what it took: less is what was just being used */

struct held {
	const isc_memory_run *run;
	uint64_t first_ns, last_ns; /* taken by the site; last_ns: and held at the end */
	double slice[SLICES];
	double bytes;
	uint64_t samples;
};

static bool is_held(const isc_build *b, const isc_memory_op *op, const isc_memory_op *all)
{
	const isc_memory_op *gone = op->other != 0 ? &all[op->other - 1] : NULL;

	return op->time_ns <= b->to_ns && (gone == NULL || gone->ended || gone->time_ns > b->to_ns);
}

static bool grows(const struct held *h, const isc_analysis_site *s)
{
	const isc_memory_run *run = h->run;
	double whole, half[2] = {0, 0};
	unsigned filled = 0;

	if (run == NULL || h->samples < SAMPLES_LEAST || h->bytes < BYTES_LEAST || h->bytes < s->bytes * KEPT_LEAST)
		return false;
	whole = (double)(run->to_ns - run->from_ns);
	if ((double)(run->to_ns - h->first_ns) < whole * ACTIVE_LEAST ||
	    (double)(h->last_ns - run->from_ns) < whole * LASTING)
		return false;
	for (unsigned i = 0; i < SLICES; i++) {
		filled += h->slice[i] > 0;
		half[i >= SLICES / 2] += h->slice[i];
	}
	return filled >= SLICES_LEAST && half[0] >= h->bytes * HALF_LEAST && half[1] >= h->bytes * HALF_LEAST;
}

static int most_first(const void *x, const void *y)
{
	const isc_analysis_leak *a = x, *b = y;

	if (a->bytes < b->bytes || a->bytes > b->bytes)
		return a->bytes > b->bytes ? -1 : 1;
	return isc_names_compare(&a->at.name, &b->at.name);
}

static bool tell(isc_build *b, const struct held *held)
{
	isc_analysis_memory *m = &b->a->memory;
	size_t room = 0;

	for (size_t i = 0; i < m->site_count; i++) {
		const struct held *h = &held[i];
		isc_analysis_leak *l;

		if (!grows(h, &m->sites[i]))
			continue;
		l = isc_arena_push(b->arena, &m->leaks, &m->leak_count, &room, sizeof(*l));
		if (l == NULL)
			return false;
		*l = (isc_analysis_leak){.at = m->sites[i].at,
					 .pid = m->sites[i].pid,
					 .bytes = h->bytes,
					 .samples = h->samples,
					 .from_us = isc_build_us(b, h->first_ns),
					 .to_us = isc_build_us(b, h->last_ns)};
		l->bytes_per_s = l->to_us > l->from_us ? l->bytes / ((l->to_us - l->from_us) / 1e6) : 0;
		m->sites[i].grows = true;
	}
	if (m->leak_count > 0)
		qsort(m->leaks, m->leak_count, sizeof(*m->leaks), most_first);
	return true;
}

static const isc_memory_run *run_of(uint32_t process, const isc_memory_run *run, size_t runs)
{
	for (size_t i = runs; i > 0; i--) {
		if (run[i - 1].process == process)
			return &run[i - 1];
	}
	return NULL;
}

bool isc_memory_find_leaks(isc_build *b, const isc_memory_op *op, size_t count, const isc_memory_run *run, size_t runs)
{
	isc_analysis_memory *m = &b->a->memory;
	struct held *held;

	/* Records that were dropped to stay under the size limit may have told of the end of what seems held. */
	if (m->site_count == 0 || b->stats->retired_events > 0)
		return true;
	held = isc_arena_array(b->arena, m->site_count, sizeof(*held));
	if (held == NULL)
		return false;
	for (size_t i = 0; i < count; i++) {
		struct held *h = &held[op[i].site];
		uint64_t part;

		if (!op[i].alloc || op[i].ended || op[i].time_ns > b->to_ns)
			continue;
		if (h->run == NULL) {
			h->run = run_of(op[i].process, run, runs);
			h->first_ns = op[i].time_ns;
		}
		if (h->run == NULL || h->run->to_ns <= h->first_ns || !is_held(b, &op[i], op))
			continue;
		part = (uint64_t)((double)(op[i].time_ns - h->first_ns) / (double)(h->run->to_ns - h->first_ns) *
				  SLICES);
		h->slice[part < SLICES ? part : SLICES - 1] += op[i].bytes;
		h->bytes += op[i].bytes;
		h->last_ns = op[i].time_ns;
		h->samples++;
	}
	return tell(b, held);
}
