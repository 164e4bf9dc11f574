/*
 * part.h - what the parts of a sample take, for a thread that asked for it.
 *
 * The bench asks (isc_rt_sample_parts()), nobody else: then each part reads the clock
 * where it ends.  Otherwise that is a test of one word.  Signal-safe.
 */
#ifndef ISC_COLLECT_SAMPLE_PART_H
#define ISC_COLLECT_SAMPLE_PART_H

#include <stdint.h>

#include "runtime/runtime.h"
#include "runtime/write.h"

typedef struct isc_sample_timing {
	uint32_t *volatile to; /* of the caller; NULL: nobody asked */
	uint32_t room, n;      /* samples */
	uint64_t since;
	uint32_t part[ISC_SAMPLE_PARTS];
} isc_sample_timing;

static inline void isc_sample_part_begin(isc_sample_timing *t, uint64_t ticks)
{
	t->since = ticks;
	for (int i = 0; t->to != NULL && i < (int)ISC_SAMPLE_PARTS; i++)
		t->part[i] = 0;
}

/* From the end of the last one up to here it was this part. */
static inline void isc_sample_part(isc_sample_timing *t, enum isc_sample_part part)
{
	uint64_t now;

	if (__builtin_expect(t->to == NULL, 1))
		return;
	now = isc_ticks();
	t->part[part] += (uint32_t)(now - t->since);
	t->since = now;
}

static inline void isc_sample_part_end(isc_sample_timing *t)
{
	if (__builtin_expect(t->to == NULL, 1) || t->n == t->room)
		return;
	for (int i = 0; i < (int)ISC_SAMPLE_PARTS; i++)
		t->to[t->n * ISC_SAMPLE_PARTS + (uint32_t)i] = t->part[i];
	t->n++;
}

#endif
