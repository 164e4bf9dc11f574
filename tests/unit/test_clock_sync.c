/* clock_sync: simulated clocks with an offset, a drift, a wander and steps; the truth is known. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "timeline/gpu/clock_sync.h"

#define SECOND 1000000000ll
#define MARGIN 1000000

struct clock {
	double offset, ppm; /* ns */
	double wander;	    /* ns, over 20 s */
	int64_t step_at[2];
	double step[2];
};

static uint64_t state;
static double there_ns = 300, back_ns = 1200; /* of a reading, at least */

static isc_clock_range around(double host, double slack)
{
	return (isc_clock_range){(int64_t)(host - slack), (int64_t)(host + slack)};
}

static double draw(void)
{
	state = state * 6364136223846793005ull + 1442695040888963407ull;
	return (double)(state >> 11) / 9007199254740992.0;
}

/* What the device's clock shows at a moment of the host's. */
static int64_t device_at(const struct clock *c, double host)
{
	double t = c->offset + host * (1 + c->ppm * 1e-6) + c->wander * sin(2 * M_PI * host / (20.0 * SECOND));

	for (int i = 0; i < 2; i++)
		t += c->step_at[i] > 0 && host >= (double)c->step_at[i] ? c->step[i] : 0;
	return (int64_t)llround(t);
}

/* Delays of 0.3 us on the way and 1.2 us back, and a third of all readings held up by 20 us or so. */
static isc_clock_triple read_clock(const struct clock *c, int64_t host)
{
	double there = there_ns * (1 + 0.3 * draw()), back = back_ns * (1 + 0.3 * draw());

	there += draw() < 0.3 ? -20000 * log(1 - draw()) : 0;
	back += draw() < 0.3 ? -20000 * log(1 - draw()) : 0;
	return (isc_clock_triple){host, device_at(c, (double)host + there), host + (int64_t)(there + back)};
}

static isc_clock_sync *synced(const struct clock *c, int64_t length, double rate, uint64_t seed)
{
	isc_clock_sync *s;

	state = seed * 977 + 1;
	assert_int_equal(isc_clock_sync_new(&s, NULL), ISC_OK);
	for (double t = 0; t <= (double)length; t += SECOND / rate) {
		isc_clock_triple triple = read_clock(c, (int64_t)t);

		assert_true(isc_clock_sync_read(s, &triple));
	}
	assert_true(isc_clock_sync_fit(s, MARGIN));
	assert_int_equal(isc_clock_sync_stats(s)->method, ISC_CLOCK_DIRECT);
	return s;
}

/* The largest error; every one is inside its bound. */
static double worst(const isc_clock_sync *s, const struct clock *c, int64_t length)
{
	double most = 0;

	for (int i = 0; i <= 5000; i++) {
		double host = (double)length * i / 5000;
		int64_t error, mapped = isc_clock_sync_map(s, device_at(c, host), ISC_CLOCK_ANY, &error);
		double off = fabs((double)mapped - host);

		if (off > (double)error + 1)
			fail_msg("at %.0f ns off by %.1f ns, and the bound is %lld", host, off, (long long)error);
		most = fmax(most, off);
	}
	return most;
}

static void check(struct clock c, int64_t length, double rate, double limit)
{
	double most = 0;

	for (uint64_t seed = 1; seed <= 6; seed++) {
		isc_clock_sync *s = synced(&c, length, rate, seed);

		most = fmax(most, worst(s, &c, length));
		isc_clock_sync_free(s);
	}
	if (most > limit)
		fail_msg("off by %.1f ns, allowed are %.1f", most, limit);
}

static void an_offset_and_a_drift_leave_under_a_microsecond(void **unused)
{
	(void)unused;
	check((struct clock){.offset = 5e8}, 60 * SECOND, 8, 1000);
	check((struct clock){.offset = -3e9, .ppm = 20}, 60 * SECOND, 8, 1000);
	check((struct clock){.offset = 5e8, .ppm = 200}, 60 * SECOND, 8, 1000);
	check((struct clock){.offset = 5e8, .ppm = 500}, 3600 * SECOND, 8, 1000);
	check((struct clock){.offset = 5e8, .ppm = -500}, 3600 * SECOND, 8, 1000);
}

static void a_wander_is_followed(void **unused)
{
	(void)unused;
	check((struct clock){.offset = 5e8, .ppm = 50, .wander = 30e3}, 60 * SECOND, 8, 2000);
	check((struct clock){.offset = 5e8, .ppm = 50, .wander = 30e3}, 60 * SECOND, 32, 1000);
	check((struct clock){.offset = 5e8, .ppm = -500, .wander = 30e3}, 600 * SECOND, 32, 1000);
}

