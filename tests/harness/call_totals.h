/*
 * call_totals.h - totals that are fed with calls by hand.  Includes nothing of
 * cmocka: whoever includes it has done so.
 */
#ifndef ISC_HARNESS_CALL_TOTALS_H
#define ISC_HARNESS_CALL_TOTALS_H

#include "trace/totals/totals.h"
#include "trace/totals/totals_lane.h"

enum { ENTER = ISC_KIND_CALL_ENTER, RESUME = ISC_KIND_CALL_RESUME, EXIT = ISC_KIND_CALL_EXIT };

static inline isc_totals *fresh(void)
{
	isc_totals *t = NULL;

	assert_int_equal(isc_totals_new(&t, NULL), ISC_OK);
	return t;
}

static inline void feed_on(isc_totals *t, uint32_t thread, uint8_t stream, uint64_t ticks, int kind, uint32_t id,
			   int arg)
{
	isc_record r = {ticks, id, (uint8_t)kind, 1, (uint16_t)arg};

	assert_int_equal(isc_totals_feed(t, 1, thread, stream, &r, NULL, 0, NULL), ISC_OK);
}

static inline void feed(isc_totals *t, uint64_t ticks, int kind, uint32_t id)
{
	feed_on(t, 1, 0, ticks, kind, id, 0);
}

/* A window of 100 us in which 1000 calls were counted, some of them of these. */
static inline void feed_window(isc_totals *t, uint64_t begin_ns, int flags, const isc_burst_calls *calls, uint32_t n)
{
	const isc_burst b = {
		.begin_ns = begin_ns, .end_ns = begin_ns + 100000, .cost = 20 * 16, .least = 20 * 16, .calls = 1000};
	isc_record r = {begin_ns, 0, ISC_KIND_BURST, (uint8_t)(3 + (n + 1) / 2), (uint16_t)flags};
	char extra[256] = {0};

	memcpy(extra, &b, sizeof(b));
	if (n > 0)
		memcpy(extra + sizeof(b), calls, n * sizeof(*calls));
	assert_int_equal(isc_totals_feed(t, 1, 1, 0, &r, extra, (uint32_t)(sizeof(b) + n * sizeof(*calls)), NULL),
			 ISC_OK);
}

static inline const isc_total_function *function(const isc_totals *t, uint32_t id)
{
	const isc_total_function *f;

	for (size_t i = 0; (f = isc_totals_function_at(t, i)) != NULL; i++) {
		if (f->code == id)
			return f;
	}
	fail_msg("no function %u", id);
	return NULL;
}

#define assert_function(t, id, calls_, self_, total_) \
	do { \
		const isc_total_function *f_ = function(t, id); \
		assert_int_equal(f_->calls, calls_); \
		assert_int_equal(f_->self_ticks, self_); \
		assert_int_equal(f_->total_ticks, total_); \
	} while (0)

#endif
