/* totals_fields: the numbers of a row by their table, whatever row it is. */
#include <string.h>

#include "check.h"
#include "trace/totals/totals_fields.h"

static isc_buffer stored;

static bool load(const isc_total_field *fields, void *row)
{
	const uint8_t *at = (const uint8_t *)stored.data, *end = at + stored.len;

	return isc_totals_fields_load(fields, row, &at, end) && at == end;
}

TEST(numbers_come_back_as_they_were_stored)
{
	isc_total_wait in = {1, UINT32_MAX, 22, 4, UINT64_MAX, 6, 7, 8, 9, 10, 11, 0}, out = {0};
	isc_total_counter reals = {1, 2, 3, -0.5, 1e300, 4.25, -7, 0}, back = {0};

	isc_totals_fields_store(isc_wait_fields, &in, &stored);
	CHECK(load(isc_wait_fields, &out));
	CHECK_EQ(memcmp(&in, &out, sizeof(in)), 0);
	isc_buffer_clear(&stored);
	isc_totals_fields_store(isc_counter_fields, &reals, &stored);
	CHECK(load(isc_counter_fields, &back));
	CHECK_EQ(memcmp(&reals, &back, sizeof(reals)), 0);
	isc_buffer_fini(&stored);
}

TEST(what_is_cut_short_or_says_too_much_is_refused)
{
	isc_total_wait in = {.call = 23}, out = {0};

	isc_totals_fields_store(isc_wait_fields, &in, &stored);
	CHECK(!load(isc_wait_fields, &out)); /* there is no such call */
	isc_buffer_clear(&stored);
	in.call = 22;
	isc_totals_fields_store(isc_wait_fields, &in, &stored);
	while (stored.len-- > 0)
		CHECK(!load(isc_wait_fields, &out));
	isc_buffer_fini(&stored);
}

TEST(sums_of_two_rows_add_up_and_the_rest_stays)
{
	isc_total_wait row = {.thread = 3, .count = 2, .ticks = 10, .max_ticks = 7};

	isc_totals_fields_add(isc_wait_fields, &row,
			      &(isc_total_wait){.thread = 4, .count = 1, .ticks = 5, .max_ticks = 5});
	CHECK_EQ(row.thread, 3);
	CHECK_EQ(row.count, 3);
	CHECK_EQ(row.ticks, 15);
	CHECK_EQ(row.max_ticks, 7);
}

TEST(what_was_earlier_is_taken_away_down_to_nothing)
{
	isc_total_function row = {.calls = 9, .self_ticks = 4, .spread = 2.5, .first_ticks = 6};

	isc_totals_fields_less(isc_function_fields, &row,
			       &(isc_total_function){.calls = 5, .self_ticks = 100, .first_ticks = 6});
	isc_totals_fields_less(isc_function_window_fields, &row, &(isc_total_function){.spread = 1});
	CHECK_EQ(row.calls, 4);
	CHECK_EQ(row.self_ticks, 0);
	CHECK_EQ(row.first_ticks, 6);
	CHECK(row.spread == 1.5);
}