static void a_step_begins_a_new_line(void **unused)
{
	const int64_t when[2] = {17 * SECOND + 12345, 41 * SECOND + 777};
	const double sizes[][2] = {{5e6, -3e6}, {-5e6, 3e6}, {40e3, -40e3}, {-2e9, 1e9}};

	(void)unused;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct clock c = {
			.offset = 5e8, .ppm = 100, .step_at = {when[0], when[1]}, .step = {sizes[i][0], sizes[i][1]}};
		double most = 0;

		for (uint64_t seed = 1; seed <= 6; seed++) {
			isc_clock_sync *s = synced(&c, 60 * SECOND, 8, seed);

			assert_int_equal(isc_clock_sync_stats(s)->segments, 3);
			worst(s, &c, 60 * SECOND); /* inside the bound everywhere, also in the jump */
			for (int k = 0; k < 1000; k++) {
				double host = (double)(20 * SECOND) + 1e7 * k;
				int64_t error;

				int64_t mapped = isc_clock_sync_map(s, device_at(&c, host), around(host, 1e6), &error);

				assert_true(fabs((double)mapped - host) <= (double)error);
				most = fmax(most, fabs((double)mapped - host));
			}
			isc_clock_sync_free(s);
		}
		assert_true(most <= 1000);
	}
}

/* Everything at once, for an hour: inside the bound always, and to 5 us away from the jumps (TRUST D3). */
static void an_hour_of_drift_wander_and_steps(void **unused)
{
	static const double drifts[] = {500, -500};
	const int64_t length = 3600 * SECOND, when[2] = {1000 * SECOND + 12345, 2500 * SECOND + 777};

	(void)unused;
	for (uint64_t i = 0; i < 4; i++) {
		struct clock c = {.offset = 5e8,
				  .ppm = drifts[i % 2],
				  .wander = 30e3,
				  .step_at = {when[0], when[1]},
				  .step = {i < 2 ? 5e6 : -2e9, i < 2 ? -3e6 : 1e9}};
		isc_clock_sync *s = synced(&c, length, 8, i + 1);
		double most = 0;

		assert_int_equal(isc_clock_sync_stats(s)->segments, 3);
		worst(s, &c, length);
		for (int k = 0; k < 100000; k++) {
			double host = (double)length * k / 100000;
			int64_t error, mapped = isc_clock_sync_map(s, device_at(&c, host), around(host, 1e6), &error);
			double off = fabs((double)mapped - host);

			assert_true(off <= (double)error + 1);
			/* Between the readings around a jump it is not known where it was. */
			if (fabs(host - (double)when[0]) > SECOND && fabs(host - (double)when[1]) > SECOND)
				most = fmax(most, off);
		}
		if (most > 5000)
			fail_msg("off by %.1f ns, allowed are 5000", most);
		isc_clock_sync_free(s);
	}
}

static void a_time_that_may_be_two_is_bounded_by_both(void **unused)
{
	struct clock c = {.offset = 0, .step_at = {30 * SECOND}, .step = {-10.0 * SECOND}};
	isc_clock_sync *s = synced(&c, 60 * SECOND, 8, 3);
	int64_t error, early, late, device = 25 * SECOND;

	(void)unused;
	early = isc_clock_sync_map(s, device, around(25.0 * SECOND, SECOND), &error);
	assert_true(llabs(early - 25 * SECOND) <= 2000 && error < 10000);
	late = isc_clock_sync_map(s, device, around(35.0 * SECOND, SECOND), &error);
	assert_true(llabs(late - 35 * SECOND) <= 2000 && error < 10000);
	isc_clock_sync_map(s, device, ISC_CLOCK_ANY, &error);
	assert_true(error >= 5 * SECOND);
	isc_clock_sync_free(s);
}

static void few_readings_have_a_wide_bound(void **unused)
{
	struct clock c = {.offset = 7e8, .ppm = 300};
	isc_clock_sync *s;

	(void)unused;
	for (int n = 1; n <= 20; n++) {
		state = (uint64_t)n;
		assert_int_equal(isc_clock_sync_new(&s, NULL), ISC_OK);
		for (int i = 0; i < n; i++) {
			isc_clock_triple triple = read_clock(&c, i * SECOND / 8);

			assert_true(isc_clock_sync_read(s, &triple));
		}
		assert_true(isc_clock_sync_fit(s, MARGIN));
		worst(s, &c, 10 * SECOND); /* far outside of what was read */
		isc_clock_sync_free(s);
	}
}

/* Work that is asked for and waited for, as a program without a clock to read would see it. */
static isc_clock_sync *by_causality(const struct clock *c, bool waits)
{
	isc_clock_sync *s;

	state = 42;
	assert_int_equal(isc_clock_sync_new(&s, NULL), ISC_OK);
	for (int i = 0; i < 20000; i++) {
		double call = 1e6 * i, start = call + 4000 - 6000 * log(1 - draw()), end = start + 20000;

		assert_true(isc_clock_sync_asked(s, (int64_t)call, device_at(c, start)));
		if (waits && i % 10 == 0)
			assert_true(isc_clock_sync_waited(s, (int64_t)(end + 5000 + 9000 * draw()), device_at(c, end)));
	}
	assert_true(isc_clock_sync_fit(s, MARGIN));
	return s;
}

