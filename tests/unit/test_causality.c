/* causality: the error of a clock that cannot be read, against what is true. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "timeline/gpu/causality.h"

#define US 1000ll
#define MS 1000000ll
#define S 1000000000ll

typedef struct device {
	double offset_ns, drift_ppm, wander_ns, wander_s;
	double step_ns, step_at_s;
} device;

static double off_at(const device *d, double t)
{
	return d->offset_ns + t * d->drift_ppm * 1e-6 + d->wander_ns * sin(t * 1e-9 / d->wander_s * 2 * M_PI) +
	       (t * 1e-9 >= d->step_at_s && d->step_ns != 0 ? d->step_ns : 0);
}

typedef struct piece {
	int64_t called, start, end; /* of the host: true */
	int64_t start_told, end_told;
} piece;

static uint64_t seed;

static double draw(void)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (double)(seed >> 33) / (double)(1ull << 31);
}

/* Steps of an inference loop: some launches, and a wait. */
static size_t simulate(isc_causality *c, const device *d, int64_t length_ns, int64_t step_ns, piece *pieces,
		       size_t room)
{
	size_t n = 0;
	int64_t now = 0;

	while (now < length_ns) {
		int64_t free_at = now;
		size_t first = n;

		for (int k = 0; k < 4 && n < room; k++) {
			piece *p = &pieces[n++];

			p->called = now + (int64_t)(20 * US * k);
			/* Now and then the thread is stopped inside its call. */
			p->start = p->called + (int64_t)((4 + 3 * draw() + (draw() < 0.02 ? 900 * draw() : 0)) * US);
			p->start = p->start > free_at ? p->start : free_at;
			p->end = free_at = p->start + (int64_t)((20 + 200 * draw()) * US);
			p->start_told = p->start + (int64_t)off_at(d, (double)p->start);
			p->end_told = p->end + (int64_t)off_at(d, (double)p->end);
		}
		/* And now and then it comes back late from its wait, which then says little. */
		free_at += (int64_t)((3 + 2 * draw() + (draw() < 0.1 ? 1500 * draw() : 0)) * US);
		/* One that a jump falls into has no duration that could be right: CUPTI's side leaves it out. */
		for (size_t i = first; i < n; i++)
			if (fabs((double)(pieces[i].end_told - pieces[i].start_told - pieces[i].end +
					  pieces[i].start)) < 1e5)
				isc_causality_add(c, pieces[i].called, free_at, pieces[i].start_told,
						  pieces[i].end_told);
		now += step_ns;
	}
	return n;
}

typedef struct outcome {
	double worst_ns, worst_bound_ns;
	size_t outside; /* pieces whose error is larger than the bound says */
	size_t count;
} outcome;

static outcome compare(const isc_causality *c, const piece *pieces, size_t n)
{
	outcome o = {.count = n};

	for (size_t i = 0; i < n; i++) {
		double stretched =
			(double)(pieces[i].end_told - pieces[i].start_told - pieces[i].end + pieces[i].start);
		int64_t bound, start = isc_causality_place(c, pieces[i].called, pieces[i].start_told, &bound);
		double error = fabs(stretched) < 1e5 ? fabs((double)(start - pieces[i].start)) : 0;

		o.worst_ns = fmax(o.worst_ns, error);
		o.worst_bound_ns = fmax(o.worst_bound_ns, (double)bound);
		o.outside += bound < 0 || error > (double)bound;
	}
	return o;
}

static outcome
try
	(const device *d, int64_t length_ns, int64_t step_ns, isc_causality_stats *stats)
	{
		size_t room = (size_t)(length_ns / step_ns + 1) * 4;
		piece *pieces = calloc(room, sizeof(*pieces));
		isc_causality *c = isc_causality_new(0);
		outcome o;
		size_t n;

		assert_non_null(pieces);
		assert_non_null(c);
		seed = 42;
		n = simulate(c, d, length_ns, step_ns, pieces, room);
		*stats = *isc_causality_fit(c);
		o = compare(c, pieces, n);
		isc_causality_free(c);
		free(pieces);
		return o;
	}

static void a_clock_that_is_right_stays_as_it_is(void **state)
{
	device d = {.wander_s = 1};
	isc_causality_stats stats;
	outcome o =
	try
		(&d, 2 * S, 2 * MS, &stats);

	(void)state;
	assert_true(stats.bounded);
	assert_false(stats.off);
	assert_int_equal(stats.jumps, 0);
	assert_true(o.worst_ns == 0);
	assert_true(stats.error_ns > 0 && stats.error_ns < 20 * US);
}

static void an_offset_is_found(void **state)
{
	static const double offsets[] = {3e6, -2.5e6, 40e3, -5e9};

	(void)state;
	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
		device d = {.offset_ns = offsets[i], .wander_s = 1};
		isc_causality_stats stats;
		outcome o =
		try
			(&d, 2 * S, 2 * MS, &stats);

		assert_true(stats.bounded && stats.off);
		assert_int_equal(o.outside, 0);
		assert_true(o.worst_bound_ns < 20 * US);
	}
}

