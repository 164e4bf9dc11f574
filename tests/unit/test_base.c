/* base: buffer, clock, hashmap and status. */
#include <stdio.h>
#include <errno.h>
#include <string.h>

#include "check.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/hashmap.h"
#include "base/status.h"

TEST(an_error_carries_what_and_what_to_do)
{
	isc_error err;

	errno = ENOENT;
	CHECK_EQ(isc_fail_errno(&err, "cannot open %s", "x.isc"), ISC_ERR_ABSENT);
	CHECK_TEXT(err.what, "cannot open x.isc: No such file or directory");
	CHECK_EQ(err.sys, ENOENT);
	isc_hint(&err, "check the path");
	CHECK_TEXT(err.hint, "check the path");
	CHECK_EQ(isc_fail(NULL, ISC_ERR_LIMIT, "nobody reads this"), ISC_ERR_LIMIT);
}

TEST(a_map_finds_what_was_put_through_growth_and_removal)
{
	isc_hashmap map = {0};
	bool fresh;

	CHECK_EQ(isc_hashmap_find(&map, 7), NULL);
	for (uint64_t k = 0; k < 10000; k++) {
		*isc_hashmap_put(&map, k * 4096, &fresh) = k;
		CHECK(fresh);
	}
	for (uint64_t k = 0; k < 10000; k += 2)
		isc_hashmap_remove(&map, k * 4096);
	CHECK_EQ(map.count, 5000);
	for (uint64_t k = 0; k < 10000; k++) {
		uint64_t *v = isc_hashmap_find(&map, k * 4096);

		CHECK(k % 2 ? v != NULL && *v == k : v == NULL);
	}
	isc_hashmap_put(&map, 4096, &fresh);
	CHECK(!fresh);
	size_t at = 0, seen = 0;
	uint64_t key, value;
	while (isc_hashmap_next(&map, &at, &key, &value)) {
		CHECK_EQ(key, value * 4096);
		seen++;
	}
	CHECK_EQ(seen, 5000);
	isc_hashmap_fini(&map);
}

TEST(a_buffer_grows_and_stays_terminated)
{
	isc_buffer b = {0};

	for (int i = 0; i < 1000; i++)
		isc_buffer_format(&b, "%d,", i);
	CHECK(!b.failed);
	CHECK_EQ(strlen(b.data), b.len);
	isc_buffer_clear(&b);
	isc_buffer_add(&b, "a\0b", 3);
	CHECK_EQ(b.len, 3);
	CHECK_EQ(isc_buffer_room(&b, SIZE_MAX / 2), NULL);
	CHECK(b.failed);
	isc_buffer_fini(&b);
}

TEST(ticks_turn_into_time_piece_by_piece)
{
	/* 2 ticks a ns, then 4. */
	const isc_clock_pair pairs[] = {{1000, 5000}, {3000, 6000}, {7000, 7000}};

	CHECK_EQ(isc_clock_to_ns(pairs, 3, 1, 2000), 5500);
	CHECK_EQ(isc_clock_to_ns(pairs, 3, 1, 5000), 6500);
	CHECK_EQ(isc_clock_to_ns(pairs, 3, 1, 10000), 8000); /* 3 ticks a ns over the whole */
	CHECK_EQ(isc_clock_to_ns(pairs, 3, 1, 700), 4900);
	CHECK_EQ(isc_clock_to_ns(pairs, 1, 1, 99), 5000);
	CHECK_EQ(isc_clock_to_ns(pairs, 3, 0, 99), 99);
}

TEST(a_pair_is_read_close_together)
{
	uint32_t source = isc_clock_source();
	isc_clock_pair a = isc_clock_read_pair(source), b = isc_clock_read_pair(source);

	CHECK(b.mono_ns >= a.mono_ns);
	CHECK(b.ticks >= a.ticks);
	CHECK(b.mono_ns - a.mono_ns < 1000000000u);
}

TEST(the_rate_of_the_clock_is_what_it_is_over_longer)
{
	uint32_t source = isc_clock_source();
	isc_clock_pair first = isc_clock_read_pair(source), last;
	uint32_t rate = isc_clock_per_us(source, first);
	double longer;

	do
		last = isc_clock_read_pair(source);
	while (last.mono_ns - first.mono_ns < 20000000);
	longer = (double)(last.ticks - first.ticks) * 1000 / (double)(last.mono_ns - first.mono_ns);
	CHECK((double)rate > longer * 0.99 && (double)rate < longer * 1.01);
	CHECK_EQ(isc_clock_per_us(0, first), 1000);
}
