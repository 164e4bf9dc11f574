/* base: buffer, clock, hashmap and status. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <errno.h>
#include <string.h>

#include <cmocka.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "base/hashmap.h"
#include "base/status.h"

static void an_error_carries_what_and_what_to_do(void **state)
{
	isc_error err;

	(void)state;
	errno = ENOENT;
	assert_int_equal(isc_fail_errno(&err, "cannot open %s", "x.isc"), ISC_ERR_ABSENT);
	assert_string_equal(err.what, "cannot open x.isc: No such file or directory");
	assert_int_equal(err.sys, ENOENT);
	isc_hint(&err, "check the path");
	assert_string_equal(err.hint, "check the path");
	assert_int_equal(isc_fail(NULL, ISC_ERR_LIMIT, "nobody reads this"), ISC_ERR_LIMIT);
}

static void a_map_finds_what_was_put_through_growth_and_removal(void **state)
{
	isc_hashmap map = {0};
	bool fresh;

	(void)state;
	assert_null(isc_hashmap_find(&map, 7));
	for (uint64_t k = 0; k < 10000; k++) {
		*isc_hashmap_put(&map, k * 4096, &fresh) = k;
		assert_true(fresh);
	}
	for (uint64_t k = 0; k < 10000; k += 2)
		isc_hashmap_remove(&map, k * 4096);
	assert_int_equal(map.count, 5000);
	for (uint64_t k = 0; k < 10000; k++) {
		uint64_t *v = isc_hashmap_find(&map, k * 4096);

		assert_true(k % 2 ? v != NULL && *v == k : v == NULL);
	}
	isc_hashmap_put(&map, 4096, &fresh);
	assert_false(fresh);
	size_t at = 0, seen = 0;
	uint64_t key, value;
	while (isc_hashmap_next(&map, &at, &key, &value)) {
		assert_int_equal(key, value * 4096);
		seen++;
	}
	assert_int_equal(seen, 5000);
	isc_hashmap_fini(&map);
}

static void a_buffer_grows_and_stays_terminated(void **state)
{
	isc_buffer b = {0};

	(void)state;
	for (int i = 0; i < 1000; i++)
		isc_buffer_format(&b, "%d,", i);
	assert_false(b.failed);
	assert_int_equal(strlen(b.data), b.len);
	isc_buffer_clear(&b);
	isc_buffer_add(&b, "a\0b", 3);
	assert_int_equal(b.len, 3);
	assert_null(isc_buffer_room(&b, SIZE_MAX / 2));
	assert_true(b.failed);
	isc_buffer_fini(&b);
}

static void ticks_turn_into_time_piece_by_piece(void **state)
{
	/* 2 ticks a ns, then 4. */
	const isc_clock_pair pairs[] = {{1000, 5000}, {3000, 6000}, {7000, 7000}};

	(void)state;
	assert_int_equal(isc_clock_to_ns(pairs, 3, 1, 2000), 5500);
	assert_int_equal(isc_clock_to_ns(pairs, 3, 1, 5000), 6500);
	assert_int_equal(isc_clock_to_ns(pairs, 3, 1, 10000), 8000); /* 3 ticks a ns over the whole */
	assert_int_equal(isc_clock_to_ns(pairs, 3, 1, 700), 4900);
	assert_int_equal(isc_clock_to_ns(pairs, 1, 1, 99), 5000);
	assert_int_equal(isc_clock_to_ns(pairs, 3, 0, 99), 99);
}

static void a_pair_is_read_close_together(void **state)
{
	uint32_t source = isc_clock_source();
	isc_clock_pair a = isc_clock_read_pair(source), b = isc_clock_read_pair(source);

	(void)state;
	assert_true(b.mono_ns >= a.mono_ns);
	assert_true(b.ticks >= a.ticks);
	assert_true(b.mono_ns - a.mono_ns < 1000000000u);
}

static void the_rate_of_the_clock_is_what_it_is_over_longer(void **state)
{
	uint32_t source = isc_clock_source();
	isc_clock_pair first = isc_clock_read_pair(source), last;
	uint32_t rate = isc_clock_per_us(source, first);
	double longer;

	(void)state;
	do
		last = isc_clock_read_pair(source);
	while (last.mono_ns - first.mono_ns < 20000000);
	longer = (double)(last.ticks - first.ticks) * 1000 / (double)(last.mono_ns - first.mono_ns);
	assert_true((double)rate > longer * 0.99 && (double)rate < longer * 1.01);
	assert_int_equal(isc_clock_per_us(0, first), 1000);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_error_carries_what_and_what_to_do),
		cmocka_unit_test(a_map_finds_what_was_put_through_growth_and_removal),
		cmocka_unit_test(a_buffer_grows_and_stays_terminated),
		cmocka_unit_test(ticks_turn_into_time_piece_by_piece),
		cmocka_unit_test(a_pair_is_read_close_together),
		cmocka_unit_test(the_rate_of_the_clock_is_what_it_is_over_longer),
	};

	return cmocka_run_group_tests_name("base", tests, NULL, NULL);
}
