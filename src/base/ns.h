/*
 * ns.h - sums and differences of times that are anybody's.
 *
 * A file may say what it likes: nothing here overflows.  A sum ends at nine years, which
 * no trace has, so that readers of facts may add up some thirty of them as they are.
 */
#ifndef ISC_BASE_NS_H
#define ISC_BASE_NS_H

#include <stdint.h>

#define ISC_NS_SUM_MOST (INT64_MAX / 32)

static inline int64_t isc_ns_plus(int64_t x, int64_t y)
{
	int64_t sum;

	if (!__builtin_add_overflow(x, y, &sum))
		return sum;
	return y > 0 ? INT64_MAX : INT64_MIN;
}

static inline int64_t isc_ns_minus(int64_t x, int64_t y)
{
	int64_t rest;

	if (!__builtin_sub_overflow(x, y, &rest))
		return rest;
	return y < 0 ? INT64_MAX : INT64_MIN;
}

/* Adds a length, of which one that is negative is none. */
static inline void isc_ns_add(int64_t *sum, int64_t ns)
{
	if (ns <= 0)
		return;
	*sum = ns < ISC_NS_SUM_MOST && *sum < ISC_NS_SUM_MOST - ns ? *sum + ns : ISC_NS_SUM_MOST;
}

/* The same where sums stand in a map. */
static inline void isc_ns_add_to(uint64_t *sum, int64_t ns)
{
	int64_t all = *sum < ISC_NS_SUM_MOST ? (int64_t)*sum : ISC_NS_SUM_MOST;

	isc_ns_add(&all, ns);
	*sum = (uint64_t)all;
}

static inline uint64_t isc_count_plus(uint64_t x, uint64_t y)
{
	return x + y >= x ? x + y : UINT64_MAX;
}

#endif