static void causality_alone_bounds_the_clock(void **unused)
{
	const struct clock clocks[] = {{.offset = 3e6, .ppm = 200}, {.offset = -2.5e6, .ppm = -120}, {.offset = 9e9}};

	(void)unused;
	for (size_t i = 0; i < sizeof(clocks) / sizeof(clocks[0]); i++) {
		isc_clock_sync *s = by_causality(&clocks[i], true);

		assert_int_equal(isc_clock_sync_stats(s)->method, ISC_CLOCK_CAUSALITY);
		assert_true(isc_clock_sync_stats(s)->error_ns < 20000);
		worst(s, &clocks[i], 20 * SECOND);
		isc_clock_sync_free(s);
	}
}

static void work_is_never_placed_before_its_call(void **unused)
{
	struct clock c = {.offset = 3e6, .ppm = -500};
	isc_clock_sync *s;
	uint64_t early = 0;

	(void)unused;
	/* The other way round: the middle of a reading is before the moment it was taken. */
	there_ns = 1200;
	back_ns = 300;
	s = synced(&c, 60 * SECOND, 8, 5);
	there_ns = 300;
	back_ns = 1200;
	for (int i = 0; i < 5000; i++) {
		double call = 1e7 * i, start = call + 200;
		int64_t from = device_at(&c, start), to = device_at(&c, start + 50000), error;
		isc_clock_range known = {(int64_t)call, INT64_MAX};

		early += isc_clock_sync_map(s, from, known, &error) < (int64_t)call;
		isc_clock_sync_place(s, known, &from, &to, &error);
		assert_true(from >= (int64_t)call);
		assert_true(fabs((double)from - start) <= 5000);
		assert_true(llabs(to - from - 50000) <= 500); /* one percent of its length */
	}
	assert_true(early > 0);
	assert_int_equal(isc_clock_sync_stats(s)->fixes, early);
	isc_clock_sync_free(s);
}

static void with_nothing_to_go_by_the_margin_is_the_bound(void **unused)
{
	isc_clock_sync *s;
	int64_t error;

	(void)unused;
	assert_int_equal(isc_clock_sync_new(&s, NULL), ISC_OK);
	assert_true(isc_clock_sync_fit(s, 250000));
	assert_int_equal(isc_clock_sync_stats(s)->method, ISC_CLOCK_ASSUMED);
	assert_int_equal(isc_clock_sync_map(s, 123456789, ISC_CLOCK_ANY, &error), 123456789);
	assert_int_equal(error, 250000);
	isc_clock_sync_free(s);
	/* One side alone bounds nothing. */
	s = by_causality(&(struct clock){.offset = 1e6}, false);
	assert_int_equal(isc_clock_sync_stats(s)->method, ISC_CLOCK_ASSUMED);
	isc_clock_sync_free(s);
}

static void nonsense_does_no_harm(void **unused)
{
	const isc_clock_triple odd[] = {
		{0, INT64_MAX / 4, 0},	 {5, -INT64_MAX / 4, 4},   {10, 10, 10},	   {10, 10, 10}, {9, 5, 20},
		{20, INT64_MAX / 4, 21}, {30, -INT64_MAX / 4, 31}, {40, 0, INT64_MAX / 4}, {50, 1, 51}};
	isc_clock_sync *s;
	int64_t error = -1;

	(void)unused;
	assert_int_equal(isc_clock_sync_new(&s, NULL), ISC_OK);
	for (size_t i = 0; i < sizeof(odd) / sizeof(odd[0]); i++)
		assert_true(isc_clock_sync_read(s, &odd[i]));
	assert_true(isc_clock_sync_fit(s, MARGIN));
	assert_int_equal(isc_clock_sync_stats(s)->dropped, 2);
	for (int64_t t = -INT64_MAX / 4; t < INT64_MAX / 4; t += INT64_MAX / 64) {
		isc_clock_sync_map(s, t, ISC_CLOCK_ANY, &error);
		assert_true(error >= 0);
	}
	isc_clock_sync_free(s);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_offset_and_a_drift_leave_under_a_microsecond),
		cmocka_unit_test(a_wander_is_followed),
		cmocka_unit_test(a_step_begins_a_new_line),
		cmocka_unit_test(an_hour_of_drift_wander_and_steps),
		cmocka_unit_test(a_time_that_may_be_two_is_bounded_by_both),
		cmocka_unit_test(few_readings_have_a_wide_bound),
		cmocka_unit_test(causality_alone_bounds_the_clock),
		cmocka_unit_test(work_is_never_placed_before_its_call),
		cmocka_unit_test(with_nothing_to_go_by_the_margin_is_the_bound),
		cmocka_unit_test(nonsense_does_no_harm),
	};

	return cmocka_run_group_tests_name("clock_sync", tests, NULL, NULL);
}