/* An hour, steps of the loop every 20 ms. */
static void an_hour_of_drift_stays_inside_the_bound(void **state)
{
	static const device devices[] = {
		{.drift_ppm = 500, .wander_s = 20},
		{.drift_ppm = -500, .wander_s = 20},
		{.drift_ppm = 500, .wander_ns = 30e3, .wander_s = 20, .offset_ns = 3e6},
		{.drift_ppm = -500, .wander_ns = 100e3, .wander_s = 60, .offset_ns = -2e6},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
		isc_causality_stats stats;
		outcome o =
		try
			(&devices[i], 3600 * S, 20 * MS, &stats);

		assert_true(stats.bounded && stats.off);
		assert_int_equal(o.outside, 0);
		assert_int_equal(stats.jumps, 0);
		assert_true(o.worst_bound_ns < 150 * US);
		assert_true(o.worst_ns < 75 * US);
	}
}

/* All at once.  A jump is one of many that the waits of an hour must not see where there is none. */
static void an_hour_of_drift_wander_and_a_step(void **state)
{
	static const device devices[] = {
		{.drift_ppm = 500, .wander_ns = 30e3, .wander_s = 20, .step_ns = 5e6, .step_at_s = 1800.0031},
		{.drift_ppm = -500, .wander_ns = 100e3, .wander_s = 60, .step_ns = -5e6, .step_at_s = 777.7},
		{.drift_ppm = -500, .wander_ns = 30e3, .wander_s = 20, .step_ns = 1e9, .step_at_s = 3000.01},
		{.drift_ppm = 500, .wander_ns = 100e3, .wander_s = 60, .step_ns = -1e9, .step_at_s = 12.34},
	};

	(void)state;
	for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
		isc_causality_stats stats;
		outcome o =
		try
			(&devices[i], 3600 * S, 20 * MS, &stats);

		assert_true(stats.bounded && stats.off);
		assert_int_equal(o.outside, 0);
		assert_in_range(stats.jumps, 1, 3);
		assert_true(o.worst_ns <= (double)stats.error_ns);
	}
}

static void a_jump_is_seen_and_nothing_is_carried_over_it(void **state)
{
	static const double steps[] = {5e6, -5e6, 1e9, -1e9, 4e6, -4e6};

	(void)state;
	/* At many moments: also where the first wait behind it says too little to see it. */
	for (size_t i = 0; i < 240; i++) {
		device d = {.drift_ppm = 100,
			    .wander_s = 1,
			    .step_ns = steps[i % 6],
			    .step_at_s = 0.2 + 0.0023 * (double)i};
		isc_causality_stats stats;
		outcome o =
		try
			(&d, 1 * S, 2 * MS, &stats);

		assert_true(stats.bounded && stats.off);
		assert_in_range(stats.jumps, 1, 3);
		assert_int_equal(o.outside, 0);
		assert_true(o.worst_ns <= (double)stats.error_ns);
	}
}

/* CUPTI gives such when its clock is set twice. */
static void a_record_that_is_off_by_a_day_says_nothing(void **state)
{
	isc_causality *c = isc_causality_new(0);
	const isc_causality_stats *stats;

	(void)state;
	for (int64_t i = 0; i < 100; i++)
		isc_causality_add(c, i * MS, i * MS + 40 * US, i * MS + 5 * US, i * MS + 30 * US);
	isc_causality_add(c, 50 * MS, 51 * MS, 50 * MS - 86400 * S, 50 * MS - 86400 * S + US);
	isc_causality_add(c, INT64_MIN, INT64_MAX - 1, INT64_MAX, INT64_MIN);
	isc_causality_add(c, INT64_MAX, 0, INT64_MAX, INT64_MAX);
	stats = isc_causality_fit(c);
	assert_true(stats->bounded);
	assert_false(stats->off);
	assert_int_equal(stats->jumps, 0);
	isc_causality_free(c);
}

static void without_a_wait_nothing_is_bounded(void **state)
{
	isc_causality *c = isc_causality_new(0);
	const isc_causality_stats *stats;
	int64_t error;

	(void)state;
	isc_causality_add(c, 10 * US, ISC_CAUSALITY_NEVER, 15 * US, 20 * US);
	stats = isc_causality_fit(c);
	assert_false(stats->bounded);
	assert_false(stats->off);
	assert_int_equal(isc_causality_off(c, 10 * US, &error), 0);
	assert_int_equal(error, -1);
	isc_causality_free(c);
	c = isc_causality_new(0);
	assert_false(isc_causality_fit(c)->bounded);
	assert_int_equal(isc_causality_off(c, 0, &error), 0);
	isc_causality_free(c);
	isc_causality_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_clock_that_is_right_stays_as_it_is),
		cmocka_unit_test(an_offset_is_found),
		cmocka_unit_test(an_hour_of_drift_stays_inside_the_bound),
		cmocka_unit_test(an_hour_of_drift_wander_and_a_step),
		cmocka_unit_test(a_jump_is_seen_and_nothing_is_carried_over_it),
		cmocka_unit_test(a_record_that_is_off_by_a_day_says_nothing),
		cmocka_unit_test(without_a_wait_nothing_is_bounded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
